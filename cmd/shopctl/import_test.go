package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/csvfile"
)

// write writes a file into the directory of the local run, and returns its path.
func (s *shopfront) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// applyEmpty loads shops with the catalogue of emberforge, but without vouchers.
func (s *shopfront) applyEmpty(t *testing.T, shops ...string) {
	t.Helper()
	catalogue, _, _ := strings.Cut(read(t, "testdata/emberforge.yaml"), "    vouchers:")
	for _, shop := range shops {
		s.must(t, "catalog", "apply", s.write(t, shop+".yaml",
			strings.Replace(catalogue, "id: emberforge", "id: "+shop, 1)))
	}
}

// withoutIDs returns an export of vouchers without the IDs of redemptions, and those IDs by code.
func withoutIDs(t *testing.T, export string) (rows [][]string, ids map[string]string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(export)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(rows[0], "redemption_id")
	ids = map[string]string{}
	for i, row := range rows {
		if i > 0 && row[column] != "" {
			ids[row[0]] = row[column]
		}
		rows[i] = slices.Delete(row, column, column+1)
	}
	return rows, ids
}

// sold is a file with codes of every kind.
const sold = `code,reward,max-uses,max-uses-per-nick,nick,batch,note,parts,valid-until,disabled
COINS-1,coins/500,,,,,,,,
COINS-2,2*coins/1200,,,'=Alder,,,,2027-01-07,
COINS-3,coins/500,,,,launch,,,,true
'-DASH-4,5.00,,,'+Heron,'-launch,'=SUM(A1:A9),,,
－WIDE-5,20%,,,＝Owl,launch,"say ""hi"", twice",,,
PACK-6,coins/500+3*coins/1200,none,none,,'@launch,''quoted,,,
PACK-7,coins/500+coins/1200,none,1,,,＋plus,,,
COUNT-8,10%,50,2,,,,3,,
COUNT-9,7.50,5,none,,,,,,
UNDONE-10,coins/500,,,,,,,,
UNDONE-11,coins/500,20,,,,,,,
`

// sellAndUse imports sold, and redeems and undoes some of its codes.
func (s *shopfront) sellAndUse(t *testing.T) {
	t.Helper()
	s.must(t, "voucher", "import", "emberforge", s.write(t, "sold.csv", sold))
	for _, redemption := range [][2]string{
		{"COINS-1", ""},
		{"COINS-2", "=alder"},
		{"-DASH-4", "+Heron"},
		{"－WIDE-5", "＝Owl"},
		{"PACK-6", ""},
		{"PACK-6", "Wren"},
		{"PACK-7", "Wren"},
		{"COUNT-8", "'Elk"},
		{"COUNT-8", "'Elk"},
		{"COUNT-8", "Crow"},
		{"COUNT-9", ""},
		{"COUNT-9", ""},
		{"COUNT-9", ""},
		{"UNDONE-11", "Crow"},
	} {
		if id := s.redeem(t, "emberforge", redemption[0], redemption[1]); len(id) != len("2-WILiV5aDQywb_FJUVK3Q") {
			t.Fatal(redemption, id)
		}
	}
	for _, code := range []string{"UNDONE-10", "UNDONE-11"} {
		s.must(t, "redemption", "undo", "emberforge", code, s.redeem(t, "emberforge", code, "Heron"))
	}
	s.must(t, "voucher", "edit", "emberforge", "COUNT-9", "--max-uses", "2") // below its uses
}

func TestImport_FileExportedByAnotherShop_CanBeExportedAgainUnchanged(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge", "frostforge")
	s.sellAndUse(t)
	exported := s.must(t, "voucher", "export", "emberforge")
	want, ids := withoutIDs(t, exported)
	if len(want) != 12 || len(ids) != 4 {
		t.Fatalf("%d rows, %d redemptions: %s", len(want), len(ids), exported)
	}
	s.clock = s.clock.AddDate(0, 1, 0)
	path := s.write(t, "emberforge.csv", exported)
	if got := s.must(t, "voucher", "import", "frostforge", path); got != "created 11\n" {
		t.Error(got)
	}
	again := s.must(t, "voucher", "export", "frostforge")
	got, importedIDs := withoutIDs(t, again)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("exported again\n%q\nwant\n%q", got[i], want[i])
		}
	}
	for code, id := range ids {
		if len(importedIDs[code]) != len(id) || importedIDs[code] == id {
			t.Errorf("%s was imported with the redemption %q", code, importedIDs[code])
		}
	}
	if got := s.must(t, "voucher", "import", "frostforge", path); got != "created 0, existed 11 (unchanged)\n" {
		t.Error(got)
	}
	if s.must(t, "voucher", "export", "frostforge") != again {
		t.Error("a further import changed something")
	}
	s.must(t, "verify", "frostforge")
}

