package voucher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

// RewardKind is the kind of a reward.
type RewardKind string

// The kinds of reward.
const (
	RewardProduct    RewardKind = "product"     // free items of a variant
	RewardPercentOff RewardKind = "percent_off" // a percentage off the price
	RewardAmountOff  RewardKind = "amount_off"  // an amount of money off the price
)

// Reward is what a redemption gives. Fields that do not belong to its kind are zero.
type Reward struct {
	Kind RewardKind

	Product catalog.ProductID
	Variant catalog.VariantID
	Amount  int64 // how many of the variant, 1 to catalog.MaxAmount

	PercentOff int // 1 to 100

	AmountOff money.Money // above zero, in the customer's currency
}

// ParseReward reads a reward as an operator types it: coins/500 (product/variant), 2*coins/500, 20%, or 5.00 in the customer's
// currency. An amount needs a decimal point if the currency has decimals. Anything else is a *FieldError.
func ParseReward(text string, currency money.Currency) (Reward, error) {
	reward, err := parseReward(text, currency)
	if err != nil {
		return Reward{}, &FieldError{Field: "reward", Err: fmt.Errorf("%.80q: %w", text, err)}
	}
	return reward, nil
}

func parseReward(text string, currency money.Currency) (Reward, error) {
	if percent, found := strings.CutSuffix(text, "%"); found {
		n, err := parseWhole(percent, 100)
		if err != nil {
			return Reward{}, errors.New("a percentage is a whole number from 1% to 100%")
		}
		return Reward{Kind: RewardPercentOff, PercentOff: int(n)}, nil
	}
	if strings.Contains(text, "/") {
		return parseProductReward(text)
	}
	off, err := money.Parse(text, currency)
	if errors.Is(err, money.ErrMalformed) {
		return Reward{}, fmt.Errorf("a reward is product/variant, 2*product/variant, 20%% or an amount of %s such as %s",
			currency, money.Money{Minor: 500, Currency: currency}.Decimal())
	}
	if err != nil {
		return Reward{}, err
	}
	if off.Minor == 0 {
		return Reward{}, errors.New("an amount off must be above zero")
	}
	if currency.Digits() > 0 && !strings.Contains(text, ".") {
		return Reward{}, ambiguousAmount(text, off)
	}
	return Reward{Kind: RewardAmountOff, AmountOff: off}, nil
}

// ambiguousAmount is the error for 20 in a currency with decimals, because it can be a slip for 20%.
func ambiguousAmount(text string, off money.Money) error {
	if _, err := parseWhole(text, 100); err != nil {
		return fmt.Errorf("an amount of %s needs its decimals: write %s", off.Currency, off.Decimal())
	}
	return fmt.Errorf("%[1]s%% or %[2]s? Write %[1]s%% or %[3]s", text, off, off.Decimal())
}

func parseProductReward(text string) (Reward, error) {
	reward := Reward{Kind: RewardProduct, Amount: 1}
	what := text
	if count, rest, found := strings.Cut(text, "*"); found {
		n, err := parseWhole(count, catalog.MaxAmount)
		if err != nil {
			return Reward{}, fmt.Errorf("the amount before * is a whole number from 1 to %d", catalog.MaxAmount)
		}
		reward.Amount, what = n, rest
	}
	product, variant, _ := strings.Cut(what, "/")
	var err error
	if reward.Product, err = catalog.ParseID[catalog.ProductID](product); err != nil {
		return Reward{}, err
	}
	if reward.Variant, err = catalog.ParseID[catalog.VariantID](variant); err != nil {
		return Reward{}, err
	}
	return reward, nil
}

func parseWhole(digits string, most int64) (int64, error) {
	if digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && n > most {
		err = strconv.ErrRange
	}
	return n, err
}

// String returns a reward in the form that ParseReward reads. Rewards are stored in this form, so it never changes.
func (r Reward) String() string {
	switch r.Kind {
	case RewardProduct:
		what := string(r.Product) + "/" + string(r.Variant)
		if r.Amount == 1 {
			return what
		}
		return strconv.FormatInt(r.Amount, 10) + "*" + what
	case RewardPercentOff:
		return strconv.Itoa(r.PercentOff) + "%"
	case RewardAmountOff:
		return r.AmountOff.Decimal()
	default:
		return ""
	}
}

// Discount returns what the reward takes off a subtotal. A percentage is rounded down to whole minor units. So the result is the same in
// every language, several small checkouts never cost less than one large one, and a percentage below 100 never makes a checkout free. An
// amount off never exceeds the subtotal. A reward that takes nothing off, or whose currency differs, is a *RefusalError.
func (r Reward) Discount(subtotal money.Money) (money.Money, error) {
	discount := money.Money{Currency: subtotal.Currency}
	switch {
	case r.Kind == RewardPercentOff:
		discount.Minor = subtotal.Minor * int64(r.PercentOff) / 100 // at most 2^53 * 100, which fits
	case r.Kind == RewardAmountOff && r.AmountOff.Currency == subtotal.Currency:
		discount.Minor = min(r.AmountOff.Minor, subtotal.Minor)
	}
	if discount.Minor == 0 {
		return money.Money{}, &RefusalError{ReasonNoDiscount}
	}
	return discount, nil
}
