package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"shopfront/pkg/access"
)

func TestKeyCreate_LostResponse_SaysThatTheKeyMayExist(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	restore := s.through(t, newUnreliable(t, s, "TransactWriteItems", func(_ int, done bool) (cut bool) {
		if done {
			cancel()
		}
		return done
	}))
	got := s.shopctl(ctx, "--local", "key", "create", "emberforge", "--name", "web shop")
	restore()
	id := s.onlyKey(t)
	want := "key " + id + " may exist, although it was not shown: revoke it with shopctl --local key revoke emberforge " + id
	if got.exit != exitInterrupted || got.stdout != "" || !strings.Contains(got.stderr, want) {
		t.Errorf("got %v; want %s", got, want)
	}
}

func TestKeyCreate_OutputThatCannotBeWritten_SaysThatTheKeyExists(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	closed, w := io.Pipe()
	_ = closed.Close()
	var stderr strings.Builder
	exit := s.program(w, &stderr).run(t.Context(),
		[]string{"--local", "key", "create", "emberforge", "--name", "web shop"})
	if id := s.onlyKey(t); exit != exitFailed ||
		!strings.Contains(stderr.String(), "key "+id+" was created, but could not be printed") {
		t.Errorf("exit %d: %s", exit, stderr.String())
	}
}

// onlyKey returns the ID of the one key of emberforge.
func (s *shopfront) onlyKey(t *testing.T) string {
	t.Helper()
	var key keyJSON
	if err := json.Unmarshal([]byte(s.must(t, "key", "list", "emberforge", "--json")), &key); err != nil {
		t.Fatal(err)
	}
	return key.ID
}

func TestKeyCreate_MoreKeysThanAllowed_IsRefused(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	for range access.MaxLiveKeys {
		s.must(t, "key", "create", "emberforge", "--name", "till")
	}
	got := s.shopctl(t.Context(), "--local", "key", "create", "emberforge", "--name", "till")
	const want = "error: a shop has at most 20 live keys: revoke one that is not in use, see shopctl --local " +
		"key list emberforge\n"
	if got.exit != exitRefused || got.stdout != "" || got.stderr != want {
		t.Errorf("got %v", got)
	}
}
