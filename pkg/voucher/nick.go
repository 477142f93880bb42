package voucher

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Nick is the name by which the storefront knows a shopper. It is not authenticated. The zero Nick means that there is none.
type Nick struct {
	Written  string // 1 to MaxNickLength characters in at most MaxNickBytes
	Compared string // after NFKC and case folding; nicks are the same if this is equal
}

// Bounds of a nick.
const (
	MaxNickLength = 64
	MaxNickBytes  = 128
)

// ParseNick reads a nick. It removes outer white space and all invisible characters. A nick that is too long or not UTF-8 is a
// *FieldError.
func ParseNick(typed string) (Nick, error) {
	if !utf8.ValidString(typed) {
		return Nick{}, &FieldError{Field: "nick", Err: errors.New("must be UTF-8")}
	}
	written := strings.TrimSpace(strings.Map(func(r rune) rune {
		if isDefaultIgnorable(r) {
			return -1
		}
		return r
	}, typed))
	if len(written) > MaxNickBytes || utf8.RuneCountInString(written) > MaxNickLength {
		return Nick{}, &FieldError{Field: "nick", Err: errors.New("must have at most 64 characters in 128 bytes")}
	}
	return Nick{Written: written, Compared: foldNick(written)}, nil
}

// foldNick maps nicks that people read as the same to one text: NFKC, full case folding, and NFKC again, because folding can
// undo it (Unicode, section 3.13, D146).
func foldNick(written string) string {
	if isLowerASCII(written) {
		return written
	}
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(written)))
}

func isLowerASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || 'A' <= r && r <= 'Z' })
}
