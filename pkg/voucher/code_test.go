package voucher_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shopfront/pkg/voucher"
)

func TestParseCode_ManySpellings_AreTheSameCode(t *testing.T) {
	tests := []struct {
		rule        string
		typed, want string
	}{
		{"unchanged", "SUMMER20", "SUMMER20"},
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
		"hash": "SUMMER#20", "umlaut": "SÜMMER", "Cyrillic look-alike": "SUMM\u0415R", "dotless i": "\u0131",
		"long s":                "\u017fUMMER\u00df",
		"replacement character": "SUMMER\ufffd", "underscore": "SUMMER_20", "control character": "SUMMER\x0020",
		"not code characters, and too many": strings.Repeat("Ä", 65),
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
	noise := rapid.SliceOfN(rapid.SampledFrom([]string{"", "-", " ", "\u200b", "\u2014", "\u00ad", "\t", "\u2212"}), 1,
		3)
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

func TestCodeFormat_Generate(t *testing.T) {
	twenty := voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	for rule, test := range map[string]struct {
		format voucher.CodeFormat
		want   string
	}{
		"the default":               {voucher.DefaultCodeFormat(), "0Z0Z-0Z0Z-0Z0Z-0Z0Z"},
		"without groups":            {voucher.CodeFormat{Length: 16}, "0Z0Z0Z0Z0Z0Z0Z0Z"},
		"the last group is shorter": {voucher.CodeFormat{Length: 17, Group: 5}, "0Z0Z0-Z0Z0Z-0Z0Z0-Z0"},
		"a prefix is a group": {
			voucher.CodeFormat{Prefix: "XMAS-26", Length: 16, Group: 8},
			"XMAS-26-0Z0Z0Z0Z-0Z0Z0Z0Z",
		},
		"a prefix without groups": {voucher.CodeFormat{Prefix: "Xmas", Length: 16}, "Xmas0Z0Z0Z0Z0Z0Z0Z0Z"},
		"the longest code": {
			voucher.CodeFormat{Prefix: "SUMMER-AUTUMN-2026", Length: 48, Group: 4},
			"SUMMER-AUTUMN-2026" + strings.Repeat("-0Z0Z", 12),
		},
	} {
		t.Run(rule, func(t *testing.T) {
			random := bytes.NewReader(bytes.Repeat([]byte{0, 31, 32, 255}, 12))
			code, err := test.format.Generate(random)
			if err != nil || code != test.want || random.Len() != 48-test.format.Length {
				t.Errorf("%q, %v; %d random bytes are left; want %q", code, err, random.Len(), test.want)
			}
			if _, err := voucher.New(voucher.Terms{Written: code, Reward: twenty}, time.Time{}); err != nil {
				t.Errorf("%q cannot be created: %v", code, err)
			}
		})
	}
	if code, err := voucher.GenerateCode(strings.NewReader("too short")); err == nil {
		t.Errorf("%q was made without enough randomness", code)
	}
}

func TestCodeFormat_Generate_InvalidFormat_IsRejected(t *testing.T) {
	for rule, test := range map[string]struct {
		format voucher.CodeFormat
		field  string
	}{
		"less than 80 bits":  {voucher.CodeFormat{Length: 15}, "length"},
		"no length":          {voucher.CodeFormat{Prefix: "XMAS"}, "length"},
		"more than 240 bits": {voucher.CodeFormat{Length: 49}, "length"},
		"65 characters in all": {
			voucher.CodeFormat{Prefix: "SUMMER-AUTUMN-2026X", Length: 48, Group: 4},
			"length",
		},
		"81 bytes in all":              {voucher.CodeFormat{Prefix: "X", Length: 41, Group: 1}, "length"},
		"a negative group":             {voucher.CodeFormat{Length: 16, Group: -1}, "group"},
		"a space in the prefix":        {voucher.CodeFormat{Prefix: "X MAS", Length: 16}, "prefix"},
		"a slash in the prefix":        {voucher.CodeFormat{Prefix: "../XMAS", Length: 16}, "prefix"},
		"an umlaut in the prefix":      {voucher.CodeFormat{Prefix: "MÄRZ", Length: 16}, "prefix"},
		"a dash around the prefix":     {voucher.CodeFormat{Prefix: "XMAS-", Length: 16}, "prefix"},
		"a prefix that is only a dash": {voucher.CodeFormat{Prefix: "-", Length: 16}, "prefix"},
	} {
		t.Run(rule, func(t *testing.T) {
			code, err := test.format.Generate(rand.NewChaCha8([32]byte{}))
			if !isFieldError(test.field)(err) {
				t.Errorf("%q, %v; want a *FieldError of %s", code, err, test.field)
			}
		})
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
