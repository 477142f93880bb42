package cost

import (
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"shopfront/internal/measure/benchmark"
	"shopfront/internal/measure/cost/pricing"
)

// Print writes the report for people.
func (r Report) Print(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Prices of AWS in %s, as of %s, in USD, without its free tier. Functions have %d MB on arm64; one request in %d meets a cold start.\n\n",
		r.Region, r.Priced, r.MemoryMB, r.RequestsPerStart)
	text.WriteString("A million requests, in USD. Above its target: !\n")
	r.printMillions(&text)
	text.WriteString("\nA request, as measured: calls of DynamoDB, units that it reads and writes, computed from the sizes of items; bytes of the function's\n" +
		"log line, of that with Lambda's own, and of the answer; milliseconds of a warm request, of a start and of the first request after it,\n" +
		"each with its processor time on this machine; and milliseconds that Lambda bills, for an instance's part of a processor.\n")
	r.printRequests(&text)
	fmt.Fprintf(&text, "While functions were timed, the store answered %d calls after %v, and %d of them later.\n", r.Calls, StoreDelay, r.Late)
	created := r.Code.Units()
	fmt.Fprintf(&text, "Creating a single-use code writes %v unit and stores %d bytes.\n\n", created.Write, r.Code.grown(benchmark.VouchersTable))
	text.WriteString("A month, in USD. What is assumed of each shop:\n")
	for _, shop := range r.Monthly {
		fmt.Fprintf(&text, "- %s: %s\n", shop.Name, shop.Description)
	}
	r.printMonths(&text)
	text.WriteString("\nThe prices, and where AWS publishes them:\n")
	r.printPrices(&text)
	_, err := io.WriteString(w, text.String())
	return err
}

// printTable writes rows in columns; all but the first column are flushed right.
func printTable(text *strings.Builder, rows [][]string) {
	widest := 0
	for _, row := range rows {
		widest = max(widest, len(row[0]))
	}
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		_, _ = fmt.Fprintf(table, "%-*s\t%s\t\n", widest, row[0], strings.Join(row[1:], "\t")) // to memory
	}
	_ = table.Flush()
}

func (u USD) cents() string { return u.FloatString(2) }

func (r Report) printMillions(text *strings.Builder) {
	rows := [][]string{{"", "DynamoDB", "gateway", "Lambda requests", "Lambda time", "logs", "KMS", "transfer", "total", "target"}}
	for _, p := range r.PerMillion {
		target := ""
		if p.Target != nil {
			target = p.Target.cents()
		}
		if p.aboveTarget() {
			target += " !"
		}
		a := p.Amounts
		rows = append(rows, []string{
			p.Operation, a.DynamoDB.FloatString(3), a.Gateway.cents(), a.LambdaRequests.cents(), a.LambdaTime.FloatString(3), a.Logs.FloatString(3),
			a.Keys.FloatString(3), a.Transfer.FloatString(3), a.Total.cents(), target,
		})
	}
	printTable(text, rows)
}

func (r Report) printRequests(text *strings.Builder) {
	milliseconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1000, 'f', 2, 64) }
	units := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	rows := [][]string{{"", "calls", "read", "write", "line", "logs", "answer", "warm", "CPU", "billed", "start", "CPU", "first", "CPU", "billed cold"}}
	for _, p := range r.PerMillion {
		rows = append(rows, []string{
			p.Operation, strconv.Itoa(len(p.Calls)), units(p.Units.Read), units(p.Units.Write), strconv.Itoa(p.LogBytes), strconv.Itoa(p.WarmLogBytes),
			strconv.Itoa(p.AnswerBytes), milliseconds(p.Warm), milliseconds(p.WarmCPU), strconv.FormatInt(p.BilledWarm.Milliseconds(), 10),
			milliseconds(p.Ready), milliseconds(p.ReadyCPU), milliseconds(p.First), milliseconds(p.FirstCPU),
			strconv.FormatInt(p.BilledCold.Milliseconds(), 10),
		})
	}
	printTable(text, rows)
}

func (r Report) printMonths(text *strings.Builder) {
	rows := [][]string{{"", "DynamoDB", "storage", "gateway", "Lambda", "logs", "KMS", "transfer", "metrics", "alarms", "total"}}
	for _, m := range r.Monthly {
		a := m.Amounts
		lambda := USD{new(big.Rat).Add(a.LambdaRequests.Rat, a.LambdaTime.Rat)}
		rows = append(rows, []string{
			m.Name, a.DynamoDB.cents(), a.Storage.cents(), a.Gateway.cents(), lambda.cents(), a.Logs.cents(), a.Keys.cents(), a.Transfer.cents(),
			a.Metrics.cents(), a.Watching.cents(), a.Total.cents(),
		})
	}
	printTable(text, rows)
}

func (r Report) printPrices(text *strings.Builder) {
	for _, usage := range pricing.UsageTypes() {
		price := r.Prices[usage]
		fmt.Fprintf(text, "- %s: %s\n", price.Published, price.Source)
	}
}
