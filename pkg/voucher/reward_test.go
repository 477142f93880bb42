package voucher_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

func TestParseReward(t *testing.T) {
	tests := []struct {
		text     string
		currency money.Currency
		want     voucher.Reward
	}{
		{"coins/500", "EUR", voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}},
		{"2*coins/500", "EUR", voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 2}},
		{"20%", "EUR", voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}},
		{"100%", "EUR", voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 100}},
		{"5.00", "EUR", voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 500, Currency: "EUR"}}},
		{"500", "JPY", voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 500, Currency: "JPY"}}},
		{"0.499", "BHD", voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 499, Currency: "BHD"}}},
	}
	for _, test := range tests {
		t.Run(test.text+" "+string(test.currency), func(t *testing.T) {
			got, err := voucher.ParseReward(test.text, test.currency)
			if err != nil || got != test.want {
				t.Errorf("ParseReward = %+v, %v; want %+v", got, err, test.want)
			}
			if again, err := voucher.ParseReward(got.String(), test.currency); err != nil || again != got {
				t.Errorf("%q reads again as %+v, %v", got, again, err)
			}
		})
	}
	for _, text := range []string{
		"", "coins", "coins/", "/500", "coins/500/2", "0*coins/500", "1000001*coins/500", "-1*coins/500", "*coins/500", "2 * coins/500",
		"0%", "101%", "2.5%", "%", "+20%", "020%", "5.001", "0.00", "-5.00", "1e3", "90071992547409.92", "5,00", "$5",
	} {
		t.Run("invalid "+text, func(t *testing.T) {
			reward, err := voucher.ParseReward(text, "EUR")
			if field, is := errors.AsType[*voucher.FieldError](err); !is || field.Field != "reward" {
				t.Errorf("ParseReward(%q) = %+v, %v; want a *FieldError of reward", text, reward, err)
			}
		})
	}
}

func TestParseReward_AmountWithoutDecimals_AsksWhichRewardIsMeant(t *testing.T) {
	for _, test := range []struct {
		text     string
		currency money.Currency
		want     string
	}{
		{"20", "EUR", `reward: "20": 20% or 20.00 EUR? Write 20% or 20.00`},
		{"100", "BHD", `reward: "100": 100% or 100.000 BHD? Write 100% or 100.000`},
		{"500", "EUR", `reward: "500": an amount of EUR needs its decimals: write 500.00`},
		{"020", "EUR", `reward: "020": an amount of EUR needs its decimals: write 20.00`},
		{"0", "EUR", `reward: "0": an amount off must be above zero`},
	} {
		if reward, err := voucher.ParseReward(test.text, test.currency); err == nil || err.Error() != test.want {
			t.Errorf("ParseReward = %+v, %v; want %s", reward, err, test.want)
		}
	}
}

func TestParseReward_FormattedReward_ParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reward := drawReward(t)
		if again, err := voucher.ParseReward(reward.String(), "EUR"); err != nil || again != reward {
			t.Fatalf("%+v is written %q and reads again as %+v, %v", reward, reward, again, err)
		}
	})
}

func drawReward(t *rapid.T) voucher.Reward {
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return voucher.Reward{
			Kind: voucher.RewardProduct, Product: "coins", Variant: "500",
			Amount: rapid.Int64Range(1, 1_000_000).Draw(t, "amount"),
		}
	case 1:
		return voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: rapid.IntRange(1, 100).Draw(t, "percent")}
	default:
		off := rapid.Int64Range(1, money.MaxMinor).Draw(t, "minor")
		return voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: off, Currency: "EUR"}}
	}
}
