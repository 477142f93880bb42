package voucher_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/voucher"
)

func TestParseCode_ManySpellings_AreTheSameCode(t *testing.T) {
	tests := []struct {
		rule        string
		typed, want string
	}{
		{"as it is", "SUMMER20", "SUMMER20"},
		{"dashes are dropped", "SUMMER-20", "SUMMER20"},
		{"small letters", "summer20", "SUMMER20"},
		{"white space", " SUMMER\t20\n", "SUMMER20"},
		{"no-break space", "SUMMER\u00a020", "SUMMER20"},
		{"O is 0", "SUMMER 2O", "SUMMER20"},
		{"o is 0", "summer 2o", "SUMMER20"},
		{"I and L are 1", "lIl-Oo0", "111000"},
		{"en dash, em dash, minus", "SUMMER\u201320\u2014A\u2212B", "SUMMER20AB"},
		{"zero width space and joiner", "SUM\u200bMER\u200d20", "SUMMER20"},
		{"soft hyphen", "SUM\u00adMER20", "SUMMER20"},
		{"byte order mark", "\ufeffSUMMER20", "SUMMER20"},
		{"variation selector", "SUMMER20\ufe0f", "SUMMER20"},
		{"combining grapheme joiner", "SUMMER\u034f20", "SUMMER20"},
		{"full width", "\uff33\uff35\uff2d\uff2d\uff25\uff32\uff0d\uff12\uff10", "SUMMER20"},
		{"circled digits", "SUMMER\u2461\u24ea", "SUMMER20"},
		{"64 characters", strings.Repeat("A-", 64), strings.Repeat("A", 64)},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			got, err := voucher.ParseCode(test.typed)
			if err != nil || string(got) != test.want {
				t.Errorf("ParseCode(%q) = %q, %v; want %q", test.typed, got, err, test.want)
			}
		})
	}
}

func TestParseCode_InvalidText_IsRejected(t *testing.T) {
	for rule, typed := range map[string]string{
		"empty": "", "white space only": " \t", "dashes only": "--\u2014", "invisible only": "\u200b\ufeff",
		"65 characters": strings.Repeat("A", 65),
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := voucher.ParseCode(typed)
			if field, is := errors.AsType[*voucher.FieldError](err); !is || field.Field != "code" {
				t.Errorf("ParseCode(%q) = %v; want a *FieldError of code", typed, err)
			}
		})
	}
	for rule, typed := range map[string]string{
		"hash": "SUMMER#20", "umlaut": "SÜMMER", "Cyrillic look-alike": "SUMM\u0415R", "dotless i": "\u0131", "long s": "\u017fUMMER\u00df",
		"replacement character": "SUMMER\ufffd", "underscore": "SUMMER_20", "control character": "SUMMER\x0020",
		"other characters and too long": strings.Repeat("Ä", 65),
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := voucher.ParseCode(typed)
			if reason, refused := voucher.IsRefusal(err); !refused || reason != voucher.ReasonUnknown {
				t.Errorf("ParseCode(%q) = %v; want a refusal as unknown", typed, err)
			}
		})
	}
}

func TestParseCode_NormalizedCode_IsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.String().Draw(t, "typed")
		code, err := voucher.ParseCode(typed)
		if err != nil {
			return
		}
		if !regexp.MustCompile(`^[A-HJKMNP-Z0-9]{1,64}$`).MatchString(string(code)) {
			t.Fatalf("ParseCode(%q) = %q", typed, code)
		}
		again, err := voucher.ParseCode(string(code))
		if err != nil || again != code {
			t.Fatalf("ParseCode(%q) = %q, %v", code, again, err)
		}
	})
}

func TestParseCode_Noise_MakesNoDifference(t *testing.T) {
	noise := rapid.SliceOfN(rapid.SampledFrom([]string{"", "-", " ", "\u200b", "\u2014", "\u00ad", "\t", "\u2212"}), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.StringMatching(`[A-Z0-9]{1,64}`).Draw(t, "plain")
		var typed strings.Builder
		for _, r := range plain {
			typed.WriteString(strings.Join(noise.Draw(t, "noise"), ""))
			if rapid.Bool().Draw(t, "small") {
				typed.WriteString(strings.ToLower(string(r)))
			} else {
				typed.WriteRune(r)
			}
		}
		want, err := voucher.ParseCode(plain)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := voucher.ParseCode(typed.String()); err != nil || got != want {
			t.Fatalf("ParseCode(%q) = %q, %v; want %q", typed.String(), got, err, want)
		}
	})
}

func TestGenerateCode(t *testing.T) {
	bytes := bytes.NewReader(bytes.Repeat([]byte{0, 31, 32, 255}, 8))
	code, err := voucher.GenerateCode(bytes)
	if err != nil || code != "0Z0Z-0Z0Z-0Z0Z-0Z0Z" {
		t.Errorf("GenerateCode = %q, %v", code, err)
	}
	parsed, err := voucher.ParseCode(code)
	if err != nil || string(parsed) != strings.ReplaceAll(code, "-", "") {
		t.Errorf("a generated code parses as %q, %v; it must differ only by its dashes", parsed, err)
	}
	short := strings.NewReader("too short")
	if _, err := voucher.GenerateCode(short); err == nil {
		t.Error("GenerateCode made a code without enough randomness")
	}
}

func FuzzParseCode(f *testing.F) {
	for _, seed := range []string{"SUMMER-20", "summer 2O", "", "\u200b", "\xff\xfe", "ﷺ", strings.Repeat("L", 70)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		code, err := voucher.ParseCode(typed)
		if err == nil && (code == "" || len(code) > voucher.MaxCodeLength) {
			t.Errorf("ParseCode(%q) = %q", typed, code)
		}
	})
}
