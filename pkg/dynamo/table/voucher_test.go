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
	bundle := voucher.Reward{Kind: voucher.RewardBundle}
	bundle.Items[0] = voucher.Good{Product: "coins", Variant: "1000", Amount: 1}
	bundle.Items[1] = voucher.Good{Product: "rank", Variant: "vip", Amount: 2}
	for _, test := range []struct {
		stored, currency string
		reward           voucher.Reward
	}{
		{"coins/500", "", voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}},
		{"2*coins/500", "", voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 2}},
		{"20%", "", voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}},
		{"5.00", "EUR", voucher.Reward{
			Kind:      voucher.RewardAmountOff,
			AmountOff: money.Money{Minor: 500, Currency: "EUR"},
		}},
		{"500", "JPY", voucher.Reward{
			Kind:      voucher.RewardAmountOff,
			AmountOff: money.Money{Minor: 500, Currency: "JPY"},
		}},
		{"0.250", "BHD", voucher.Reward{
			Kind:      voucher.RewardAmountOff,
			AmountOff: money.Money{Minor: 250, Currency: "BHD"},
		}},
		{"coins/1000+2*rank/vip", "", bundle},
	} {
		it := EncodeVoucher("emberforge", voucher.Voucher{Code: "SUMMER20", Reward: test.reward})[0]
		if it.Str(AttrReward) != test.stored || it.Str(AttrCurrency) != test.currency {
			t.Errorf("%+v is stored as %q in %q, want %q in %q", test.reward, it.Str(AttrReward), it.Str(AttrCurrency),
				test.stored, test.currency)
		}
		if v, err := DecodeVoucher(it); err != nil || v.Reward != test.reward {
			t.Errorf("%q is read as %+v, %v; want %+v", test.stored, v.Reward, err, test.reward)
		}
	}
}

// The error must not wrap catalog.ErrMalformedID, because that would blame the request for a damaged item.
func TestReward_DamagedForm_IsAnError(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{
		"", "coins", "two*coins/500", "0*coins/500", "coins/5 00", "x%", "0%", "150%", "5.001", "0.00",
		"coins/1000+", "coins/1000+rank", "coins/1000+0*rank/vip", "coins/1000+20%", "coins/1000+coins/1000",
	} {
		it := EncodeVoucher("emberforge", voucher.Voucher{Code: "SUMMER20"})[0]
		it[AttrReward], it[AttrCurrency] = Str(stored), Str("EUR")
		if v, err := DecodeVoucher(it); err == nil || errors.Is(err, catalog.ErrMalformedID) {
			t.Errorf("%q is read as %+v, %v; want an error that does not wrap ErrMalformedID", stored, v.Reward, err)
		}
	}
}
