package history

import "math"

// unlimited stands for None where limits are compared.
const unlimited = math.MaxInt

// timeline is what a term may be, from tick to tick. An edit holds for every request that begins after it returned; a
// request that is under way meanwhile may see either, and one edit of several steps even what is between. So from an edit's
// call to its return the term is anything from the lowest to the highest of what it was and is to be. Where the outcome of
// an edit is unknown, that is so until a later edit of the same term has returned.
type timeline []period

type period struct {
	from      int64
	low, high int
}

func newTimeline(initial int, operations []Operation, term func(Edit) (value int, edited bool)) timeline {
	line := timeline{{low: initial, high: initial}}
	for _, o := range operations { // in the order of the calls, so that the next edit begins after this one
		if o.Ask != AskEdit {
			continue
		}
		value, edited := term(o.Edit)
		if !edited {
			continue
		}
		before := line[len(line)-1]
		line = append(line, period{o.Called, min(before.low, value), max(before.high, value)})
		if o.Outcome == Done {
			line = append(line, period{o.Returned, value, value})
		}
	}
	return line
}

// during is what the term may be at any time between two ticks.
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

func disabled(e Edit) (value int, edited bool) {
	if e.Disabled == nil {
		return 0, false
	}
	return truth(*e.Disabled), true
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

func maxUses(e Edit) (value int, edited bool) { return limited(e.MaxUses) }

func maxUsesPerNick(e Edit) (value int, edited bool) { return limited(e.MaxUsesPerNick) }

func limited(limit *int) (value int, edited bool) {
	if limit == nil {
		return 0, false
	}
	return bound(*limit), true
}

func bound(limit int) int {
	if limit == None {
		return unlimited
	}
	return limit
}
