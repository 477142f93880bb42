package csvfile_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shopfront/pkg/csvfile"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const voucherHeader = "code,reward,max-uses,max-uses-per-nick,valid-from,valid-until,disabled,nick,batch,note,parts," +
	"created_at,status,uses,held,left,redeemed_at,redeemed_by,redemption_id,reward_minor,reward_currency\r\n"

func day(n int) time.Time {
	return time.Date(2026, 11, n, 18, 30, 0, int(250*time.Millisecond), time.UTC)
}

// rowsOf yields the rows of a file whose rewards are in euros. It fails the test if the file cannot be read to its end.
func rowsOf(t *testing.T, file string) iter.Seq[csvfile.Row] {
	t.Helper()
	r, err := csvfile.NewVoucherReader(strings.NewReader(file), "EUR", time.UTC)
	if err != nil {
		t.Fatalf("%v of %q", err, file)
	}
	return func(yield func(csvfile.Row) bool) {
		for row, err := range r.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(row) {
				return
			}
		}
	}
}

func TestVoucherWriter(t *testing.T) {
	percent := voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	terms := voucher.Voucher{
		Written: "SUMMER-20", Reward: percent, MaxUses: 500, MaxUsesPerNick: 1, Parts: 8, Created: day(1),
		ValidFrom: day(2), ValidUntil: day(30), Disabled: true, Batch: "launch", Note: "for Alder, Heron",
	}
	for rule, test := range map[string]struct {
		standing voucher.Standing
		want     string
	}{
		"many uses, some of them held": {
			voucher.Standing{Voucher: terms, Used: 12, UsesHeld: 2, UsesLeft: 488},
			`SUMMER-20,20%,500,1,2026-11-02T18:30:00.250Z,2026-11-30T18:30:00.250Z,true,,launch,"for Alder, Heron",8,` +
				`2026-11-01T18:30:00.250Z,disabled,10,2,488,,,,,`,
		},
		"no limit": {
			voucher.Standing{Voucher: voucher.Voucher{Written: "ALWAYS", Reward: percent, Created: day(1)}, Used: 7},
			"ALWAYS,20%,none,none,,,false,,,,,2026-11-01T18:30:00.250Z,redeemable,7,,none,,,,,",
		},
		"redeemed": {
			voucher.Standing{Voucher: voucher.Voucher{
				Written: "KVTH-9C2M", Reward: voucher.Reward{
					Kind:      voucher.RewardAmountOff,
					AmountOff: money.Money{Minor: 500, Currency: "EUR"},
				},
				MaxUses: 1, Nick: voucher.Nick{Written: "=Heron"}, Created: day(1),
				Redeemed: &voucher.Redemption{ID: "-0123456789abcdefghijk", Nick: "Heron", At: day(3)},
			}, Used: 1},
			"KVTH-9C2M,5.00,1,none,,,false,'=Heron,,,,2026-11-01T18:30:00.250Z,used_up,1,0,0,2026-11-03T18:30:00.250Z,Heron," +
				"'-0123456789abcdefghijk,500,EUR",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			var file bytes.Buffer
			w := csvfile.NewVoucherWriter(&file)
			if err := errors.Join(w.Write(test.standing, day(4)), w.Flush()); err != nil {
				t.Fatal(err)
			}
			if got, want := file.String(), voucherHeader+test.want+"\r\n"; got != want {
				t.Errorf("got\n%s, want\n%s", got, want)
			}
		})
	}
}

