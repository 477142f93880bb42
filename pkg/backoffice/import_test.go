package backoffice_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/voucher"
)

// importAs imports a file into the shop. It returns the rejected rows as their lines and errors.
func (s *shop) importAs(file string, how backoffice.ImportOptions) (
	result backoffice.ImportResult, rejected []string, err error,
) {
	s.t.Helper()
	s.opened = s.opened.Add(time.Millisecond) // imports must not begin at the same moment
	how.Now, how.Random = s.opened, rand.Reader
	how.Reject = func(row csvfile.Row, err error) error {
		rejected = append(rejected, fmt.Sprintf("%d: %s", row.Line, strings.ReplaceAll(err.Error(), "\n", "; ")))
		return nil
	}
	result, err = s.operator.Import(s.t.Context(), strings.NewReader(file), how)
	slices.Sort(rejected)
	return result, rejected, err
}

// wantImported imports a file without mistakes.
func (s *shop) wantImported(file string, want backoffice.ImportResult) {
	s.t.Helper()
	got, rejected, err := s.importAs(file, backoffice.ImportOptions{})
	if err != nil || got != want || len(rejected) > 0 {
		s.t.Errorf("imported %+v, rejected %q, %v, want %+v", got, rejected, err, want)
	}
}

// sold lists codes of each kind as another system sold them: unused, partly used, and used up.
const sold = `code,reward,max-uses,max-uses-per-nick,parts,created_at,redeemed_at,redeemed_by,uses
GIFT-1,20%,,,,2026-01-02T10:00:00Z,,,
GIFT-2,20%,,,,2026-01-02T10:00:00Z,2026-02-03T11:00:00Z,Alder,1
GIFT-3,20%,,,,,2026-02-03T11:00:00Z,,
SUMMER-20,20%,10,none,3,2026-01-02T10:00:00Z,,,7
WINTER,20%,5,2,2,,,,5
NEWS,20%,none,1,,,,,3
ARIGATO,20%,none,none,,2026-01-02T10:00:00Z,,,12
`

func TestImport_UsedCodes_AreStoredWithTheirPast(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	s.wantImported(sold, backoffice.ImportResult{Created: 7})
	s.wantClean("imported")
	for code, want := range map[voucher.Code]struct{ used, left, imported int }{
		"G1FT1": {0, 1, 0}, "G1FT2": {1, 0, 1}, "G1FT3": {1, 0, 1}, "SUMMER20": {7, 3, 7}, "W1NTER": {5, 0, 5},
		"NEWS": {0, 0, 3}, "AR1GAT0": {0, 0, 12},
	} {
		got, err := s.operator.Voucher(t.Context(), code, s.opened)
		if err != nil || got.Used != want.used || got.UsesLeft != want.left || got.Imported != want.imported {
			t.Errorf("%s: %d used, %d left, %d imported, %v, want %+v", code, got.Used, got.UsesLeft, got.Imported, err,
				want)
		}
	}
	used, err := s.operator.Voucher(t.Context(), "G1FT2", s.opened)
	at := time.Date(2026, 2, 3, 11, 0, 0, 0, time.UTC)
	if err != nil || used.Redeemed == nil || used.Redeemed.Nick != "Alder" || !used.Redeemed.At.Equal(at) ||
		!used.Redeemed.Imported {
		t.Errorf("GIFT-2 was redeemed as %+v, %v; want it imported as redeemed by Alder at %s", used.Redeemed, err, at)
	}
	for code, uses := range map[string]int{"GIFT-1": 1, "GIFT-2": 0, "GIFT-3": 0, "SUMMER-20": 3, "WINTER": 0} {
		redeemed := 0
		for s.redeem(code, "Birch", "") {
			redeemed++
		}
		if redeemed != uses {
			t.Errorf("%s was redeemed %d times, want %d", code, redeemed, uses)
		}
	}
	if !s.redeem("NEWS", "Birch", "") || !s.redeem("ARIGATO", "", "") {
		t.Error("a code without a limit was refused because of its imported uses")
	}
	s.wantClean("redeemed")
	if added := s.rebuild(backoffice.Rebuilding{From: s.opened.AddDate(-1, 0, 0)}).Added; added != 1+3+1+1 {
		t.Errorf("%d events, want 6: imported uses get no events", added)
	}
	if report := s.verify(s.settled()); report.Found > 0 {
		t.Errorf("with events: %+v", report.Findings)
	}
}

