// Package pricing computes the cost of a usage at AWS's published prices. It reads the prices from one dated file. The
// package is for `make cost` and tests only, and imports no package of this module.
package pricing

import (
	"bytes"
	_ "embed"
	"fmt"
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

// Price is AWS's price for Per units, in the first tier.
type Price struct {
	USD    float64 `yaml:"usd"`
	Per    float64 `yaml:"per"`
	Column string  `yaml:"column"` // of the bill
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

// Published returns the prices of us-east-1 on the day when the file was last checked.
func Published() (prices Prices, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(published))
	decoder.KnownFields(true)
	if err := decoder.Decode(&prices); err != nil {
		return Prices{}, fmt.Errorf("prices: %w", err)
	}
	return prices, nil
}

// Usage holds how many units of each type are used.
type Usage map[UsageType]float64

// Add adds a multiple of another usage.
func (u Usage) Add(other Usage, times float64) {
	for usage, quantity := range other {
		u[usage] += quantity * times
	}
}

// Bill holds the amount in each column, and the total, in USD.
type Bill struct {
	Columns map[string]float64
	Total   float64
}

// Cost returns the bill for a usage. A usage without a price makes the total infinite.
func (p Prices) Cost(u Usage) Bill {
	bill := Bill{Columns: make(map[string]float64)}
	for usage, quantity := range u {
		price := p.Of[usage]
		cost := quantity * price.USD / price.Per
		bill.Columns[price.Column] += cost
		bill.Total += cost
	}
	return bill
}
