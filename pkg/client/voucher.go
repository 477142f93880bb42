package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Redemption is a redeemed voucher. Grant its reward once for each ID.
type Redemption struct {
	ID         string    `json:"id"`
	Code       string    `json:"code"` // in the operator's spelling
	Nick       string    `json:"nick"` // empty: none
	RedeemedAt time.Time `json:"redeemedAt"`
	Reward     Reward    `json:"reward"`
	// Replayed means that the service had already made this redemption for the key, perhaps in an earlier attempt of
	// the same call. The reward may or may not have been granted.
	Replayed bool `json:"-"`
}

// Redeemable is a voucher that could be redeemed a moment ago. Grant nothing for it.
type Redeemable struct {
	Code   string `json:"code"` // in the operator's spelling
	Nick   string `json:"nick"` // empty: none
	Reward Reward `json:"reward"`
}

// RewardKind is the kind of a reward. New kinds may be added: treat an unknown kind as an error of your own, not as "no
// reward".
type RewardKind string

// The kinds of reward.
const (
	RewardProduct    RewardKind = "product"     // an amount of a variant, free
	RewardPercentOff RewardKind = "percent_off" // a discount that the storefront's till gives
	RewardAmountOff  RewardKind = "amount_off"  // a discount that the storefront's till gives
	RewardBundle     RewardKind = "bundle"      // amounts of several variants, free
)

// Reward is what a redemption gives. Fields that do not belong to the kind are zero.
type Reward struct {
	Kind RewardKind `json:"kind"`

	Product string `json:"product,omitzero"`
	Variant string `json:"variant,omitzero"`
	Amount  int64  `json:"amount,omitzero"` // how many of the variant, at least 1

	PercentOff int `json:"percentOff,omitzero"` // 1 to 100

	AmountOff Money `json:"amountOff,omitzero"` // above zero

	Items []Good `json:"items,omitzero"` // all that a bundle gives
}

// Good is an amount of a variant.
type Good struct {
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"` // at least 1
}

func (g Good) isComplete() bool { return isID(g.Product) && isID(g.Variant) && g.Amount >= 1 }

func (r Reward) isComplete() bool {
	switch r.Kind {
	case RewardProduct:
		return Good{r.Product, r.Variant, r.Amount}.isComplete()
	case RewardPercentOff:
		return r.PercentOff >= 1 && r.PercentOff <= 100
	case RewardAmountOff:
		return r.AmountOff.Minor > 0
	case RewardBundle:
		return len(r.Items) > 0 && !slices.ContainsFunc(r.Items, func(g Good) bool { return !g.isComplete() })
	default:
		return r.Kind != ""
	}
}

// Money is an exact amount.
type Money struct {
	Minor    int64  `json:"minor"`    // whole minor units (cents, yen, fils), 0 to 2^53-1
	Currency string `json:"currency"` // ISO 4217
	Display  string `json:"display"`  // for people: 4.99 EUR
}

// UnmarshalJSON rejects amounts that are missing, fractional or out of bounds.
func (m *Money) UnmarshalJSON(text []byte) error {
	const largest = 1<<53 - 1
	var read struct {
		Minor    *int64 `json:"minor"`
		Currency string `json:"currency"`
		Display  string `json:"display"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read.Minor == nil || *read.Minor < 0 || *read.Minor > largest || len(read.Currency) != 3 {
		return errors.New("not an amount of money")
	}
	*m = Money{Minor: *read.Minor, Currency: read.Currency, Display: read.Display}
	return nil
}

// Redeem redeems a code for a nick. The nick can be empty. No error means that the code is redeemed, by this call or by
// an earlier one with the same key. ErrVoucherNotFound means that the voucher is unknown, used up, expired or otherwise
// refused. ErrInvalid means that the code or nick is malformed. After either error, no attempt of this call has
// redeemed anything. ErrRedemptionUndone means that an earlier call with this key redeemed the code, and that the
// redemption was undone: grant nothing, and use a new key to redeem again. After an *OutcomeUnknownError grant nothing,
// and repeat the call with its key.
//
// A lost attempt may still be applied after a later attempt was refused. Redeem therefore asks again
// DefaultAttemptTimeout after the loss: then a refusal is final. If the context or the attempts end before that, the
// outcome is unknown.
func (c *Client) Redeem(ctx context.Context, code, nick string, options ...CallOption) (Redemption, error) {
	r := c.voucherRequest("redeem voucher", code, nick).once(options)
	received, err := receive(ctx, c, r, "a redeemed voucher", func(v *voucherResponse, resp response) bool {
		v.Replayed = resp.isReplayed()
		return v.isComplete() && v.Status == "redeemed" && v.ID != "" && !v.RedeemedAt.IsZero()
	})
	return received.Redemption, err
}

// Check returns what a redemption would give now. It changes and reserves nothing: somebody else may take the last use
// a moment later. It returns the same errors as Redeem, except ErrRedemptionUndone and *OutcomeUnknownError. A check
// needs no key.
func (c *Client) Check(ctx context.Context, code, nick string, options ...CallOption) (Redeemable, error) {
	r := c.voucherRequest("check voucher", code, nick).once(options)
	r.query, r.key, r.isChange, r.isRepeated = "check=true", "", false, false
	received, err := receive(ctx, c, r, "a voucher that can be redeemed", func(v *voucherResponse, _ response) bool {
		return v.isComplete() && v.Status == "redeemable"
	})
	return Redeemable{Code: received.Code, Nick: received.Nick, Reward: received.Reward}, err
}

func (c *Client) voucherRequest(call, code, nick string) request {
	return c.post(call, "/voucher", struct {
		Code string `json:"code"`
		Nick string `json:"nick,omitzero"`
	}{code, nick})
}

// voucherResponse is the response to Redeem or Check. After Check, the Redemption has neither ID nor time.
type voucherResponse struct {
	Status string `json:"status"`
	Redemption
}

func (v voucherResponse) isComplete() bool { return v.Code != "" && v.Reward.isComplete() }
