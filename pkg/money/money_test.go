package money_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/money"
)

func TestString_Digits_FollowISO4217(t *testing.T) {
	for _, test := range []struct {
		minor    int64
		currency money.Currency
		want     string
	}{
		{499, "EUR", "4.99 EUR"},
		{500, "JPY", "500 JPY"},
		{499, "BHD", "0.499 BHD"},
		{120000, "RSD", "1200.00 RSD"},
		{0, "EUR", "0.00 EUR"},
		{0, "JPY", "0 JPY"},
		{5, "EUR", "0.05 EUR"},
		{1000, "BHD", "1.000 BHD"},
		{money.MaxMinor, "USD", "90071992547409.91 USD"},
		{money.MaxMinor, "JPY", "9007199254740991 JPY"},
		{money.MaxMinor, "KWD", "9007199254740.991 KWD"},
	} {
		if got := (money.Money{Minor: test.minor, Currency: test.currency}).String(); got != test.want {
			t.Errorf("%d minor units of %s are formatted as %q, want %q", test.minor, test.currency, got, test.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text     string
		currency money.Currency
		want     int64
		err      error
	}{
		{text: "4.99", currency: "EUR", want: 499},
		{text: "4.9", currency: "EUR", want: 490},
		{text: "4", currency: "EUR", want: 400},
		{text: "0", currency: "EUR", want: 0},
		{text: "0.499", currency: "BHD", want: 499},
		{text: "500", currency: "JPY", want: 500},
		{text: "1200.50", currency: "RSD", want: 120050},
		{text: "90071992547409.91", currency: "EUR", want: money.MaxMinor},

		{text: "90071992547409.92", currency: "EUR", err: money.ErrOverflow},
		{text: "9007199254740992", currency: "JPY", err: money.ErrOverflow},
		{text: "9223372036854775808", currency: "JPY", err: money.ErrOverflow},
		{text: strings.Repeat("9", 4000), currency: "EUR", err: money.ErrOverflow},

		{text: "4.999", currency: "EUR", err: money.ErrMalformed},
		{text: "4.990", currency: "EUR", err: money.ErrMalformed},
		{text: "500.0", currency: "JPY", err: money.ErrMalformed},
		{text: "500.", currency: "JPY", err: money.ErrMalformed},
		{text: "0.4999", currency: "BHD", err: money.ErrMalformed},
		{text: "", currency: "EUR", err: money.ErrMalformed},
		{text: ".", currency: "EUR", err: money.ErrMalformed},
		{text: ".99", currency: "EUR", err: money.ErrMalformed},
		{text: "4.", currency: "EUR", err: money.ErrMalformed},
		{text: "-4.99", currency: "EUR", err: money.ErrMalformed},
		{text: "+4.99", currency: "EUR", err: money.ErrMalformed},
		{text: "4,99", currency: "EUR", err: money.ErrMalformed},
		{text: "1 000", currency: "EUR", err: money.ErrMalformed},
		{text: "1_000", currency: "EUR", err: money.ErrMalformed},
		{text: "4.9.9", currency: "EUR", err: money.ErrMalformed},
		{text: "4.99 EUR", currency: "EUR", err: money.ErrMalformed},
		{text: "5e2", currency: "EUR", err: money.ErrMalformed},
		{text: "0x10", currency: "EUR", err: money.ErrMalformed},
		{text: "٤٫٩٩", currency: "EUR", err: money.ErrMalformed},
		{text: "4.9٩", currency: "EUR", err: money.ErrMalformed},
		{text: "NaN", currency: "EUR", err: money.ErrMalformed},

		{text: "4.99", currency: "", err: money.ErrUnknownCurrency},
		{text: "4", currency: "BTC", err: money.ErrUnknownCurrency},
	} {
		got, err := money.Parse(test.text, test.currency)
		if !errors.Is(err, test.err) {
			t.Errorf("Parse(%.30q, %s): error %v, want %v", test.text, test.currency, err, test.err)
		}
		want := money.Money{}
		if test.err == nil {
			want = money.Money{Minor: test.want, Currency: test.currency}
		}
		if got != want {
			t.Errorf("Parse(%.30q, %s) = %+v, want %+v", test.text, test.currency, got, want)
		}
	}
}

func TestParse_LongMalformedAmount_IsQuotedInPart(t *testing.T) {
	_, err := money.Parse(strings.Repeat("x", 10_000), "EUR")
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("the message for a string of 10,000 bytes has %d bytes", len(err.Error()))
	}
}

func TestParse_FormattedAmount_ParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := anyAmount(t, "amount")
		got, err := money.Parse(amount.Decimal(), amount.Currency)
		if err != nil || got != amount {
			t.Fatalf("Parse(%q, %s) = %+v, %v, want %+v", amount.Decimal(), amount.Currency, got, err, amount)
		}
	})
}

