package history

import "math"

// unlimited stands for None where limits are compared.
const unlimited = math.MaxInt

// timeline holds the values that a term may have, by tick. An edit applies to every request that begins after the edit returned. A
// request that is in flight during the edit may see the old or the new value, or, if the edit takes several steps, one between
// them. So from the call of an edit to its return, the term is anything from the lower to the higher of both values. After an
// edit of unknown outcome, that lasts until a later edit of the same term has returned.
type timeline []period

type period struct {
	from      int64
	low, high int
}

// timeline follows one term of the voucher. The function returns the term as an edit sets it, or nil.
func (h History) timeline(term func(Edit) *int) timeline {
	created := *term(Edit{&h.Terms.MaxUses, &h.Terms.MaxUsesPerNick, &h.Terms.Disabled})
	line := timeline{{low: created, high: created}}
	for _, o := range h.Operations { // in the order of the calls, so that the next edit begins after this one
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

// truth returns 1 for true and 0 for false.
func truth(is *bool) *int {
	switch {
	case is == nil:
		return nil
	case *is:
		return new(1)
	default:
		return new(0)
	}
}

func bound(limit *int) *int {
	if limit != nil && *limit == None {
		return new(unlimited)
	}
	return limit
}
