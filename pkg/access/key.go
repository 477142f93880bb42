package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of keys.
const (
	// MaxLiveKeys is how many live keys a shop may have.
	MaxLiveKeys = 20
	// MaxKeyNameBytes bounds the name of a key.
	MaxKeyNameBytes = 64
)

// Errors of creating and revoking keys. If one of them is returned, nothing was changed.
var (
	ErrTooManyKeys = fmt.Errorf("a shop has at most %d live keys", MaxLiveKeys)
	ErrKeyUnknown  = errors.New("no key has that ID")
)

// The text of a key is prefix, ID, separator, secret and checksum, 63 characters in all. Secret scanners find keys by
// the regular expression in docs/operating/keys.md, so the format never changes.
const (
	keyPrefix      = "sf_"
	keyIDLength    = 10
	keySeparator   = "_"
	secretLength   = 43 // 256 bits in base64url
	checksumLength = 6  // CRC-32 in base62
	keyLength      = len(keyPrefix) + keyIDLength + len(keySeparator) + secretLength + checksumLength
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// KeyID names a key within its shop: 10 characters of base62. It is not secret, and appears in logs.
type KeyID string

// ParseKeyID reads an ID as an operator types it.
func ParseKeyID(text string) (KeyID, error) {
	if len(text) != keyIDLength || strings.Trim(text, base62) != "" {
		return "", fmt.Errorf("%.12q is not the ID of a key: an ID is the %d letters and digits after %s", text,
			keyIDLength, keyPrefix)
	}
	return KeyID(text), nil
}

// Key is a secret key of a shop's server. It prints as its ID only, so that the secret does not get into a log by
// accident.
type Key struct {
	ID     KeyID
	secret string
}

// NewKey returns a key with a random ID and 256 random bits. The reader must give randomness of cryptographic quality.
func NewKey(random io.Reader) (Key, error) {
	id, err := randomID(random)
	if err != nil {
		return Key{}, err
	}
	var secret [32]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return Key{}, fmt.Errorf("read randomness: %w", err)
	}
	return Key{ID: id, secret: base64.RawURLEncoding.EncodeToString(secret[:])}, nil
}

func randomID(random io.Reader) (KeyID, error) {
	var id []byte
	for len(id) < keyIDLength {
		var b [1]byte
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return "", fmt.Errorf("read randomness: %w", err)
		}
		if b[0] < 4*byte(len(base62)) { // a higher byte would make some characters more likely
			id = append(id, base62[int(b[0])%len(base62)])
		}
	}
	return KeyID(id), nil
}

// ParseKey reads a key. The checksum rejects a mistyped key without a lookup.
func ParseKey(text string) (key Key, valid bool) {
	if len(text) != keyLength || !strings.HasPrefix(text, keyPrefix) {
		return Key{}, false
	}
	id, secret := text[len(keyPrefix):len(keyPrefix)+keyIDLength],
		text[len(text)-secretLength-checksumLength:len(text)-checksumLength]
	key = Key{ID: KeyID(id), secret: secret}
	_, notBase64 := base64.RawURLEncoding.Strict().DecodeString(secret)
	return key, notBase64 == nil && strings.Trim(id, base62) == "" && key.Secret() == text
}

// Secret returns the whole key as written. It is shown once, when the key is created.
func (k Key) Secret() string {
	text := keyPrefix + string(k.ID) + keySeparator + k.secret
	sum := crc32.ChecksumIEEE([]byte(text))
	var checksum [checksumLength]byte
	for i := range checksum {
		checksum[checksumLength-1-i] = base62[sum%uint32(len(base62))]
		sum /= uint32(len(base62))
	}
	return text + string(checksum[:])
}

// String returns the key without its secret.
func (k Key) String() string { return keyPrefix + string(k.ID) + "_…" }

// GoString returns the key without its secret.
func (k Key) GoString() string { return k.String() }

// Digest is the SHA-256 of a key's secret. It is stored instead of the secret. The secret is random, so a slow hash
// would not make it harder to guess.
type Digest [sha256.Size]byte

// Digest returns the digest of the key's secret.
func (k Key) Digest() Digest { return sha256.Sum256([]byte(k.secret)) }

// KeyRecord is the stored record of a key.
type KeyRecord struct {
	ID      KeyID
	Name    string // for people, at most MaxKeyNameBytes
	Digest  Digest
	Created time.Time // UTC, whole milliseconds
	Expires time.Time // exclusive; zero: never
	Revoked time.Time // zero: not revoked
}

// Live reports whether the key may be used at a time.
func (r KeyRecord) Live(at time.Time) bool {
	return r.ID != "" && r.Revoked.IsZero() && (r.Expires.IsZero() || at.Before(r.Expires))
}

// CountLive returns how many of the keys may be used at a time.
func CountLive(records []KeyRecord, at time.Time) int {
	live := 0
	for _, record := range records {
		if record.Live(at) {
			live++
		}
	}
	return live
}

// Accepts reports whether a key is the stored one and is live. The time that Accepts takes does not depend on the
// secret.
func (r KeyRecord) Accepts(key Key, at time.Time) bool {
	sum := key.Digest()
	same := subtle.ConstantTimeCompare(sum[:], r.Digest[:]) == 1
	return same && r.ID == key.ID && r.Live(at)
}

// Validate returns an error for a record that no command would write.
func (r KeyRecord) Validate() error {
	if _, err := ParseKeyID(string(r.ID)); err != nil {
		return err
	}
	return CheckKeyName(r.Name)
}

// CheckKeyName returns an error that says what is wrong with the name of a key, or nil.
func CheckKeyName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("a key needs a name, such as the program that will use it")
	case len(name) > MaxKeyNameBytes:
		return fmt.Errorf("the name has %d bytes, and at most %d are allowed", len(name), MaxKeyNameBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("the name has characters that cannot be displayed")
	default:
		return nil
	}
}
