package voucher

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Code is a voucher's code as it is compared: 1 to MaxCodeLength of A-Z 0-9 without I, L and O.
//
// The rules that make it are part of every stored key and never change.
type Code string

const (
	// MaxCodeLength bounds what remains of a code after it was normalised.
	MaxCodeLength = 64
	// MaxWrittenCodeBytes bounds a code as an operator writes it.
	MaxWrittenCodeBytes = 80
)

// ParseCode reads a code as a shopper types it: compatibility forms (NFKC), white space, dashes, invisible characters,
// case, and the digits that look like letters make no difference. It returns a *FieldError where nothing or more than
// MaxCodeLength remains, and a *RefusalError where a character is left that no code has.
func ParseCode(typed string) (Code, error) {
	var code strings.Builder
	for _, r := range norm.NFKC.String(typed) {
		switch {
		case unicode.IsSpace(r) || isDash(r) || isDefaultIgnorable(r):
		case 'a' <= r && r <= 'z':
			code.WriteRune(lookAlike(r - 'a' + 'A'))
		default:
			code.WriteRune(lookAlike(r))
		}
	}
	parsed := code.String()
	if parsed == "" {
		return "", &FieldError{Field: "code", Err: errors.New("must have a letter or digit")}
	}
	if strings.ContainsFunc(parsed, isNoCodeCharacter) {
		return "", &RefusalError{Reason: ReasonUnknown}
	}
	if len(parsed) > MaxCodeLength {
		return "", &FieldError{Field: "code", Err: fmt.Errorf("must have at most %d letters and digits", MaxCodeLength)}
	}
	return Code(parsed), nil
}

func isDash(r rune) bool { return unicode.Is(unicode.Pd, r) || r == '\u2212' }

func isNoCodeCharacter(r rune) bool { return (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) }

func lookAlike(r rune) rune {
	switch r {
	case 'O':
		return '0'
	case 'I', 'L':
		return '1'
	default:
		return r
	}
}

// isDefaultIgnorable is Unicode's derived property Default_Ignorable_Code_Point (UAX #44, DerivedCoreProperties):
// characters that show nothing.
func isDefaultIgnorable(r rune) bool {
	if unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) {
		return true
	}
	interlinear := 0xFFF9 <= r && r <= 0xFFFB
	hieroglyphFormat := 0x13430 <= r && r <= 0x13440
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && !interlinear && !hieroglyphFormat
}

const (
	// crockford is Crockford's base32: no letter that looks like a digit.
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	// generatedLength gives 80 bits: with a million codes out, a guess hits once in 10^18.
	generatedLength = 16
	groupLength     = 4
)

// GenerateCode makes a code that cannot be guessed, in groups for reading: 80 bits of random.
func GenerateCode(random io.Reader) (string, error) {
	var bytes [generatedLength]byte
	if _, err := io.ReadFull(random, bytes[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	var code strings.Builder
	for i, b := range bytes {
		if i > 0 && i%groupLength == 0 {
			code.WriteByte('-')
		}
		code.WriteByte(crockford[b%32])
	}
	return code.String(), nil
}