func TestImport_UsedCode_IsRefusedAndCanBeUndone(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	s.must(t, "voucher", "import", "emberforge", s.write(t, "tebex.csv", `code,reward,max-uses,redeemed_at,redeemed_by,uses
TEBEX-1,coins/500,,2026-10-01T12:00:00Z,Alder,
TEBEX-2,coins/500,2,,,2
`))
	for _, code := range []string{"TEBEX-1", "TEBEX-2"} {
		if got := s.redeem(t, "emberforge", code, "Heron"); got != "refused: used_up" {
			t.Errorf("redeeming %s: %s", code, got)
		}
	}
	rebuilt := objectOf(t, s.must(t, "events", "rebuild", "emberforge", "--json"))
	if events := s.must(t, "events", "list", "emberforge", "--json"); rebuilt["added"] != 0. || events != "" {
		t.Errorf("the imported use made events: %v %s", rebuilt, events)
	}
	s.must(t, "verify", "emberforge")
	_, ids := withoutIDs(t, s.must(t, "voucher", "export", "emberforge"))
	s.must(t, "redemption", "undo", "emberforge", "TEBEX-1", ids["TEBEX-1"])
	if got := s.redeem(t, "emberforge", "TEBEX-1", "Heron"); len(got) != len(ids["TEBEX-1"]) {
		t.Errorf("redeeming after undo: %s", got)
	}
	s.must(t, "events", "rebuild", "emberforge")
	if events := s.must(t, "events", "list", "emberforge", "--json"); strings.Count(events, "\n") != 1 ||
		strings.Contains(events, "undone") {
		t.Errorf("want one event, of the redemption in this shop: %s", events)
	}
	s.must(t, "verify", "emberforge")
}

func TestImport_SkipInvalid_KeepsTheRejectedRows(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	s.must(t, "voucher", "create", "emberforge", "SPRING-4", "--reward", "5%")
	path := s.write(t, "spring.csv",
		"\ufeffcode,reward,note\nSPRING-1,20%,\nSPRING-2,120%,\"two\nlines\"\n\n SPRING-3 "+
			",20%,first\nSPRING-5,0%\nSPRING-4,20%,last")
	rejected := filepath.Join(s.dir, "spring.rejected.csv")
	if got := s.shopctl(t.Context(), "--local", "voucher", "import", "emberforge", path, "--skip-invalid",
		"--dry-run"); got.exit != exitRefused ||
		got.stdout != "would create 2, 1 with other terms (unchanged), 2 rejected\n" {
		t.Error(got)
	}
	if _, err := os.Stat(rejected); err == nil {
		t.Error("a dry run wrote the rejected rows")
	}
	got := s.shopctl(t.Context(), "--local", "voucher", "import", "emberforge", path, "--skip-invalid")
	if got.exit != exitRefused || got.stdout != "created 2, 1 with other terms (unchanged), 2 rejected\n" ||
		!strings.Contains(got.stderr, "error: not imported: 3 rows: correct "+rejected+" and import it") {
		t.Error(got)
	}
	if text, want := read(t, rejected), "\ufeffreason,code,reward,note\n"+
		`"reward: ""120%"": a percentage is a whole number from 1% to 100%; note: must be at most 128 bytes of text without `+
		`control characters",`+"SPRING-2,120%,\"two\nlines\"\r\n"+
		"\"row: has 2 cells, but the header has 3\",SPRING-5,0%\r\n"+
		"\"the code exists already, but differs in reward, note; it stays as it is\",SPRING-4,20%,last\r\n"; text != want {
		t.Errorf("rejected %q, want %q", text, want)
	}
	// the file can be imported again, and rejected again
	again := s.shopctl(t.Context(), "--local", "voucher", "import", "emberforge", rejected, "--skip-invalid")
	if got, want := read(t, filepath.Join(s.dir, "spring.rejected.rejected.csv")), "\ufeffreason,reason,code,reward,note\n"; again.exit != exitRefused || again.stdout != "created 0, 1 with other terms (unchanged), 2 rejected\n" ||
		!strings.HasPrefix(got, want) {
		t.Errorf("%v, %q", again, got)
	}
	if got := s.shopctl(t.Context(), "--local", "voucher", "import", "emberforge", path,
		"--skip-invalid"); got.exit != exitRefused ||
		!strings.Contains(got.stderr, rejected+" exists") {
		t.Error(got)
	}
}

func TestImport_SkipInvalidWithoutMistakes_WritesNoFile(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	s.must(t, "voucher", "import", "emberforge", s.write(t, "sold.csv", sold), "--skip-invalid")
	if files, err := filepath.Glob(filepath.Join(s.dir, "sold.*")); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
}

