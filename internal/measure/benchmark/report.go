package benchmark

import (
	"fmt"
	"io"
	"time"

	"shopfront/internal/measure/table"
)

// Report holds the measurements.
type Report struct {
	options  Options
	measured map[string][]Round // the rounds, by subject
}

// figure is one figure of a round.
type figure func(Round) float64

func ready(m Round) float64    { return float64(m.Ready) }
func readyCPU(m Round) float64 { return float64(m.ReadyCPU) }
func first(m Round) float64    { return float64(m.First) }
func p50(m Round) float64      { return float64(m.Warm) }
func p99(m Round) float64      { return float64(m.WarmP99) }
func cpu(m Round) float64      { return float64(m.WarmCPU) }
func calls(m Round) float64    { return m.Calls }
func memory(m Round) float64   { return float64(m.Memory) }

// Print writes the report for people: the targets first, then every figure.
func (r *Report) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d rounds of %d starts and %d requests for each function; the store takes %v for each call

%sA figure is the median of the rounds, with the least and the greatest in brackets. ! marks a median above its target.

Every figure, as the median of the rounds. "first", "p50" and "p99" are times from handing over the event to the arrival of the response.
%s`, r.options.Rounds, r.options.Starts, r.options.Requests, storeDelay, r.targets(), r.figures())
	return err
}

// targets compares each function with the reference that makes the same calls. If there is no such reference, the start
// is compared with the reference for redeeming.
func (r *Report) targets() string {
	rows := [][]string{{"figure", "function", "target", "measured"}}
	// add adds a row that divides a figure of one subject by a figure of another subject, round by round.
	add := func(what, subject string, most float64, of figure, reference string, per figure) {
		quotients := r.values(subject, of)
		for i, divisor := range r.values(reference, per) {
			quotients[i] /= divisor
		}
		reached := spreadOf(quotients...)
		row := []string{what, subject, fmt.Sprintf("≤ %g", most), reached.String()}
		if reached.Median > most {
			row[3] += " !"
		}
		rows = append(rows, row)
	}
	each, withCalls := functions()
	for _, s := range each {
		add("start to ready ÷ reference", s.name, 1.1, ready, s.comparedWith(), ready)
	}
	for _, s := range withCalls {
		warm := s.name
		if s.reference == referenceArea { // the function serves warm requests from its cache
			warm = s.reference
		}
		add("first request ÷ warm p50", s.name, 2, first, warm, p50)
	}
	for _, s := range withCalls {
		add("warm p50 ÷ reference", s.name, 1.15, p50, s.reference, p50)
	}
	for _, s := range withCalls {
		add("CPU ÷ reference", s.name, 1.4, cpu, s.reference, cpu)
	}
	return table.Align(len(rows[0]), rows)
}

// values returns a figure of a subject in each round.
func (r *Report) values(subject string, of figure) []float64 {
	var values []float64
	for _, round := range r.measured[subject] {
		values = append(values, of(round))
	}
	return values
}

func (r *Report) figures() string {
	rows := [][]string{{
		"function", "ready ms", "start CPU ms", "first ms", "p50 ms", "p99 ms", "CPU ms", "calls", "memory MB",
	}}
	for _, s := range subjects() {
		median := func(of figure, unit float64) float64 { return spreadOf(r.values(s.name, of)...).Median / unit }
		row := []string{s.name}
		for _, of := range []figure{ready, readyCPU, first, p50, p99, cpu} {
			row = append(row, fmt.Sprintf("%.2f", median(of, float64(time.Millisecond))))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f", median(calls, 1)), fmt.Sprintf("%.1f", median(memory, 1e6))))
	}
	return table.Align(1, rows)
}
