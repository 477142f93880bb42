package voucher_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"shopfront/pkg/voucher"
)

func TestParseNick_CherokeeLetters_AreComparedWithoutCase(t *testing.T) {
	for _, nicks := range [][]string{
		{"\u13A0\u13B5", "\u13A0\uAB85", "\uAB70\u13B5", "\uAB70\uAB85"},
		{"\u13F0", "\u13F8"},
	} {
		for _, nick := range nicks {
			if got, want := compared(t, nick), compared(t, nicks[0]); got != want {
				t.Errorf("%+q and %+q are compared as %+q and %+q; they should be equal", nicks[0], nick, want, got)
			}
		}
	}
}

// byLibrary returns the compared form of a nick as the library computes it. The library folds small Cherokee letters to
// capital ones, and capital ones to small ones.
func byLibrary(nick string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(nick)))
}

// A later version of the library may fold or normalize characters that Unicode 15.0 did not have. ParseNick leaves such
// characters alone.
func TestParseNick_AllCharacters_AreComparedAsByTheLibrary(t *testing.T) {
	const smallCherokee = 0xABBF - 0xAB70 + 1 + 0x13FD - 0x13F8 + 1
	different, added := 0, 0
	for r := range allCharacters {
		if !isOfNicks(r) {
			continue
		}
		nick, err := voucher.ParseNick(string(r))
		if err != nil {
			t.Fatal(err)
		}
		want := byLibrary(nick.Written)
		switch {
		case 0xAB70 <= r && r <= 0xABBF, 0x13F8 <= r && r <= 0x13FD:
			different++
			if nick.Compared != nick.Written || want == nick.Written {
				t.Errorf("%U is compared as %+q, by the library as %+q", r, nick.Compared, want)
			}
		case nick.Compared == want:
		case nick.Compared == string(r) && cases.UnicodeVersion != "15.0.0":
			added++
		default:
			t.Errorf("%U is compared as %+q, by the library as %+q", r, nick.Compared, want)
		}
	}
	if different != smallCherokee || added > 200 {
		t.Errorf("%d characters are compared differently, want %d; %d are new, want at most 200", different,
			smallCherokee, added)
	}
}

// The compared forms are part of stored keys. If this test fails after an update of Go or of a library, the update
// changes keys.
func TestParse_AllCharacters_KeepTheirKeys(t *testing.T) {
	for rule, test := range map[string]struct {
		want  string
		write func(w io.Writer, r rune)
	}{
		"nicks": {
			"c4bfc42004eb58d742bb0c480415f4bca982693210e5fccae56f158917e4f54d",
			func(w io.Writer, r rune) {
				if isOfNicks(r) {
					write(w, r, compared(t, string(r)))
				}
			},
		},
		"nicks with marks, which are reordered and composed": {"c4b4c5259e58dfe20c9041dca88d1a988888fb2e90b01b2328fbbced9724e05a", func(w io.Writer, r rune) {
			if r <= 0x2FFFF && isOfNicks(r) { // no higher character is a mark
				write(w, r, compared(t, "\u0391"+string(r)+"\u0345\u0301\u0323"))
			}
		}},
		"nicks that are compared like their decomposed form": {"473d972fee58a9544995c7d82ec7f35e4e18c51856d564cbe6bf1930371eba3b", func(w io.Writer, r rune) {
			nick, decomposed := string(r), norm.NFD.String(string(r))
			if nick != decomposed && isOfNicks(r) && compared(t, nick) == compared(t, decomposed) {
				write(w, r, "")
			}
		}},
		"codes": {"1fe17bacf1d38b691a20a27cf9cdf57e551cf1ec2f15b792687009729c23d4b7", func(w io.Writer, r rune) {
			code, err := voucher.ParseCode("A" + string(r) + "B")
			if err == nil {
				write(w, r, string(code))
			}
		}},
	} {
		t.Run(rule, func(t *testing.T) {
			sum := sha256.New()
			for r := range allCharacters {
				test.write(sum, r)
			}
			if got := hex.EncodeToString(sum.Sum(nil)); got != test.want {
				t.Errorf("the SHA-256 of the keys of %s is %s, want %s", rule, got, test.want)
			}
		})
	}
}

