package access_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
)

func newKey(t *testing.T) access.Key {
	t.Helper()
	key, err := access.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestParseKey_NewKey_IsReadBack(t *testing.T) {
	form := regexp.MustCompile(`^sf_[0-9A-Za-z]{10}_[0-9A-Za-z_-]{43}[0-9A-Za-z]{6}$`)
	for range 1000 {
		key := newKey(t)
		if parsed, valid := access.ParseKey(key.Secret()); !valid || parsed != key || !form.MatchString(key.Secret()) {
			t.Fatalf("ParseKey of a new key = %v, %v", parsed, valid)
		}
	}
}

// Shops use keys for years.
func TestKey_FormatAndDigest_NeverChange(t *testing.T) {
	key, err := access.NewKey(bytes.NewReader([]byte(strings.Repeat("emberforge", 5))))
	const want = "sf_dladqenqfd_ZW1iZXJmb3JnZWVtYmVyZm9yZ2VlbWJlcmZvcmdlZW02NTmr0"
	if err != nil || key.Secret() != want {
		t.Errorf("key %s, %v; want %s", key.Secret(), err, want)
	}
	if digest := fmt.Sprintf("%x",
		key.Digest()); digest != "8951cc3b518ec0094183ea9a0ccf820ad58825eb7a65f0339375386b802d3680" {
		t.Errorf("the digest is %s, want the stored one", digest)
	}
}

func TestParseKey_OneWrongCharacter_IsRejected(t *testing.T) {
	text := newKey(t).Secret()
	for i := range text {
		replacement := byte('x')
		if text[i] == replacement {
			replacement = 'y'
		}
		for _, mistyped := range []string{
			text[:i] + string(replacement) + text[i+1:], text[:i] + text[i+1:],
			text[:i] + "x" + text[i:],
		} {
			if _, valid := access.ParseKey(mistyped); valid {
				t.Errorf("a key with a wrong character at %d is accepted", i)
			}
		}
	}
}

func TestKey_Printed_HidesItsSecret(t *testing.T) {
	key := newKey(t)
	secret := key.Secret()[14:57]
	for _, printed := range []string{fmt.Sprint(key), fmt.Sprintf("%+v %#v %q %s", key, key, key, []access.Key{key})} {
		if strings.Contains(printed, secret) {
			t.Errorf("the key is printed with its secret: %s", printed)
		}
	}
}

func TestKeyRecord_Accepts(t *testing.T) {
	now := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	key, other := newKey(t), newKey(t)
	live := access.KeyRecord{ID: key.ID, Digest: key.Digest(), Created: now.Add(-time.Hour)}
	for _, c := range []struct {
		name string
		edit func(*access.KeyRecord)
		want bool
	}{
		{"live", func(*access.KeyRecord) {}, true},
		{"expires later", func(r *access.KeyRecord) { r.Expires = now.Add(time.Millisecond) }, true},
		{"expires now", func(r *access.KeyRecord) { r.Expires = now }, false},
		{"revoked", func(r *access.KeyRecord) { r.Revoked = now }, false},
		{"another secret", func(r *access.KeyRecord) { r.Digest = other.Digest() }, false},
		{"another ID", func(r *access.KeyRecord) { r.ID = other.ID }, false},
		{"missing", func(r *access.KeyRecord) { *r = access.KeyRecord{} }, false},
	} {
		record := live
		c.edit(&record)
		if got := record.Accepts(key, now); got != c.want {
			t.Errorf("%s: accepted %v, want %v", c.name, got, c.want)
		}
	}
}
