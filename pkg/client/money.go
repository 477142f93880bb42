package client

import (
	"encoding/json"
	"errors"
)

// Money is an exact amount.
type Money struct {
	Minor    int64  `json:"minor"`    // whole minor units (cents, yen, fils), 0 to 2^53-1
	Currency string `json:"currency"` // ISO 4217
	Display  string `json:"display"`  // for people: 4.99 EUR
}

// UnmarshalJSON refuses an amount that is missing, no whole number or out of bounds.
func (m *Money) UnmarshalJSON(text []byte) error {
	const largest = 1<<53 - 1
	var read struct {
		Minor    *int64 `json:"minor"`
		Currency string `json:"currency"`
		Display  string `json:"display"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read.Minor == nil || *read.Minor < 0 || *read.Minor > largest || len(read.Currency) != 3 {
		return errors.New("not an amount of money")
	}
	*m = Money{Minor: *read.Minor, Currency: read.Currency, Display: read.Display}
	return nil
}
