package voucher

import (
	"errors"
	"fmt"
	"slices"
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
	RewardBundle     RewardKind = "bundle"      // free items of several variants
)

// MaxBundleItems bounds the goods of a bundle.
const MaxBundleItems = 10

// Good is a number of items of one variant.
type Good struct {
	Product catalog.ProductID
	Variant catalog.VariantID
	Amount  int64 // 1 to catalog.MaxAmount
}

// Reward is what a redemption gives. Fields that do not belong to its kind are zero.
type Reward struct {
	Kind RewardKind

	Product catalog.ProductID
	Variant catalog.VariantID
	Amount  int64 // how many of the variant, 1 to catalog.MaxAmount

	PercentOff int // 1 to 100

	AmountOff money.Money // above zero, in the shop's currency

	// Items are the goods of a bundle: two or more, no variant twice. Unused places are zero and come last. It is an
	// array so that rewards can be compared.
	Items [MaxBundleItems]Good
}

// ParseReward reads a reward as an operator types it: coins/500 (product/variant), 2*coins/500, coins/500+rank/vip,
// 20%, or 5.00 in the shop's currency. An amount needs a decimal point if the currency has decimals. Anything else is a
// *FieldError.
func ParseReward(text string, currency money.Currency) (Reward, error) {
	reward, err := parseReward(text, currency)
	if err != nil {
		return Reward{}, &FieldError{Field: "reward", Err: fmt.Errorf("%.80q: %w", text, err)}
	}
	return reward, nil
}

func parseReward(text string, currency money.Currency) (Reward, error) {
	switch {
	case slices.Contains(strings.Split(text, "+"), ""):
		return Reward{}, errors.New("a reward is empty")
	case strings.Contains(text, ",") && strings.Contains(text, "/"):
		return Reward{}, errors.New("join rewards with +, or repeat --reward")
	case strings.Contains(text, "+"):
		return parseBundle(text)
	}
	if percent, found := strings.CutSuffix(text, "%"); found {
		n, err := parseWhole(percent, 100)
		if err != nil {
			return Reward{}, errors.New("a percentage is a whole number from 1% to 100%")
		}
		return Reward{Kind: RewardPercentOff, PercentOff: int(n)}, nil
	}
	if strings.Contains(text, "/") {
		good, err := parseGood(text)
		return Reward{Kind: RewardProduct, Product: good.Product, Variant: good.Variant, Amount: good.Amount}, err
	}
	off, err := money.Parse(text, currency)
	if errors.Is(err, money.ErrMalformed) {
		return Reward{}, fmt.Errorf("a reward is product/variant, 2*product/variant, 20%% or "+
			"an amount of %s such as %s",
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

// ambiguousAmount returns the error for an amount such as 20 in a currency with decimals. The operator may have meant
// 20%.
func ambiguousAmount(text string, off money.Money) error {
	if _, err := parseWhole(text, 100); err != nil {
		return fmt.Errorf("an amount of %s needs its decimals: write %s", off.Currency, off.Decimal())
	}
	return fmt.Errorf("%[1]s%% or %[2]s? Write %[1]s%% or %[3]s", text, off, off.Decimal())
}

func parseBundle(text string) (Reward, error) {
	reward := Reward{Kind: RewardBundle}
	for i, item := range strings.Split(text, "+") {
		if i == MaxBundleItems {
			return Reward{}, fmt.Errorf("a reward has at most %d goods", MaxBundleItems)
		}
		if !strings.Contains(item, "/") {
			return Reward{}, fmt.Errorf("%.80q: only goods can be joined, such as coins/500+2*rank/vip", item)
		}
		good, err := parseGood(item)
		if err != nil {
			return Reward{}, fmt.Errorf("%.80q: %w", item, err)
		}
		if slices.ContainsFunc(reward.Items[:i],
			func(g Good) bool { return g.Product == good.Product && g.Variant == good.Variant }) {
			return Reward{}, fmt.Errorf("%s/%s is there twice: give it once, with the amount before *", good.Product,
				good.Variant)
		}
		reward.Items[i] = good
	}
	return reward, nil
}

func parseGood(text string) (good Good, err error) {
	good.Amount = 1
	if count, rest, found := strings.Cut(text, "*"); found {
		if good.Amount, err = parseWhole(count, catalog.MaxAmount); err != nil {
			return Good{}, fmt.Errorf("the amount before * is a whole number from 1 to %d", catalog.MaxAmount)
		}
		text = rest
	}
	product, variant, _ := strings.Cut(text, "/")
	if good.Product, err = catalog.ParseID[catalog.ProductID](product); err != nil {
		return Good{}, err
	}
	good.Variant, err = catalog.ParseID[catalog.VariantID](variant)
	return good, err
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
	case RewardProduct, RewardBundle:
		var text []string
		for _, good := range r.Goods() {
			text = append(text, good.String())
		}
		return strings.Join(text, "+")
	case RewardPercentOff:
		return strconv.Itoa(r.PercentOff) + "%"
	case RewardAmountOff:
		return r.AmountOff.Decimal()
	default:
		return ""
	}
}

// Goods returns what a product reward or a bundle gives, and nil for a discount.
func (r Reward) Goods() (goods []Good) {
	if r.Kind == RewardProduct {
		return []Good{{r.Product, r.Variant, r.Amount}}
	}
	for _, item := range r.Items {
		if item == (Good{}) {
			break
		}
		goods = append(goods, item)
	}
	return goods
}

// String returns coins/500, or 2*coins/500 for an amount above one.
func (g Good) String() string {
	text := string(g.Product) + "/" + string(g.Variant)
	if g.Amount == 1 {
		return text
	}
	return strconv.FormatInt(g.Amount, 10) + "*" + text
}

// Discount returns what the reward takes off a subtotal. A percentage is rounded down to whole minor units. Therefore
// clients in any programming language can compute the same discount in integers, several small checkouts never cost
// less than one large one, and a percentage below 100 never makes a checkout free. An amount off never exceeds the
// subtotal. If the reward takes nothing off or is in another currency, Discount returns a *RefusalError.
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
