package pricing

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// UsageType is something that AWS bills.
type UsageType string

// What is billed, each in the unit that its name ends with.
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
)

// UsageTypes lists all of them, in the order of a bill.
func UsageTypes() []UsageType {
	return []UsageType{
		WriteRequestUnits, ReadRequestUnits, TableByteMonths, BackupByteMonths, APIRequests, LambdaRequests, LambdaMBMillis, LogBytes,
		LogByteMonths, MetricHours, AlarmMonths, DashboardMonths, KeyMonths, KeyRequests, TransferBytes,
	}
}

// Price is what AWS asks for a number of units, in the first tier of its prices, and where it says so.
type Price struct {
	// USD is for Per units, which are what the usage type is in.
	USD *big.Rat `json:"-"`
	Per int64    `json:"-"`
	// Published is the price in words, Source the page of AWS that it stands on, and Seen where its figure was read.
	Published string `json:"published"`
	Source    string `json:"source"`
	Seen      string `json:"seen"`
}

// Prices are those of one region, as they were on a day.
type Prices struct {
	Region string
	Date   time.Time
	of     map[UsageType]Price
}

//go:embed us-east-1-2026-11-21.yaml
var published []byte

// Published are AWS's prices in us-east-1, as they were when the file was last looked through.
func Published() (Prices, error) { return Parse(published) }

// file is what a file of prices has in it.
type file struct {
	Region string
	Date   string
	Prices map[UsageType]struct {
		USD       string
		Per       int64
		Published string
		Source    string
		Seen      string
	}
}

// Parse reads a file of prices. It has to have each usage type.
func Parse(text []byte) (Prices, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var f file
	if err := decoder.Decode(&f); err != nil {
		return Prices{}, fmt.Errorf("prices: %w", err)
	}
	date, err := time.Parse(time.DateOnly, f.Date)
	if err != nil {
		return Prices{}, fmt.Errorf("prices: %w", err)
	}
	if f.Region == "" {
		return Prices{}, errors.New("prices: of no region")
	}
	prices := Prices{Region: f.Region, Date: date, of: make(map[UsageType]Price, len(f.Prices))}
	for _, usage := range slices.Sorted(maps.Keys(f.Prices)) {
		given := f.Prices[usage]
		usd, isNumber := new(big.Rat).SetString(given.USD)
		switch {
		case !slices.Contains(UsageTypes(), usage):
			return Prices{}, fmt.Errorf("prices: nothing is called %q", usage)
		case !isNumber || usd.Sign() <= 0 || given.Per <= 0:
			return Prices{}, fmt.Errorf("prices: %s costs %q for %d", usage, given.USD, given.Per)
		case !strings.HasPrefix(given.Source, "https://") || given.Published == "" || given.Seen == "":
			return Prices{}, fmt.Errorf("prices: %s does not say what was published, where, and where it was seen", usage)
		}
		prices.of[usage] = Price{USD: usd, Per: given.Per, Published: given.Published, Source: given.Source, Seen: given.Seen}
	}
	for _, usage := range UsageTypes() {
		if _, has := prices.of[usage]; !has {
			return Prices{}, fmt.Errorf("prices: %s has none", usage)
		}
	}
	return prices, nil
}

// Of is the price of a usage type.
func (p Prices) Of(usage UsageType) Price { return p.of[usage] }

// Usage is how many units of each type are used. Its zero value is none; it must be made before it is added to.
type Usage map[UsageType]*big.Rat

// Add uses more of a type.
func (u Usage) Add(usage UsageType, quantity *big.Rat) {
	if u[usage] == nil {
		u[usage] = new(big.Rat)
	}
	u[usage].Add(u[usage], quantity)
}

// AddWhole uses a whole number more of a type.
func (u Usage) AddWhole(usage UsageType, quantity int64) { u.Add(usage, big.NewRat(quantity, 1)) }

// AddTimes uses another usage more, times over.
func (u Usage) AddTimes(other Usage, times *big.Rat) {
	for usage, quantity := range other {
		u.Add(usage, new(big.Rat).Mul(quantity, times))
	}
}

// Cost is what a usage costs in USD. With types, it is what those cost of it.
func (p Prices) Cost(u Usage, types ...UsageType) *big.Rat {
	total := new(big.Rat)
	for usage, quantity := range u {
		if len(types) > 0 && !slices.Contains(types, usage) {
			continue
		}
		price := p.of[usage]
		cost := new(big.Rat).Mul(quantity, price.USD)
		total.Add(total, cost.Quo(cost, big.NewRat(price.Per, 1)))
	}
	return total
}