// The terms under which a code was used in another system are unknown.
func TestImport_UsedAgainstItsTerms_VerifyFindsNothing(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.wantImported(`code,reward,valid-from,valid-until,disabled,nick,redeemed_at,redeemed_by
GIFT-1,20%,2026-03-01,,,,2026-02-03,Alder
GIFT-2,20%,,2025-02-01,,,2026-02-03,Alder
GIFT-3,20%,,,true,,2026-02-03,Alder
GIFT-4,20%,,,,Birch,2026-02-03,Alder
`, backoffice.ImportResult{Created: 4})
	s.wantClean("afterwards")
}

func TestVerify_RecentImportedUse_NeedsNoEvent(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	yesterday := s.opened.Add(-day).Format(time.RFC3339)
	s.wantImported("code,reward,redeemed_at\nGIFT-1,20%,"+yesterday+"\n", backoffice.ImportResult{Created: 1})
	if report := s.verify(s.settled()); report.Found > 0 || report.Redemptions != 1 {
		t.Errorf("%+v", report)
	}
}

func TestVerify_ImportedUsesAreLost_IsFound(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.wantImported(sold, backoffice.ImportResult{Created: 7})
	s.change("SUMMER20", func(it attributes) { it.add("imported", -1) })
	s.change("W1NTER", func(it attributes) { delete(it, "imported") })
	s.change("G1FT1", func(it attributes) { it["imported"] = number(1) })
	wantFindings(t, s.verify(s.opened).Findings,
		[]string{"malformed G1FT1", "allowance_differs SUMMER20", "allowance_differs W1NTER"})
}

func TestImport_UndoneUse_StaysKnownAsImported(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	s.wantImported(sold, backoffice.ImportResult{Created: 7})
	used, err := s.operator.Voucher(t.Context(), "G1FT2", s.opened)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.operator.UndoRedemption(t.Context(), "G1FT2", used.Redeemed.ID, "charged back",
		s.opened); err != nil {
		t.Fatal(err)
	}
	undone, err := s.operator.Redemption(t.Context(), "G1FT2", used.Redeemed.ID)
	if err != nil || !undone.Imported || !undone.Undone.Equal(s.opened) {
		t.Errorf("the undone redemption is %+v, %v", undone, err)
	}
	now, err := s.operator.Voucher(t.Context(), "G1FT2", s.opened)
	if err != nil || now.Imported != 0 || now.UsesLeft != 1 {
		t.Errorf("%d imported, %d left, %v", now.Imported, now.UsesLeft, err)
	}
	s.wantImported(sold, backoffice.ImportResult{Existed: 7})
	if !s.redeem("GIFT-2", "alder", "") {
		t.Error("GIFT-2 was refused after it was undone")
	}
	s.wantClean("redeemed again")
	again, err := s.operator.Voucher(t.Context(), "G1FT2", s.opened)
	if err != nil || again.Redeemed == nil || again.Redeemed.Imported {
		t.Errorf("the new redemption is %+v, %v; want it not imported", again.Redeemed, err)
	}
	if added := s.rebuild(backoffice.Rebuilding{From: s.opened.AddDate(-1, 0, 0)}).Added; added != 1 {
		t.Errorf("%d events, want only that of the new redemption", added)
	}
}

func TestImport_Again_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.wantImported(sold, backoffice.ImportResult{Created: 7})
	before := s.stored("")
	s.opened = s.opened.Add(time.Hour)
	s.wantImported(sold, backoffice.ImportResult{Existed: 7})
	if after := s.stored(""); !reflect.DeepEqual(after, before) {
		t.Errorf("stored %+v\nwant %+v", after, before)
	}
	for _, code := range []string{"GIFT-1", "SUMMER-20", "NEWS", "ARIGATO"} {
		s.redeem(code, "Alder", "")
	}
	s.wantImported(sold, backoffice.ImportResult{Existed: 7}) // redemptions since the import do not count
}

