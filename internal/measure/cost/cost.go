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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/pricing"
	"shopfront/internal/measure/table"
)

// requestsPerStart is the number of requests for each cold start, in the price of a million requests. According to AWS,
// less than one request in a hundred has a cold start
// (https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/).
const requestsPerStart = 100

// Report holds what Shopfront costs.
type Report struct {
	prices       pricing.Prices
	shops        []ShopMonth
	lines        []Line
	memoryMB     int
	code         Request // the creation of a single-use code
	alarmMetrics int
}

// targets returns the most that a million requests may cost, in USD, by operation.
func targets() map[string]float64 {
	const single, limited = 2.50, 4.50
	return map[string]float64{
		redeemSingleUse: single, redeemLimited: limited, redeemLimitedFirst: limited, redeemLimitedNicks: limited,
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
func alarmMetrics(root string) (int, error) {
	template, err := os.ReadFile(filepath.Join(root, "infra", "alarms.yaml")) //nolint:gosec // the project's own file
	return bytes.Count(template, []byte("MetricName:")), err
}

func newReport(memoryMB int, requests []Request, code Request, alarms int) (*Report, error) {
	prices, err := pricing.Published()
	if err != nil {
		return nil, err
	}
	shops, err := readShops()
	if err != nil {
		return nil, err
	}
	report := &Report{prices: prices, shops: shops, memoryMB: memoryMB, code: code, alarmMetrics: alarms}
	for _, r := range requests {
		report.lines = append(report.lines, newLine(r, memoryMB))
	}
	return report, nil
}

// million returns the bill for a million requests, or for a million events.
func (r *Report) million(line Line) pricing.Bill {
	usage := make(pricing.Usage)
	usage.Add(line.usage(1./requestsPerStart), 1_000_000/eventsIn(line.Operation))
	return r.prices.Cost(usage)
}

// month returns the monthly bill of a shop.
func (r *Report) month(shop ShopMonth) pricing.Bill {
	return r.prices.Cost(shop.monthly(r.lines, r.code, r.alarmMetrics))
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	millions := [][]string{append([]string{"", "total", "target"}, r.prices.Columns...)}
	months := [][]string{append([]string{"", "total"}, r.prices.Columns...)}
	requests := [][]string{{
		"", "calls", "read", "write", "line", "logs", "response", "warm", "CPU", "billed", "start",
		"CPU", "first", "CPU", "billed cold",
	}}
	var shops, published, poll strings.Builder
	for _, line := range r.lines {
		bill, target := r.million(line), ""
		if most, has := targets()[line.Operation]; has {
			target = dollars(most, 2)
			if bill.Total > most {
				target += " !"
			}
		}
		millions = append(millions, append([]string{line.Operation, dollars(bill.Total, 2), target}, r.cells(bill, 3)...))
		requests = append(requests, line.cells())
		if line.Operation == pollFeed {
			const monthSeconds = 730 * 3600
			fmt.Fprintf(&poll, "Polling the events every 15 seconds costs %s USD a month.\n",
				dollars(bill.Total*monthSeconds/15/1_000_000, 2))
		}
	}
	for _, shop := range r.shops {
		bill := r.month(shop)
		months = append(months, append([]string{shop.Name, dollars(bill.Total, 2)}, r.cells(bill, 2)...))
		fmt.Fprintf(&shops, "- %s: %s\n", shop.Name, shop.Description)
	}
	for _, usage := range slices.Sorted(maps.Keys(r.prices.Of)) {
		fmt.Fprintf(&published, "- %s: %s\n", r.prices.Of[usage].Published, r.prices.Of[usage].Source)
	}
	_, err := fmt.Fprintf(w, `Prices of AWS in %s on %s, in USD, without the free tier. Functions have %d MB on arm64; one request in %d has a cold start.

The price of a million requests, or of a million events, in USD. ! marks a total above its target.
%s
One request: calls of DynamoDB, and the units that they read and write; bytes of the function's log line, of all its logs, and of the
response; milliseconds of a warm request, of a start and of the first request after it, each with its processor time on this machine;
and the milliseconds that Lambda bills for them.
%sWhile functions were timed, the store took %v for each call.
Creating a single-use code writes %v unit and stores %v bytes.
%s
The price of a month, in USD. The assumptions about each shop (internal/measure/cost/shops.yaml has the figures):
%s%s
The prices, and the pages where AWS publishes them:
%s`, r.prices.Region, r.prices.Date.Format(time.DateOnly), r.memoryMB, requestsPerStart, table.Align(1, millions),
		table.Align(1, requests), storeDelay, r.code.units().Write, r.code.grown(fixture.VouchersTable), &poll, &shops,
		table.Align(1, months), &published)
	return err
}

func dollars(amount float64, decimals int) string {
	return strconv.FormatFloat(amount, 'f', decimals, 64)
}

func (r *Report) cells(bill pricing.Bill, decimals int) (cells []string) {
	for _, column := range r.prices.Columns {
		cells = append(cells, dollars(bill.Columns[column], decimals))
	}
	return cells
}

func (l Line) cells() []string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	milliseconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1000, 'f', 2, 64) }
	whole := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return []string{
		l.Operation, strconv.Itoa(len(l.Calls)), number(l.units().Read), number(l.units().Write),
		strconv.Itoa(l.LogBytes), strconv.Itoa(l.WarmLogBytes), strconv.Itoa(l.ResponseBytes),
		milliseconds(l.Warm), milliseconds(l.WarmCPU), whole(l.BilledWarm), milliseconds(l.Ready),
		milliseconds(l.ReadyCPU), milliseconds(l.First), milliseconds(l.FirstCPU), whole(l.BilledCold),
	}
}
