package voucher_test

import (
	"testing"
	"time"

	"shopfront/pkg/voucher"
)

func TestStanding_Status(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for what, test := range map[string]struct {
		voucher voucher.Voucher
		left    int
		want    voucher.Status
	}{
		"single-use, new":      {voucher.Voucher{MaxUses: 1}, 1, voucher.StatusRedeemable},
		"limited, none left":   {voucher.Voucher{MaxUses: 3}, 0, voucher.StatusUsedUp},
		"no limit":             {voucher.Voucher{MaxUsesPerNick: 1}, 0, voucher.StatusRedeemable},
		"disabled and expired": {voucher.Voucher{Disabled: true, ValidUntil: noon}, 0, voucher.StatusDisabled},
		"not started":          {voucher.Voucher{ValidFrom: noon.Add(1)}, 0, voucher.StatusNotStarted},
		"starts now":           {voucher.Voucher{ValidFrom: noon}, 0, voucher.StatusRedeemable},
		"ends now":             {voucher.Voucher{ValidUntil: noon}, 0, voucher.StatusExpired},
		"expired and redeemed": {voucher.Voucher{MaxUses: 1, ValidUntil: noon}, 0, voucher.StatusExpired},
	} {
		standing := voucher.Standing{Voucher: test.voucher, UsesLeft: test.left}
		if got := standing.Status(noon); got != test.want {
			t.Errorf("%s: %s, want %s", what, got, test.want)
		}
	}
}
