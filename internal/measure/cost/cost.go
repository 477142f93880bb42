// Package cost computes what Shopfront costs at AWS. It sends requests of every kind to the built functions, measures
// what AWS bills for them, and multiplies that by AWS's published prices. It is for `make cost` and tests only.
//
// A store in memory counts units by AWS's rules (package memdynamo). Times are measured separately, while the store
// takes 5 ms for each call.
package cost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/pricing"
	"shopfront/internal/measure/table"
	"shopfront/internal/memdynamo"
)

// requestsPerStart is the number of requests for each cold start, in the price of a million requests. According to AWS,
// less than one request in a hundred has a cold start
// (https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/).
const requestsPerStart = 100

// Million holds what a million requests of an operation cost.
type Million struct {
	Line

	Units memdynamo.Units
	Bill  pricing.Bill
	// Target is an upper bound of the bill's total; nil if there is no target.
	Target *pricing.USD
}

// Month holds what a shop costs in a month.
type Month struct {
	ShopMonth

	Bill pricing.Bill
}

// Report holds what Shopfront costs.
type Report struct {
	Region   string
	Priced   string // the day of the prices
	MemoryMB int
	Millions []Million
	Code     Request // the creation of a single-use code
	Months   []Month
	Polls    []Polling
	Prices   map[pricing.UsageType]pricing.Price

	columns []string
}

// targets returns the most that a million requests may cost, in USD, by operation.
func targets() map[string]pricing.USD {
	single, limited := pricing.USD{Rat: big.NewRat(250, 100)}, pricing.USD{Rat: big.NewRat(450, 100)}
	return map[string]pricing.USD{
		redeemSingleUse: single, redeemLimited: limited, redeemLimitedFirst: limited,
		redeemLimitedNicks: limited,
	}
}

// Run measures the functions, and computes what they cost. The parameter count is the number of warm
// requests for each operation, at least 1.
func Run(ctx context.Context, setup fixture.Setup, count int) (*Report, error) {
	setup.Say("Building the functions")
	l, err := newLab(ctx, setup)
	if err != nil {
		return nil, err
	}
	defer l.close()
	var requests []Request
	for _, o := range operations() {
		setup.Say("Measuring: %s", o.name)
		request, err := l.measure(ctx, o, count)
		if err != nil {
			return nil, err
		}
		requests = append(requests, request)
	}
	published, err := l.publish(ctx, requests)
	if err != nil {
		return nil, err
	}
	requests = append(requests, published)
	code, codeErr := l.createCode(ctx)
	memoryMB, memoryErr := memoryOf(setup.Root)
	alarms, alarmsErr := alarmMetrics(setup.Root)
	if err := errors.Join(codeErr, memoryErr, alarmsErr); err != nil {
		return nil, err
	}
	return newReport(memoryMB, requests, code, alarms)
}

// memoryOf returns the memory of the template's functions, in MB. All functions must have the same memory size and run
// on arm64.
func memoryOf(root string) (memoryMB int, err error) {
	template, err := localrun.LoadTemplate(root, "")
	if err != nil {
		return 0, err
	}
	for i, function := range template.Functions {
		if i > 0 && function.MemorySize != memoryMB || function.Architecture != "arm64" {
			return 0, fmt.Errorf("%s has %d MB on %s: this report can price only one memory size, on arm64",
				function.Name, function.MemorySize, function.Architecture)
		}
		memoryMB = function.MemorySize
	}
	return memoryMB, nil
}

// alarmMetrics counts the metrics of the template's alarms. AWS bills an alarm by the metrics that it watches.
func alarmMetrics(root string) (int64, error) {
	template, err := os.ReadFile(filepath.Join(root, "infra", "alarms.yaml")) //nolint:gosec // the project's own file
	return int64(bytes.Count(template, []byte("MetricName:"))), err
}

