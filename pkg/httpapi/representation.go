package httpapi

import (
	"time"

	"shopfront/pkg/money"
)

// moneyJSON is an amount of money in a response.
type moneyJSON struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"`
	Display  string `json:"display"`
}

func representMoney(m money.Money) *moneyJSON {
	return &moneyJSON{Minor: m.Minor, Currency: string(m.Currency), Display: m.String()}
}

// representTime formats a time as RFC 3339 in UTC, with milliseconds.
func representTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
