package voucher_test

import (
	"testing"
	"time"

	"shopfront/pkg/voucher"
)

func TestStanding(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for what, test := range map[string]struct {
		voucher    voucher.Voucher
		left, used int
		want       voucher.Status
		wantLeft   int
		wantUsed   int
	}{
		"single-use, new": {voucher.Voucher{MaxUses: 1}, 0, 0, voucher.StatusRedeemable, 1, 0},
		"single-use, redeemed": {
			voucher.Voucher{MaxUses: 1, Redeemed: &voucher.Redemption{}},
			0, 0,
			voucher.StatusUsedUp, 0, 1,
		},
		"single-use, held": {
			voucher.Voucher{MaxUses: 1, Held: &voucher.Hold{Until: noon.Add(1)}},
			0, 0,
			voucher.StatusUsedUp, 0, 1,
		},
		"single-use, lapsed": {
			voucher.Voucher{MaxUses: 1, Held: &voucher.Hold{Until: noon}},
			0, 0,
			voucher.StatusRedeemable, 1, 0,
		},
		"limited, uses left": {voucher.Voucher{MaxUses: 3}, 1, 2, voucher.StatusRedeemable, 1, 2},
		"limited, none left": {voucher.Voucher{MaxUses: 3}, 0, 3, voucher.StatusUsedUp, 0, 3},
		"no limit":           {voucher.Voucher{}, 0, 5, voucher.StatusRedeemable, 0, 5},
		"for one nick": {
			voucher.Voucher{Nick: voucher.Nick{Written: "Alder", Compared: "alder"}},
			0, 0,
			voucher.StatusRedeemable, 0, 0,
		},
		"needs a nick":         {voucher.Voucher{MaxUsesPerNick: 1}, 0, 0, voucher.StatusRedeemable, 0, 0},
		"disabled and expired": {voucher.Voucher{Disabled: true, ValidUntil: noon}, 0, 0, voucher.StatusDisabled, 0, 0},
		"not started":          {voucher.Voucher{ValidFrom: noon.Add(1)}, 0, 0, voucher.StatusNotStarted, 0, 0},
		"starts now":           {voucher.Voucher{ValidFrom: noon}, 0, 0, voucher.StatusRedeemable, 0, 0},
		"ends now":             {voucher.Voucher{ValidUntil: noon}, 0, 0, voucher.StatusExpired, 0, 0},
		"expired and redeemed": {
			voucher.Voucher{MaxUses: 1, ValidUntil: noon, Redeemed: &voucher.Redemption{}},
			0, 0, voucher.StatusExpired,
			0, 1,
		},
	} {
		standing := voucher.NewStanding(test.voucher, test.left, test.used, noon)
		if got := standing.Status(noon); got != test.want || standing.UsesLeft != test.wantLeft ||
			standing.Used != test.wantUsed {
			t.Errorf("%s: %s, %d left, %d used; want %s, %d, %d",
				what, got, standing.UsesLeft, standing.Used, test.want, test.wantLeft, test.wantUsed)
		}
	}
}
