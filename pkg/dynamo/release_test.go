package dynamo_test

import (
	"errors"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// Alder holds the last use of the code, or of the nick. Only a checkout of the same nick can share it.
func TestRelease_EachKindOfHold_IsFreeUnlessItIsShared(t *testing.T) {
	t.Parallel()
	single, counted, both, byNick := limits{1, 0}, limits{2, 0}, limits{2, 1}, limits{0, 1}
	for what, test := range map[string]struct {
		limits

		isShared bool
		then     string // a nick that wants the use
	}{
		"single-use":                         {single, false, "Crow"},
		"single-use, shared":                 {single, true, "Crow"},
		"limited":                            {counted, false, "Crow"},
		"limited, one for each nick":         {both, false, "Crow"},
		"limited, one for each nick, shared": {both, true, "Crow"},
		"limited, one for each nick, again":  {both, false, "Alder"},
		"one for each nick":                  {byNick, false, "Alder"},
		"one for each nick, shared":          {byNick, true, "Alder"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			releaseOnce(newStall(t), test.limits, test.isShared, test.then)
		})
	}
}

func releaseOnce(s *stall, of limits, isShared bool, then string) {
	s.t.Helper()
	v := s.percent20(of.uses, of.ofNick)
	if of.uses == 2 {
		s.mustOpen(s.wanted("Birch", "", noon()))
	}
	opened := s.mustOpen(s.wanted("Alder", "", noon()))
	if isShared {
		s.mustOpen(s.wanted("Alder", "", noon())) // at the same moment
	}
	released, replayed, err := s.orders.Release(within(s.t), emberforge, opened.ID, false)
	if err != nil || replayed || released.Status(noon()) != checkout.StatusReleased {
		s.t.Fatalf("Release = %+v, replayed %t, %v", released, replayed, err)
	}
	redeemer := s.redeemerOver(s.client, mathrand.Int64N)
	_, _, err = redeemer.Redeem(within(s.t), s.requestAt(then, noon().Add(time.Minute)))
	if _, refused := voucher.IsRefusal(err); refused != isShared || err != nil && !refused {
		s.t.Errorf("redeeming the use of the released checkout: %v", err)
	}
	if err := s.order(opened, noon()); !errors.Is(err, checkout.ErrReleased) {
		s.t.Errorf("ordering the released checkout: %v", err)
	}
	if of.uses == 2 {
		s.wantUses(v, 0, 2)
	}
}
