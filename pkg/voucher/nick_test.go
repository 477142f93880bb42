package voucher_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"shopfront/pkg/voucher"
)

func TestParseNick(t *testing.T) {
	tests := []struct {
		rule                     string
		typed, written, compared string
	}{
		{"unchanged", "Alder", "Alder", "alder"},
		{"none", "", "", ""},
		{"only white space", " \t\u00a0", "", ""},
		{"only invisible characters", "\u200b\u2060", "", ""},
		{"outer white space is removed", "  Alder \n", "Alder", "alder"},
		{"inner white space stays", "Old  Alder", "Old  Alder", "old  alder"},
		{"invisible characters are removed", "Al\u200bder\ufeff", "Alder", "alder"},
		{"white space next to an invisible character", "\u200b Alder \u200b", "Alder", "alder"},
		{"full case folding", "Weißdorn", "Weißdorn", "weissdorn"},
		{"Greek sigmas are equal", "ΟΔΟΣ", "ΟΔΟΣ", "οδοσ"},
		{"compatibility forms are equal", "Ａｌｄｅｒ", "Ａｌｄｅｒ", "alder"},
		{"composed and decomposed are equal", "Ame\u0301lie", "Ame\u0301lie", "am\u00e9lie"},
		{"ligature", "ﬁr", "ﬁr", "fir"},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			got, err := voucher.ParseNick(test.typed)
			if want := (voucher.Nick{Written: test.written, Compared: test.compared}); err != nil || got != want {
				t.Errorf("ParseNick(%q) = %+v, %v; want %+v", test.typed, got, err, want)
			}
		})
	}
}

func TestParseNick_Bounds(t *testing.T) {
	for rule, test := range map[string]struct {
		typed string
		fits  bool
	}{
		"64 characters":                         {strings.Repeat("a", 64), true},
		"65 characters":                         {strings.Repeat("a", 65), false},
		"64 characters in 128 bytes":            {strings.Repeat("é", 64), true},
		"63 characters in 129 bytes":            {strings.Repeat("é", 60) + "漢漢漢", false},
		"64 characters and a space before them": {" " + strings.Repeat("a", 64), true},
		"not UTF-8":                             {"Al\xffder", false},
		"NUL":                                   {"Al\x00der", false},
		"line break":                            {"Al\nder", false},
		"escape sequence":                       {"\x1b[2JAlder", false},
		"delete":                                {"Alder\x7f", false},
		"C1 control":                            {"Alder\u009b31m", false},
		"line separator":                        {"Al\u2028der", false},
		"braille without dots":                  {"\u2800", false},
		"nick that looks like another":          {"Alder\u2800", false},
		"musical note without a head":           {"Alder\U0001D159", false},
		"interlinear annotation":                {"\uFFF9Alder\uFFFB", false},
		"braille with dots":                     {"\u2801", true},
		"emoji of several characters":           {"👩\u200d🌾", true},
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := voucher.ParseNick(test.typed)
			field, isField := errors.AsType[*voucher.FieldError](err)
			if test.fits && err != nil || !test.fits && (!isField || field.Field != "nick") {
				t.Errorf("ParseNick = %v; fits: %v", err, test.fits)
			}
		})
	}
}

func TestParseNick_WrittenNick_IsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nick, err := voucher.ParseNick(rapid.String().Draw(t, "typed"))
		if err != nil {
			return
		}
		if utf8.RuneCountInString(nick.Written) > voucher.MaxNickLength || len(nick.Written) > voucher.MaxNickBytes {
			t.Fatalf("too long: %+v", nick)
		}
		again, err := voucher.ParseNick(nick.Written)
		if err != nil || again != nick {
			t.Fatalf("%+v parses again as %+v, %v", nick, again, err)
		}
		upper, err := voucher.ParseNick(strings.ToUpper(nick.Written))
		if asciiOnly(nick.Written) && (err != nil || upper.Compared != nick.Compared) {
			t.Fatalf("%+v and %+v should be equal", nick, upper)
		}
	})
}

func asciiOnly(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 127 })
}
