package voucher_test

import (
	"testing"
	"time"

	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// A hold outlasts its checkout by 10 to 20 seconds, and ends with a whole tick of 10 seconds.
func TestHeldUntil(t *testing.T) {
	for expires, want := range map[string]string{
		"12:30:00.000": "12:30:10.000", "12:30:00.001": "12:30:20.000", "12:30:09.999": "12:30:20.000",
		"12:30:10.000": "12:30:20.000",
	} {
		at, err := time.Parse("15:04:05.000", expires)
		if err != nil {
			t.Fatal(err)
		}
		if got := voucher.HeldUntil(at).Format("15:04:05.000"); got != want {
			t.Errorf("a checkout that expires at %s is held until %s; want %s", expires, got, want)
		}
	}
}

// Percentages round down to whole minor units. Only 100 % or an amount off makes a checkout free.
func TestReward_Discount(t *testing.T) {
	percent := func(n int) voucher.Reward { return voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: n} }
	euro := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	off := func(m money.Money) voucher.Reward { return voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: m} }
	for _, test := range []struct {
		what     string
		reward   voucher.Reward
		subtotal money.Money
		want     int64 // 0: refused
	}{
		{"a whole result", percent(20), euro(500), 100},
		{"half a cent is dropped", percent(50), euro(999), 499},
		{"60 % of a cent is nothing", percent(60), euro(1), 0},
		{"99 % of a cent is nothing", percent(99), euro(1), 0},
		{"100 % of a cent", percent(100), euro(1), 1},
		{"1 % of 99 cents is nothing", percent(1), euro(99), 0},
		{"1 % of the largest amount", percent(1), euro(money.MaxMinor), money.MaxMinor / 100},
		{"100 % of the largest amount", percent(100), euro(money.MaxMinor), money.MaxMinor},
		{"a price without decimals", percent(15), money.Money{Minor: 333, Currency: "JPY"}, 49},
		{"an amount below the subtotal", off(euro(250)), euro(500), 250},
		{"an amount above the subtotal", off(euro(900)), euro(500), 500},
		{"an amount in another currency", off(euro(250)), money.Money{Minor: 500, Currency: "USD"}, 0},
		{"nothing to take off", percent(20), euro(0), 0},
		{
			"goods",
			voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1},
			euro(500),
			0,
		},
		{"several goods", starter(), euro(500), 0},
	} {
		discount, err := test.reward.Discount(test.subtotal)
		reason, refused := voucher.IsRefusal(err)
		if discount.Minor != test.want || refused != (test.want == 0) || refused && reason != voucher.ReasonNoDiscount {
			t.Errorf("%s: %v, %v; want %d", test.what, discount, err, test.want)
		}
	}
}

func TestParseUndoReason(t *testing.T) {
	for _, text := range []string{"", "charged twice", "冬のセール"} {
		if got, err := voucher.ParseUndoReason(text); got != text || err != nil {
			t.Errorf("ParseUndoReason(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"two\nlines", string(make([]byte, voucher.MaxUndoReasonBytes+1)), "\xff"} {
		if _, err := voucher.ParseUndoReason(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestParseRedemptionID(t *testing.T) {
	if id, err := voucher.ParseRedemptionID("AZaz09_-AZaz09_-AZaz09"); id == "" || err != nil {
		t.Errorf("ParseRedemptionID = %q, %v", id, err)
	}
	for _, text := range []string{"", "AZaz09_-AZaz09_-AZaz0", "AZaz09_-AZaz09_-AZaz091", "AZaz09_-AZaz09_-AZaz0#"} {
		if _, err := voucher.ParseRedemptionID(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
