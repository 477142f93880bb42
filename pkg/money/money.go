// Package money holds amounts of money as whole minor units with an ISO 4217 currency. Arithmetic is exact or returns
// an error.
//
// It is a rules package: it may import only the standard library, except net/http.
package money

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxMinor is the largest amount in minor units: 2^53-1, the largest whole number that every JSON parser reads exactly
// (RFC 8259, section 6).
const MaxMinor int64 = 1<<53 - 1

// Errors of parsing and arithmetic.
var (
	ErrOverflow        = errors.New("amount of money is too large")
	ErrMixedCurrencies = errors.New("amounts of money have different currencies")
	ErrNegative        = errors.New("amount of money is negative")
	ErrMalformed       = errors.New("is not an amount")
)

// Money is an amount from 0 to MaxMinor minor units (cents, yen, fils) of one currency.
type Money struct {
	Minor    int64
	Currency Currency
}

// Parse reads a decimal such as 4.99, without sign, grouping or exponent. After the point it may have at most as many
// digits as the currency has. Errors are ErrUnknownCurrency, ErrMalformed and ErrOverflow.
func Parse(text string, currency Currency) (Money, error) {
	digits, known := minorUnitDigits(string(currency))
	if !known {
		return Money{}, fmt.Errorf("%q is %w", currency, ErrUnknownCurrency)
	}
	whole, fraction, hasPoint := strings.Cut(text, ".")
	if !allDigits(whole) || hasPoint && !allDigits(fraction) || len(fraction) > digits {
		return Money{}, fmt.Errorf("%.40q %w of %s: write it like %s", text, ErrMalformed, currency,
			Money{Minor: 499, Currency: currency}.Decimal())
	}
	fraction += strings.Repeat("0", digits-len(fraction))
	minor, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || minor > MaxMinor {
		return Money{}, fmt.Errorf("%.40q: %w", text, ErrOverflow)
	}
	return Money{Minor: minor, Currency: currency}, nil
}

func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// Times returns the amount multiplied by count, which must be at least 0. Errors are ErrNegative and ErrOverflow.
func (m Money) Times(count int64) (Money, error) {
	if count < 0 || m.Minor < 0 {
		return Money{}, ErrNegative
	}
	if m.Minor > 0 && count > MaxMinor/m.Minor {
		return Money{}, ErrOverflow
	}
	return Money{Minor: m.Minor * count, Currency: m.Currency}, nil
}

// Minus subtracts other from the amount. Errors are ErrMixedCurrencies, and ErrNegative if other is larger or itself
// negative.
func (m Money) Minus(other Money) (Money, error) {
	if m.Currency != other.Currency {
		return Money{}, ErrMixedCurrencies
	}
	if other.Minor < 0 || other.Minor > m.Minor {
		return Money{}, ErrNegative
	}
	return Money{Minor: m.Minor - other.Minor, Currency: m.Currency}, nil
}

// Decimal returns the amount in major units with all digits of the currency, such as 4.99. Parse reads it back.
func (m Money) Decimal() string {
	digits := m.Currency.Digits()
	if digits == 0 {
		return strconv.FormatInt(m.Minor, 10)
	}
	padded := fmt.Sprintf("%0*d", digits+1, m.Minor)
	point := len(padded) - digits
	return padded[:point] + "." + padded[point:]
}

// String returns the amount for display: 4.99 EUR, 500 JPY, 0.499 BHD.
func (m Money) String() string { return m.Decimal() + " " + string(m.Currency) }
