package voucher

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Code is a voucher's code as it is compared: 1 to MaxCodeLength characters from A-Z and 0-9, without I, L and O.
//
// Codes are part of stored keys, so the rules that normalize them never change.
type Code string

const (
	// MaxCodeLength bounds a normalized code.
	MaxCodeLength = 64
	// MaxWrittenCodeBytes bounds a code as an operator types it.
	MaxWrittenCodeBytes = 80
)

// ParseCode normalizes a code that a shopper typed. Compatibility forms (NFKC), white space, dashes, invisible characters,
// case, and the letters that look like digits make no difference. It returns a *FieldError if no character remains
// or more than MaxCodeLength do, and a *RefusalError if a character remains that no code contains.
func ParseCode(typed string) (Code, error) {
	var code strings.Builder
	for _, r := range nfkc(typed) {
		switch {
		case isWhiteSpace(r) || isDash(r) || isDefaultIgnorable(r):
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

const (
	// crockford is Crockford's base32 alphabet. It has no letter that looks like a digit.
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	// generatedLength gives 80 bits. With a million codes issued, one guess in 10^18 hits.
	generatedLength = 16
	groupLength     = 4
)

// GenerateCode returns a code with 80 random bits, which cannot be guessed, in groups that are easy to read.
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
