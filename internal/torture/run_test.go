package torture

import (
	"testing"

	"shopfront/internal/memdynamo"
)

// A trial plays rounds until its fault has hit a call and something was redeemed, even on a slow machine. But the trial
// gives up after many rounds.
func TestRun_Trial_ContinuesUntilFaultAndRedemption(t *testing.T) {
	injected, redeemed := outcome{row: Row{Injected: 1}}, outcome{row: Row{Redemptions: 1}}
	counts := []memdynamo.Fault{memdynamo.ShortPage}
	for name, test := range map[string]struct {
		trial  trial
		played []outcome // the first rounds; nothing happens in later ones
		rounds int
	}{
		"in one round":   {trial{counts: counts}, []outcome{{row: Row{Injected: 1, Redemptions: 1}}}, 1},
		"in four rounds": {trial{counts: counts}, []outcome{{}, injected, {}, redeemed}, 4},
		"no fault hits":  {trial{counts: counts}, []outcome{redeemed}, vainRounds},
		"no redemption":  {trial{counts: counts}, []outcome{injected}, vainRounds},
		"a trial without faults needs only redemptions": {trial{}, []outcome{{}, redeemed}, 2},
		// Injected counts them
		"denied requests count as injected": {trial{access: true}, []outcome{redeemed, injected}, 2},
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
				t.Errorf("the trial played %d rounds, want %d", rounds, test.rounds)
			}
		})
	}
}