func TestImport_CodeWithOtherTermsOrAnotherPast_IsReportedAndStays(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.wantImported(sold, backoffice.ImportResult{Created: 7})
	before := s.stored("")
	const header = "code,reward,max-uses,max-uses-per-nick,created_at,redeemed_at,redeemed_by,uses\n"
	for row, columns := range map[string]string{
		"GIFT-1,25%,,,,,,":                      "reward",
		"gift1,20%,2,,,,,":                      "max-uses",
		"SUMMER-20,20%,12,1,,,,7":               "max-uses, max-uses-per-nick",
		"GIFT-1,20%,,,2026-01-03,,,":            "created_at",
		"GIFT-1,20%,,,,2026-02-03T11:00:00Z,,":  "redeemed_at",
		"GIFT-2,20%,,,,,,":                      "redeemed_at",
		"GIFT-2,20%,,,,2026-02-04,Alder,":       "redeemed_at",
		"GIFT-2,20%,,,,2026-02-03T11:00:00Z,,":  "redeemed_by",
		"GIFT-3,20%,,,,2026-02-03T11:00:00Z,A,": "redeemed_by",
		"SUMMER-20,20%,10,none,,,,8":            "uses",
		"SUMMER-20,20%,10,none,,,,":             "uses",
		"ARIGATO,20%,none,none,,,,13":           "uses",
	} {
		result, rejected, err := s.importAs(header+row+"\n", backoffice.ImportOptions{})
		want := []string{"2: " + voucher.ErrCodeTaken.Error() + ", but differs in " + columns + "; it stays as it is"}
		if err != nil || result != (backoffice.ImportResult{OtherTerms: 1}) || !slices.Equal(rejected, want) {
			t.Errorf("%s: %+v, %q, %v, want %q", row, result, rejected, err, want)
		}
	}
	if after := s.stored(""); !reflect.DeepEqual(after, before) {
		t.Errorf("stored %+v\nwant %+v", after, before)
	}
}

// mistaken has rows that cannot be imported, and four rows that can.
const mistaken = `code,reward,max-uses,redeemed_at,redeemed_by,uses
GIFT-1,20%,,,,
GIFT-2,120%,,,,
g1ft 1,20%,,,,
COINS-1,coins/500,,,,
COINS-2,coins/900,,,,
COINS-3,2*coins/500+rank/vip,,,,
GIFT-3,20%,,,Alder,
GIFT-4,20%,,2031-01-01,,
GIFT-5,20%,,,,1
SUMMER-20,20%,10,2026-01-01,,
AUTUMN,20%,10,,,4
GIFT-6,20%,,,
GIFT-3,20%,,,,
GIFT-7,150%,,,,1
`

func mistakes() []string {
	return []string{
		"3: reward", "4: code is the same code as on line 2", "6: reward the shop has no coins/900",
		"7: reward the shop has no rank/vip",
		"8: redeemed_by", "9: redeemed_at", "10: redeemed_at", "11: redeemed_at", "13: row", "15: reward redeemed_at",
	}
}

// wantMistakes checks that each mistake in mistaken was reported with its line and its column.
func (s *shop) wantMistakes(rejected []string) {
	s.t.Helper()
	wanted := mistakes()
	slices.Sort(wanted)
	if len(rejected) != len(wanted) {
		s.t.Errorf("rejected %q", rejected)
		return
	}
	for i, want := range wanted {
		line, rest, _ := strings.Cut(want, " ")
		for _, part := range strings.SplitN(rest, " ", 2) {
			if !strings.HasPrefix(rejected[i], line) || !strings.Contains(rejected[i], part) {
				s.t.Errorf("rejected %q, want %q", rejected[i], want)
			}
		}
	}
}

// sellCoins puts coins into the catalogue.
func (s *shop) sellCoins() {
	s.t.Helper()
	s.apply(s.t, s.shop, `    products: [{id: coins, name: Coins, variants: [{id: "500", name: 500 coins, `+
		`price: 4.99}]}]`+"\n")
}

func TestImport_Mistakes_AreAllReportedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.sellCoins()
	result, rejected, err := s.importAs(mistaken, backoffice.ImportOptions{})
	if !errors.Is(err, backoffice.ErrInvalidRows) || result != (backoffice.ImportResult{Rejected: len(mistakes())}) {
		t.Errorf("%+v, %v", result, err)
	}
	s.wantMistakes(rejected)
	if stored := s.stored(""); len(stored) > 0 {
		t.Errorf("stored %+v", stored)
	}
}

func TestImport_SkipInvalid_WritesTheOtherRows(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.sellCoins()
	for _, want := range []backoffice.ImportResult{
		{Rejected: len(mistakes()), Created: 4},
		{Rejected: len(mistakes()), Existed: 4},
	} {
		begun, written := 0, 0
		how := backoffice.ImportOptions{
			SkipInvalid: true,
			Bulk:        backoffice.Bulk{Begin: func(count int) { begun = count }, Wrote: func() { written++ }},
		}
		result, rejected, err := s.importAs(mistaken, how)
		if err != nil || result != want || begun != 4 || written != 4 {
			t.Errorf("%+v, %v, progress %d of %d, want %+v", result, err, written, begun, want)
		}
		s.wantMistakes(rejected)
	}
	if report := s.verify(s.opened); report.Vouchers != 4 || report.Found > 0 {
		t.Errorf("%+v", report)
	}
}

