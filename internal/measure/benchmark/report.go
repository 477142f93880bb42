package benchmark

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Report is what was measured, and what is made of it.
type Report struct {
	Machine Machine `json:"machine"`
	Plan    Plan    `json:"plan"`
	// Binaries are the sizes of the binaries in bytes, by subject.
	Binaries map[string]int64 `json:"binaries"`
	Measured []Measured       `json:"measured"`
	Handlers []Handler        `json:"handlers"`
	// Lines are the targets beside what was reached; Finish fills them in.
	Lines []Line `json:"lines"`
	// Oracle is what a client can tell from times.
	Oracle Oracle `json:"oracle"`
}

// add adds a round.
func (r *Report) add(store string, measured map[string]Round) {
	for name, round := range measured {
		if m := r.find(name, store); m != nil {
			m.Rounds = append(m.Rounds, round)
		} else {
			r.Measured = append(r.Measured, Measured{Subject: name, Store: store, Rounds: []Round{round}})
		}
	}
}

// find is what a subject did with a store, nil where it was not measured.
func (r *Report) find(subject, store string) *Measured {
	at := slices.IndexFunc(r.Measured, func(m Measured) bool { return m.Subject == subject && m.Store == store })
	if at < 0 {
		return nil
	}
	return &r.Measured[at]
}

func (r *Report) addHandlers(round []Handler) {
	for _, h := range round {
		if known := r.handler(h.Request, h.Function); known != nil {
			known.CPU = append(known.CPU, h.CPU...)
			known.Allocations = append(known.Allocations, h.Allocations...)
			known.Bytes = append(known.Bytes, h.Bytes...)
		} else {
			r.Handlers = append(r.Handlers, h)
		}
	}
}

func (r *Report) handler(request, function string) *Handler {
	at := slices.IndexFunc(r.Handlers, func(h Handler) bool { return h.Request == request && h.Function == function })
	if at < 0 {
		return nil
	}
	return &r.Handlers[at]
}

// Print writes the report for people: the targets first, then every figure.
func (r *Report) Print(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %d cores, %s, %s; %d rounds of %d starts and %d requests for each function and store\n\n",
		r.Machine.Processor, r.Machine.Cores, r.Machine.System, r.Machine.Go, r.Plan.Rounds, r.Plan.Starts, r.Plan.Requests)
	r.printTargets(&text)
	text.WriteString("\nEvery figure, as the median of the rounds. First, p50 and p99 are from the event handed over to the answer arrived.\n")
	r.printFigures(&text)
	text.WriteString("\nWithin the handlers, for one request: the store answers in the same process.\n")
	r.printHandlers(&text)
	text.WriteString("\n")
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return r.Oracle.Print(w)
}

func (r *Report) printTargets(text *strings.Builder) {
	stores := []string{stubSteady, stubImmediate, localStore}
	var targets table
	targets.row(append([]string{"what", "function", "target"}, stores...)...)
	what := ""
	for _, line := range r.Lines {
		shown := line.What
		if shown == what {
			shown = ""
		}
		what = line.What
		cells := []string{shown, line.Subject, line.target()}
		for _, store := range stores {
			cells = append(cells, line.cell(store))
		}
		targets.row(cells...)
	}
	text.WriteString(targets.text())
	text.WriteString("Median of the rounds, and in brackets the least and the greatest; ! is above the target.\n")
}

func (r *Report) printFigures(text *strings.Builder) {
	figures := table{right: true}
	figures.row("function", "store", "ready ms", "start CPU ms", "first ms", "p50 ms", "p99 ms", "CPU ms", "calls", "memory MB", "binary MB")
	for _, s := range subjects() {
		for _, store := range []string{stubSteady, stubImmediate, localStore} {
			m := r.find(s.Name, store)
			if m == nil {
				continue
			}
			figures.row(s.Name, store,
				m.milliseconds(func(r Round) time.Duration { return r.Ready }), m.milliseconds(func(r Round) time.Duration { return r.StartCPU }),
				m.milliseconds(func(r Round) time.Duration { return r.First }),
				m.milliseconds(func(r Round) time.Duration { return r.P50 }), m.milliseconds(func(r Round) time.Duration { return r.P99 }),
				m.milliseconds(func(r Round) time.Duration { return r.CPU }),
				m.figure("%.1f", func(r Round) float64 { return r.Calls }), m.figure("%.1f", func(r Round) float64 { return float64(r.Memory) / 1e6 }),
				fmt.Sprintf("%.2f", float64(r.Binaries[s.Name])/1e6))
		}
	}
	text.WriteString(figures.text())
}

func (m *Measured) milliseconds(of func(Round) time.Duration) string {
	return m.figure("%.2f", func(r Round) float64 { return of(r).Seconds() * 1000 })
}

// figure is the median of the rounds, nothing where it was not measured.
func (m *Measured) figure(format string, of func(Round) float64) string {
	median := spreadOf(m.values(of)).Median
	if median == 0 {
		return ""
	}
	return fmt.Sprintf(format, median)
}

func (m *Measured) values(of func(Round) float64) []float64 {
	values := make([]float64, len(m.Rounds))
	for i, round := range m.Rounds {
		values[i] = of(round)
	}
	return values
}

func (r *Report) printHandlers(text *strings.Builder) {
	handlers := table{right: true}
	handlers.row("request", "function", "CPU µs", "allocations", "bytes")
	for _, h := range r.Handlers {
		handlers.row(h.Request, h.Function, fmt.Sprintf("%.1f", spreadOf(h.CPU).Median/1000), fmt.Sprintf("%.0f", spreadOf(h.Allocations).Median),
			fmt.Sprintf("%.0f", spreadOf(h.Bytes).Median))
	}
	text.WriteString(handlers.text())
}