// drawVoucher draws a voucher with a past, as it is imported on day 20.
func drawVoucher(t *rapid.T) voucher.Voucher {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[='"+@,;a-z -]{1,12}[a-z]`))
	moment := rapid.Custom(func(t *rapid.T) time.Time { return day(rapid.IntRange(1, 19).Draw(t, "day")) })
	terms := voucher.Terms{
		Written: rapid.StringMatching(`-?[A-Z][A-Za-z0-9 -]{0,20}`).Draw(t, "code"),
		Reward: rapid.Custom(func(t *rapid.T) voucher.Reward {
			reward, err := voucher.ParseReward(rapid.SampledFrom([]string{
				"3*coins/500", "20%", "5.00",
				"coins/500+2*rank/vip",
			}).Draw(t, "text"), "EUR")
			if err != nil {
				t.Fatal(err)
			}
			return reward
		}).Draw(t, "reward"),
		MaxUses:  new(rapid.SampledFrom([]voucher.Limit{voucher.NoLimit, 1, 2, 5000}).Draw(t, "max-uses")),
		Disabled: rapid.Bool().Draw(t, "disabled"), Nick: text.Draw(t, "nick"), Batch: text.Draw(t, "batch"),
		Note: text.Draw(t, "note"),
	}
	past := voucher.Past{Created: moment.Draw(t, "created")}
	if rapid.Bool().Draw(t, "period") {
		terms.ValidFrom, terms.ValidUntil = moment.Draw(t, "from"), day(25)
	}
	switch {
	case *terms.MaxUses != 1:
		past.Uses = rapid.IntRange(0, 2).Draw(t, "uses")
	case rapid.Bool().Draw(t, "redeemed"):
		nick, err := voucher.ParseNick(text.Draw(t, "redeemed by"))
		if err != nil {
			t.Fatal(err)
		}
		past.RedeemedAt, past.RedeemedBy = moment.Draw(t, "redeemed at"), nick.Written
	}
	v, err := voucher.Import(terms, past, "0123456789abcdefghijk_", day(20))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVoucherReader_ExportedVoucher_IsImportedUnchanged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := drawVoucher(rt)
		standing := voucher.Standing{Voucher: v, UsesLeft: max(0, int(v.MaxUses)-v.Imported), Used: v.Imported}
		var file bytes.Buffer
		w := csvfile.NewVoucherWriter(&file)
		if err := errors.Join(w.Write(standing, day(20)), w.Flush()); err != nil {
			rt.Fatal(err)
		}
		for row := range rowsOf(t, file.String()) {
			again, err := voucher.Import(row.Terms, row.Past, "0123456789abcdefghijk_", day(21))
			if err := errors.Join(row.Err, err); err != nil {
				rt.Fatalf("%v of %s", err, file.String())
			}
			if !reflect.DeepEqual(again, v) {
				rt.Fatalf("%s is imported as %+v, exported from %+v", file.String(), again, v)
			}
			return
		}
		rt.Fatalf("no row in %s", file.String())
	})
}

func TestVoucherReader_ForeignFile_IsRead(t *testing.T) {
	twenty := voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	want := csvfile.Row{
		Line: 2,
		Terms: voucher.Terms{
			Written: "SUMMER-20", Reward: twenty, MaxUses: new(voucher.Limit(5)),
			ValidUntil: day(31).Truncate(24 * time.Hour), Note: "'Heron", // the first moment after the date
		},
		Past: voucher.Past{Uses: 2},
	}
	for rule, file := range map[string]string{
		"CRLF":                          "code,reward,max-uses,valid-until,note,uses\r\nSUMMER-20,20%,5,2026-11-30,'Heron,2\r\n",
		"LF":                            "code,reward,max-uses,valid-until,note,uses\nSUMMER-20,20%,5,2026-11-30,'Heron,2\n",
		"no line break at the end":      "code,reward,max-uses,valid-until,note,uses\nSUMMER-20,20%,5,2026-11-30,'Heron,2",
		"a byte order mark":             "\ufeffcode,reward,max-uses,valid-until,note,uses\nSUMMER-20,20%,5,2026-11-30,'Heron,2\n",
		"quotes, and a byte order mark": "\ufeff\"code\",\"reward\",\"max-uses\",\"valid-until\",\"note\",\"uses\"\n\"SUMMER-20\",\"20%\",\"5\",\"2026-11-30\",\"'Heron\",\"2\"\n",
		"another order":                 "reward,note,uses,code,valid-until,max-uses\n20%,'Heron,2,SUMMER-20,2026-11-30,5\n",
		"underscores":                   "code,reward,max_uses,valid_until,note,uses\nSUMMER-20,20%,5,2026-11-30,'Heron,2\n",
		"names as people write them": "Code,REWARD, Max Uses " +
			",Valid_Until,note,uses\nSUMMER-20,20%,5,2026-11-30,'Heron,2\n",
		"cells that are not needed": "code,reward,max-uses,valid-until,note,uses,disabled,nick,left,reward-currency,created-at\nSUMMER-20,20%,5,2026-11-30,'Heron,2,FALSE,,many,EUR,\n",
		"empty rows":                "code,reward,max-uses,valid-until,note,uses\nSUMMER-20,20%,5,2026-11-30,'Heron,2\n\n,,,,,\r\n",
	} {
		t.Run(rule, func(t *testing.T) {
			rows := slices.Collect(rowsOf(t, file))
			if len(rows) != 1 || rows[0].Err != nil {
				t.Fatalf("got %+v, want one valid row", rows)
			}
			got := rows[0]
			if got.Line != 2 || got.Past != want.Past || *got.Terms.MaxUses != 5 {
				t.Errorf("got %+v, want %+v", got, want)
			}
			got.Terms.MaxUses = want.Terms.MaxUses
			if got.Terms != want.Terms {
				t.Errorf("%+v, want %+v", got.Terms, want.Terms)
			}
		})
	}
}

