package money

import (
	"errors"
	"fmt"
	"strings"
)

// Currency is an ISO 4217 alphabetic code, such as EUR.
type Currency string

// ErrUnknownCurrency is the error for a code that is not in ISO 4217's list of active currencies.
var ErrUnknownCurrency = errors.New("not an ISO 4217 currency")

// The active currencies of ISO 4217's "List One", by their number of minor-unit digits. Funds codes, precious metals
// and testing codes are left out, because nothing is sold in them. The lists are not taken from a library, because
// libraries follow Unicode's CLDR. CLDR deviates from ISO's digits: RSD, ALL and LBP have 2 digits in ISO 4217 and 0 in
// CLDR.
const (
	noDigits = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"

	twoDigits = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY " +
		"COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS " +
		"INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR " +
		"MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD " +
		"SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG"

	threeDigits = "BHD IQD JOD KWD LYD OMR TND"
)

// ParseCurrency accepts an active ISO 4217 code in upper case. For any other text it returns ErrUnknownCurrency.
func ParseCurrency(code string) (Currency, error) {
	if _, known := minorUnitDigits(code); !known {
		return "", fmt.Errorf("%q is %w", code, ErrUnknownCurrency)
	}
	return Currency(code), nil
}

// Digits returns the number of digits after the decimal point: 0, 2 or 3.
func (c Currency) Digits() int {
	digits, _ := minorUnitDigits(string(c))
	return digits
}

func minorUnitDigits(code string) (digits int, known bool) {
	if len(code) != 3 || strings.Contains(code, " ") {
		return 0, false
	}
	switch {
	case strings.Contains(twoDigits, code):
		return 2, true
	case strings.Contains(noDigits, code):
		return 0, true
	case strings.Contains(threeDigits, code):
		return 3, true
	default:
		return 0, false
	}
}
