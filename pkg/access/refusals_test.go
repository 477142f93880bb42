package access_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

var (
	alder  = voucher.Nick{Written: "Alder", Compared: "alder"} //nolint:gochecknoglobals // a constant
	rowan  = voucher.Nick{Written: "Rowan", Compared: "rowan"} //nolint:gochecknoglobals // a constant
	server = access.Caller{Key: "dladqenqfd"}                  //nolint:gochecknoglobals // a constant
)

func TestSource_Stranger_IsCountedByAddress(t *testing.T) {
	for _, c := range []struct{ address, name, subnet string }{
		{"203.0.113.7", "203.0.113.7", ""},
		{"::ffff:203.0.113.7", "203.0.113.7", ""},
		{"2001:db8:5:a1::17", "2001:db8:5::/48", "00a1"},
		{"2001:db8:5:a1:ffff::", "2001:db8:5::/48", "00a1"},
		{"2001:db8:5::1", "2001:db8:5::/48", "0000"},
		{"fe80::1%eth0", "fe80::/48", "0000"},
		{"", "unknown", ""},
		{"203.0.113.7:443", "unknown", ""},
		{"alder.example", "unknown", ""},
	} {
		if got := (access.Caller{}).Source(c.address, alder); got != (access.Source{Name: c.name, Subnet: c.subnet}) {
			t.Errorf("the source of %q is %+v, want the name %q and the subnet %q", c.address, got, c.name, c.subnet)
		}
	}
}

func TestSource_Server_IsCountedByNickAndKey(t *testing.T) {
	source := server.Source("203.0.113.7", alder)
	for name, c := range map[string]struct {
		source access.Source
		same   bool
	}{
		"another address": {server.Source("2001:db8::1", alder), true},
		"another spelling": {
			server.Source("203.0.113.7", voucher.Nick{Written: "ALDER", Compared: "alder"}),
			true,
		},
		"another nick":              {server.Source("203.0.113.7", rowan), false},
		"another key":               {access.Caller{Key: "abcdefghij"}.Source("203.0.113.7", alder), false},
		"a stranger with that nick": {access.Caller{}.Source("203.0.113.7", alder), false},
	} {
		if (c.source == source) != c.same {
			t.Errorf("%s: the source is %+v, and that of the first request is %+v; want them equal: %t", name, c.source,
				source, c.same)
		}
	}
	if strings.Contains(source.Name, "#") || strings.Contains(strings.ToLower(source.Name), "alder") {
		t.Errorf("the source shows the nick or has a #: %s", source.Name)
	}
	if got := server.Source("203.0.113.7", voucher.Nick{}); got != (access.Source{}) {
		t.Errorf("without a nick: %+v, want no source", got)
	}
}

// The shopper must not get the limit once more by also calling without the shop's server.
func TestSource_ShopperNamedByTheServer_IsCountedLikeAStranger(t *testing.T) {
	for _, address := range []string{"203.0.113.7", "::ffff:203.0.113.7", "2001:db8:5:a1::17"} {
		named := server
		named.Shopper = netip.MustParseAddr(address)
		for _, nick := range []voucher.Nick{alder, {}} {
			if got, want := named.Source("198.51.100.9", nick), (access.Caller{}).Source(address, nick); got != want {
				t.Errorf("the source of shopper %s is %+v, want %+v", address, got, want)
			}
		}
	}
}

// counts is a store in memory. It counts refusals, and its own calls.
type counts struct {
	refusals map[string]int
	err      error
	calls    int
	deadline time.Time // of the last call
}

func (c *counts) Count(
	ctx context.Context, shop catalog.ShopID, source access.Source, window access.Window,
) (access.RefusalCount, error) {
	c.calls++
	c.deadline, _ = ctx.Deadline()
	if c.err != nil {
		return access.RefusalCount{}, c.err
	}
	if c.refusals == nil {
		c.refusals = make(map[string]int)
	}
	network := fmt.Sprint(shop, source.Name, window.Start.Unix())
	c.refusals[network]++
	if source.Subnet == "" {
		return access.RefusalCount{Source: c.refusals[network]}, nil
	}
	c.refusals[network+source.Subnet]++
	return access.RefusalCount{Source: c.refusals[network+source.Subnet], Network: c.refusals[network]}, nil
}

// three allows three refusals in ten minutes. At noon a window begins.
var three = access.SourceLimit{Limit: 3, Per: 10 * time.Minute} //nolint:gochecknoglobals // a constant

// guess sends a wrong code. The result judged is false if the source was already blocked. The result until is the end
// of the block, or zero if the source is not blocked.
func guess(t *testing.T, r *access.Refusals, source access.Source, at time.Time) (judged bool, until time.Time) {
	t.Helper()
	if until, blocked := r.Blocked("emberforge", source, three, at); blocked {
		return false, until
	}
	until, blocked, err := r.Refused(t.Context(), "emberforge", source, three, at)
	if err != nil {
		t.Fatal(err)
	}
	if !blocked {
		until = time.Time{}
	}
	return true, until
}

