package httpapi

import (
	"context"
	"net/http"

	"shopfront/pkg/access"
	"shopfront/pkg/voucher"
)

// VoucherRedeemer redeems and checks vouchers. It returns a *voucher.RefusalError if the code cannot be redeemed, and voucher.ErrUndone if
// the request's key made a redemption that was undone. After an error with Unavailable() it is unknown whether the redemption was applied.
type VoucherRedeemer interface {
	Redeem(ctx context.Context, request voucher.Request) (redemption voucher.Redemption, replayed bool, err error)
	Check(ctx context.Context, request voucher.Request) (voucher.Voucher, error)
}

// RedeemVoucher is POST /shop/{customer}/voucher (docs/interface.md). It redeems a code. With check=true it only reports whether the code
// can be redeemed. Every refusal looks the same to a stranger.
func (s Service) RedeemVoucher(redeemer VoucherRedeemer) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/voucher", methods: []string{http.MethodPost}, notFound: problemVoucherNotFound.new, refusal: problemVoucherNotFound,
		answer: func(c *call) (answer, error) {
			request, check, err := voucherRequest(c)
			_, refused := voucher.IsRefusal(err)
			if err != nil && !refused {
				return answer{}, err
			}
			if denied := c.admit(func(s access.Settings) access.Policy { return s.Redeem }); denied != nil {
				return answer{}, denied
			}
			request.Paused = c.settings.Paused
			return s.limitRefusals(c, request.Nick, func() (answer, error) {
				switch {
				case refused:
					return answer{}, err
				case check:
					return checkVoucher(c, redeemer, request)
				default:
					return redeemVoucher(c, redeemer, request)
				}
			})
		},
	})
}

// voucherRequest validates the request's form. A *voucher.RefusalError means that no voucher can have such a code.
func voucherRequest(c *call) (request voucher.Request, check bool, err error) {
	request.Customer, request.At = c.customer, c.received
	if check, err = checkOnly(c); err != nil {
		return voucher.Request{}, false, err
	}
	if request.Key, err = idempotencyKey(c.Request); err != nil {
		return voucher.Request{}, false, err
	}
	members, err := readTextMembers(c.Request, "code", "nick")
	if err != nil {
		return voucher.Request{}, false, err
	}
	if request.Nick, err = voucher.ParseNick(members["nick"]); err != nil {
		return voucher.Request{}, false, err
	}
	request.Code, err = voucher.ParseCode(members["code"])
	return request, check, err
}

func checkOnly(c *call) (bool, error) {
	if err := c.parseQuery("check"); err != nil || !c.query.Has("check") {
		return false, err
	}
	switch c.query.Get("check") {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, problemMalformedRequest.because("The parameter must be true or false.").of("check")
	}
}

func redeemVoucher(c *call, redeemer VoucherRedeemer, request voucher.Request) (answer, error) {
	redemption, replayed, err := redeemer.Redeem(c.Context(), request)
	if err != nil {
		return answer{}, err
	}
	a, err := c.replayable(representRedemption(redemption), replayed, "redeemed", metricRedeemed)
	if replayed {
		c.record.metrics = append(c.record.metrics, metricReplayed)
	}
	return a, err
}

func checkVoucher(c *call, redeemer VoucherRedeemer, request voucher.Request) (answer, error) {
	v, err := redeemer.Check(c.Context(), request)
	if err != nil {
		return answer{}, err
	}
	c.record.note("redeemable")
	return jsonAnswer(http.StatusOK, redemptionJSON{
		Status: "redeemable", Code: v.Written, Nick: request.Nick.Written, Reward: representReward(v.Reward),
	})
}

// redemptionJSON is a redemption. In the response to a check it has no ID and no time.
type redemptionJSON struct {
	ID         string     `json:"id,omitempty"`
	Status     string     `json:"status"`
	Code       string     `json:"code"`
	Nick       string     `json:"nick,omitempty"`
	RedeemedAt string     `json:"redeemedAt,omitempty"`
	Reward     rewardJSON `json:"reward"`
	UndoneAt   string     `json:"undoneAt,omitempty"`
	UndoReason string     `json:"undoReason,omitempty"`
}

func representRedemption(r voucher.Redemption) redemptionJSON {
	represented := redemptionJSON{
		ID: r.ID, Status: "redeemed", Code: r.Code, Nick: r.Nick, RedeemedAt: representTime(r.At), Reward: representReward(r.Reward),
	}
	if !r.Undone.IsZero() {
		represented.Status, represented.UndoneAt, represented.UndoReason = "undone", representTime(r.Undone), r.UndoReason
	}
	return represented
}

type rewardJSON struct {
	Kind       string     `json:"kind"`
	Product    string     `json:"product,omitempty"`
	Variant    string     `json:"variant,omitempty"`
	Amount     int64      `json:"amount,omitempty"`
	PercentOff int        `json:"percentOff,omitempty"`
	AmountOff  *moneyJSON `json:"amountOff,omitempty"`
	Items      []goodJSON `json:"items,omitempty"`
}

type goodJSON struct {
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"`
}

func representReward(r voucher.Reward) rewardJSON {
	represented := rewardJSON{
		Kind: string(r.Kind), Product: string(r.Product), Variant: string(r.Variant), Amount: r.Amount, PercentOff: r.PercentOff,
	}
	if r.Kind == voucher.RewardAmountOff {
		represented.AmountOff = representMoney(r.AmountOff)
	}
	if r.Kind == voucher.RewardBundle {
		for _, good := range r.Goods() {
			represented.Items = append(represented.Items, goodJSON{string(good.Product), string(good.Variant), good.Amount})
		}
	}
	return represented
}
