package torture

import (
	"testing"
	"time"
)

func TestRule_Judge_CountsEveryChangeThatMayBeInEffect(t *testing.T) {
	noon := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)
	const unknown = -1
	type step struct {
		allow     bool
		confirmed time.Duration // after noon, or unknown
	}
	denied, allowed := step{false, 0}, step{true, 10 * TakesEffect}
	for name, c := range map[string]struct {
		steps             []step
		received          time.Duration
		mayAllow, mayDeny bool
	}{
		"never changed":                  {nil, 0, true, false},
		"before the change is confirmed": {[]step{denied}, -1, true, true},
		"when the change takes effect":   {[]step{denied}, TakesEffect, true, true},
		"after the change took effect":   {[]step{denied}, TakesEffect + 1, false, true},
		"denied with an unknown outcome": {[]step{{false, unknown}}, time.Hour, true, true},
		"changed back, not in effect yet": {
			[]step{denied, allowed},
			10 * TakesEffect, true,
			true,
		},
		"changed back, in effect": {
			[]step{denied, allowed},
			12 * TakesEffect, true,
			false,
		},
		"denied with an unknown outcome, then allowed": {
			[]step{{false, unknown}, allowed},
			12 * TakesEffect, true, false,
		},
		"denied, then denied with an unknown outcome": {
			[]step{denied, {false, unknown}},
			time.Hour,
			false, true,
		},
		"denied, then allowed with an unknown outcome": {
			[]step{denied, {true, unknown}},
			time.Hour, true,
			true,
		},
		"changed back and forth within the lag": {
			[]step{denied, {true, 1}, {false, 2}},
			TakesEffect, true, true,
		},
		"changed back and forth, last in effect": {
			[]step{denied, {true, 1}, {false, 2}},
			TakesEffect + 3, false, true,
		},
		"denied, and allowed before and after with unknown outcomes": {[]step{
			{true, unknown},
			{false, 5},
			{true, unknown},
		}, time.Hour, true, true},
	} {
		r := newRule("a stranger", true)
		for _, s := range c.steps {
			if confirmed := r.change(s.allow); s.confirmed != unknown {
				confirmed(noon.Add(s.confirmed))
			}
		}
		if mayAllow, mayDeny := r.judge(noon.Add(c.received)); mayAllow != c.mayAllow || mayDeny != c.mayDeny {
			t.Errorf("%s: may allow %t and deny %t, want %t and %t", name, mayAllow, mayDeny, c.mayAllow, c.mayDeny)
		}
	}
}
