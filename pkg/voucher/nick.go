package voucher

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Nick is the name by which the storefront knows a shopper. It is not authenticated. The zero Nick means no nick.
type Nick struct {
	Written  string // 1 to MaxNickLength characters in at most MaxNickBytes
	Compared string // after NFKC and case folding; nicks are the same if this is equal
}

// Bounds of a nick.
const (
	MaxNickLength = 64
	MaxNickBytes  = 128
)

// ParseNick reads a nick. It removes outer white space and all characters that Unicode lets a program ignore. A nick
// that is too long, is not UTF-8, or has other characters that cannot be seen, is a *FieldError.
func ParseNick(typed string) (Nick, error) {
	if !utf8.ValidString(typed) {
		return Nick{}, &FieldError{Field: "nick", Err: errors.New("must be UTF-8")}
	}
	written := strings.TrimFunc(strings.Map(func(r rune) rune {
		if isDefaultIgnorable(r) {
			return -1
		}
		return r
	}, typed), isWhiteSpace)
	if len(written) > MaxNickBytes || utf8.RuneCountInString(written) > MaxNickLength {
		return Nick{}, &FieldError{Field: "nick", Err: errors.New("must have at most 64 characters in 128 bytes")}
	}
	if strings.ContainsFunc(written, isUnseen) {
		return Nick{}, &FieldError{Field: "nick", Err: errors.New("must not have control or blank characters")}
	}
	return Nick{Written: written, Compared: foldNick(written)}, nil
}

// foldNick maps nicks that look the same to people to one string. It applies NFKC, full case folding, and NFKC again,
// because folding can undo NFKC (Unicode, section 3.13, D146). Unicode folds Cherokee letters to capital letters.
// foldNick folds them to small letters, like all other letters, and this does not change which nicks are equal.
func foldNick(written string) string {
	if isASCII(written) {
		return strings.ToLower(written)
	}
	folded := make([]byte, 0, 2*MaxNickBytes)
	for _, r := range nfkc(written) {
		folded = appendFolded(folded, r)
	}
	return nfkc(string(folded))
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
