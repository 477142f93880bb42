package client_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

func TestRedeem_ReturnsTheRedemption(t *testing.T) {
	s, c := serve(t, redeems)
	for i, wantBody := range []string{`{"code":"wel\"come <coins> ü","nick":"Alder"}`, `{"code":""}`} {
		code, nick := `wel"come <coins> ü`, "Alder"
		if i == 1 {
			code, nick = "", ""
		}
		redemption, err := c.Redeem(t.Context(), code, nick)
		if err != nil {
			t.Fatal(err)
		}
		want := client.Redemption{
			ID: "S90E4paHECWJc7i6kG6dOA", Code: "WELCOME-COINS", Nick: "Alder",
			RedeemedAt: time.Date(2026, time.November, 21, 9, 11, 23, 737e6, time.UTC),
			Reward:     client.Reward{Kind: client.RewardProduct, Product: "coins", Variant: "500", Amount: 2},
		}
		if !reflect.DeepEqual(redemption, want) {
			t.Errorf("redemption %+v, want %+v", redemption, want)
		}
		r := s.seen()[i]
		body := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(r.body)
		if r.method != "POST" || r.uri != "/base/shop/emberforge/voucher" || body != wantBody ||
			r.header.Get("Content-Type") != "application/json" {
			t.Errorf("request %+v", r)
		}
		if len(r.header["Idempotency-Key"]) != 1 {
			t.Errorf("headers %v", r.header)
		}
	}
}

func TestCheck_Reward_IsReturnedOnlyIfComplete(t *testing.T) {
	euros := func(minor string) string {
		return `{"kind":"amount_off","amountOff":{"minor":` + minor + `,"currency":"EUR","display":"-"}}`
	}
	const most = 1<<53 - 1
	const coins = `{"product":"coins","variant":"1000","amount":1}`
	for reward, want := range map[string]client.Reward{
		`{"kind":"product","product":"coins","variant":"500","amount":1000000}`: {
			Kind:    client.RewardProduct,
			Product: "coins", Variant: "500", Amount: 1000000,
		},
		`{"kind":"percent_off","percentOff":100}`: {
			Kind:       client.RewardPercentOff,
			PercentOff: 100,
		},
		euros("9007199254740991"): {
			Kind:      client.RewardAmountOff,
			AmountOff: client.Money{Minor: most, Currency: "EUR", Display: "-"},
		},
		`{"kind":"bundle","items":[` + coins +
			`,{"product":"rank","variant":"vip","amount":2}]}`: {Kind: client.RewardBundle, Items: []client.Good{
			{Product: "coins", Variant: "1000", Amount: 1}, {Product: "rank", Variant: "vip", Amount: 2},
		}},
		`{"kind":"bundle"}`:                            {},
		`{"kind":"bundle","items":[]}`:                 {},
		`{"kind":"bundle","items":null}`:               {},
		`{"kind":"bundle","items":[` + coins + `,{}]}`: {},
		`{"kind":"bundle","items":[` + coins + `,{"product":"rank","variant":"vip","amount":0}]}`: {},
		`{"kind":"free_shipping","items":[` + coins + `]}`: {
			Kind: "free_shipping", Items: []client.Good{{Product: "coins", Variant: "1000", Amount: 1}},
		},
		`{"kind":"free_shipping"}`: {Kind: "free_shipping"}, // the caller must handle unknown kinds
		`{}`:                       {},
		`{"kind":"product","product":"coins","variant":"500"}`:              {},
		`{"kind":"product","product":"coins","amount":1}`:                   {},
		`{"kind":"product","product":"coins","variant":"500","amount":"1"}`: {},
		`{"kind":"percent_off"}`:                                            {},
		`{"kind":"percent_off","percentOff":101}`:                           {},
		`{"kind":"percent_off","percentOff":12.5}`:                          {},
		`{"kind":"amount_off"}`:                                             {},
		`{"kind":"amount_off","amountOff":null}`:                            {},
		`{"kind":"amount_off","amountOff":{"currency":"EUR"}}`:              {},
		`{"kind":"amount_off","amountOff":{"minor":499}}`:                   {},
		euros("0"):                   {},
		euros("-499"):                {},
		euros("4.99"):                {},
		euros("499.0"):               {},
		euros("9007199254740992"):    {},
		euros("9223372036854775808"): {},
		euros(`"499"`):               {},
		euros(`null`):                {},
	} {
		inBubble(t, reward, func(t *testing.T) {
			_, c := serve(t, answers(200, `{"status":"redeemable","code":"GIFT-CARD","nick":"Alder","reward":`+reward+
				`}`))
			redeemable, err := c.Check(t.Context(), "gift card", "Alder")
			if want.Kind == "" {
				if _, is := errors.AsType[*client.ResponseError](err); !is ||
					!reflect.DeepEqual(redeemable, client.Redeemable{}) {
					t.Errorf("%+v, %v: it was accepted", redeemable, err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(redeemable,
				client.Redeemable{Code: "GIFT-CARD", Nick: "Alder", Reward: want}) {
				t.Errorf("%+v, %v, want %+v", redeemable, err, want)
			}
		})
	}
}

// A check changes nothing. So it needs no key, and its outcome is never unknown.
func TestCheck_IsRetriedWithoutAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const redeemable = `{"status":"redeemable","code":"FIVER","reward":{"kind":"percent_off","percentOff":20}}`
		s, c := serve(t, hangsUp, problem("unavailable", 503), answers(200, redeemable), answers(200, redemptionJSON),
			problem("unavailable", 503))
		if got, err := c.Check(t.Context(), "fiver", ""); err != nil || got.Code != "FIVER" {
			t.Errorf("%+v, %v", got, err)
		}
		for _, r := range s.seen() {
			if r.method != "POST" || r.uri != "/base/shop/emberforge/voucher?check=true" ||
				r.body != `{"code":"fiver"}` || r.header["Idempotency-Key"] != nil {
				t.Errorf("request %+v", r)
			}
		}
		if _, err := c.Check(t.Context(), "fiver", ""); err == nil {
			t.Error("a redemption was accepted as a check")
		}
		_, err := c.Check(t.Context(), "fiver", "")
		if _, unknown := errors.AsType[*client.OutcomeUnknownError](err); unknown ||
			!errors.Is(err, client.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	})
}

func TestCheck_RefusalIsFinalAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s, c := serve(t, hangsUp, problem("voucher-not-found", 404))
		_, err := c.Check(t.Context(), "fiver", "")
		if !errors.Is(err, client.ErrVoucherNotFound) || len(s.seen()) != 2 || time.Since(began) > time.Second {
			t.Errorf("%v after %d requests and %v", err, len(s.seen()), time.Since(began))
		}
	})
}
