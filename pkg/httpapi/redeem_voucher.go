package httpapi

import (
	"context"
	"net/http"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// VoucherDesk redeems and checks vouchers. A request that no voucher matches is a *voucher.RefusalError; an error with
// Unavailable() leaves open whether it was applied.
type VoucherDesk interface {
	Redeem(ctx context.Context, request voucher.Request) (redemption voucher.Redemption, replayed bool, err error)
	Check(ctx context.Context, request voucher.Request) (voucher.Voucher, error)
}

// RedeemVoucher is POST /shop/{customer}/voucher (docs/interface.md): it redeems a code, or with check=true only says
// whether it could. Every refusal looks the same to the client.
func (s Service) RedeemVoucher(desk VoucherDesk) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/voucher", methods: []string{http.MethodPost}, notFound: problemVoucherNotFound.new,
		answer: func(c *call) (answer, error) {
			request, check, err := voucherRequest(c)
			if err != nil {
				return answer{}, err
			}
			if check {
				return checkVoucher(c, desk, request)
			}
			return redeemVoucher(c, desk, request)
		},
	})
}

func voucherRequest(c *call) (request voucher.Request, check bool, err error) {
	request.At = c.received
	if request.Customer, err = catalog.ParseID[catalog.CustomerID](c.path["customer"]); err != nil {
		return voucher.Request{}, false, problemVoucherNotFound.new()
	}
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
	query, err := parseQuery(c.Request, "check")
	if err != nil || !query.Has("check") {
		return false, err
	}
	switch query.Get("check") {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, problemMalformedRequest.because("The parameter is true or false.").of("check")
	}
}

func redeemVoucher(c *call, desk VoucherDesk, request voucher.Request) (answer, error) {
	redemption, replayed, err := desk.Redeem(c.Context(), request)
	if err != nil {
		return answer{}, err
	}
	a, err := jsonAnswer(http.StatusOK, redemptionJSON{
		ID: redemption.ID, Status: "redeemed", Code: redemption.Code, Nick: redemption.Nick,
		RedeemedAt: representTime(redemption.At), Reward: representReward(redemption.Reward),
	})
	if replayed {
		c.record.note("replayed", metricReplayed)
		a.header.Set("Idempotency-Replayed", "true")
	} else {
		c.record.note("redeemed", metricRedeemed)
	}
	return a, err
}

func checkVoucher(c *call, desk VoucherDesk, request voucher.Request) (answer, error) {
	v, err := desk.Check(c.Context(), request)
	if err != nil {
		return answer{}, err
	}
	c.record.note("redeemable")
	return jsonAnswer(http.StatusOK, redemptionJSON{
		Status: "redeemable", Code: v.Written, Nick: request.Nick.Written, Reward: representReward(v.Reward),
	})
}

// redemptionJSON is a redemption, or without ID and time what one would give.
type redemptionJSON struct {
	ID         string     `json:"id,omitempty"`
	Status     string     `json:"status"`
	Code       string     `json:"code"`
	Nick       string     `json:"nick,omitempty"`
	RedeemedAt string     `json:"redeemedAt,omitempty"`
	Reward     rewardJSON `json:"reward"`
}

type rewardJSON struct {
	Kind       string     `json:"kind"`
	Product    string     `json:"product,omitempty"`
	Variant    string     `json:"variant,omitempty"`
	Amount     int64      `json:"amount,omitempty"`
	PercentOff int        `json:"percentOff,omitempty"`
	AmountOff  *moneyJSON `json:"amountOff,omitempty"`
}

func representReward(r voucher.Reward) rewardJSON {
	represented := rewardJSON{
		Kind: string(r.Kind), Product: string(r.Product), Variant: string(r.Variant), Amount: r.Amount, PercentOff: r.PercentOff,
	}
	if r.Kind == voucher.RewardAmountOff {
		represented.AmountOff = representMoney(r.AmountOff)
	}
	return represented
}
