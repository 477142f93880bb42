package audit

import (
	"time"

	"shopfront/pkg/event"
)

const (
	// RecordingTime is how long an event may take to reach the feed.
	RecordingTime = 5 * time.Minute
	// shortestRetention is the smallest value that template.yaml allows for EventRetentionDays.
	shortestRetention = 90 * 24 * time.Hour
)

// Coverage finds out how far back a feed must be complete. Call Add for every event of the log, in sequence.
type Coverage struct {
	isLost bool      // the first events have expired, so they are not stored any more
	oldest time.Time // when the oldest stored event happened
}

// Add adds the event with a sequence number. The parameter at is the time of the event, or zero if the event is no
// longer stored.
func (c *Coverage) Add(sequence int64, at time.Time) {
	if c.oldest.IsZero() {
		c.isLost, c.oldest = c.isLost || sequence > 1 || at.IsZero(), at
	}
}

// Since returns the time since which the feed must have every event. Usually that is now minus the retention. But if
// the retention was raised, events may have expired under a shorter retention. So if events have expired, the feed need
// only go back to its oldest stored event or to now minus shortestRetention, whichever is earlier.
func (c *Coverage) Since(now time.Time, retention time.Duration) time.Time {
	since := now.Add(-retention)
	reaches := now.Add(-shortestRetention)
	if !c.oldest.IsZero() && c.oldest.Before(reaches) {
		reaches = c.oldest
	}
	if c.isLost && since.Before(reaches) {
		return reaches
	}
	return since
}

// Feed compares the events of a shop's feed with the facts that its records show. The feed and the records are not
// read at the same moment, so a finding counts only if every reading makes it. For each reading call Begin, then
// AddEvent for the whole feed, AddFact for all records, and End. Create it with NewFeed. It holds about 100 bytes for
// each event of the feed.
type Feed struct {
	retention time.Duration

	now      time.Time
	coverage Coverage
	last     int64 // the latest sequence number
	events   map[event.ID]feedEvent
	unread   bool // a record could not be read, so its events must not count as unfounded

	doubtful, earlier map[doubt]bool // earlier has the doubts of the previous reading; nil: this is the first reading
	findings          []Finding      // the first MaxFindings of doubtful
}

type feedEvent struct {
	page            Place
	sequence, again int64 // again is the sequence number of a second entry; 0: there is none
	isStored, shown bool
}

// doubt identifies a finding across readings.
type doubt struct {
	kind Kind
	id   event.ID
	gap  int64 // the sequence number before a gap
}

// NewFeed returns a comparison for a feed that stores events for the retention.
func NewFeed(retention time.Duration) *Feed { return &Feed{retention: retention} }

// Begin begins a reading.
func (f *Feed) Begin(now time.Time) {
	*f = Feed{
		retention: f.retention, now: now, events: make(map[event.ID]feedEvent), doubtful: make(map[doubt]bool),
		earlier: f.doubtful,
	}
}

// doubt adds a finding if all earlier readings made it, too.
func (f *Feed) doubt(d doubt, place Place, format string, args ...any) {
	if f.doubtful[d] || f.earlier != nil && !f.earlier[d] {
		return
	}
	f.doubtful[d] = true
	if len(f.findings) < MaxFindings {
		f.findings = append(f.findings, found(d.kind, place, format, args...))
	}
}

// AddEvent adds the event that a page names next. The parameter at is the time of the event, or zero if the event
// itself is not stored. For a page that cannot be read, sequence is 0.
func (f *Feed) AddEvent(page Place, sequence int64, id event.ID, at time.Time) {
	switch {
	case sequence == 0:
		f.doubt(doubt{kind: KindEventGap, gap: f.last}, page, "the page cannot be read")
		return
	// after expired events, a whole page may have expired, too
	case !f.coverage.oldest.IsZero() && sequence != f.last+1:
		f.doubt(doubt{kind: KindEventGap, gap: f.last}, page, "the events %d to %d are missing", f.last+1, sequence-1)
	}
	f.last = sequence
	f.coverage.Add(sequence, at)
	e, again := f.events[id]
	if again {
		e.again = sequence
	} else {
		e = feedEvent{page: page, sequence: sequence, isStored: !at.IsZero()}
	}
	f.events[id] = e
}

// AddFact adds a fact that the record at a place shows.
func (f *Feed) AddFact(place Place, fact event.Fact) {
	if fact.Silent() {
		return
	}
	id := fact.ID()
	e, named := f.events[id]
	if named {
		e.shown = true
		f.events[id] = e
	}
	switch {
	// the event may have expired, and may have been added again later
	case fact.At.Before(f.coverage.Since(f.now, f.retention)):
	case !named && fact.At.Before(f.now.Add(-RecordingTime)):
		f.doubt(doubt{kind: KindEventMissing, id: id}, place, "the event %s (%s at %s) is not in the feed", id,
			fact.Type, written(fact.At))
	case named && !e.isStored:
		f.doubt(doubt{kind: KindEventGap, id: id}, e.page, "the event %d (%s, %s) is not stored", e.sequence, id,
			fact.Type)
	case e.again > 0:
		f.doubt(doubt{kind: KindEventTwice, id: id}, e.page, "the event %s (%s) is in the feed as %d and as %d", id,
			fact.Type, e.sequence, e.again)
	}
}

// AddUnread adds a record that cannot be read.
func (f *Feed) AddUnread() { f.unread = true }

// End ends a reading. It returns the number of findings that every reading so far has made, and the first MaxFindings
// of these.
func (f *Feed) End() (count int, first []Finding) {
	for id, e := range f.events {
		if !e.shown && !f.unread {
			f.doubt(doubt{kind: KindEventUnfounded, id: id}, e.page, "no record shows what the event %d (%s) reports",
				e.sequence, id)
		}
	}
	return len(f.doubtful), f.findings
}
