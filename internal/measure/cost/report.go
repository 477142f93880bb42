package cost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/localrun"
	"shopfront/internal/measure/cost/metering"
	"shopfront/internal/measure/cost/pricing"
)

// requestsPerStart is how many requests an instance answers, where no shop is given. AWS says that fewer than one request in a
// hundred meets a cold start (https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/).
const requestsPerStart = 100

// Amounts are parts of a bill in USD.
type Amounts struct {
	DynamoDB       USD `json:"dynamodb"`
	Gateway        USD `json:"gateway"`
	LambdaRequests USD `json:"lambdaRequests"`
	LambdaTime     USD `json:"lambdaTime"`
	Logs           USD `json:"logs"`
	Keys           USD `json:"keys"`
	Transfer       USD `json:"transfer"`
	Storage        USD `json:"storage"`
	Metrics        USD `json:"metrics"`
	Watching       USD `json:"watching"`
	Total          USD `json:"total"`
}

// USD is an exact amount of money. It is shown in hundredths of a cent.
type USD struct{ *big.Rat }

// MarshalText rounds it to hundredths of a cent.
func (u USD) MarshalText() ([]byte, error) { return []byte(u.FloatString(4)), nil }

// amounts prices a usage.
func amounts(prices pricing.Prices, u pricing.Usage) Amounts {
	of := func(types ...pricing.UsageType) USD { return USD{prices.Cost(u, types...)} }
	return Amounts{
		DynamoDB: of(pricing.WriteRequestUnits, pricing.ReadRequestUnits), Gateway: of(pricing.APIRequests),
		LambdaRequests: of(pricing.LambdaRequests), LambdaTime: of(pricing.LambdaMBMillis), Logs: of(pricing.LogBytes, pricing.LogByteMonths),
		Keys: of(pricing.KeyRequests), Transfer: of(pricing.TransferBytes), Storage: of(pricing.TableByteMonths, pricing.BackupByteMonths),
		Metrics: of(pricing.MetricHours), Watching: of(pricing.AlarmMonths, pricing.DashboardMonths, pricing.KeyMonths), Total: of(),
	}
}

// PerMillion is what a million requests of an operation cost.
type PerMillion struct {
	Line

	Units   metering.Units `json:"units"`
	Amounts Amounts        `json:"amounts"`
	// Target is the most that is wanted, nil for none.
	Target *USD `json:"target,omitempty"`
}

func (p PerMillion) aboveTarget() bool {
	return p.Target != nil && p.Amounts.Total.Cmp(p.Target.Rat) > 0
}

// Monthly is what a shop costs in a month.
type Monthly struct {
	Shop

	Amounts Amounts `json:"amounts"`
}

// Report is what Shopfront costs.
type Report struct {
	Region string `json:"region"`
	// Priced is the day of the prices.
	Priced           string       `json:"priced"`
	MemoryMB         int          `json:"memoryMB"`
	RequestsPerStart int64        `json:"requestsPerStart"`
	PerMillion       []PerMillion `json:"perMillion"`
	Code             Request      `json:"code"`
	AlarmMetrics     int64        `json:"alarmMetrics"`
	Monthly          []Monthly    `json:"monthly"`
	// Calls and Late tell of the store while functions were timed.
	Calls int64 `json:"calls"`
	Late  int64 `json:"late"`

	Prices map[pricing.UsageType]pricing.Price `json:"prices"`
}

// targets are the most that a million may cost, in USD.
func targets() map[string]*big.Rat {
	single, limited := big.NewRat(250, 100), big.NewRat(450, 100)
	return map[string]*big.Rat{RedeemSingleUse: single, RedeemLimited: limited, RedeemLimitedFirst: limited, RedeemLimitedNicks: limited}
}

// Options says what to measure.
type Options struct {
	// Root is the checkout.
	Root string
	// Requests is how many warm requests of each operation are timed; 1 or more.
	Requests int
	// Progress is told what goes on.
	Progress io.Writer
}

// Run measures the functions of the checkout, and prices what was measured.
func Run(ctx context.Context, options Options) (report Report, err error) {
	prices, err := pricing.Published()
	if err != nil {
		return Report{}, err
	}
	alarms, err := alarmMetrics(options.Root)
	if err != nil {
		return Report{}, err
	}
	instance, err := instanceOf(options.Root)
	if err != nil {
		return Report{}, err
	}
	dir, err := os.MkdirTemp("", "shopfront-cost-")
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pomDir, libDir := dynamolocal.Dirs(options.Root)
	if err := dynamolocal.Fetch(ctx, pomDir, libDir, options.Progress); err != nil {
		return Report{}, err
	}
	server, err := dynamolocal.Start(ctx, dynamolocal.Options{LibDir: libDir})
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	say(options.Progress, "Building the functions")
	workshop, err := NewWorkshop(ctx, options.Root, dir, server.Endpoint())
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, workshop.Close()) }()
	say(options.Progress, "Metering what they take of DynamoDB")
	requests, err := workshop.MeterAll(ctx)
	if err != nil {
		return Report{}, err
	}
	code, err := workshop.MeterCode(ctx)
	if err != nil {
		return Report{}, err
	}
	times, err := workshop.TimeAll(ctx, options.Requests, options.Progress)
	if err != nil {
		return Report{}, err
	}
	return newReport(prices, instance, requests, code, times, alarms), nil
}

// instanceOf is what the functions of the template run in; they have the same memory, and processors of Arm.
func instanceOf(root string) (Instance, error) {
	template, err := localrun.LoadTemplate(root, "")
	if err != nil {
		return Instance{}, err
	}
	var instance Instance
	for i, function := range template.Functions() {
		if i > 0 && function.MemorySize != instance.MemoryMB || function.Architecture != "arm64" {
			return Instance{}, fmt.Errorf("%s has %d MB on %s: one size on arm64 is what is priced", function.Name, function.MemorySize, function.Architecture)
		}
		instance.MemoryMB = function.MemorySize
	}
	return instance, nil
}

func newReport(prices pricing.Prices, instance Instance, requests []Request, code Request, times Times, alarms int64) Report {
	report := Report{
		Region: prices.Region, Priced: prices.Date.Format("2006-01-02"), MemoryMB: instance.MemoryMB, RequestsPerStart: requestsPerStart, Code: code,
		AlarmMetrics: alarms, Calls: times.Calls, Late: times.Late, Prices: make(map[pricing.UsageType]pricing.Price),
	}
	for _, usage := range pricing.UsageTypes() {
		report.Prices[usage] = prices.Of(usage)
	}
	wanted := targets()
	var lines []Line
	for _, r := range requests {
		line := newLine(r, times.Operations[r.Operation], times.Starts[r.Function], instance)
		lines = append(lines, line)
		million := make(pricing.Usage)
		million.AddTimes(line.usage(big.NewRat(1, requestsPerStart)), big.NewRat(1_000_000, 1))
		priced := PerMillion{Line: line, Units: r.Units(), Amounts: amounts(prices, million)}
		if most := wanted[r.Operation]; most != nil {
			priced.Target = &USD{most}
		}
		report.PerMillion = append(report.PerMillion, priced)
	}
	for _, shop := range Shops() {
		report.Monthly = append(report.Monthly, Monthly{Shop: shop, Amounts: amounts(prices, shop.monthly(lines, code, alarms))})
	}
	return report
}
