package kills_test

import (
	"cmp"
	"flag"
	"slices"
	"sync"
	"testing"

	"shopfront/internal/torture"
)

// report collects the rows of all kills.
type report struct {
	mu   sync.Mutex
	rows []torture.Row
}

func (o *report) add(rows ...torture.Row) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range rows {
		at := slices.IndexFunc(o.rows, func(r torture.Row) bool { return r.Fault == row.Fault })
		if at < 0 {
			o.rows = append(o.rows, row)
		} else {
			o.rows[at].Add(row)
		}
	}
}

func (o *report) tell(t *testing.T) {
	t.Helper()
	slices.SortStableFunc(o.rows, func(a, b torture.Row) int { return cmp.Compare(a.Fault, b.Fault) })
	torture.Tell(t, flag.Lookup(tableFlag).Value.String(), o.rows)
}

func TestKills_KilledWork_IsCompletedByRunningItAgain(t *testing.T) {
	programs := impatient(t)
	var done report
	t.Run("ended", func(t *testing.T) {
		t.Run("redemptions", func(t *testing.T) {
			t.Parallel()
			// This test finds and kills its functions by their path, so it has paths of its own.
			done.add(killRedemptions(t, programs.Linked(t))...)
		})
		t.Run("held", func(t *testing.T) {
			t.Parallel()
			done.add(killHeldRequests(t, programs.Linked(t))...)
		})
		end := func(e ending, commands ...command) {
			for _, c := range commands {
				t.Run(e.kind+"/"+c.kind, func(t *testing.T) {
					t.Parallel()
					done.add(endCommand(t, programs, c, e)...)
				})
			}
		}
		end(killed(), applyNew(), applyPruned(), createSingle(), createLimited(), generate(), generateResumed(),
			editField(), raise(), lower(), disable(), disableBatch(), pause(), resumeAll(),
			createKey(), revokeKey(),
			orderPlace(), orderPlaceWithAmount(), orderFulfil(), orderCancel(), orderPlaceWithCode(), orderCancelWithCode(),
			redemptionUndo(),
			eventsRebuild(),
			importSold())
		end(killed(), deletions()...)
		end(interrupted(), applyNew(), generate(), raise())
	})
	done.tell(t)
}
