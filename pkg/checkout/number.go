package checkout

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Number names a checkout for people, for example in a bank transfer: two groups of five characters of Crockford's
// base32, such as 7KQ2M-X4T9B. It is derived from the ID, but neither reveals the ID nor grants what the ID grants:
// only the shop's server and operators find a checkout by its number.
//
// The first group is derived from the Token, and begins the key under which the checkout is stored, so that one query
// finds the number. The second group is derived from the whole ID. So a checkout that is made later with the same key,
// perhaps by somebody else, has another number, and no late transfer is taken for its payment.
type Number string

// groupLength is the number of characters of a group.
const groupLength = 5

// ErrMalformedNumber means that a string cannot be the number of a checkout.
var ErrMalformedNumber = errors.New("a checkout number has 10 letters and digits, such as 7KQ2M-X4T9B")

// ParseNumber accepts a number as people type it: case, spaces and dashes make no difference, and letters that look
// like digits count as these digits. For any other string it returns ErrMalformedNumber.
func ParseNumber(text string) (Number, error) {
	typed, err := voucher.ParseCode(text)
	if err != nil || len(typed) != 2*groupLength || strings.Contains(string(typed), "U") {
		return "", ErrMalformedNumber
	}
	return Number(typed[:groupLength] + "-" + typed[groupLength:]), nil
}

// ParseReference reads what names a checkout: its ID or, as people type it, its number. A few IDs consist of dashes and
// ten letters, and look like numbers; they are IDs. For any other string the error is ErrMalformedID and
// ErrMalformedNumber.
func ParseReference(text string) (id ID, number Number, err error) {
	id, notID := ParseID(text)
	if notID == nil {
		return id, "", nil
	}
	number, notNumber := ParseNumber(text)
	if notNumber != nil {
		return "", "", fmt.Errorf("%w; %w", notID, notNumber)
	}
	return "", number, nil
}

// Number returns the number of the checkout.
func (id ID) Number() Number { return Number(NumberGroup(id.Token()) + "-" + group(id)) }

// NumberGroup returns the first group of the number of every checkout that is ever stored under a token.
func NumberGroup(token idempotency.Token) string { return group(token) }

// Group returns the first group.
func (n Number) Group() string { return string(n[:min(len(n), groupLength)]) }

// group derives a group from a text: the first 25 bits of its hash, five for each character.
func group[S ~string](text S) string {
	sum := sha256.Sum256([]byte(text))
	bits := binary.BigEndian.Uint32(sum[:]) >> (32 - 5*groupLength)
	var characters [groupLength]byte
	for i := range characters {
		characters[i] = voucher.Crockford[bits>>(5*(groupLength-1-i))%32]
	}
	return string(characters[:])
}
