package dynamo_test

import (
	"fmt"
	"testing"

	"shopfront/pkg/voucher"
)

// pausedBatches returns a pause of as many batches as possible. The batch summer is one of them.
func pausedBatches() voucher.Pause {
	p := voucher.Pause{Batches: []string{"summer"}}
	for i := range voucher.MaxPausedBatches - 1 {
		p.Batches = append(p.Batches, fmt.Sprintf("batch-%02d", i))
	}
	return p
}

// Refusing a paused code takes as many calls as refusing a disabled code. The first call is the same: a write for a
// single-use code, and a read for a code that is known to have many uses.
func TestRedeem_PausedCode_IsRefusedLikeADisabledOne(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	network, through := counted()
	redeemer := redeemerOf(newClient(t, through), s.table)
	unlimited := new(voucher.NoLimit)
	for what, terms := range map[string]voucher.Terms{
		"single-use": {Written: "SINGLE"},
		"limited":    {Written: "LIMITED", MaxUses: new(voucher.Limit(100))},
		"no limit":   {Written: "ENDLESS", MaxUses: unlimited, MaxUsesPerNick: unlimited},
	} {
		terms.Batch = "summer"
		s.create(terms)
		disabled := terms
		disabled.Written, disabled.Disabled = terms.Written+"-DISABLED", true
		s.create(disabled)
		for how, pause := range map[string]voucher.Pause{"all": {All: true}, "its batch": pausedBatches()} {
			for _, key := range []string{"", "order-1047"} {
				t.Run(fmt.Sprintf("%s, %s paused, key %q", what, how, key), func(t *testing.T) {
					for range 2 { // the second time, the process remembers codes with many uses
						network.calls.Store(0)
						wantRequestRefused(t, redeemer, request(t, disabled.Written, "Alder", key),
							voucher.ReasonDisabled)
						want := network.calls.Swap(0)
						r := request(t, terms.Written, "Alder", key)
						r.Paused = pause
						wantRequestRefused(t, redeemer, r, voucher.ReasonPaused)
						_, err := redeemer.Check(within(t), r)
						wantRefused(t, err, voucher.ReasonPaused)
						if calls := network.calls.Load(); calls != want+1 {
							t.Errorf("%d calls; want %d, as for a disabled code, and 1 for the check", calls, want)
						}
					}
				})
			}
		}
		if records := s.records(terms.Written); len(records) != 0 {
			t.Errorf("%s: the redemptions %+v are stored, want none", what, records)
		}
	}
}

// While some batches are paused, redeeming other codes takes as many calls as usual.
func TestRedeem_OtherBatchesPaused_IsRedeemed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	network, through := counted()
	redeemer := redeemerOf(newClient(t, through), s.table)
	for _, test := range []struct {
		terms voucher.Terms
		calls int32
	}{
		{voucher.Terms{Written: "SINGLE"}, 1},
		{voucher.Terms{Written: "SINGLE-LAUNCH", Batch: "launch"}, 1},
		{voucher.Terms{Written: "LIMITED", MaxUses: new(voucher.Limit(100))}, 2},
		{voucher.Terms{Written: "LIMITED-LAUNCH", MaxUses: new(voucher.Limit(100)), Batch: "launch"}, 2},
	} {
		s.create(test.terms)
		r := request(t, test.terms.Written, "Alder", "order-1047")
		r.Paused = pausedBatches()
		network.calls.Store(0)
		if _, replayed, err := redeemer.Redeem(within(t), r); err != nil || replayed {
			t.Errorf("%s: Redeem = replayed %v, %v; want a redemption", test.terms.Written, replayed, err)
		}
		if calls := network.calls.Load(); calls != test.calls {
			t.Errorf("%s: %d calls; want %d", test.terms.Written, calls, test.calls)
		}
	}
}

func TestRedeem_AllPaused_UnknownCodeStaysUnknown(t *testing.T) {
	t.Parallel()
	r := request(t, "INVENTED", "Alder", "order-1047")
	r.Paused.All = true
	wantRequestRefused(t, newShop(t).redeemer, r, voucher.ReasonUnknown)
}
