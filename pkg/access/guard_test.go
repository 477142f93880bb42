package access_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
)

var noon = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// stored is a store in memory that counts its reads.
type stored struct {
	settings map[catalog.ShopID]access.Settings
	keys     map[catalog.ShopID][]access.KeyRecord
	err      error
	reads    int
}

func (s *stored) Access(
	_ context.Context, shop catalog.ShopID, id access.KeyID,
) (access.Settings, access.KeyRecord, error) {
	s.reads++
	settings, found := s.settings[shop]
	if !found {
		settings = access.DefaultSettings()
	}
	for _, key := range s.keys[shop] {
		if key.ID == id {
			return settings, key, s.err
		}
	}
	return settings, access.KeyRecord{}, s.err
}

func TestAdmit_LiveKeyOfTheShop_MarksTheCallerAsItsServer(t *testing.T) {
	key, unknown, revoked, others := newKey(t), newKey(t), newKey(t), newKey(t)
	store := &stored{keys: map[catalog.ShopID][]access.KeyRecord{
		"emberforge": {
			{ID: key.ID, Digest: key.Digest()},
			{ID: revoked.ID, Digest: revoked.Digest(), Revoked: noon.Add(-time.Hour)},
		},
		"brambleshop": {{ID: others.ID, Digest: others.Digest()}},
	}}
	for _, c := range []struct {
		name          string
		authorization []string
		want          access.KeyID
		refused       bool
	}{
		{"no header", nil, "", false},
		{"live key", []string{"Bearer " + key.Secret()}, key.ID, false},
		{"scheme in lower case", []string{"bearer " + key.Secret()}, key.ID, false},
		{"empty header", []string{""}, "", true},
		{"another scheme", []string{"Basic YWxkZXI6YWxkZXI="}, "", true},
		{"key without scheme", []string{key.Secret()}, "", true},
		{"mistyped key", []string{"Bearer " + key.Secret() + "x"}, "", true},
		{"sent twice", []string{"Bearer " + key.Secret(), "Bearer " + key.Secret()}, "", true},
		{"sent twice, joined by the gateway", []string{"Bearer " + key.Secret() + ",Bearer " + key.Secret()}, "", true},
		{"unknown key", []string{"Bearer " + unknown.Secret()}, "", true},
		{"revoked key", []string{"Bearer " + revoked.Secret()}, "", true},
		{"another shop's key", []string{"Bearer " + others.Secret()}, "", true},
	} {
		caller, _, err := access.NewGuard(store).Admit(t.Context(), "emberforge", c.authorization, noon)
		if caller.Key != c.want || errors.Is(err, access.ErrUnauthorized) != c.refused || err != nil && !c.refused {
			t.Errorf("%s: caller %q, %v; want %q, refused %t", c.name, caller.Key, err, c.want, c.refused)
		}
	}
}

// With the ID of the key, an operator can find the program that still sends it.
func TestAdmit_KeyThatIsNotLive_IsNamedByTheError(t *testing.T) {
	key := newKey(t)
	_, _, err := access.NewGuard(&stored{}).Admit(t.Context(), "emberforge", []string{"Bearer " + key.Secret()}, noon)
	if rejected, is := errors.AsType[*access.RejectedKeyError](err); !is || rejected.Key != key.ID {
		t.Errorf("%v, want a rejection of key %s", err, key.ID)
	}
}

func TestAdmit_WarmProcess_ReadsOncePerLifetime(t *testing.T) {
	store := &stored{}
	guard := access.NewGuard(store)
	for _, c := range []struct {
		at   time.Duration
		want int
	}{
		{0, 1},
		{access.Lifetime - time.Millisecond, 1},
		{access.Lifetime, 2},
		{access.Lifetime + time.Second, 2},
		{time.Second, 3}, // the clock was set back
	} {
		if _, _, err := guard.Admit(t.Context(), "emberforge", nil, noon.Add(c.at)); err != nil ||
			store.reads != c.want {
			t.Errorf("after %v: %d reads, want %d; %v", c.at, store.reads, c.want, err)
		}
	}
	if _, _, err := guard.Admit(t.Context(), "brambleshop", nil, noon.Add(time.Second)); err != nil ||
		store.reads != 4 {
		t.Errorf("another shop: %d reads, want 4; %v", store.reads, err)
	}
}

