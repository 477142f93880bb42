package reconciliation

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// MaxFindings bounds how many findings a Report holds; the others are counted.
const MaxFindings = 1000

// Report is what verifying a customer's data says.
type Report struct {
	Vouchers    int // that were read
	Redemptions int // on record when they were read
	Checkouts   int // that are kept

	Found    int       // how much is wrong
	Findings []Finding // the first MaxFindings of it, in the order of their places
	InMotion []Motion  // what changed meanwhile, by code; it is not wrong
}

// Add takes findings.
func (r *Report) Add(findings ...Finding) {
	r.Found += len(findings)
	r.Findings = append(r.Findings, findings[:min(len(findings), MaxFindings-len(r.Findings))]...)
}

// Sort puts the report into its order.
func (r *Report) Sort() {
	slices.SortFunc(r.Findings, Finding.compare)
	slices.SortFunc(r.InMotion, func(a, b Motion) int { return cmp.Compare(a.Code, b.Code) })
}

func count(n int, what string) string {
	switch {
	case what == "":
		return strconv.Itoa(n)
	case n == 1:
		return "1 " + what
	default:
		return strconv.Itoa(n) + " " + what + "s"
	}
}

func written(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
