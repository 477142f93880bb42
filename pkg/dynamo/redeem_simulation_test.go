package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// simulatedVouchers is the name of a simulated table.
const simulatedVouchers = "vouchers"

// uses adds up what is stored about a code: the uses left and used in its counters, and its records.
func uses(stored *simulatedDynamoDB, code voucher.Code) (left, used, records int) {
	for key, it := range stored.items(simulatedVouchers) {
		if key.Code() != code {
			continue
		}
		left += int(it.Num(table.AttrLeft))
		used += int(it.Num(table.AttrUsed))
		for name := range it {
			if strings.HasPrefix(name, table.RecordPrefix) {
				records++
			}
		}
	}
	return left, used, records
}

// Twenty requests race for five uses in three counters. Some of the requests are retries. Whatever fails, each use is
// either left or recorded once, a retry gets the same redemption, and in the end no use is left. With a quota, three
// uses are redeemed, at most two of them from one subnet.
func TestRedeem_ConcurrentRequestsAndFaults_TakeEveryUseOnce(t *testing.T) {
	t.Parallel()
	redemptionTrials().simulate(t, 100)
}

func redemptionTrials() trials {
	all := trials{}
	for name, faults := range map[string]memdynamo.Rates{"reliable": {}, "every fault": everyFault(0.05)} {
		for quota, most := range map[string]int{"": 5, ", quota": 3} {
			all[name+quota] = func(s *simulation) {
				s.faults = faults
				raceForFiveUses(s, most)
			}
		}
	}
	return all
}

// checkQuota checks that the count of a network, of its two subnets and of the records are equal, and below their
// limits.
func checkQuota(s *simulation, it table.Item, records int) {
	total, one, two := int(it.Num(table.AttrRedemptions)), int(it.Num("0000")), int(it.Num("0001"))
	if total != records || one+two != total || max(one, two) > 2 || total > 3 {
		s.t.Errorf("%d redemptions are stored; %d are counted, %d and %d from the subnets", records, total, one, two)
	}
}

func raceForFiveUses(s *simulation, most int) {
	v, err := voucher.New(voucher.Terms{
		Written: "SUMMER20", MaxUses: new(voucher.Limit(5)), MaxUsesPerNick: new(voucher.NoLimit), Parts: new(3),
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}, s.now())
	must(s.t, err)
	must(s.t, s.owner(s.setup).Create(s.t.Context(), v))
	s.afterCommit = func(stored *simulatedDynamoDB) {
		if left, used, records := uses(stored, v.Code); left+used != 5 || used != records {
			s.t.Errorf("%d uses left, %d used, %d redemptions; want five uses in total, and a redemption for each "+
				"used one", left, used, records)
		} else if most < 5 {
			key := table.QuotaKey(emberforge, voucher.Quota{Source: "2001:db8:5::/48", Start: noon()})
			checkQuota(s, stored.item(simulatedRefusals, key), records)
		}
	}
	redeemer := voucher.Redeemer{
		Store: dynamo.NewRedeemer(s.dynamodb,
			dynamo.Tables{Vouchers: simulatedVouchers, Refusals: simulatedRefusals}, s.random.Int64N),
		Random: s.random,
	}
	redeemed := make(map[string]voucher.Redemption) // by key
	refused := make(map[string]bool)                // by key
	unknown := 0
	for i := range 20 {
		key := fmt.Sprint("order-", 1040+i%12) // some requests are retries
		s.request(s.t.Context(), fmt.Sprintf("redeem %02d %s", i, key), func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			r := request(s.t, "SUMMER20", "Alder", key)
			r.At = s.now()
			if most < 5 {
				r.Quota = voucher.Quota{
					Source: "2001:db8:5::/48", Subnet: fmt.Sprintf("%04x", i%2), Limit: 2, Network: 3,
					Start: noon(), End: noon().Add(time.Hour),
				}
			}
			redemption, _, err := redeemer.Redeem(ctx, r)
			s.mu.Lock()
			defer s.mu.Unlock()
			before, repeated := redeemed[key]
			_, unavailable := errors.AsType[*dynamo.UnavailableError](err)
			_, tooMany := errors.AsType[*voucher.TooManyRedemptionsError](err)
			reason, _ := voucher.IsRefusal(err)
			switch {
			case err == nil && repeated && redemption != before:
				s.t.Errorf("%s: redeemed as %+v and as %+v", key, before, redemption)
			case err == nil:
				redeemed[key] = redemption
			case tooMany && most < 5: // another subnet can still redeem with the key
			case unavailable:
				unknown++
			case reason == voucher.ReasonUsedUp:
				refused[key] = true
			default:
				s.t.Errorf("%s: %v", key, err)
			}
			if redemption, is := redeemed[key]; is && refused[key] {
				s.t.Errorf("%s: one request was refused, and another one redeemed as %+v", key, redemption)
			}
		})
	}
	s.run()
	_, used, _ := uses(s.setup, v.Code)
	if used != most || len(redeemed) > most || len(redeemed)+unknown < most || len(s.faults) == 0 && unknown > 0 {
		s.t.Errorf("%d uses are used, %d keys redeemed, %d outcomes are unknown; want %d uses to be used", used,
			len(redeemed), unknown, most)
	}
}