func newReport(memoryMB int, requests []Request, code Request, alarms int64) (*Report, error) {
	prices, err := pricing.Published()
	if err != nil {
		return nil, err
	}
	shops, err := readShops()
	if err != nil {
		return nil, err
	}
	report := &Report{
		Region: prices.Region, Priced: prices.Date.Format(time.DateOnly), MemoryMB: memoryMB, Code: code,
		Prices: prices.Of, columns: prices.Columns,
	}
	var lines []Line
	for _, r := range requests {
		line := newLine(r, memoryMB)
		lines = append(lines, line)
		usage := make(pricing.Usage)
		usage.AddTimes(line.usage(big.NewRat(1, requestsPerStart)), big.NewRat(1_000_000, eventsIn(r.Operation)))
		million := Million{Line: line, Units: r.units(), Bill: prices.Cost(usage)}
		if most, has := targets()[r.Operation]; has {
			million.Target = &most
		}
		report.Millions = append(report.Millions, million)
		if r.Operation == pollFeed {
			report.Polls = pollings(million.Bill)
		}
	}
	for _, shop := range shops {
		report.Months = append(report.Months, Month{shop, prices.Cost(shop.monthly(lines, code, alarms))})
	}
	return report, nil
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	millions, months := [][]string{append([]string{"", "total", "target"}, r.columns...)},
		[][]string{append([]string{"", "total"}, r.columns...)}
	requests := [][]string{{
		"", "calls", "read", "write", "line", "logs", "response", "warm", "CPU", "billed", "start",
		"CPU", "first", "CPU", "billed cold",
	}}
	for _, m := range r.Millions {
		target := ""
		if m.Target != nil {
			target = m.Target.FloatString(2)
			if m.Bill.Total.Cmp(m.Target.Rat) > 0 {
				target += " !"
			}
		}
		millions = append(millions, append([]string{m.Operation, m.Bill.Total.FloatString(2), target},
			r.cells(m.Bill, 3)...))
		requests = append(requests, m.cells())
	}
	var shops, published, polls strings.Builder
	for _, p := range r.Polls {
		fmt.Fprintf(&polls, "Polling the events every %d seconds costs %s USD a month.\n", p.Seconds,
			p.Cost.FloatString(2))
	}
	for _, m := range r.Months {
		months = append(months, append([]string{m.Name, m.Bill.Total.FloatString(2)}, r.cells(m.Bill, 2)...))
		fmt.Fprintf(&shops, "- %s: %s\n", m.Name, m.Description)
	}
	for _, usage := range pricing.UsageTypes() {
		fmt.Fprintf(&published, "- %s: %s\n", r.Prices[usage].Published, r.Prices[usage].Source)
	}
	_, err := fmt.Fprintf(w, `Prices of AWS in %s on %s, in USD, without the free tier. Functions have %d MB on arm64; one request in %d has a cold start.

The price of a million requests, or of a million events, in USD. ! marks a total above its target.
%s
One request: calls of DynamoDB, and the units that they read and write; bytes of the function's log line, of all its logs, and of the
response; milliseconds of a warm request, of a start and of the first request after it, each with its processor time on this machine;
and the milliseconds that Lambda bills for them.
%sWhile functions were timed, the store took %v for each call.
Creating a single-use code writes %v unit and stores %d bytes.
%s
The price of a month, in USD. The assumptions about each shop (internal/measure/cost/shops.yaml has the figures):
%s%s
The prices, and the pages where AWS publishes them:
%s`, r.Region, r.Priced, r.MemoryMB, requestsPerStart, table.Align(1, millions), table.Align(1, requests), storeDelay,
		r.Code.units().Write, r.Code.grown(fixture.VouchersTable), &polls, &shops, table.Align(1, months), &published)
	return err
}

func (r *Report) cells(bill pricing.Bill, decimals int) (cells []string) {
	for _, column := range r.columns {
		cells = append(cells, bill.Columns[column].FloatString(decimals))
	}
	return cells
}

func (l Line) cells() []string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	milliseconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1000, 'f', 2, 64) }
	whole := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return []string{
		l.Operation, strconv.Itoa(len(l.Calls)), number(l.units().Read), number(l.units().Write),
		strconv.Itoa(l.LogBytes),
		strconv.Itoa(l.WarmLogBytes), strconv.Itoa(l.ResponseBytes), milliseconds(l.Warm), milliseconds(l.WarmCPU),
		whole(l.BilledWarm),
		milliseconds(l.Ready), milliseconds(l.ReadyCPU), milliseconds(l.First), milliseconds(l.FirstCPU),
		whole(l.BilledCold),
	}
}
