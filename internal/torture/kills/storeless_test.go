package kills_test

import (
	"strings"
	"testing"

	"shopfront/internal/torture/testshop"
)

// storeless is a command that loses its store while it runs.
type storeless struct {
	*round
	at      step
	process *process
}

// startWithoutStore starts a command whose store goes away at one of the command's writes.
func startWithoutStore(t *testing.T, programs testshop.Programs, c command) *storeless {
	t.Helper()
	r := newRound(t, newBench(t, programs), c, storeGone())
	var writes []step
	for _, at := range r.steps(r.playUndisturbed()) {
		if isWrite(at.operation) {
			writes = append(writes, at)
		}
	}
	s := &storeless{round: r, at: writes[len(writes)/2]}
	r.prepare(r.subject(1))
	s.process = r.startAt(r.subject(1), s.at, 0)
	return s
}

// complete waits until the command gives up, and runs it again once the store is back.
func (s *storeless) complete() {
	s.t.Helper()
	s.wantEnded(s.process, s.at)
	if !strings.Contains(s.process.stderr.String(), `"kind":"unavailable"`) {
		s.violation(s.t, "shopctl does not report that the store is unavailable: %s", s.process)
	}
	s.settle()
	s.completeAll([]step{s.at}, []*process{s.process})
}
