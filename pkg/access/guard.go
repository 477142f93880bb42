package access

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"time"

	"shopfront/pkg/catalog"
)

// Lifetime is how long a process uses settings and keys after reading them. A request ends within five seconds, so the
// settings and keys that decide about it are at most 15 seconds old.
const Lifetime = 10 * time.Second

// maxCached bounds how many shops, and how many keys, a process remembers. Unknown shops and keys count, too.
const maxCached = 4096

// ErrUnauthorized means that the request's credentials are not a live key of the shop, or that the request has no
// credentials although the shop's policy demands a key. The client cannot tell these cases apart.
var ErrUnauthorized = errors.New("unauthorized")

// RejectedKeyError is ErrUnauthorized for a well-formed key that is not a live key of the shop. It names the key, so
// that an operator can find the program that still sends it.
type RejectedKeyError struct{ Key KeyID }

func (e *RejectedKeyError) Error() string {
	return "key " + string(e.Key) + " is not a live key of the shop"
}

func (*RejectedKeyError) Unwrap() error { return ErrUnauthorized }

// Caller is who sent a request. The zero Caller is a stranger.
type Caller struct {
	Key     KeyID      // of the shop's server; empty for a stranger
	Shopper netip.Addr // whom the shop's server calls for; the zero Addr if it does not say
}

// IsServer reports whether the shop's own server is calling.
func (c Caller) IsServer() bool { return c.Key != "" }

// Store reads settings and keys.
type Store interface {
	// Access returns a shop's settings and one of its keys, in one consistent read. If no settings are stored, it
	// returns DefaultSettings. If the key does not exist, it returns the zero KeyRecord. With an empty ID it reads only
	// the settings.
	Access(ctx context.Context, shop catalog.ShopID, id KeyID) (Settings, KeyRecord, error)
}

// Guard authenticates callers, and caches settings and keys. It is safe for concurrent use. Create it with NewGuard.
type Guard struct {
	store Store

	mu       sync.Mutex
	settings map[catalog.ShopID]cached[Settings]
	keys     map[shopKey]cached[KeyRecord]
}

type shopKey struct {
	shop catalog.ShopID
	id   KeyID
}

// cached is a value that was read for a request, and the time when that request was received. The value's age counts
// from then.
type cached[T any] struct {
	value T
	read  time.Time
}

// fresh reports whether the value may be used at a time. A clock that was set back makes it stale.
func (c cached[T]) fresh(at time.Time) bool {
	age := at.Sub(c.read)
	return !c.read.IsZero() && age >= 0 && age < Lifetime
}

// NewGuard returns a guard with an empty cache.
func NewGuard(store Store) *Guard {
	return &Guard{
		store: store, settings: make(map[catalog.ShopID]cached[Settings]),
		keys: make(map[shopKey]cached[KeyRecord]),
	}
}

// Admit authenticates a request by the values of its Authorization headers, and returns the caller with the shop's
// settings. The parameter at says when the request was received. Only its wall clock counts, because the monotonic
// clock stops while a process is frozen.
//
// Without headers, the caller is a stranger. If there are headers, but not exactly one with a live key of the shop, the
// error is ErrUnauthorized or a *RejectedKeyError. If the settings or the key cannot be read, Admit returns the store's
// error.
func (g *Guard) Admit(
	ctx context.Context, shop catalog.ShopID, authorization []string, at time.Time,
) (Caller, Settings, error) {
	at = at.Round(0)
	if len(authorization) == 0 {
		settings, _, err := g.read(ctx, shop, "", at)
		return Caller{}, settings, err
	}
	key, valid := bearer(authorization)
	if !valid {
		return Caller{}, Settings{}, ErrUnauthorized
	}
	settings, record, err := g.read(ctx, shop, key.ID, at)
	if err != nil {
		return Caller{}, Settings{}, err
	}
	if !record.Accepts(key, at) {
		return Caller{}, Settings{}, &RejectedKeyError{key.ID}
	}
	return Caller{Key: key.ID}, settings, nil
}

// bearer returns the key in Authorization headers (RFC 6750, section 2.1). The scheme's case does not matter (RFC 9110,
// section 11.1).
func bearer(authorization []string) (Key, bool) {
	if len(authorization) != 1 {
		return Key{}, false
	}
	scheme, credentials, _ := strings.Cut(authorization[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Key{}, false
	}
	return ParseKey(strings.TrimLeft(credentials, " "))
}

// read returns the settings and the key from the cache, or reads both again if one of them is stale.
func (g *Guard) read(
	ctx context.Context, shop catalog.ShopID, id KeyID, at time.Time,
) (Settings, KeyRecord, error) {
	name := shopKey{shop, id}
	g.mu.Lock()
	cachedSettings, cachedKey := g.settings[shop], g.keys[name]
	g.mu.Unlock()
	if cachedSettings.fresh(at) && (id == "" || cachedKey.fresh(at)) {
		return cachedSettings.value, cachedKey.value, nil
	}
	settings, key, err := g.store.Access(ctx, shop, id)
	if err != nil {
		return Settings{}, KeyRecord{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	remember(g.settings, shop, cached[Settings]{settings, at})
	if id != "" {
		remember(g.keys, name, cached[KeyRecord]{key, at})
	}
	return settings, key, nil
}

// remember stores a value unless the map has a newer one. It empties a full map, which costs one more read for each
// shop.
func remember[K comparable, T any](m map[K]cached[T], name K, c cached[T]) {
	if c.read.Before(m[name].read) {
		return
	}
	if len(m) >= maxCached {
		clear(m)
	}
	m[name] = c
}
