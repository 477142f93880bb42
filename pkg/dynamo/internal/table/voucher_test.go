package table

import (
	"errors"
	"testing"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Stored rewards must stay readable.
func TestReward_StoredForm_NeverChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stored, currency string
		reward           voucher.Reward
	}{
		{"coins/500", "", voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}},
		{"2*coins/500", "", voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 2}},
		{"20%", "", voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}},
		{"5.00", "EUR", voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 500, Currency: "EUR"}}},
		{"500", "JPY", voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 500, Currency: "JPY"}}},
		{"0.250", "BHD", voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 250, Currency: "BHD"}}},
	} {
		it := EncodeVoucher("emberforge", voucher.Voucher{Code: "SUMMER20", Reward: test.reward})
		if it.Str(AttrReward) != test.stored || it.Str(AttrCurrency) != test.currency {
			t.Errorf("%+v is stored as %q in %q, want %q in %q", test.reward, it.Str(AttrReward), it.Str(AttrCurrency), test.stored, test.currency)
		}
		if v, err := DecodeVoucher(it); err != nil || v.Reward != test.reward {
			t.Errorf("%q is read as %+v, %v", test.stored, v.Reward, err)
		}
	}
}

func TestReward_DamagedForm_IsAnError(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{"", "coins", "two*coins/500", "0*coins/500", "coins/5 00", "x%", "0%", "150%", "5.001", "0.00"} {
		it := EncodeVoucher("emberforge", voucher.Voucher{Code: "SUMMER20"})
		it[AttrReward], it[AttrCurrency] = Str(stored), Str("EUR")
		if v, err := DecodeVoucher(it); err == nil || errors.Is(err, catalog.ErrMalformedID) {
			t.Errorf("%q is read as %+v, %v", stored, v.Reward, err)
		}
	}
}