func TestImport_FileFormats(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	long := strings.Repeat("x", 64<<10)
	for name, test := range map[string]struct {
		text           string
		exit           int
		stdout, stderr string // stderr is only a part
	}{
		"empty": {
			"", exitRefused, "",
			"the file is empty: begin it with a header such as code,reward",
		},
		"only a byte order mark": {"\ufeff", exitRefused, "", "the file is empty"},
		"only a header":          {"code,reward", exitOK, "created 0\n", ""},
		"LF":                     {"code,reward\nLF-1,20%\nLF-2,20%", exitOK, "created 2\n", ""},
		"CRLF":                   {"code,reward\r\nCRLF-1,20%\r\n\r\nCRLF-2,20%\r\n", exitOK, "created 2\n", ""},
		"byte order mark":        {"\ufeffcode,reward\nBOM-1,20%\n", exitOK, "created 1\n", ""},
		"unknown columns": {
			"code,reward,colour,size\nBLUE-1,20%,blue,XL\n", exitRefused, "",
			"unknown column \"colour\"\n  unknown column \"size\"",
		},
		"semicolons": {
			"code;reward\nSEMI-1;20%\n", exitRefused, "",
			"the file uses semicolons: save it with commas",
		},
		"not UTF-8": {
			"code,reward,note\nLATIN-1,20%,\xe4\n", exitRefused, "",
			"line 2: note: must be in UTF-8",
		},
		"a row of 64 KiB": {"code,reward,note\nLONG-1,20%," + long + "\n", exitRefused, "", "line 2"},
		"a quoted row of 64 KiB": {"code,reward,note\nLONG-1,20%,\"" + strings.Repeat("x\n", 33<<10) +
			"\"\nLONG-2,20%,\n", exitRefused, "", "line 2"},
		"a header of 64 KiB": {"code,reward," + long + "\n", exitRefused, "", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.shopctl(t.Context(), "--local", "voucher", "import", "emberforge",
				s.write(t, strings.ReplaceAll(name, " ", "-")+".csv", test.text))
			if got.exit != test.exit || got.stdout != test.stdout || !strings.Contains(got.stderr, test.stderr) {
				t.Errorf("exit %d, %s%.300s; want exit %d, %s%s", got.exit, got.stdout, got.stderr, test.exit,
					test.stdout, test.stderr)
			}
		})
	}
}

func TestImport_FileThatCannotBeReadTwice_IsRefused(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	pipe, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	got := s.shopctl(t.Context(), "--local", "voucher", "import", "emberforge", fmt.Sprintf("/dev/fd/%d", pipe.Fd()))
	if err := errors.Join(pipe.Close(), end.Close()); err != nil {
		t.Error(err)
	}
	if got.exit != exitUsage || got.stderr != "error: import reads FILE.csv twice, so it cannot be standard input "+
		"or a pipe: give the path of a file\n" {
		t.Error(got)
	}
}

// someCodes returns a file of codes. Every fourth code has many uses. Of the single-use codes, about every third was
// used.
func someCodes(count int) string {
	var file strings.Builder
	file.WriteString("code,reward,max-uses,created_at,redeemed_at\n")
	for n := range count {
		limit, redeemed := "", ""
		switch {
		case n%4 == 3:
			limit = strconv.Itoa(n)
		case n%3 == 0:
			redeemed = "2026-10-02"
		}
		fmt.Fprintf(&file, "LAUNCH-%d,coins/500,%s,2026-10-01,%s\n", n, limit, redeemed)
	}
	return file.String()
}

func TestImport_Interrupted_IsCompletedByImport(t *testing.T) {
	t.Parallel()
	const count = 60
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	ctx, interrupt := context.WithCancel(t.Context())
	restore := s.through(t, newUnreliable(t, s, "PutItem", cutAt(8, interrupt)))
	path := s.write(t, "launch.csv", someCodes(count)+"BROKEN,,,,\n")
	load := []string{"--local", "voucher", "import", "emberforge", path, "--skip-invalid"}
	if got := s.shopctl(ctx, load...); got.exit != exitInterrupted || got.stdout != "" ||
		!strings.Contains(got.stderr, "1 rejected, then stopped\nerror: interrupted") {
		t.Fatal(got)
	}
	restore()
	if files, err := filepath.Glob(filepath.Join(s.dir, "launch.*")); err != nil || len(files) != 1 {
		t.Error("the interrupted import left these files:", files, err)
	}
	stored := strings.Count(s.must(t, "voucher", "export", "emberforge"), "\n") - 1
	if stored < 1 || stored >= count {
		t.Fatalf("%d codes are stored; want an interruption before the last of %d", stored, count)
	}
	want := fmt.Sprintf("created %d, existed %d (unchanged), 1 rejected\n", count-stored, stored)
	if again := s.shopctl(t.Context(), load...); again.stdout != want || again.exit != exitRefused {
		t.Errorf("%v, want %s", again, want)
	}
}

