package benchmark

import (
	"fmt"
	"strings"
)

// Line is a figure, by store, beside its target.
type Line struct {
	What    string `json:"what"`
	Subject string `json:"subject"`
	// Target is the most that is wanted; 0: the figure is only for orientation.
	Target  float64           `json:"target,omitempty"`
	Reached map[string]Spread `json:"reached"` // by store; anyStore where the store makes no difference
}

// anyStore stands for all stores.
const anyStore = "any"

func (l Line) target() string {
	if l.Target == 0 {
		return ""
	}
	return fmt.Sprintf("≤ %g", l.Target)
}

// mark tells a median above the target.
func (l Line) mark(reached Spread) string {
	if l.Target > 0 && reached.Median > l.Target {
		return " !"
	}
	return ""
}

// cell is what was reached with a store. What has nothing to do with stores stands in the first column.
func (l Line) cell(store string) string {
	reached, found := l.Reached[store]
	if !found && store == stubSteady {
		reached, found = l.Reached[anyStore]
	}
	if !found {
		return ""
	}
	return reached.String() + l.mark(reached)
}

// Targets of the ratios. A function is compared with the bare one that makes the same calls; one that makes none with the
// bare one of redeeming.
const (
	mostStart           = 1.1
	mostFirst           = 2
	mostP50             = 1.15
	mostWork            = 1.4
	mostBinary          = 1.2
	mostBinaryValidates = 1.3
	mostApart           = 0.05
)

// Finish sets beside each target what was reached.
func (r *Report) Finish() {
	for _, s := range functionsOf(subjects()) {
		r.ratio("start to ready ÷ bare", s.Name, s.comparedWith(), mostStart, func(m Round) float64 { return float64(m.Ready) })
	}
	for _, s := range functionsOf(subjects()) {
		r.ratio("CPU until ready ÷ bare", s.Name, s.comparedWith(), 0, func(m Round) float64 { return float64(m.StartCPU) })
	}
	for _, s := range warmFunctions() {
		r.firstToWarm(s)
	}
	for _, s := range warmFunctions() {
		r.ratio("warm p50 ÷ bare", s.Name, s.Reference, mostP50, func(m Round) float64 { return float64(m.P50) })
	}
	for _, s := range warmFunctions() {
		r.ratio("CPU ÷ bare", s.Name, s.Reference, mostWork, func(m Round) float64 { return float64(m.CPU) })
	}
	r.handlerRatios("CPU within the handler ÷ bare", 0, func(h *Handler) []float64 { return h.CPU }) // without the network's share
	r.handlerRatios("allocations ÷ bare", mostWork, func(h *Handler) []float64 { return h.Allocations })
	for _, s := range functionsOf(subjects()) {
		most := mostBinary
		if s.validates() {
			most = mostBinaryValidates
		}
		r.same("binary ÷ bare", s.Name, most, float64(r.Binaries[s.Name])/float64(r.Binaries[s.comparedWith()]))
	}
	r.calls(singleUse, 1)
	r.calls(manyUses, 2)
	r.same("refusals' p50 apart, at most", singleUse, mostApart, r.Oracle.Apart())
	r.ratio("bare ÷ hello: start to ready", bareRedeem, hello, 0, func(m Round) float64 { return float64(m.Ready) })
	r.ratio("bare ÷ hello: start to ready", unconnected, hello, 0, func(m Round) float64 { return float64(m.Ready) })
	r.same("bare ÷ hello: binary", bareRedeem, 0, float64(r.Binaries[bareRedeem])/float64(r.Binaries[hello]))
}

// functionsOf leaves one subject for each of Shopfront's binaries.
func functionsOf(all []Subject) []Subject {
	var functions []Subject
	seen := make(map[string]bool)
	for _, s := range all {
		if strings.HasPrefix(s.Package, "functions/") && !seen[s.Package] {
			functions = append(functions, s)
			seen[s.Package] = true
		}
	}
	return functions
}

// warmFunctions are those of Shopfront's that call the store.
func warmFunctions() []Subject {
	var functions []Subject
	for _, s := range subjects() {
		if s.Reference != "" {
			functions = append(functions, s)
		}
	}
	return functions
}

func (s Subject) comparedWith() string {
	if s.Reference == "" {
		return bareRedeem
	}
	return s.Reference
}

func (s Subject) validates() bool { return s.Reference == bareCheckout }

// ratio adds a line of the ratio of two subjects, round by round.
func (r *Report) ratio(what, subject, reference string, most float64, of func(Round) float64) {
	line := Line{What: what, Subject: subject, Target: most, Reached: make(map[string]Spread)}
	for _, m := range r.Measured {
		compared := r.find(reference, m.Store)
		if m.Subject != subject || compared == nil {
			continue
		}
		line.Reached[m.Store] = spreadOf(quotients(m.values(of), compared.values(of)))
	}
	r.Lines = append(r.Lines, line)
}

func (r *Report) firstToWarm(s Subject) {
	line := Line{What: "first request ÷ warm p50", Subject: s.Name, Target: mostFirst, Reached: make(map[string]Spread)}
	for _, m := range r.Measured {
		if m.Subject == s.Name {
			line.Reached[m.Store] = spreadOf(quotients(
				m.values(func(m Round) float64 { return float64(m.First) }), m.values(func(m Round) float64 { return float64(m.P50) })))
		}
	}
	r.Lines = append(r.Lines, line)
}

func (r *Report) handlerRatios(what string, most float64, of func(*Handler) []float64) {
	for _, h := range r.Handlers {
		reference := r.handler(h.Request, "bare")
		if h.Function != "shopfront" || reference == nil {
			continue
		}
		r.Lines = append(r.Lines, Line{
			What: what, Subject: h.Request, Target: most, Reached: map[string]Spread{anyStore: spreadOf(quotients(of(&h), of(reference)))},
		})
	}
}

// calls adds a line of how many calls of the store a request makes.
func (r *Report) calls(subject string, most float64) {
	if m := r.find(subject, stubSteady); m != nil {
		r.Lines = append(r.Lines, Line{
			What: "DynamoDB calls per redemption", Subject: subject, Target: most,
			Reached: map[string]Spread{anyStore: spreadOf(m.values(func(m Round) float64 { return m.Calls }))},
		})
	}
}

func (r *Report) same(what, subject string, most, value float64) {
	r.Lines = append(r.Lines, Line{What: what, Subject: subject, Target: most, Reached: map[string]Spread{anyStore: {value, value, value}}})
}

// quotients divides round by round.
func quotients(dividends, divisors []float64) []float64 {
	quotients := make([]float64, min(len(dividends), len(divisors)))
	for i := range quotients {
		quotients[i] = dividends[i] / divisors[i]
	}
	return quotients
}
