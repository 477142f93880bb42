package dynamo_test

import (
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// quotaOf returns a quota of five redemptions in the hour that begins at noon.
func quotaOf(source string) voucher.Quota {
	return voucher.Quota{Source: source, Limit: 5, Start: noon(), End: noon().Add(time.Hour)}
}

// Thirty invented nicks of one address race for a code. Five of them redeem it. A retry with its key gets its redemption
// even then.
func TestRedeem_SourceAtItsQuota_OnlyRetriesSucceed(t *testing.T) {
	t.Parallel()
	for kind, terms := range map[string]voucher.Terms{
		"limited":           {MaxUses: new(voucher.Limit(50)), MaxUsesPerNick: new(voucher.NoLimit)},
		"one for each nick": {MaxUses: new(voucher.NoLimit)},
		"no limit":          {MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)},
	} {
		t.Run(kind, func(t *testing.T) {
			s := newShop(t)
			tables := dynamo.Tables{Vouchers: s.table, Refusals: dynamotest.Table(t, "RefusalsTable")}
			s.redeemer.Store = dynamo.NewRedeemer(s.client, tables, mathrand.Int64N)
			terms.Written = "SUMMER-20"
			s.create(terms)
			s.create(voucher.Terms{Written: "WELCOME-COINS"})
			wanted := func(code, nick, source string) voucher.Request {
				r := request(t, code, nick, "key of "+nick)
				r.Quota = quotaOf(source)
				return r
			}
			redeemed := s.raceWithinAQuota(func(i int) voucher.Request {
				return wanted("SUMMER-20", fmt.Sprint("Visitor ", i), "203.0.113.7")
			})
			records := s.records("SUMMER-20")
			if redeemed != 5 || len(records) != 5 {
				t.Errorf("%d redeemed, %d records; want 5", redeemed, len(records))
			}
			for _, r := range records {
				again, replayed, err := s.redeemer.Redeem(within(t), wanted("SUMMER-20", r.Nick, "203.0.113.7"))
				if err != nil || !replayed || again.ID != r.ID {
					t.Errorf("a retry: %+v, replayed %t, %v; want %s", again, replayed, err, r.ID)
				}
			}
			later := wanted("SUMMER-20", "Rowan", "203.0.113.7")
			later.Quota.Start, later.Quota.End = later.Quota.End, later.Quota.End.Add(time.Hour)
			for what, r := range map[string]voucher.Request{
				"single-use": wanted("WELCOME-COINS", "Alder", "203.0.113.7"), "the next window": later,
				"another source": wanted("SUMMER-20", "Birch", "203.0.113.8"),
				"the server":     request(t, "SUMMER-20", "Kestrel_9", ""),
			} {
				if _, _, err := s.redeemer.Redeem(within(t), r); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// raceWithinAQuota sends thirty requests at once, and returns how many are redeemed. All others must have to wait until
// the window ends.
func (s *shop) raceWithinAQuota(request func(i int) voucher.Request) int64 {
	var redeemed atomic.Int64
	var visitors sync.WaitGroup
	for i := range 30 {
		visitors.Go(func() {
			_, _, err := s.redeemer.Redeem(within(s.t), request(i))
			tooMany, is := errors.AsType[*voucher.TooManyRedemptionsError](err)
			switch {
			case err == nil:
				redeemed.Add(1)
			case !is || !tooMany.Until.Equal(noon().Add(time.Hour)):
				s.t.Errorf("Redeem: %v; want to wait until the window ends", err)
			}
		})
	}
	visitors.Wait()
	return redeemed.Load()
}
