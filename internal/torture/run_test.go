package torture

import (
	"testing"

	"shopfront/internal/torture/faultproxy"
)

// A trial goes on until its fault befell a call and something was redeemed, however long that takes a slow machine; but not
// for ever.
func TestATrialGoesOnUntilSomethingComesOfIt(t *testing.T) {
	injected, redeemed := outcome{row: Row{Injected: 1}}, outcome{row: Row{Redemptions: 1}}
	counts := []faultproxy.Fault{faultproxy.ShortPage}
	for name, test := range map[string]struct {
		trial  trial
		played []outcome // round by round; then nothing comes of any
		rounds int
	}{
		"at once":        {trial{counts: counts}, []outcome{{row: Row{Injected: 1, Redemptions: 1}}}, 1},
		"in the end":     {trial{counts: counts}, []outcome{{}, injected, {}, redeemed}, 4},
		"no fault":       {trial{counts: counts}, []outcome{redeemed}, vainRounds},
		"no redemption":  {trial{counts: counts}, []outcome{injected}, vainRounds},
		"without faults": {trial{}, []outcome{{}, redeemed}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{settings: Settings{Injections: 1}, progress: []*progress{{trial: test.trial}}}
			rounds := 0
			for p, number, more := r.next(); more; p, number, more = r.next() {
				played := outcome{}
				if rounds < len(test.played) {
					played = test.played[rounds]
				}
				r.add(p, number, played)
				rounds++
			}
			if rounds != test.rounds {
				t.Errorf("%d rounds, want %d", rounds, test.rounds)
			}
		})
	}
}