func TestTimes(t *testing.T) {
	limit := big.NewInt(money.MaxMinor)
	rapid.Check(t, func(t *rapid.T) {
		amount := anyAmount(t, "amount")
		// Small counts are drawn as often as huge ones, so that results on both sides of the limit are tested.
		count := rapid.OneOf(rapid.Int64Range(-3, 1000), rapid.Int64()).Draw(t, "count")
		want := new(big.Int).Mul(big.NewInt(amount.Minor), big.NewInt(count))
		got, err := amount.Times(count)
		switch {
		case count < 0:
			if !errors.Is(err, money.ErrNegative) {
				t.Fatalf("%d times %s: error %v, want ErrNegative", count, amount, err)
			}
		case want.Cmp(limit) > 0:
			if !errors.Is(err, money.ErrOverflow) || got != (money.Money{}) {
				t.Fatalf("%d times %s = %+v, %v, want ErrOverflow", count, amount, got, err)
			}
		default:
			if err != nil || got.Minor != want.Int64() || got.Currency != amount.Currency {
				t.Fatalf("%d times %s = %+v, %v, want %s", count, amount, got, err, want)
			}
		}
	})
}

func TestTimes_AboveTheLimit_IsAnError(t *testing.T) {
	for _, test := range []struct {
		minor, count int64
		err          error
	}{
		{money.MaxMinor, 1, nil},
		{money.MaxMinor, 2, money.ErrOverflow},
		{1, money.MaxMinor, nil},
		{1, money.MaxMinor + 1, money.ErrOverflow},
		{1 << 32, 1 << 32, money.ErrOverflow}, // 2^64 wraps to 0 in an int64
		{3, 1<<63 - 1, money.ErrOverflow},
		{0, 1<<63 - 1, nil},
		{money.MaxMinor, 0, nil},
	} {
		if _, err := (money.Money{Minor: test.minor, Currency: "EUR"}).Times(test.count); !errors.Is(err, test.err) {
			t.Errorf("%d times %d minor units: error %v, want %v", test.count, test.minor, err, test.err)
		}
	}
}

func TestMinus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, less := anyAmount(t, "from"), anyAmount(t, "less")
		got, err := from.Minus(less)
		switch {
		case from.Currency != less.Currency:
			if !errors.Is(err, money.ErrMixedCurrencies) {
				t.Fatalf("%s minus %s = %s, %v, want ErrMixedCurrencies", from, less, got, err)
			}
		case less.Minor > from.Minor:
			if !errors.Is(err, money.ErrNegative) {
				t.Fatalf("%s minus %s = %s, %v, want ErrNegative", from, less, got, err)
			}
		default:
			if err != nil || got.Minor+less.Minor != from.Minor || got.Currency != from.Currency {
				t.Fatalf("%s minus %s = %s, %v, want the exact difference", from, less, got, err)
			}
		}
	})
}

// anyAmount draws an amount in a currency with 0, 2 or 3 digits, or in RSD, which has 0 digits in libraries built on
// CLDR.
func anyAmount(t *rapid.T, label string) money.Money {
	minor := rapid.OneOf(rapid.Int64Range(0, 10_000), rapid.Int64Range(0, money.MaxMinor)).Draw(t, label)
	currency := rapid.SampledFrom([]money.Currency{"JPY", "EUR", "RSD", "BHD"}).Draw(t, label+" currency")
	return money.Money{Minor: minor, Currency: currency}
}
