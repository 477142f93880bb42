package voucher

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Code is a normalized code: 1 to MaxCodeLength characters from A-Z and 0-9, without I, L and O. Codes are part of
// stored keys, so the rules that normalize them never change.
type Code string

const (
	// MaxCodeLength bounds a normalized code.
	MaxCodeLength = 64
	// MaxWrittenCodeBytes bounds a code as an operator types it.
	MaxWrittenCodeBytes = 80
)

// ParseCode normalizes a code that a shopper typed. Compatibility forms (NFKC), white space, dashes, invisible
// characters and case make no difference. Letters that look like digits count as these digits. ParseCode returns a
// *FieldError if no character remains or more than MaxCodeLength remain. It returns a *RefusalError if one of the
// remaining characters cannot be part of any code.
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

// Crockford is Crockford's base32 alphabet. It has no letter that looks like a digit.
const Crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Bounds of the random characters of a generated code. Each character has 5 bits.
const (
	// MinRandomCharacters gives 80 bits. With a million codes issued, one guess in 10^18 hits.
	MinRandomCharacters = 16
	MaxRandomCharacters = 48
)

// CodeFormat is what generated codes look like.
type CodeFormat struct {
	Prefix string // ASCII letters, digits, and dashes between them; empty: none
	Length int    // random characters, MinRandomCharacters to MaxRandomCharacters
	Group  int    // characters between two dashes; 0: no dashes
}

// DefaultCodeFormat returns the format of codes such as 7K3M-Q2ZD-9F4T-XB6W.
func DefaultCodeFormat() CodeFormat { return CodeFormat{Length: MinRandomCharacters, Group: 4} }

// Validate returns a *FieldError for the first fault of the format, or nil.
func (f CodeFormat) Validate() error {
	isForeign := func(r rune) bool { return (r < 'a' || 'z' < r) && isNoCodeCharacter(r) && r != '-' }
	switch {
	case strings.ContainsFunc(f.Prefix, isForeign) || strings.Trim(f.Prefix, "-") != f.Prefix:
		return &FieldError{"prefix", errors.New("must be letters A to Z, digits, and dashes between them")}
	case f.Length < MinRandomCharacters || f.Length > MaxRandomCharacters:
		return &FieldError{"length", fmt.Errorf("must be %d to %d", MinRandomCharacters, MaxRandomCharacters)}
	case f.Group < 0:
		return &FieldError{"group", errors.New("must be 0 or more")}
	}
	_, err := parseNewCode(f.code(make([]byte, f.Length)))
	if tooLong, is := errors.AsType[*FieldError](err); is {
		return &FieldError{"length", fmt.Errorf("with its prefix and dashes, a code %w", tooLong.Err)}
	}
	return err
}

// code returns the code with one random character for each byte.
func (f CodeFormat) code(random []byte) string {
	code := []byte(f.Prefix)
	for i, b := range random {
		if f.Group > 0 && i%f.Group == 0 && len(code) > 0 {
			code = append(code, '-')
		}
		code = append(code, Crockford[b%32])
	}
	return string(code)
}

// Generate returns a code with at least 80 random bits, so that it cannot be guessed. If the format is invalid, it
// returns the error of Validate.
func (f CodeFormat) Generate(random io.Reader) (string, error) {
	if err := f.Validate(); err != nil {
		return "", err
	}
	bytes := make([]byte, f.Length)
	if _, err := io.ReadFull(random, bytes); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return f.code(bytes), nil
}

// GenerateCode returns a code in the default format.
func GenerateCode(random io.Reader) (string, error) { return DefaultCodeFormat().Generate(random) }