func TestImport_LostResponses_CreateEachCodeOnce(t *testing.T) {
	t.Parallel()
	const count = 60
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	path := s.write(t, "launch.csv", someCodes(count))
	lose := func(n int, done bool) bool { return n%4 == 0 && done || n%10 == 5 }
	restore := s.through(t, newUnreliable(t, s, "PutItem", lose))
	s.through(t, newUnreliable(t, s, "TransactWriteItems", lose)) // requests pass through both proxies
	// a code whose response was lost is found when the request is sent again
	var created, existed int
	got := s.must(t, "voucher", "import", "emberforge", path)
	if _, err := fmt.Sscanf(got, "created %d, existed %d (unchanged)\n", &created, &existed); err != nil ||
		created+existed != count || existed == 0 {
		t.Error(got, err)
	}
	restore()
	if got := s.must(t, "voucher", "import", "emberforge",
		path); got != fmt.Sprintf("created 0, existed %d (unchanged)\n", count) {
		t.Error(got)
	}
	s.must(t, "verify", "emberforge")
}

func TestImport_AgainAfterRedemptions_LeavesTheCodesUnchanged(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	path := s.write(t, "sold.csv", sold)
	s.sellAndUse(t)
	s.clock = s.clock.Add(time.Minute)
	// The limit of COUNT-9 was changed after the import.
	if got := s.shopctl(t.Context(), "--local", "voucher", "import", "emberforge", path); got.exit != exitRefused ||
		got.stdout != "created 0, existed 10 (unchanged), 1 with other terms (unchanged)\n" ||
		!strings.Contains(got.stderr, "line 10: ") {
		t.Error(got)
	}
	if got := s.redeem(t, "emberforge", "COINS-1", ""); got != "refused: used_up" {
		t.Error(got)
	}
}

func TestExport_ToAFile_IsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	s.sellAndUse(t)
	path := filepath.Join(s.dir, "codes.csv")
	if got := s.shopctl(t.Context(), "--local", "voucher", "export", "emberforge", "--output",
		path); got != (result{}) {
		t.Error(got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || read(t, path) != s.must(t, "voucher", "export", "emberforge") {
		t.Error(info, err, read(t, path))
	}
}

// lostList is a list of codes that fails after the first code.
type lostList struct{ err error }

func (lostList) add(*cobra.Command) {}

func (l lostList) open(context.Context, string, time.Time) (iter.Seq2[string, error], error) {
	return func(yield func(string, error) bool) { _ = yield("GIFT-1", nil) && yield("", l.err) }, nil
}

func TestExport_FailsInTheMiddle_PrintsAPart_ButWritesNoFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "codes.csv")
	if err := os.WriteFile(path, []byte("as before"), 0o600); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("DynamoDB is out of reach")
	for want, args := range map[string][]string{
		"code\r\nGIFT-1\r\n": {"emberforge"},
		"":                   {"emberforge", "--output", path},
	} {
		var stdout strings.Builder
		s := &session{program: program{output: output{stdout: &stdout, stderr: io.Discard}, now: time.Now}}
		command := newExportCommand(s, "voucher", lostList{lost},
			func(file io.Writer, _ time.Time) (csvfile.Writer, func(string) error) {
				rows := csvfile.NewWriter(file, "code")
				return rows, func(code string) error { return rows.Row(code) }
			})
		command.SetArgs(args)
		command.SilenceErrors, command.SilenceUsage = true, true
		if err := command.ExecuteContext(t.Context()); !errors.Is(err, lost) || stdout.String() != want {
			t.Errorf("%v: %q, want %q", err, stdout.String(), want)
		}
	}
	if files, err := filepath.Glob(path + "*"); err != nil || len(files) != 1 || read(t, path) != "as before" {
		t.Errorf("left %v, %v: %q", files, err, read(t, path))
	}
}

func TestExport_DiskIsFull_Fails(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	s.must(t, "voucher", "import", "emberforge", s.write(t, "launch.csv", someCodes(60)))
	var stderr strings.Builder
	stdout := fullDisk{lines: 1}
	exit := s.program(&stdout, &stderr).run(t.Context(), []string{"--local", "voucher", "export", "emberforge"})
	if exit != exitFailed || stdout.Len() == 0 || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("exit %d, %d bytes: %s", exit, stdout.Len(), stderr.String())
	}
}
