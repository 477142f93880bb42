package voucher_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/catalog"
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
		{"2*coins/500", "EUR", voucher.Reward{
			Kind: voucher.RewardProduct, Product: "coins", Variant: "500",
			Amount: 2,
		}},
		{"20%", "EUR", voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}},
		{"100%", "EUR", voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 100}},
		{"5.00", "EUR", voucher.Reward{
			Kind:      voucher.RewardAmountOff,
			AmountOff: money.Money{Minor: 500, Currency: "EUR"},
		}},
		{"500", "JPY", voucher.Reward{
			Kind:      voucher.RewardAmountOff,
			AmountOff: money.Money{Minor: 500, Currency: "JPY"},
		}},
		{"0.499", "BHD", voucher.Reward{
			Kind:      voucher.RewardAmountOff,
			AmountOff: money.Money{Minor: 499, Currency: "BHD"},
		}},
		{"coins/1000+2*rank/vip", "EUR", starter()},
		{strings.Join(variants(10), "+"), "EUR", full()},
	}
	for _, test := range tests {
		t.Run(test.text+" "+string(test.currency), func(t *testing.T) {
			got, err := voucher.ParseReward(test.text, test.currency)
			if err != nil || got != test.want {
				t.Errorf("ParseReward = %+v, %v; want %+v", got, err, test.want)
			}
			if again, err := voucher.ParseReward(got.String(), test.currency); err != nil || again != got {
				t.Errorf("%q parses as %+v, %v; want %+v", got, again, err, got)
			}
		})
	}
	for _, text := range []string{
		"", "coins", "coins/", "/500", "coins/500/2", "0*coins/500", "1000001*coins/500", "-1*coins/500", "*coins/500",
		"2 * coins/500",
		"0%", "101%", "2.5%", "%", "+20%", "020%", "5.001", "0.00", "-5.00", "1e3", "90071992547409.92", "5,00", "$5",
		"coins/1000+", "+coins/1000", "+", "coins/1000 + rank/vip", "coins/1000+20%", "20%+coins/1000",
		"coins/1000+5.00", "5.00+5.00",
		"coins/1000+coins/1000", "coins/1000+rank/vip+2*coins/1000", "coins/1000+0*rank/vip", "coins/1000++rank/vip",
		strings.Join(variants(11), "+"),
	} {
		t.Run("invalid "+text, func(t *testing.T) {
			reward, err := voucher.ParseReward(text, "EUR")
			if field, is := errors.AsType[*voucher.FieldError](err); !is || field.Field != "reward" {
				t.Errorf("ParseReward(%q) = %+v, %v; want a *FieldError of reward", text, reward, err)
			}
		})
	}
}

// starter returns a bundle of two goods.
func starter() voucher.Reward {
	return voucher.Reward{Kind: voucher.RewardBundle, Items: [voucher.MaxBundleItems]voucher.Good{
		{Product: "coins", Variant: "1000", Amount: 1}, {Product: "rank", Variant: "vip", Amount: 2},
	}}
}

// full returns a bundle of as many goods as a reward can have.
func full() voucher.Reward {
	reward := voucher.Reward{Kind: voucher.RewardBundle}
	for i := range reward.Items {
		reward.Items[i] = voucher.Good{Product: "pet", Variant: catalog.VariantID(fmt.Sprintf("fox-%d", i)), Amount: 1}
	}
	return reward
}

func variants(n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("pet/fox-%d", i))
	}
	return texts
}

func TestParseReward_InvalidReward_ErrorNamesTheFault(t *testing.T) {
	for text, want := range map[string]string{
		"coins/1000+20%": `reward: "coins/1000+20%": "20%": only goods can be joined, ` +
			`such as coins/500+2*rank/vip`,
		"coins/1000+0*rank/vip": `reward: "coins/1000+0*rank/vip": "0*rank/vip": the amount ` +
			`before * is a whole number from 1 to 1000000`,
		"coins/1000+2*coins/1000": `reward: "coins/1000+2*coins/1000": coins/1000 is there ` +
			`twice: give it once, with the amount before *`,
		"a/b+a/c+a/d+a/e+a/f+a/g+a/h+a/i+a/j+a/k+a/l": `reward: "a/b+a/c+a/d+a/e+a/f+a/g+a/h+a/i+a/j+a/k+a/l": a ` +
			`reward has at most 10 goods`,
		"":                    `reward: "": a reward is empty`,
		"coins/500+":          `reward: "coins/500+": a reward is empty`,
		"coins/500, rank/vip": `reward: "coins/500, rank/vip": join rewards with +, or repeat --reward`,
	} {
		if reward, err := voucher.ParseReward(text, "EUR"); err == nil || err.Error() != want {
			t.Errorf("ParseReward = %+v, %v; want %s", reward, err, want)
		}
	}
}

func TestReward_Goods(t *testing.T) {
	for _, text := range []string{
		"coins/500", "2*coins/500", "coins/1000+2*rank/vip", strings.Join(variants(10), "+"),
		"20%", "5.00",
	} {
		reward, err := voucher.ParseReward(text, "EUR")
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if strings.Contains(text, "/") {
			want = strings.Split(text, "+")
		}
		if got := reward.Goods(); fmt.Sprint(got) != fmt.Sprint(want) || (got == nil) != (want == nil) {
			t.Errorf("the goods of %s are %v, want %v", text, got, want)
		}
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
			t.Fatalf("%+v is formatted as %q, which parses as %+v, %v", reward, reward, again, err)
		}
	})
}

func drawReward(t *rapid.T) voucher.Reward {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		good := drawGood(t)
		return voucher.Reward{
			Kind: voucher.RewardProduct, Product: good.Product, Variant: good.Variant,
			Amount: good.Amount,
		}
	case 1:
		return voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: rapid.IntRange(1, 100).Draw(t, "percent")}
	case 2:
		reward := voucher.Reward{Kind: voucher.RewardBundle}
		goods := rapid.SliceOfNDistinct(rapid.Custom(drawGood), 2, voucher.MaxBundleItems, func(g voucher.Good) string {
			return string(g.Product) + "/" + string(g.Variant)
		})
		copy(reward.Items[:], goods.Draw(t, "goods"))
		return reward
	default:
		off := rapid.Int64Range(1, money.MaxMinor).Draw(t, "minor")
		return voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: off, Currency: "EUR"}}
	}
}

func drawGood(t *rapid.T) voucher.Good {
	id := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}`)
	return voucher.Good{
		Product: catalog.ProductID(id.Draw(t, "product")), Variant: catalog.VariantID(id.Draw(t, "variant")),
		Amount: rapid.Int64Range(1, catalog.MaxAmount).Draw(t, "amount"),
	}
}
