// Package pricing computes the cost of a usage at AWS's published prices. It reads the prices from one dated file.
// Amounts of money are exact fractions, and are rounded only for display. The package is for `make cost` and tests
// only, and imports no package of this module.
package pricing

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math/big"
	"time"

	"go.yaml.in/yaml/v3"
)

// UsageType is something that AWS bills, in the unit at the end of its name.
type UsageType string

// The usage types of a bill.
const (
	WriteRequestUnits UsageType = "dynamodb-write-request-units"
	ReadRequestUnits  UsageType = "dynamodb-read-request-units"
	TableByteMonths   UsageType = "dynamodb-storage-byte-months"
	BackupByteMonths  UsageType = "dynamodb-point-in-time-recovery-byte-months"
	APIRequests       UsageType = "http-api-requests"
	LambdaRequests    UsageType = "lambda-requests"
	LambdaMBMillis    UsageType = "lambda-arm64-megabyte-milliseconds"
	LogBytes          UsageType = "logs-ingested-bytes"
	LogByteMonths     UsageType = "logs-stored-byte-months"
	MetricHours       UsageType = "custom-metric-hours"
	AlarmMonths       UsageType = "alarm-metric-months"
	DashboardMonths   UsageType = "dashboard-months"
	KeyMonths         UsageType = "kms-key-months"
	KeyRequests       UsageType = "kms-requests"
	TransferBytes     UsageType = "data-transfer-out-bytes"
	BusEvents         UsageType = "eventbridge-custom-events"
)

// UsageTypes lists all usage types, in the order of a bill.
func UsageTypes() []UsageType {
	return []UsageType{
		WriteRequestUnits, ReadRequestUnits, TableByteMonths, BackupByteMonths, APIRequests, LambdaRequests,
		LambdaMBMillis, LogBytes,
		LogByteMonths, MetricHours, AlarmMonths, DashboardMonths, KeyMonths, KeyRequests, TransferBytes, BusEvents,
	}
}

// Price is AWS's price for Per units, in the first tier.
type Price struct {
	USD    *big.Rat `yaml:"usd"`
	Per    int64    `yaml:"per"`
	Column string   `yaml:"column"` // of the bill
	// Published is the price in words, Source the page of AWS that publishes it, and Seen the place where the figure
	// was read.
	Published string `yaml:"published"`
	Source    string `yaml:"source"`
	Seen      string `yaml:"seen"`
}

// Prices are the prices of one region on one day.
type Prices struct {
	Region  string              `yaml:"region"`
	Date    time.Time           `yaml:"date"`
	Columns []string            `yaml:"columns"` // of the bill, in order
	Of      map[UsageType]Price `yaml:"prices"`
}

//go:embed us-east-1-2026-11-21.yaml
var published []byte

// Published returns the prices of us-east-1 on the day when the file was last checked. The file must have a price for
// each usage type.
func Published() (prices Prices, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(published))
	decoder.KnownFields(true)
	if err := decoder.Decode(&prices); err != nil {
		return Prices{}, fmt.Errorf("prices: %w", err)
	}
	if len(prices.Of) != len(UsageTypes()) {
		return Prices{}, errors.New("prices: a price is missing or unknown")
	}
	return prices, nil
}

// Usage holds how many units of each type are used. It is a map: make it before adding to it.
type Usage map[UsageType]*big.Rat

// Add adds units of a type.
func (u Usage) Add(usage UsageType, quantity *big.Rat) {
	if u[usage] == nil {
		u[usage] = new(big.Rat)
	}
	u[usage].Add(u[usage], quantity)
}

// AddWhole adds a whole number of units.
func (u Usage) AddWhole(usage UsageType, quantity int64) { u.Add(usage, big.NewRat(quantity, 1)) }

// AddTimes adds a multiple of another usage.
func (u Usage) AddTimes(other Usage, times *big.Rat) {
	for usage, quantity := range other {
		u.Add(usage, new(big.Rat).Mul(quantity, times))
	}
}

// USD is an exact amount of money.
type USD struct{ *big.Rat }

// Of returns the amount multiplied by times and divided by per.
func (u USD) Of(times, per int64) USD { return USD{new(big.Rat).Mul(u.Rat, big.NewRat(times, per))} }

// Bill holds the amount in each column, and the total.
type Bill struct {
	Columns map[string]USD
	Total   USD
}

// Cost returns the bill for a usage.
func (p Prices) Cost(u Usage) Bill {
	bill := Bill{Columns: make(map[string]USD), Total: USD{new(big.Rat)}}
	for _, column := range p.Columns {
		bill.Columns[column] = USD{new(big.Rat)}
	}
	for usage, quantity := range u {
		price := p.Of[usage]
		cost := new(big.Rat).Mul(quantity, price.USD)
		cost.Quo(cost, big.NewRat(price.Per, 1))
		column := bill.Columns[price.Column]
		column.Add(column.Rat, cost)
		bill.Total.Add(bill.Total.Rat, cost)
	}
	return bill
}
