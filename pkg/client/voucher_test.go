package client_test

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

func TestRedeem_CodeAndNick_AreSentAsTyped(t *testing.T) {
	s, c := serve(t, redeems)
	for i, typed := range []struct{ code, nick, body string }{
		{`wel"come <coins> ü`, "Alder", `{"code":"wel\"come \u003ccoins\u003e ü","nick":"Alder"}`},
		{"", "", `{"code":""}`},
	} {
		if _, err := c.Redeem(t.Context(), typed.code, typed.nick); err != nil || s.seen()[i].body != typed.body {
			t.Errorf("%v, body %s, want %s", err, s.seen()[i].body, typed.body)
		}
	}
}

func TestShopperAddress_IsSentIfItIsKnown(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7", "2001:db8::7": "2001:db8::7",
		"fe80::1%eth0": "fe80::1", "": "",
	} {
		s, c := serve(t, problem("invalid", 422))
		named, _ := netip.ParseAddr(address) // the zero Addr for an empty text
		option := client.WithShopperAddress(named)
		_, redeem := c.Redeem(t.Context(), "WELCOME-COINS", "Alder", option)
		_, check := c.Check(t.Context(), "WELCOME-COINS", "Alder", option, client.WithKey("till-1047"))
		_, checkOut := c.Checkout(t.Context(), client.Order{Product: "coins", Variant: "500"}, option)
		for i, err := range []error{redeem, check, checkOut} {
			got := s.seen()[i].header
			if !errors.Is(err, client.ErrInvalid) || got.Get("Shopper-Address") != want ||
				len(got.Values("Shopper-Address")) > 1 || (i == 1) != (got.Get("Idempotency-Key") == "") {
				t.Errorf("%q: %v, request %d has %v, want Shopper-Address %q", address, err, i, got, want)
			}
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
			Kind: client.RewardProduct, Product: "coins", Variant: "500", Amount: 1000000,
		},
		`{"kind":"percent_off","percentOff":100}`: {Kind: client.RewardPercentOff, PercentOff: 100},
		euros("9007199254740991"): {
			Kind: client.RewardAmountOff, AmountOff: client.Money{Minor: most, Currency: "EUR", Display: "-"},
		},
		`{"kind":"bundle","items":[` + coins + `,{"product":"rank","variant":"vip","amount":2}]}`: {
			Kind: client.RewardBundle,
			Items: []client.Good{
				{Product: "coins", Variant: "1000", Amount: 1}, {Product: "rank", Variant: "vip", Amount: 2},
			},
		},
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
