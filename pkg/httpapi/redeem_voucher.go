package httpapi

import (
	"context"
	"errors"
	"net/http"

	"shopfront/pkg/access"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// VoucherRedeemer redeems and checks vouchers. Errors: *voucher.RefusalError if the code cannot be redeemed,
// *voucher.TooManyRedemptionsError if the source has reached its quota, and voucher.ErrUndone if the request's key made
// a redemption that was undone. After an error with Unavailable() it is unknown whether the redemption was applied.
type VoucherRedeemer interface {
	Redeem(ctx context.Context, request voucher.Request) (redemption voucher.Redemption, replayed bool, err error)
	Check(ctx context.Context, request voucher.Request) (voucher.Voucher, error)
}

// RedeemVoucher is POST /shop/{customer}/voucher. It redeems a code. With check=true it only reports whether the code
// can be redeemed. Every refusal looks the same to a stranger.
func (s Service) RedeemVoucher(redeemer VoucherRedeemer) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/voucher", methods: []string{http.MethodPost}, notFound: problemVoucherNotFound.new,
		refusal: problemVoucherNotFound, rejectsUnasked: true,
		respond: admitted(redemptionRequest, (*call).admitRedemption,
			func(c *call, form redemptionForm) (response, error) {
				request := form.Request
				request.Paused = c.settings.Paused
				if !c.caller.IsServer() {
					source := c.caller.Source(s.SourceAddress(c.Request), request.Nick)
					request.Quota = c.settings.Redemptions.Quota(source, c.received)
				}
				return s.limitRefusals(c, request.Nick, form.refusal, func() (response, error) {
					if form.check {
						return checkVoucher(c, redeemer, request)
					}
					return redeemVoucher(c, redeemer, request)
				})
			}),
	})
}

// admitRedemption admits a caller for redeeming or checking a code.
func (c *call) admitRedemption() error {
	return c.admitShopper(func(settings access.Settings) access.Policy { return settings.Redeem })
}

// redemptionForm is the valid form of a request.
type redemptionForm struct {
	voucher.Request

	check   bool
	refusal error // set if no voucher can have such a code; limitRefusals counts it
}

// redemptionRequest validates the request's form.
func redemptionRequest(c *call) (request redemptionForm, err error) {
	request.Shop, request.At = c.shop, c.received
	if request.check, err = checkOnly(c); err != nil {
		return redemptionForm{}, err
	}
	if request.Key, err = idempotencyKey(c.Request); err != nil {
		return redemptionForm{}, err
	}
	members, err := readTextMembers(c.Request, "code", "nick")
	if err != nil {
		return redemptionForm{}, err
	}
	if request.Nick, err = voucher.ParseNick(members["nick"]); err != nil {
		return redemptionForm{}, err
	}
	request.Code, err = voucher.ParseCode(members["code"])
	if _, refused := voucher.IsRefusal(err); refused {
		request.refusal, err = err, nil
	}
	return request, err
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

func redeemVoucher(c *call, redeemer VoucherRedeemer, request voucher.Request) (response, error) {
	redemption, replayed, err := redeemer.Redeem(c.Context(), request)
	if reached, is := errors.AsType[*voucher.TooManyRedemptionsError](err); is {
		return response{}, problemTooManyRedemptions.new().after(reached.Until.Sub(c.received))
	}
	if err != nil {
		return response{}, err
	}
	resp, err := c.replayable(wire.OfRedemption(redemption), replayed, "redeemed", metricRedeemed)
	if replayed {
		c.record.metrics = append(c.record.metrics, metricReplayed)
	}
	return resp, err
}

func checkVoucher(c *call, redeemer VoucherRedeemer, request voucher.Request) (response, error) {
	v, err := redeemer.Check(c.Context(), request)
	if err != nil {
		return response{}, err
	}
	c.record.note("redeemable")
	return jsonResponse(http.StatusOK, wire.Redemption{
		Status: "redeemable", Code: v.Written, Nick: request.Nick.Written, Reward: wire.OfReward(v.Reward),
	})
}