func TestNewVoucherReader_WrongHeader_IsRejectedWithEveryMistake(t *testing.T) {
	known := "the columns are " + strings.ReplaceAll(strings.TrimSpace(voucherHeader), ",", ", ") +
		", link, reason; code and reward are required"
	for rule, test := range map[string]struct {
		file string
		want []string
	}{
		"an empty file": {"", []string{"empty"}},
		"only a BOM":    {"\ufeff", []string{"empty"}},
		"several mistakes": {
			"prize,max-uses,max_uses,colour\n",
			[]string{`"prize"`, `"colour"`, "max_uses appears twice", "code is missing", "reward is missing", known},
		},
		"semicolons": {"code;reward\n", []string{"^the file uses semicolons: save it with commas$"}},
		"quoted semicolons": {
			"\ufeff\"code\";\"reward\"\r\n",
			[]string{"^the file uses semicolons: save it with commas$"},
		},
		"tabs":                  {"code\treward\n", []string{"^the file uses tabs: save it with commas$"}},
		"no unknown column":     {"code\n", []string{"^the column reward is missing$"}},
		"an unclosed quote":     {"code,\"reward\nSUMMER-20,20%\n", []string{"quote in the wrong place"}},
		"UTF-16":                {"\xff\xfec\x00o\x00d\x00e\x00\n", []string{"UTF-8"}},
		"a line without an end": {strings.Repeat("code,", csvfile.MaxRecordBytes), []string{"line 1 is longer"}},
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := csvfile.NewVoucherReader(strings.NewReader(test.file), "EUR", time.UTC)
			for _, want := range test.want {
				if err == nil || !strings.Contains("^"+err.Error()+"$", want) {
					t.Errorf("%v, want %q in it", err, want)
				}
			}
		})
	}
}

// fields returns the field of each *voucher.FieldError.
func fields(t *testing.T, err error) (names []string) {
	t.Helper()
	all := []error{err}
	if joined, is := err.(interface{ Unwrap() []error }); is {
		all = joined.Unwrap()
	}
	for _, one := range all {
		field, is := errors.AsType[*voucher.FieldError](one)
		if !is {
			t.Fatalf("%v is not a *voucher.FieldError", one)
		}
		names = append(names, field.Field)
	}
	return names
}

func TestVoucherReader_WrongRow_IsReportedWithEveryMistake(t *testing.T) {
	const header = "code,reward,max-uses,max-uses-per-nick,valid-from,valid-until,disabled,parts,created_at,uses,redeemed_at,reward_currency,nick\n"
	for rule, test := range map[string]struct {
		row  string
		want []string
	}{
		"every cell": {
			"SUMMER-20,20,0,1.5,24.12.2026,2026-13-01,on,-1,yesterday,-1,2026-12-24 18:00,USD,H\xe9ron\n",
			[]string{
				"reward", "max-uses", "max-uses-per-nick", "valid-from", "valid-until", "disabled", "parts",
				"created_at", "uses", "redeemed_at",
				"reward_currency", "nick",
			},
		},
		"too few cells":           {"SUMMER-20,20%\n", []string{"row"}},
		"too many cells":          {"SUMMER-20,20%" + strings.Repeat(",", 12) + "\n", []string{"row"}},
		"a quote in a cell":       {`SUMMER-20,20%,,,,,,,,,,,Her"on` + "\n", []string{"row"}},
		"text behind a quote":     {`SUMMER-20,20%,,,,,,,,,,,"Her"on` + "\n", []string{"row"}},
		"an unclosed quote":       {`SUMMER-20,20%,,,,,,,,,,,"Heron` + "\n", []string{"row"}},
		"an unclosed first quote": {`"SUMMER-20,20%,,,,,,,,,,,Heron` + "\n", []string{"row"}},
	} {
		t.Run(rule, func(t *testing.T) {
			const right = "AUTUMN-20,20%,,,,,,,,,,,\"He\nron\"\n"
			rows := slices.Collect(rowsOf(t, header+right+test.row+right))
			if len(rows) != 3 {
				t.Fatalf("%d rows: %+v", len(rows), rows)
			}
			if got := fields(t, rows[1].Err); !slices.Equal(got, test.want) || rows[1].Line != 4 ||
				string(rows[1].Text) != test.row {
				t.Errorf("line %d: %v of %q; want %v", rows[1].Line, rows[1].Err, rows[1].Text, test.want)
			}
			for i, line := range map[int]int{0: 2, 2: 5} {
				if row := rows[i]; row.Err != nil || row.Line != line || row.Terms.Nick != "He\nron" ||
					string(row.Text) != right {
					t.Errorf("the row on line %d is read as %+v", line, row)
				}
			}
		})
	}
}

