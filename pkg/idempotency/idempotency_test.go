package idempotency_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/idempotency"
)

func TestParseKey(t *testing.T) {
	for _, key := range []string{
		"a", "order-1047", "8e03978e-40d5-43dd-bc93-6894a57f9324",
		"!\"#$%&'()*+-./:;<=>?@[\\]^_`{|}~", strings.Repeat("k", 255),
	} {
		if got, err := idempotency.ParseKey(key); err != nil || string(got) != key {
			t.Errorf("ParseKey(%q) = %q, %v", key, got, err)
		}
	}
	for rule, key := range map[string]string{
		"empty": "", "256 characters": strings.Repeat("k", 256), "comma": "a,b", "space": "a b", "tab": "a\tb",
		"delete":    "a\x7f",
		"not ASCII": "schlüssel", "NUL": "a\x00",
	} {
		if got, err := idempotency.ParseKey(key); err == nil {
			t.Errorf("%s: ParseKey(%q) = %q, want an error", rule, key, got)
		}
	}
}

func TestDigest_DifferentParts_DoNotCollide(t *testing.T) {
	parts := rapid.SliceOfN(rapid.StringMatching(`[a#0]{0,3}`), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		same := strings.Join(a, "\n") == strings.Join(b, "\n") && len(a) == len(b)
		if digests := idempotency.Digest(a...) == idempotency.Digest(b...); digests != same {
			t.Fatalf("%q and %q have the same digest: %t, want %t", a, b, digests, same)
		}
	})
}

// Tokens are part of stored keys, so their derivation must never change.
func TestDigest_NeverChanges(t *testing.T) {
	if got := idempotency.Digest("emberforge", "WE1C0MEC01NS", "alder", "order-1047"); got != "LRLuWYz8-QoWsPfs4csHfg" {
		t.Errorf("Digest = %q, want the stored one", got)
	}
}

func TestNewToken_IsRandom(t *testing.T) {
	a, errA := idempotency.NewToken(rand.Reader)
	b, errB := idempotency.NewToken(rand.Reader)
	if errA != nil || errB != nil || a == b || len(a) != 22 {
		t.Errorf("NewToken returned %q, %v and then %q, %v, want two different tokens of 22 characters", a, errA, b,
			errB)
	}
	if _, err := idempotency.NewToken(strings.NewReader("short")); err == nil {
		t.Error("NewToken made a token without enough randomness")
	}
}
