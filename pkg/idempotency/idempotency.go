// Package idempotency holds the key by which a client marks two requests as the same one, and what is remembered of it.
//
// It imports the standard library only; it may import neither AWS nor net/http nor any other package of Shopfront.
package idempotency

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrMalformedKey says that a text cannot be an Idempotency-Key.
var ErrMalformedKey = errors.New("malformed Idempotency-Key: 1 to 255 visible ASCII characters without comma")

// Key is what a client sent as Idempotency-Key; empty means none. It is opaque and never stored or logged: only a Token
// made of it is.
type Key string

// ParseKey accepts 1 to 255 visible ASCII characters without comma, which a gateway joins repeated headers with, or
// returns ErrMalformedKey.
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

// Token stands for one request in the store: 22 characters of base64url, 128 bits.
type Token string

// tokenBytes is how much of a digest or of randomness a Token carries; two requests meet by chance after 2^64 of them.
const tokenBytes = 16

// Digest is the Token of a request that has a key: the same parts, in the same order, give the same Token. Each part is
// preceded by its length, so that no two lists of parts run together.
func Digest(parts ...string) Token {
	var joined []byte
	for _, part := range parts {
		joined = binary.BigEndian.AppendUint32(joined, uint32(len(part))) //nolint:gosec // parts are request fields of a few KiB
		joined = append(joined, part...)
	}
	sum := sha256.Sum256(joined)
	return Token(base64.RawURLEncoding.EncodeToString(sum[:tokenBytes]))
}

// NewToken is a Token that stands for nothing else: it has 128 bits of random.
func NewToken(random io.Reader) (Token, error) {
	var bytes [tokenBytes]byte
	if _, err := io.ReadFull(random, bytes[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return Token(base64.RawURLEncoding.EncodeToString(bytes[:])), nil
}
