package voucher

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Nick is the handle of a shopper as the storefront knows it; the zero Nick is none. It is not authenticated.
type Nick struct {
	Written  string // 1 to MaxNickLength characters in at most MaxNickBytes
	Compared string // after NFKC and case folding: two nicks are one where this is equal
}

// Bounds of a nick as it is stored.
const (
	MaxNickLength = 64
	MaxNickBytes  = 128
)

// ParseNick reads a nick: it loses its outer white space and all invisible characters, and an empty one is none. A nick
// that is too long, or not UTF-8, is a *FieldError.
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

// foldNick maps what people read as one nick to one text: NFKC, full case folding, and NFKC again, for folding can undo it
// (Unicode, section 3.13, D146).
func foldNick(written string) string {
	if isLowerASCII(written) {
		return written
	}
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(written)))
}

func isLowerASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || 'A' <= r && r <= 'Z' })
}