func TestRefusals_AboveTheLimit_SourceIsBlockedUntilTheWindowEnds(t *testing.T) {
	store := &counts{}
	refusals, source := access.NewRefusals(store), access.Source{Name: "203.0.113.7"}
	end := noon.Add(10 * time.Minute)
	for i, want := range []time.Time{{}, {}, {}, end} {
		if judged, until := guess(t, refusals, source, noon.Add(time.Duration(i)*time.Second)); !judged ||
			!until.Equal(want) {
			t.Errorf("guess %d: judged %v, blocked until %v; want it judged and blocked until %v", i+1, judged, until,
				want)
		}
	}
	for _, at := range []time.Time{noon.Add(time.Minute), end.Add(-1)} {
		if judged, until := guess(t, refusals, source, at); judged || !until.Equal(end) {
			t.Errorf("at %v: judged %v, blocked until %v; want it blocked until %v", at, judged, until, end)
		}
	}
	if store.calls != 4 {
		t.Errorf("%d calls of the store, want 4: a blocked source costs none", store.calls)
	}
	if judged, until := guess(t, refusals, source, end); !judged || !until.IsZero() {
		t.Errorf("in the next window: judged %v, blocked until %v", judged, until)
	}
}

func TestRefusals_Blocked_AffectsOneSourceAtOneShop(t *testing.T) {
	refusals, source := access.NewRefusals(&counts{}), access.Source{Name: "203.0.113.7"}
	for range 4 {
		guess(t, refusals, source, noon)
	}
	if _, blocked := refusals.Blocked("emberforge", source, three, noon); !blocked {
		t.Error("the source is not blocked")
	}
	if _, blocked := refusals.Blocked("brambleshop", source, three, noon); blocked {
		t.Error("the source is blocked at another shop")
	}
	if _, blocked := refusals.Blocked("emberforge", access.Source{Name: "203.0.113.8"}, three, noon); blocked {
		t.Error("another source is blocked")
	}
}

// A source has one limit for all processes. Each process may judge one code above the limit, because counting that
// refusal tells the process that the limit is exceeded.
func TestRefusals_SeveralProcesses_EachJudgesAtMostOneCodeAboveTheLimit(t *testing.T) {
	store := &counts{}
	processes := []*access.Refusals{access.NewRefusals(store), access.NewRefusals(store), access.NewRefusals(store)}
	judged := 0
	for i := range 100 {
		if isJudged, _ := guess(t, processes[i%3], access.Source{Name: "203.0.113.7"}, noon); isJudged {
			judged++
		}
	}
	if want := three.Limit + len(processes); judged != want {
		t.Errorf("%d guesses were judged, want %d", judged, want)
	}
}

func TestRefusals_TwoWindows_EachHasTheWholeLimit(t *testing.T) {
	refusals := access.NewRefusals(&counts{})
	judged := 0
	for i := range 40 { // 20 seconds, from 10 seconds before the second window to 10 seconds after it begins
		if isJudged, _ := guess(t, refusals, access.Source{Name: "203.0.113.7"},
			noon.Add(time.Duration(i-20)*time.Second/2)); isJudged {
			judged++
		}
	}
	if want := 2 * (three.Limit + 1); judged != want {
		t.Errorf("%d guesses were judged, want %d", judged, want)
	}
}

func TestRefusals_IPv6_LimitsEachSubnetAndTheWholeNetwork(t *testing.T) {
	refusals := access.NewRefusals(&counts{})
	subnet := func(n int) access.Source {
		return access.Source{Name: "2001:db8:5::/48", Subnet: fmt.Sprintf("%04x", n)}
	}
	judged := 0
	for range 10 {
		if isJudged, _ := guess(t, refusals, subnet(0), noon); isJudged {
			judged++
		}
	}
	if judged != 4 {
		t.Errorf("one /64: %d guesses were judged, want 4", judged)
	}
	for n := 1; n < 100; n++ {
		if isJudged, _ := guess(t, refusals, subnet(n), noon); isJudged {
			judged++
		}
	}
	if want := 16*three.Limit + 1; judged != want {
		t.Errorf("one /48: %d guesses were judged, want %d", judged, want)
	}
	if _, blocked := refusals.Blocked("emberforge", access.Source{Name: "2001:db8:6::/48", Subnet: "0000"}, three,
		noon); blocked {
		t.Error("the next /48 is blocked")
	}
}

