package history

import "math"

// unlimited replaces None when limits are compared.
const unlimited = math.MaxInt

// timeline lists, in the order of the ticks, the values that a term may have. A request that begins after an edit
// returned sees the new value. A request in flight during the edit may see the old value, the new one or, if the edit
// takes several steps, one in between. So while an edit is in flight, the term may be anything from the lower to the
// higher of the two values. If the outcome of the edit is unknown, that remains so until a later edit of the same term
// has returned.
type timeline []period

type period struct {
	from      int64
	low, high int
}

// timeline returns the timeline of one term of the voucher. The function term returns the value that an edit sets, or
// nil if the edit does not set that term.
func (h History) timeline(term func(Edit) *int) timeline {
	created := *term(Edit{&h.Terms.MaxUses, &h.Terms.MaxUsesPerNick, &h.Terms.Disabled})
	line := timeline{{low: created, high: created}}
	for _, o := range h.Operations { // in the order in which they were called, so each edit begins after the one before
		value := term(o.Edit)
		if value == nil {
			continue
		}
		before := line[len(line)-1]
		line = append(line, period{o.Called, min(before.low, *value), max(before.high, *value)})
		if o.Outcome == Done {
			line = append(line, period{o.Returned, *value, *value})
		}
	}
	return line
}

// during returns the lowest and the highest value that the term may have between two ticks.
func (t timeline) during(from, until int64) (low, high int) {
	low, high = math.MaxInt, math.MinInt
	for i, p := range t {
		ended := i+1 < len(t) && t[i+1].from <= from
		if !ended && p.from <= until {
			low, high = min(low, p.low), max(high, p.high)
		}
	}
	return low, high
}

// truth returns 1 for true, 0 for false and nil for nil, so that a timeline can hold a flag.
func truth(flag *bool) *int {
	switch {
	case flag == nil:
		return nil
	case *flag:
		return new(1)
	default:
		return new(0)
	}
}

// bound returns a limit that can be compared: unlimited for None, and nil for nil.
func bound(limit *int) *int {
	if limit != nil && *limit == None {
		return new(unlimited)
	}
	return limit
}