func TestImport_DryRun_SaysWhatWouldHappenAndWritesNothing(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.create(voucher.Terms{Written: "WINTER"})
	s.create(voucher.Terms{Written: "GIFT-1", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}})
	before := s.stored("")
	file := strings.Replace(sold, "GIFT-1,20%,,,,2026-01-02T10:00:00Z", "GIFT-1,20%,,,,", 1)
	result, rejected, err := s.importAs(file, backoffice.ImportOptions{DryRun: true})
	if err != nil || result != (backoffice.ImportResult{Created: 5, Existed: 1, OtherTerms: 1}) || len(rejected) != 1 {
		t.Errorf("%+v, %q, %v", result, rejected, err)
	}
	if after := s.stored(""); !reflect.DeepEqual(after, before) {
		t.Errorf("stored %+v\nwant %+v", after, before)
	}
}

func TestImport_UnreadableFile_IsAnErrorAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for what, file := range map[string]string{
		"empty": "", "unknown column": "code,reward,colour\n",
		"one row too long": "code,reward\nGIFT-1,20%\n" + strings.Repeat("x", csvfile.MaxRecordBytes+1),
	} {
		_, _, err := s.importAs(file, backoffice.ImportOptions{SkipInvalid: true})
		if _, is := errors.AsType[*backoffice.InvalidFileError](err); !is {
			t.Errorf("%s: %v", what, err)
		}
	}
	if stored := s.stored(""); len(stored) > 0 {
		t.Errorf("stored %+v", stored)
	}
}

// manyRows returns a file in which used and unused codes alternate.
func manyRows(count int) string {
	var file strings.Builder
	file.WriteString("code,reward,redeemed_at,redeemed_by\n")
	for n := range count / 2 {
		fmt.Fprintf(&file, "GIFT-%d-A,20%%,,\nGIFT-%d-B,20%%,2026-02-03T11:00:00Z,Alder\n", n, n)
	}
	return file.String()
}

func TestImport_Interrupted_IsCompletedByRunningItAgain(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	const rows = 200
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := s.operator.Import(ctx, strings.NewReader(manyRows(rows)), backoffice.ImportOptions{
		Now: s.opened, Random: rand.Reader, Bulk: backoffice.Bulk{Wrote: cancel},
	})
	if !errors.Is(err, context.Canceled) || first.Created == 0 || first.Created == rows {
		t.Fatalf("%+v, %v", first, err)
	}
	s.wantImported(manyRows(rows), backoffice.ImportResult{Created: rows - first.Created, Existed: first.Created})
	if report := s.verify(s.opened); report.Vouchers != rows || report.Redemptions != rows/2 || report.Found > 0 {
		t.Errorf("%+v", report)
	}
}

// If the response to a write is lost, the write is sent again and finds the voucher that it created.
func TestImport_LostResponses_CreateEachVoucherOnce(t *testing.T) {
	dynamotest.InMemory(t)
	t.Parallel()
	s := newTables(t).newShop(t)
	network := dynamotest.Memory().Endpoint(memdynamo.Dials{
		Seed: 1, Rates: memdynamo.Rates{memdynamo.LostResponse: 0.3},
	})
	deployment := backoffice.Local(backoffice.Deployment{Region: dynamotest.Region}, s.names,
		dynamotest.Serve(t, network), mathrand.Int64N)
	s.operator = deployment.Open(s.operator.Profile)
	for file, rows := range map[string]int{sold: 7, manyRows(60): 60} {
		got, rejected, err := s.importAs(file, backoffice.ImportOptions{})
		// After a lost response, a created code may count as one that existed.
		if err != nil || got.Created+got.Existed != rows || got.OtherTerms > 0 || len(rejected) > 0 {
			t.Errorf("imported %+v, rejected %q, %v", got, rejected, err)
		}
	}
	if injected := network.Injected()[memdynamo.LostResponse]; injected < 10 {
		t.Errorf("only %d responses were lost", injected)
	}
	network.SetRates(nil)
	s.wantImported(manyRows(60), backoffice.ImportResult{Existed: 60})
	s.wantClean("afterwards")
}