func TestRefusals_StoreOutOfReach_TheProcessCounts(t *testing.T) {
	store := &counts{err: errors.New("the store is out of reach")}
	refusals := access.NewRefusals(store)
	for i, want := range []bool{false, false, false, true} {
		_, blocked, err := refusals.Refused(t.Context(), "emberforge",
			access.Source{Name: "2001:db8:5::/48", Subnet: "00a1"}, three, noon)
		if blocked != want || !errors.Is(err, store.err) {
			t.Errorf("refusal %d: blocked %v, %v; want %v and the store's error", i+1, blocked, err, want)
		}
	}
	if _, blocked := refusals.Blocked("emberforge", access.Source{Name: "2001:db8:5::/48", Subnet: "00a1"}, three,
		noon); !blocked {
		t.Error("the source is not blocked")
	}
	if _, blocked := refusals.Blocked("emberforge", access.Source{Name: "2001:db8:5::/48", Subnet: "00a2"}, three,
		noon); blocked {
		t.Error("another /64 is blocked")
	}
	if _, blocked := refusals.Blocked("emberforge", access.Source{Name: "2001:db8:5::/48", Subnet: "00a1"}, three,
		noon.Add(three.Per)); blocked {
		t.Error("the source is blocked in the next window")
	}
}

func TestRefusals_ChangedLimit_TakesEffectAtOnce(t *testing.T) {
	refusals, source := access.NewRefusals(&counts{}), access.Source{Name: "203.0.113.7"}
	for range 4 {
		guess(t, refusals, source, noon)
	}
	for name, c := range map[string]struct {
		limit   access.SourceLimit
		blocked bool
	}{
		"the same":       {three, true},
		"lower":          {access.SourceLimit{Limit: 1, Per: three.Per}, true},
		"higher":         {access.SourceLimit{Limit: 4, Per: three.Per}, false},
		"another window": {access.SourceLimit{Limit: 3, Per: time.Hour}, false},
		"off":            {access.SourceLimit{}, false},
	} {
		if _, blocked := refusals.Blocked("emberforge", source, c.limit, noon); blocked != c.blocked {
			t.Errorf("%s: blocked %t, want %t", name, blocked, c.blocked)
		}
	}
}

func TestRefusals_WithoutLimitOrSource_CountNothing(t *testing.T) {
	store := &counts{}
	refusals := access.NewRefusals(store)
	for name, c := range map[string]struct {
		source access.Source
		limit  access.SourceLimit
	}{
		"no limit":         {access.Source{Name: "203.0.113.7"}, access.SourceLimit{}},
		"no source":        {access.Source{}, three},
		"damaged settings": {access.Source{Name: "203.0.113.7"}, access.SourceLimit{Limit: 3}},
	} {
		for range 5 {
			if _, blocked, err := refusals.Refused(t.Context(), "emberforge", c.source, c.limit, noon); blocked ||
				err != nil {
				t.Errorf("%s: blocked %t, %v, want neither", name, blocked, err)
			}
			if _, blocked := refusals.Blocked("emberforge", c.source, c.limit, noon); blocked {
				t.Errorf("%s: the source is blocked", name)
			}
		}
	}
	if store.calls != 0 {
		t.Errorf("%d calls of the store, want none", store.calls)
	}
}

func TestRefusals_SlowStore_GetsAtMostASecond(t *testing.T) {
	store := &counts{}
	began := time.Now()
	guess(t, access.NewRefusals(store), access.Source{Name: "203.0.113.7"}, noon)
	if late := time.Now().Add(time.Second); store.deadline.Before(began) || store.deadline.After(late) {
		t.Errorf("the store had until %v, want at most %v", store.deadline, late)
	}
}

// A process forgets counts of ended windows first, so that new sources do not make it forget a blocked one.
func TestRefusals_Memory_IsBounded(t *testing.T) {
	refusals := access.NewRefusals(&counts{err: errors.New("the store is out of reach")})
	source := func(n int) access.Source { return access.Source{Name: fmt.Sprint("source ", n)} }
	one := access.SourceLimit{Limit: 1, Per: time.Minute}
	block := func(from, to int, at time.Time) {
		for n := from; n < to; n++ {
			for range 2 {
				_, _, _ = refusals.Refused(t.Context(), "emberforge", source(n), one, at)
			}
		}
	}
	blocked := func(to int, at time.Time) (count int) {
		for n := range to {
			if _, is := refusals.Blocked("emberforge", source(n), one, at); is {
				count++
			}
		}
		return count
	}
	block(0, access.MaxRemembered-1, noon)
	later := noon.Add(time.Minute)
	block(0, 100, later)
	if got := blocked(100, later); got != 100 {
		t.Errorf("%d of 100 sources are blocked while the memory is full of ended windows", got)
	}
	block(0, 2*access.MaxRemembered, later)
	if got := blocked(2*access.MaxRemembered, later); got != access.MaxRemembered {
		t.Errorf("%d sources are remembered, want %d", got, access.MaxRemembered)
	}
}
