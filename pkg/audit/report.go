package audit

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// MaxFindings is how many findings a Report holds. Further findings are only counted.
const MaxFindings = 1000

// Report is the result of verifying a shop's data.
type Report struct {
	Vouchers, Redemptions, Checkouts int // the numbers of items that were read

	Found    int       // the number of findings
	Findings []Finding // the first MaxFindings, in the order of their places
	InMotion []Motion  // vouchers that changed while they were read, in the order of codes
}

// Add adds findings.
func (r *Report) Add(findings ...Finding) {
	r.Found += len(findings)
	r.Findings = append(r.Findings, findings[:min(len(findings), MaxFindings-len(r.Findings))]...)
}

// Sort sorts the report.
func (r *Report) Sort() {
	slices.SortFunc(r.Findings, Finding.compare)
	slices.SortFunc(r.InMotion, func(a, b Motion) int { return cmp.Compare(a.Code, b.Code) })
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func written(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