func TestParseNick_SequencesOfCharacters_AreComparedAsByTheLibrary(t *testing.T) {
	var letters []rune
	for _, script := range [][2]rune{
		{'A', 'z'},
		{0xC0, 0x24F},
		{0x300, 0x36F},
		{0x391, 0x3A1},
		{0x3A3, 0x3FF},
		{0x5B0, 0x5C7},
		{0x622, 0x655},
		{0x915, 0x94D},
		{0xFB2, 0xFB9},
		{0x1100, 0x1175},
		{0x11A8, 0x11C2},
		{0x13A0, 0x13F5},
		{0x1E00, 0x1F15},
		{0x3041, 0x3096},
		{0x3099, 0x30FF},
		{0xAC00, 0xAC80},
		{0xFB00, 0xFB06},
		{0xFF66, 0xFF9F},
		{0x1D15E, 0x1D16C},
		{0x1E900, 0x1E94A},
	} {
		for r := script[0]; r <= script[1]; r++ {
			letters = append(letters, r)
		}
	}
	random := rand.New(rand.NewPCG(15, 0))
	sum := sha256.New()
	for range 50_000 {
		nick, err := voucher.ParseNick(pick(random, letters, 1+random.IntN(12)))
		if err != nil {
			t.Fatal(err)
		}
		if want := byLibrary(nick.Written); nick.Compared != want {
			t.Fatalf("%+q is compared as %+q, by the library as %+q", nick.Written, nick.Compared, want)
		}
		_, _ = io.WriteString(sum, nick.Compared+"\n")
	}
	if got, want := hex.EncodeToString(sum.Sum(nil)),
		"b7b5f3767de9c4ee0759d879caf77527fa060119e097f81913086c18cbe7a692"; got != want {
		t.Errorf("the SHA-256 of the keys is %s, want %s", got, want)
	}
}

func TestParseNick_MoreMarksThanUnicodeAllowsInAStream_AreComparedAsByTheLibrary(t *testing.T) {
	nick := "a" + strings.Repeat("\u0323\u0301", 20)
	want := "\u1EA1" + strings.Repeat("\u0323", 14) + strings.Repeat("\u0301", 15) + "\u034F" +
		strings.Repeat("\u0323", 5) + strings.Repeat("\u0301", 5)
	if got := compared(t, nick); got != want || byLibrary(nick) != want {
		t.Errorf("compared as %+q, by the library as %+q; want %+q for both", got, byLibrary(nick), want)
	}
}

// U+1CCD6, an outlined A, and U+10D50, a capital letter of Garay, came with Unicode 16.0.
func TestParse_CharactersNewerThanUnicode15_AreLeftAlone(t *testing.T) {
	for _, nick := range []string{
		"\U0001CCD6", "\U00010D50", "E\U0001CCD6\u0301", "\U0001CCD6e\u0301",
		"\u1ACF\u0323\u0301",
	} {
		want := strings.NewReplacer("E", "e", "e\u0301", "\u00E9").Replace(nick)
		if got := compared(t, nick); got != want {
			t.Errorf("%+q is compared as %+q; want %+q", nick, got, want)
		}
	}
	if code, err := voucher.ParseCode("SUMMER\U0001CCD6"); err == nil {
		t.Errorf("a code with a new character is %q", code)
	}
}

func allCharacters(yield func(rune) bool) {
	for r := range rune(utf8.MaxRune + 1) {
		if utf8.ValidRune(r) && !yield(r) {
			return
		}
	}
}

// isOfNicks reports whether a nick may have a character.
func isOfNicks(r rune) bool {
	_, err := voucher.ParseNick("a" + string(r) + "b")
	return err == nil
}

func compared(t *testing.T, nick string) string {
	t.Helper()
	parsed, err := voucher.ParseNick(nick)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Compared
}

func write(w io.Writer, r rune, key string) {
	_, _ = io.WriteString(w, string(r)+"\t"+key+"\n")
}

func pick(random *rand.Rand, letters []rune, n int) string {
	nick := make([]rune, n)
	for i := range nick {
		nick[i] = letters[random.IntN(len(letters))]
	}
	return string(slices.Clip(nick))
}