// endless is a file that repeats a text without end.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(into []byte) (int, error) {
	n := copy(into, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func TestVoucherReader_UnclosedQuoteInAnEndlessFile_SpoilsOneRow(t *testing.T) {
	read := 0
	file := io.MultiReader(strings.NewReader("code,reward\n\"SUMMER-20,20%\n"), &endless{text: "AUTUMN-20,20%\n"})
	r, err := csvfile.NewVoucherReader(file, "EUR", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range r.Rows() {
		if err != nil || (row.Err == nil) == (row.Line == 2) {
			t.Fatalf("row %+v, %v; want a mistake on line 2 only", row, err)
		}
		if read++; read == 2*csvfile.MaxRecordBytes/len("AUTUMN-20,20%\n") {
			return
		}
	}
	t.Fatalf("the file ends after %d rows", read)
}

func TestVoucherReader_EndlessLine_EndsReading(t *testing.T) {
	r, err := csvfile.NewVoucherReader(io.MultiReader(strings.NewReader("code,reward\n"), &endless{text: "SUMMER"}),
		"EUR", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range r.Rows() {
		if err == nil {
			t.Fatal("the endless line was returned as a row")
		}
	}
	if err == nil || !strings.Contains(err.Error(), "line 2 is longer") {
		t.Error(err)
	}
}

func TestVoucherReader_TooManyRows_EndReading(t *testing.T) {
	r, err := csvfile.NewVoucherReader(io.MultiReader(strings.NewReader("code,reward\n"),
		&endless{text: "SUMMER-20,20%\n"}), "EUR", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, err = range r.Rows() {
		if err == nil {
			rows++
		}
	}
	if rows != csvfile.MaxRows || err == nil || !strings.Contains(err.Error(), "more than 1000000 rows") {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestVoucherReader_FailedRead_EndsReading(t *testing.T) {
	errGone := errors.New("device is gone")
	failing, pipe := io.Pipe()
	if err := pipe.CloseWithError(errGone); err != nil {
		t.Fatal(err)
	}
	for rule, begun := range map[string]string{
		"in a row": "SUMMER-20,2", "in quotes": "\"SUMMER-20\n",
		"between rows": "SUMMER-20,20%\n",
	} {
		t.Run(rule, func(t *testing.T) {
			r, err := csvfile.NewVoucherReader(io.MultiReader(strings.NewReader("code,reward\n"+begun), failing), "EUR", time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			for _, err = range r.Rows() {
				if errors.Is(err, errGone) {
					return
				}
			}
			t.Errorf("%v; want %v", err, errGone)
		})
	}
}

// FuzzVoucherReader checks that the texts of the rows make up the file, and that each row has the right line number.
func FuzzVoucherReader(f *testing.F) {
	for _, seed := range []string{
		"SUMMER-20,20%\r\nAUTUMN-20,5.00", "\"SUMMER\n20\",\"20%\"\n\"x\ny\nz\n", "a\"b,c\n\"d\n", "\n,\n\"\",\"\"\n",
		"\xff,\x00\n", "\"a\"b\n\"\"\"\n\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rows string) {
		if len(rows) > 4096 {
			return // a longer line could end the reading
		}
		rest, line := rows, 2
		for row := range rowsOf(t, "code,reward\n"+rows) {
			before, after, found := strings.Cut(rest, string(row.Text))
			if !found || strings.Trim(before, ",\r\n") != "" {
				t.Fatalf("%q is not the next text of %q", row.Text, rest)
			}
			if line += strings.Count(before, "\n"); row.Line != line {
				t.Errorf("%q has the line number %d, want %d", row.Text, row.Line, line)
			}
			rest, line = after, line+strings.Count(string(row.Text), "\n")
		}
		if strings.Trim(rest, ",\r\n") != "" {
			t.Errorf("%q was not returned in any row", rest)
		}
	})
}
