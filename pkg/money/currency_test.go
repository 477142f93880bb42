package money_test

import (
	"errors"
	"testing"

	"shopfront/pkg/money"
)

func TestDigits_FollowISO4217(t *testing.T) {
	for code, want := range map[string]int{
		"EUR": 2, "USD": 2, "GBP": 2, "RSD": 2, "ALL": 2, "LBP": 2, "HUF": 2, "COP": 2, "MGA": 2, "XCG": 2, "ZWG": 2,
		"JPY": 0, "KRW": 0, "CLP": 0, "ISK": 0, "UGX": 0, "VND": 0, "XOF": 0,
		"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	} {
		currency, err := money.ParseCurrency(code)
		if err != nil || string(currency) != code || currency.Digits() != want {
			t.Errorf("ParseCurrency(%q) = %q with %d digits, %v, want %d digits", code, currency, currency.Digits(),
				err, want)
		}
	}
}

func TestParseCurrency_OtherCodes_AreUnknown(t *testing.T) {
	for _, code := range []string{
		"", "E", "EU", "EURO", "eur", "Eur", "EUR ", " EUR", "E R", "UR ", "R F", "€", "978",
		"DEM", "HRK", "BGN", "ANG", "SLL", "ZWL", "CUC", // withdrawn
		"XAU", "XTS", "XXX", "XDR", "CHE", "CLF", "UYW", // metals, testing, units of account, funds
		"BTC", "\x00\x00\x00",
	} {
		if currency, err := money.ParseCurrency(code); !errors.Is(err, money.ErrUnknownCurrency) {
			t.Errorf("ParseCurrency(%q) = %q, %v, want ErrUnknownCurrency", code, currency, err)
		}
	}
}
