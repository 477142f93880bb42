// Package idempotency holds the key with which a client marks a retry, and the token that is stored instead of the key.
//
// It is a rules package: it may import only the standard library, except net/http.
package idempotency

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrMalformedKey is the error for a string that cannot be an Idempotency-Key.
var ErrMalformedKey = errors.New("malformed Idempotency-Key: 1 to 255 visible ASCII characters without comma")

// Key is the Idempotency-Key that a client sent, or empty. It is opaque. It is never stored or logged; a Token derived
// from it is stored instead.
type Key string

// ParseKey accepts 1 to 255 visible ASCII characters except the comma, because a gateway joins repeated headers with
// commas. For any other text it returns ErrMalformedKey.
func ParseKey(text string) (Key, error) {
	if len(text) == 0 || len(text) > 255 {
		return "", ErrMalformedKey
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || c == ',' {
			return "", ErrMalformedKey
		}
	}
	return Key(text), nil
}

// Token identifies one request in the store: 128 bits in 22 characters of base64url.
type Token string

// tokenBytes is the size of a Token. A collision by chance is likely only after 2^64 requests.
const tokenBytes = 16

// Digest returns the Token of a request that has a key. The same parts in the same order give the same Token. Each part
// is preceded by its length, so that different lists of parts cannot collide.
func Digest(parts ...string) Token {
	var joined []byte
	for _, part := range parts {
		joined = binary.BigEndian.AppendUint32(joined, uint32(len(part))) //nolint:gosec // parts are request fields of a few KiB
		joined = append(joined, part...)
	}
	sum := sha256.Sum256(joined)
	return Token(base64.RawURLEncoding.EncodeToString(sum[:tokenBytes]))
}

// NewToken returns a random Token.
func NewToken(random io.Reader) (Token, error) {
	var bytes [tokenBytes]byte
	if _, err := io.ReadFull(random, bytes[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return Token(base64.RawURLEncoding.EncodeToString(bytes[:])), nil
}
