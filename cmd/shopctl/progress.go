package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"shopfront/pkg/backoffice"
)

// progress shows how far a command has come: on a terminal as a bar, elsewhere as a line every lineInterval. The zero
// value shows nothing.
type progress struct {
	bar *progressbar.ProgressBar // nil: progress prints lines

	now             func() time.Time
	say             func(text string)
	label           string
	count, done     int // count may be unknownCount
	begun, nextLine time.Time
}

// unknownCount is the count of a progress without a known total.
const unknownCount = -1

// lineInterval is the shortest time between two lines.
const lineInterval = 10 * time.Second

// newProgress starts a bar on stderr if stderr is a terminal and the other writers are not: a bar would garble their
// output. In all other cases progress prints a line at most every lineInterval. With --json it prints nothing. The
// label, such as "generated", stands before the count.
func (p *program) newProgress(label string, count int, others ...io.Writer) *progress {
	now := p.now()
	shown := &progress{now: p.now, say: p.note, label: label, count: count, begun: now, nextLine: now.Add(lineInterval)}
	if isTerminal(p.stderr) && !p.json && !slices.ContainsFunc(others, isTerminal) {
		shown.bar = newBar(p.stderr, label, count)
	}
	return shown
}

func newBar(w io.Writer, label string, count int) *progressbar.ProgressBar {
	return progressbar.NewOptions(count,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(label), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0)) // otherwise a spinner would draw over the output that follows
}

func (p *progress) step() { p.steps(1) }

func (p *progress) steps(n int) {
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add(n) // a bar that cannot be drawn must not stop the work
		return
	}
	if p.now == nil {
		return
	}
	if now := p.now(); !now.Before(p.nextLine) {
		p.nextLine = now.Add(lineInterval)
		p.say(p.line(now.Sub(p.begun)))
	}
}

// line returns a text that says how many items are done after a time, how many a second, and how long the rest takes at
// that rate.
func (p *progress) line(elapsed time.Duration) string {
	rate := float64(p.done) / elapsed.Seconds()
	if p.count == unknownCount || rate == 0 {
		return fmt.Sprintf("%s: %d, %.0f a second", p.label, p.done, rate)
	}
	left := time.Duration(float64(p.count-p.done) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%s: %d of %d, %.0f a second, %s left", p.label, p.done, p.count, rate, left)
}

// end clears the bar, whether it is finished or not.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear() // as in steps
	}
}

// bulk shows the progress of a command that writes many items. The label is that of newProgress.
func (p *program) bulk(label string, shown *progress) backoffice.Bulk {
	return backoffice.Bulk{
		Begin: func(count int) { *shown = *p.newProgress(label, count) }, // the count is not known earlier
		Wrote: shown.step,
		Slow: func(writers int) {
			p.warn(fmt.Sprintf("DynamoDB throttles: writing %d at a time from now on", writers))
		},
	}
}
