package voucher

import (
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// nfkc normalizes a text to Unicode's form NFKC, as of version 15.0. Unicode never changes how assigned characters are
// normalized, but later versions of the library know more characters. Therefore nfkc passes only characters that were
// assigned in version 15.0 to the library. It leaves all others unchanged.
func nfkc(text string) string {
	if !strings.ContainsFunc(text, isLeftAlone) {
		return norm.NFKC.String(text)
	}
	var normalized strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, isLeftAlone)
		if n < 0 {
			n = len(text)
		}
		rest := strings.TrimLeftFunc(text[n:], isLeftAlone)
		normalized.WriteString(norm.NFKC.String(text[:n]))
		normalized.WriteString(text[n : len(text)-len(rest)])
		text = rest
	}
	return normalized.String()
}

// isLeftAlone reports whether NFKC in Unicode 15.0 neither changes a character nor reorders or composes it with others.
func isLeftAlone(r rune) bool {
	if r < 0x300 { // these characters are all in the first span, so most text needs no search
		return false
	}
	i := sort.Search(normalizedSpans, func(i int) bool {
		_, last := normalizedSpan(i)
		return r <= last
	})
	if i == normalizedSpans {
		return true
	}
	first, _ := normalizedSpan(i)
	return r < first
}

// appendFolded appends the full case folding of a character to a string.
func appendFolded(text []byte, r rune) []byte {
	if 0x1F80 <= r && r <= 0x1FAF { // Greek vowels with an iota subscript
		vowel := [...]rune{0x1F00, 0x1F20, 0x1F60}[(r-0x1F80)/16] + r%8
		return utf8.AppendRune(utf8.AppendRune(text, vowel), 0x3B9)
	}
	if 'Z' < r && r < 0xB5 { // small letters need no search
		return utf8.AppendRune(text, r)
	}
	char := string(r)
	i := sort.Search(foldTexts, func(i int) bool { return char <= foldText(i) })
	if i < foldTexts && strings.HasPrefix(foldText(i), char) {
		return append(text, foldText(i)[len(char):]...)
	}
	i = sort.Search(foldSpans, func(i int) bool {
		_, last, _ := foldSpan(i)
		return r <= last
	})
	if i == foldSpans {
		return utf8.AppendRune(text, r)
	}
	first, _, folded := foldSpan(i)
	if r < first || folded == first+1 && (r-first)%2 == 1 {
		return utf8.AppendRune(text, r)
	}
	return utf8.AppendRune(text, r-first+folded)
}

func isWhiteSpace(r rune) bool {
	return r == ' ' || '\t' <= r && r <= '\r' || r == 0x85 || r == 0xA0 || r == 0x1680 || 0x2000 <= r && r <= 0x200A ||
		r == 0x2028 || r == 0x2029 || r == 0x202F || r == 0x205F || r == 0x3000
}

// isDash reports whether a character has the category Pd, or is a minus sign.
func isDash(r rune) bool {
	return r == '-' || r == 0x58A || r == 0x5BE || r == 0x1400 || r == 0x1806 || 0x2010 <= r && r <= 0x2015 ||
		r == 0x2212 ||
		r == 0x2E17 || r == 0x2E1A || r == 0x2E3A || r == 0x2E3B || r == 0x2E40 || r == 0x2E5D || r == 0x301C ||
		r == 0x3030 ||
		r == 0x30A0 || r == 0xFE31 || r == 0xFE32 || r == 0xFE58 || r == 0xFE63 || r == 0xFF0D || r == 0x10EAD
}

// isDefaultIgnorable reports whether a character is invisible: Unicode's derived property Default_Ignorable_Code_Point
// (UAX #44, DerivedCoreProperties).
func isDefaultIgnorable(r rune) bool {
	return r == 0xAD || r == 0x34F || r == 0x61C || r == 0x115F || r == 0x1160 || r == 0x17B4 || r == 0x17B5 ||
		0x180B <= r && r <= 0x180F || 0x200B <= r && r <= 0x200F || 0x202A <= r && r <= 0x202E || 0x2060 <= r &&
		r <= 0x206F ||
		r == 0x3164 || 0xFE00 <= r && r <= 0xFE0F || r == 0xFEFF || r == 0xFFA0 || 0xFFF0 <= r && r <= 0xFFF8 ||
		0x1BCA0 <= r && r <= 0x1BCA3 || 0x1D173 <= r && r <= 0x1D17A || 0xE0000 <= r && r <= 0xE0FFF
}

// isUnseen reports whether a character controls a terminal, breaks a line or looks like nothing, although it is neither
// a space nor default-ignorable: U+2800 is a braille pattern without dots.
func isUnseen(r rune) bool {
	return r < ' ' || 0x7F <= r && r <= 0x9F || r == 0x2028 || r == 0x2029 || r == 0x2800 ||
		0xFFF9 <= r && r <= 0xFFFB ||
		0x13430 <= r && r <= 0x1343F || r == 0x16FE4 || r == 0x1D159
}
