package dynamo_test

import (
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// withParts creates SUMMER-20 with a limit in parts.
func (s *shop) withParts(limit voucher.Limit, parts int) voucher.Voucher {
	s.t.Helper()
	return s.create(voucher.Terms{
		Written: "SUMMER-20", MaxUses: &limit, MaxUsesPerNick: new(voucher.NoLimit), Parts: &parts,
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	})
}

// A process remembers the rules of a code. A code without parts follows an edit at once, because each request writes
// the item with the rules.
func TestRules_Edited_AreFollowedAfter10SecondsAtTheLatest(t *testing.T) {
	t.Parallel()
	for what, parts := range map[string]int{"in parts": 2, "in one item": 0} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			v := s.withParts(10, parts)
			taking := map[string]func(at time.Time) error{
				"redeem": func(at time.Time) error {
					_, _, err := s.redeemer.Redeem(within(t), s.requestAt("", at))
					return err
				},
				"check out": func(at time.Time) error {
					_, _, err := s.opener.Open(within(t), s.wanted("", "", at))
					return err
				},
			}
			for what, take := range taking {
				must(t, take(noon()))
				s.mustEdit(v, voucher.Edit{Disabled: new(true)})
				err := take(noon().Add(dynamo.RulesAge - time.Millisecond))
				if _, refused := voucher.IsRefusal(err); refused == (parts > 0) {
					t.Errorf("%s before the rules are too old: %v", what, err)
				}
				wantRefused(t, take(noon().Add(dynamo.RulesAge)), voucher.ReasonDisabled)
				s.mustEdit(v, voucher.Edit{Disabled: new(false)})
			}
		})
	}
}

// With as many parts as possible, two uses are in two parts. A request that finds its own part empty reads all items,
// and takes from one that has a use. Only if none has one is the request refused, and for a second no other is sent.
func TestRedeem_UsesInFewParts_AreFoundByOneRead(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	network, option := counted()
	s.redeemer = redeemerOf(newClient(t, option), s.table)
	s.redeemer.Store = dynamo.NewRedeemer(newClient(t, option), dynamo.Tables{Vouchers: s.table}, alwaysFirst)
	s.withParts(2, voucher.MaxParts)
	for _, step := range []struct {
		at    time.Duration
		want  voucher.Reason
		calls int32
	}{
		{0, "", 4}, // the first finds the rules
		{0, "", 3},
		{0, voucher.ReasonUsedUp, 2},
		{time.Second - 1, voucher.ReasonUsedUp, 1},
		{time.Second, voucher.ReasonUsedUp, 2},
	} {
		before := network.calls.Load()
		wantRequestRefused(t, s.redeemer, s.requestAt("", noon().Add(step.at)), step.want)
		if calls := network.calls.Load() - before; calls != step.calls {
			t.Errorf("after %s: %d calls, want %d", step.at, calls, step.calls)
		}
	}
}

// The back office adds parts, and the uses left are spread among them. A process that remembers fewer finds them all.
func TestRedeem_PartsAddedSinceTheRulesWereRead_AreUsed(t *testing.T) {
	t.Parallel()
	for _, parts := range []int{0, 1} {
		s := newShop(t)
		v := s.withParts(5, parts)
		s.mustRedeem(request(t, "SUMMER-20", "", ""))
		s.mustEdit(v, voucher.Edit{Parts: new(4)})
		for range 4 {
			s.mustRedeem(request(t, "SUMMER-20", "", ""))
		}
		wantRequestRefused(t, s.redeemer, request(t, "SUMMER-20", "", ""), voucher.ReasonUsedUp)
	}
}

// All four uses are held in parts when the limit is lowered to two. Once the holds have lapsed, they pay the debt before
// anybody takes a use. So two can be redeemed.
func TestRedeem_LimitLoweredBelowLapsedHolds_PaysTheDebtFirst(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.withParts(4, 2)
	for range 4 {
		s.mustOpen(s.wanted("", "", noon()))
	}
	s.mustEdit(v, voucher.Edit{MaxUses: new(voucher.Limit(2))})
	wantRequestRefused(t, s.redeemer, s.requestAt("", noon()), voucher.ReasonUsedUp)
	for range 2 {
		s.mustRedeem(s.requestAt("", later()))
		head, err := table.ReadVoucher(within(t), s.client, s.table, emberforge, v.Code)
		if err != nil || head.Left < 0 {
			t.Errorf("the head is in debt: %+v, %v", head.Allowance, err)
		}
	}
	wantRequestRefused(t, s.redeemer, s.requestAt("", later()), voucher.ReasonUsedUp)
}

// An item has no more than its live holds and some lapsed ones, however many it had.
func TestOpenHeld_LapsedHolds_AreRemoved(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(100, voucher.NoLimit)
	for hour := range 40 {
		s.mustOpen(s.wanted("", "203.0.113.7", noon().Add(time.Duration(hour)*time.Hour)))
	}
	for name, key := range map[string]table.Key{
		s.table:           table.VoucherKey(emberforge, v.Code),
		s.tables.Refusals: table.SourceHoldsKey(emberforge, access.Source{Name: "203.0.113.7"}),
	} {
		it, err := table.Get(within(t), s.client, name, key, nil)
		must(t, err)
		if a, err := table.DecodeAllowance(it); err != nil || len(a.Holds) > 17 || int(a.Counted) != len(a.Holds) {
			t.Errorf("%s has %d holds, and counts %d, %v", key, len(a.Holds), a.Counted, err)
		}
	}
}
