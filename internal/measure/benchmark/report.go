package benchmark

import (
	"fmt"
	"io"
	"slices"
	"time"

	"shopfront/internal/measure/table"
)

// Report holds the measurements beside the targets.
type Report struct {
	Plan Plan
	// Binaries are the sizes of the binaries in bytes, by subject.
	Binaries map[string]int64
	// Measured are the rounds, by store and subject.
	Measured map[string]map[string][]Round
	Lines    []Line
	Oracle   Oracle
}

// Line is a row of the report: a figure beside its target.
type Line struct {
	What    string
	Subject string
	// Target is an upper bound of the median; 0 if the figure has no target.
	Target  float64
	Reached map[string]Spread // by store, or only under anyStore if the store makes no difference
}

const anyStore = "any"

func (r *Report) add(store string, measured map[string]Round) {
	if r.Measured[store] == nil {
		r.Measured[store] = map[string][]Round{}
	}
	for name, round := range measured {
		r.Measured[store][name] = append(r.Measured[store][name], round)
	}
}

// Each of these functions returns one figure of a round.
func ready(m Round) float64    { return float64(m.Ready) }
func readyCPU(m Round) float64 { return float64(m.ReadyCPU) }
func first(m Round) float64    { return float64(m.First) }
func p50(m Round) float64      { return float64(m.Warm) }
func p99(m Round) float64      { return float64(m.WarmP99) }
func cpu(m Round) float64      { return float64(m.WarmCPU) }
func calls(m Round) float64    { return m.Calls }
func memory(m Round) float64   { return float64(m.Memory) }

// compare adds a line for each figure, with its target. A function is compared with the reference that makes the same
// calls. If there is no such reference, the start and the binary are compared with the reference for redeeming.
func (r *Report) compare() {
	each, withCalls := functions()
	for _, s := range each {
		r.ratio("start to ready ÷ reference", s.name, 1.1, ready, s.comparedWith(), ready)
	}
	for _, s := range each {
		r.ratio("CPU until ready ÷ reference", s.name, 0, readyCPU, s.comparedWith(), readyCPU)
	}
	for _, s := range withCalls {
		warm := s.name
		if s.reference == referenceArea { // the function serves warm requests from its cache
			warm = s.reference
		}
		r.ratio("first request ÷ warm p50", s.name, 2, first, warm, p50)
	}
	for _, s := range withCalls {
		r.ratio("warm p50 ÷ reference", s.name, 1.15, p50, s.reference, p50)
	}
	for _, s := range withCalls {
		r.ratio("CPU ÷ reference", s.name, 1.4, cpu, s.reference, cpu)
	}
	for _, s := range each {
		most := 1.2
		if s.reference == referenceCheckout { // checkouts validate data
			most = 1.3
		}
		r.figure("binary ÷ reference", s.name, most, r.binaryRatio(s.name, s.comparedWith()))
	}
	for i, subject := range []string{singleUse, manyUses} {
		if rounds := r.Measured[stubSteady][subject]; len(rounds) > 0 {
			r.figure("DynamoDB calls per redemption", subject, float64(1+i), figures(rounds, calls)...)
		}
	}
	r.figure("greatest p50 gap to an unknown code", singleUse, 0.05, r.Oracle.Apart())
	for _, s := range []string{referenceRedeem, referenceUnwarmed} {
		r.ratio("reference ÷ hello: start to ready", s, 0, ready, hello, ready)
	}
	r.figure("reference ÷ hello: binary", referenceRedeem, 0, r.binaryRatio(referenceRedeem, hello))
}

func (r *Report) binaryRatio(subject, reference string) float64 {
	return float64(r.Binaries[subject]) / float64(r.Binaries[reference])
}

// figure adds a line that is the same for every store.
func (r *Report) figure(what, subject string, most float64, values ...float64) {
	r.Lines = append(r.Lines, Line{what, subject, most, map[string]Spread{anyStore: spreadOf(values...)}})
}

// ratio adds a line that divides a figure of one subject by a figure of another subject, round by round.
func (r *Report) ratio(
	what, subject string, most float64, of func(Round) float64, reference string, per func(Round) float64,
) {
	line := Line{what, subject, most, map[string]Spread{}}
	for store, measured := range r.Measured {
		if len(measured[subject]) > 0 && len(measured[reference]) > 0 {
			quotients := figures(measured[subject], of)
			for i, divisor := range figures(measured[reference], per) {
				quotients[i] /= divisor
			}
			line.Reached[store] = spreadOf(quotients...)
		}
	}
	r.Lines = append(r.Lines, line)
}

func figures(rounds []Round, of func(Round) float64) []float64 {
	values := make([]float64, len(rounds))
	for i, round := range rounds {
		values[i] = of(round)
	}
	return values
}

// cell shows the figure for a store, and marks a median above the target. A figure that is the same for every store is
// in the first column.
func (l Line) cell(store string) string {
	reached, found := l.Reached[store]
	if !found && store == stubSteady {
		reached, found = l.Reached[anyStore]
	}
	switch {
	case !found:
		return ""
	case l.Target > 0 && reached.Median > l.Target:
		return reached.String() + " !"
	}
	return reached.String()
}

// Print writes the report for people: the targets first, then every figure.
func (r *Report) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d rounds of %d starts and %d requests for each function and store

%sA figure is the median of the rounds, with the least and the greatest in brackets. ! marks a median above its target.

Every figure, as the median of the rounds. "first", "p50" and "p99" are times from handing over the event to the arrival of the response.
%s
`, r.Plan.Rounds, r.Plan.Starts, r.Plan.Requests, r.targets(), r.figures())
	if err != nil {
		return err
	}
	return r.Oracle.Print(w)
}

func (r *Report) targets() string {
	rows := [][]string{append([]string{"figure", "function", "target"}, storeNames()...)}
	what := ""
	for _, line := range r.Lines {
		row := []string{line.What, line.Subject, ""}
		if line.What == what {
			row[0] = ""
		}
		what = line.What
		if line.Target > 0 {
			row[2] = fmt.Sprintf("≤ %g", line.Target)
		}
		for _, store := range storeNames() {
			row = append(row, line.cell(store))
		}
		rows = append(rows, row)
	}
	return table.Align(len(rows[0]), rows)
}

func (r *Report) figures() string {
	rows := [][]string{{
		"function", "store", "ready ms", "start CPU ms", "first ms", "p50 ms", "p99 ms", "CPU ms", "calls", "memory MB",
		"binary MB",
	}}
	for _, s := range subjects() {
		for _, store := range storeNames() {
			rounds := r.Measured[store][s.name]
			if len(rounds) == 0 {
				continue
			}
			row := []string{s.name, store}
			for _, of := range []func(Round) float64{ready, readyCPU, first, p50, p99, cpu} {
				row = append(row, median(figures(rounds, of), "%.2f", float64(time.Millisecond)))
			}
			row = append(row, median(figures(rounds, calls), "%.1f", 1), median(figures(rounds, memory), "%.1f", 1e6))
			rows = append(rows, append(row, median([]float64{float64(r.Binaries[s.name])}, "%.2f", 1e6)))
		}
	}
	return table.Align(2, rows)
}

// median shows the median in a unit, or nothing if all values are zero because nothing was measured.
func median(values []float64, format string, unit float64) string {
	if len(values) == 0 || slices.Max(values) == 0 {
		return ""
	}
	return fmt.Sprintf(format, spreadOf(values...).Median/unit)
}
