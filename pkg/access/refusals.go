package access

import (
	"context"
	"encoding/hex"
	"net/netip"
	"sync"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// NetworkFactor multiplies a limit for a whole /48 of IPv6 addresses, which holds at most 65,536 subscribers.
const NetworkFactor = 16

// maxRemembered bounds the counts that a process remembers. A source whose count is forgotten can cause one more
// refusal.
const maxRemembered = 4096

// countingBudget bounds how long counting a refusal may take, because a shopper waits for the response.
const countingBudget = time.Second

// Source identifies who sends requests. The zero Source has no limit.
type Source struct {
	// Name is an IPv4 address, the /48 of an IPv6 address, or a digest of a nick and the key of the shop's server.
	Name string
	// Subnet is the /64 of an IPv6 address within its /48, as four hexadecimal digits; empty for other sources.
	Subnet string
}

// Source returns the source that a request's refusal counts for. For a stranger this is the network address, as the
// gateway saw it. All addresses that cannot be parsed share one source. For the shop's server it is the shopper's
// address, as for a stranger, or else the nick together with the server's key; with neither there is no limit.
func (c Caller) Source(address string, nick voucher.Nick) Source {
	if c.Shopper.IsValid() {
		address = c.Shopper.String()
	} else if c.IsServer() {
		if nick.Compared == "" {
			return Source{}
		}
		return Source{Name: "nick:" + string(idempotency.Digest(string(c.Key), nick.Compared))}
	}
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return Source{Name: "unknown"}
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is4() {
		return Source{Name: parsed.String()}
	}
	bytes := parsed.As16()
	return Source{Name: netip.PrefixFrom(parsed, 48).Masked().String(), Subnet: hex.EncodeToString(bytes[6:8])}
}

// network returns the source of the whole /48 that a subnet is in. Call it only for a source with a subnet.
func (s Source) network() Source { return Source{Name: s.Name} }

// Window is a span of time in which a source is counted. End is exclusive.
type Window struct{ Start, End time.Time }

// window returns the window that a time is in. Windows are counted from 1970, so all processes have the same windows.
func (l SourceLimit) window(at time.Time) Window {
	per := int64(l.Per / time.Second)
	start := at.Unix() / per * per
	return Window{time.Unix(start, 0).UTC(), time.Unix(start+per, 0).UTC()}
}

// Quota returns the quota of redemptions of a source at a time.
func (l SourceLimit) Quota(source Source, at time.Time) voucher.Quota {
	if !l.applies(source) {
		return voucher.Quota{}
	}
	window := l.window(at)
	return voucher.Quota{
		Source: source.Name, Subnet: source.Subnet, Limit: l.Limit, Network: NetworkFactor * l.Limit,
		Start: window.Start, End: window.End,
	}
}

func (l SourceLimit) applies(source Source) bool {
	return l.Limit > 0 && l.Per >= time.Second && source != Source{}
}

// RefusalCount is how many refusals were counted in a window, including the latest one.
type RefusalCount struct {
	Source  int
	Network int // of all subnets of the source's /48; 0 if the source has no subnet
}

// RefusalStore counts refusals for all processes.
type RefusalStore interface {
	// Count adds a refusal. After an error the refusal may or may not have been added.
	Count(ctx context.Context, shop catalog.ShopID, source Source, window Window) (RefusalCount, error)
}

// Refusals limits how many refused codes a source may cause. It is safe for concurrent use. Create it with NewRefusals.
//
// All processes count in one store. A process learns from the store's response that a source is above its limit, and
// blocks the source until the window ends. Each process may look up one code too many before it learns this. So at most
// L + P codes of a source are looked up and refused in one window, where L is the limit and P the number of processes.
type Refusals struct {
	store RefusalStore

	mu    sync.Mutex
	known map[shopSource]known
}

type shopSource struct {
	shop   catalog.ShopID
	source Source
}

// known is the count of a source that is above its limit, or whose refusals the store could not count.
type known struct {
	count int
	end   time.Time // of the window
}

// NewRefusals returns Refusals that have blocked no source yet.
func NewRefusals(store RefusalStore) *Refusals {
	return &Refusals{store: store, known: make(map[shopSource]known)}
}

// Blocked reports whether the process knows that a source is above the limit, and until when. Call it before the code
// is looked up: a blocked source then gains nothing from a right guess. The parameter at says when the request was
// received, by the wall clock.
func (r *Refusals) Blocked(
	shop catalog.ShopID, source Source, limit SourceLimit, at time.Time,
) (until time.Time, blocked bool) {
	if !limit.applies(source) {
		return time.Time{}, false
	}
	end := limit.window(at).End
	r.mu.Lock()
	defer r.mu.Unlock()
	count := RefusalCount{Source: r.count(shop, source, end)}
	if source.Subnet != "" {
		count.Network = r.count(shop, source.network(), end)
	}
	return end, limit.exceeded(count)
}

func (l SourceLimit) exceeded(count RefusalCount) bool {
	return count.Source > l.Limit || count.Network > NetworkFactor*l.Limit
}

// Refused counts a refusal, and reports whether the source is above the limit and until when. Call it for every code
// that was looked up and refused, whatever the reason. An error means that the store may not have counted the refusal.
// In that case this process has counted the refusal, and the other results are valid.
func (r *Refusals) Refused(
	ctx context.Context, shop catalog.ShopID, source Source, limit SourceLimit, at time.Time,
) (until time.Time, blocked bool, err error) {
	if !limit.applies(source) {
		return time.Time{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countingBudget)
	defer cancel()
	window := limit.window(at)
	count, err := r.store.Count(ctx, shop, source, window)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		count = RefusalCount{Source: r.count(shop, source, window.End) + 1}
		if source.Subnet != "" {
			count.Network = r.count(shop, source.network(), window.End) + 1
		}
	}
	if err != nil || count.Source > limit.Limit {
		r.remember(shopSource{shop, source}, known{count.Source, window.End}, at)
	}
	if source.Subnet != "" && (err != nil || count.Network > NetworkFactor*limit.Limit) {
		r.remember(shopSource{shop, source.network()}, known{count.Network, window.End}, at)
	}
	return window.End, limit.exceeded(count), err
}

func (r *Refusals) count(shop catalog.ShopID, source Source, end time.Time) int {
	if k := r.known[shopSource{shop, source}]; k.end.Equal(end) {
		return k.count
	}
	return 0
}

// remember stores a count. If the memory is full, it forgets the counts of ended windows, or any count if none has
// ended.
func (r *Refusals) remember(source shopSource, k known, at time.Time) {
	if _, has := r.known[source]; !has && len(r.known) >= maxRemembered {
		for other, old := range r.known {
			if !old.end.After(at) {
				delete(r.known, other)
			}
		}
		for other := range r.known {
			if len(r.known) < maxRemembered {
				break
			}
			delete(r.known, other)
		}
	}
	r.known[source] = k
}