func TestAdmit_ChangedSettings_AreSeenAfterALifetime(t *testing.T) {
	key := newKey(t)
	store := &stored{keys: map[catalog.ShopID][]access.KeyRecord{"emberforge": {{
		ID:     key.ID,
		Digest: key.Digest(),
	}}}}
	guard := access.NewGuard(store)
	bearer := []string{"Bearer " + key.Secret()}
	if _, settings, err := guard.Admit(t.Context(), "emberforge", bearer, noon); err != nil ||
		settings.Redeem != access.Anyone {
		t.Fatalf("the first settings are %+v, %v", settings, err)
	}
	store.settings = map[catalog.ShopID]access.Settings{"emberforge": {
		Redeem:   access.ServerOnly,
		CheckOut: access.Anyone,
	}}
	store.keys["emberforge"][0].Revoked = noon
	if _, settings, err := guard.Admit(t.Context(), "emberforge", nil, noon.Add(access.Lifetime)); err != nil ||
		settings.Redeem != access.ServerOnly {
		t.Errorf("policy after a lifetime: %+v, %v", settings, err)
	}
	if _, _, err := guard.Admit(t.Context(), "emberforge", bearer, noon.Add(access.Lifetime)); !errors.Is(err,
		access.ErrUnauthorized) {
		t.Errorf("revoked key after a lifetime: %v", err)
	}
}

func TestAdmit_CacheOfOneShop_IsNotUsedForAnother(t *testing.T) {
	ours, theirs := newKey(t), newKey(t)
	store := &stored{
		settings: map[catalog.ShopID]access.Settings{"brambleshop": {
			Redeem:   access.ServerOnly,
			CheckOut: access.Anyone,
		}},
		keys: map[catalog.ShopID][]access.KeyRecord{
			"emberforge":  {{ID: ours.ID, Digest: ours.Digest()}},
			"brambleshop": {{ID: theirs.ID, Digest: theirs.Digest()}},
		},
	}
	guard := access.NewGuard(store)
	for range 2 { // the second round reads the cache
		for _, c := range []struct {
			shop catalog.ShopID
			key  access.Key
			want access.Policy // empty: unauthorized
		}{
			{"emberforge", ours, access.Anyone},
			{"brambleshop", theirs, access.ServerOnly},
			{"emberforge", theirs, ""},
			{"brambleshop", ours, ""},
		} {
			_, settings, err := guard.Admit(t.Context(), c.shop, []string{"Bearer " + c.key.Secret()}, noon)
			if settings.Redeem != c.want || errors.Is(err, access.ErrUnauthorized) != (c.want == "") {
				t.Errorf("%s with key %s: policy %q, %v; want %q", c.shop, c.key.ID, settings.Redeem, err, c.want)
			}
		}
	}
}

func TestAdmit_StoreOutOfReach_UsesNothingStale(t *testing.T) {
	store := &stored{}
	guard := access.NewGuard(store)
	if _, _, err := guard.Admit(t.Context(), "emberforge", nil, noon); err != nil {
		t.Fatal(err)
	}
	store.err = errors.New("the store is out of reach")
	if _, _, err := guard.Admit(t.Context(), "emberforge", nil, noon.Add(access.Lifetime-1)); err != nil {
		t.Errorf("within a lifetime: %v", err)
	}
	if _, _, err := guard.Admit(t.Context(), "emberforge", nil, noon.Add(access.Lifetime)); !errors.Is(err, store.err) {
		t.Errorf("after a lifetime: %v", err)
	}
}

func TestPolicy_Allows(t *testing.T) {
	server := access.Caller{Key: "k"}
	for _, c := range []struct {
		policy           access.Policy
		stranger, server bool
	}{
		{access.Anyone, true, true},
		{access.ServerOnly, false, true},
		{"a policy that a later version knows", false, true},
	} {
		if c.policy.Allows(access.Caller{}) != c.stranger || c.policy.Allows(server) != c.server {
			t.Errorf("%s allows a stranger: %t, the server: %t; want %t, %t",
				c.policy, c.policy.Allows(access.Caller{}), c.policy.Allows(server), c.stranger, c.server)
		}
	}
}
