package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Redemption is a voucher that was redeemed. Grant its reward once for each ID.
type Redemption struct {
	ID         string    `json:"id"`
	Code       string    `json:"code"` // as the voucher was created with
	Nick       string    `json:"nick"` // empty for none
	RedeemedAt time.Time `json:"redeemedAt"`
	Reward     Reward    `json:"reward"`
	// Replayed says that the key had this redemption already, be it from an earlier attempt of this very call. It does not
	// say whether its reward was granted.
	Replayed bool `json:"-"`
}

// Redeemable is a voucher that could be redeemed a moment ago. It grants nothing.
type Redeemable struct {
	Code   string `json:"code"` // as the voucher was created with
	Nick   string `json:"nick"` // empty for none
	Reward Reward `json:"reward"`
}

// RewardKind tells what a voucher gives. There may be more of them one day: treat one that you do not know as an error of
// your own, not as nothing.
type RewardKind string

// The kinds of reward.
const (
	RewardProduct    RewardKind = "product"     // an amount of a variant, free
	RewardPercentOff RewardKind = "percent_off" // for the storefront's till
	RewardAmountOff  RewardKind = "amount_off"  // for the storefront's till
)

// Reward is what a redemption gives. The fields that its kind does not name are zero.
type Reward struct {
	Kind RewardKind `json:"kind"`

	Product string `json:"product,omitzero"`
	Variant string `json:"variant,omitzero"`
	Amount  int64  `json:"amount,omitzero"` // how many of the variant, at least 1

	PercentOff int `json:"percentOff,omitzero"` // 1 to 100

	AmountOff Money `json:"amountOff,omitzero"` // above zero
}

func (r Reward) isComplete() bool {
	switch r.Kind {
	case RewardProduct:
		return isID(r.Product) && isID(r.Variant) && r.Amount >= 1
	case RewardPercentOff:
		return r.PercentOff >= 1 && r.PercentOff <= 100
	case RewardAmountOff:
		return r.AmountOff.Minor > 0
	default:
		return r.Kind != ""
	}
}

// Redeem redeems a code, for a nick or for nobody in particular (an empty one). No error means redeemed, now or under the
// same key before. A voucher that is unknown, used up, expired or otherwise refused is ErrVoucherNotFound, a code or nick
// that cannot be one ErrInvalid; neither was redeemed, by no attempt of this call. On an *OutcomeUnknownError grant nothing,
// and repeat the call with its key.
//
// An attempt whose answer was lost may still be applied after a later one was refused. Such a refusal is asked for once more,
// DefaultAttemptTimeout after the loss, when that is over; where the context or the attempts end before, the outcome is unknown.
func (c *Client) Redeem(ctx context.Context, code, nick string, options ...CallOption) (Redemption, error) {
	var answered struct {
		Status string `json:"status"`
		Redemption
	}
	r := c.voucherRequest(code, nick)
	r.read = func(a answer) error {
		if !a.decode("application/json", &answered) || answered.Status != "redeemed" || answered.ID == "" || answered.Code == "" ||
			answered.RedeemedAt.IsZero() || !answered.Reward.isComplete() {
			return a.notUnderstood("it is no redemption")
		}
		answered.Replayed = a.isReplayed()
		return nil
	}
	err := r.keyed(options)
	if err == nil {
		err = c.do(ctx, r)
	}
	if err != nil {
		return Redemption{}, fmt.Errorf("redeem voucher: %w", err)
	}
	return answered.Redemption, nil
}

// Check says what redeeming would give now, and changes nothing. It promises nothing: somebody else may take the last use a
// moment later. Its errors are those of Redeem, but that no outcome can be unknown.
func (c *Client) Check(ctx context.Context, code, nick string) (Redeemable, error) {
	var answered struct {
		Status string `json:"status"`
		Redeemable
	}
	r := c.voucherRequest(code, nick)
	r.query = "check=true"
	r.read = func(a answer) error {
		if !a.decode("application/json", &answered) || answered.Status != "redeemable" || answered.Code == "" || !answered.Reward.isComplete() {
			return a.notUnderstood("it is no redeemable voucher")
		}
		return nil
	}
	if err := c.do(ctx, r); err != nil {
		return Redeemable{}, fmt.Errorf("check voucher: %w", err)
	}
	return answered.Redeemable, nil
}

func (c *Client) voucherRequest(code, nick string) request {
	body, _ := json.Marshal(struct { // strings always encode
		Code string `json:"code"`
		Nick string `json:"nick,omitzero"`
	}{code, nick})
	return request{method: http.MethodPost, path: "/shop/" + c.customer + "/voucher", body: body, maxBytes: maxAnswerBytes}
}
