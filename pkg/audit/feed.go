package audit

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
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
// AddEvent for the whole feed, AddFact for all records, and End. Create it with NewFeed. It holds about 150 bytes for
// each event of the feed.
type Feed struct {
	retention time.Duration
	itemOf    func(event.ID) Place

	now      time.Time
	coverage Coverage
	last     int64 // the latest sequence number
	events   map[event.ID]feedEvent
	parked   map[Place]string // reasons
	unread   bool             // a record could not be read, so its events must not count as unfounded

	doubtful, earlier map[doubt]bool // earlier has the doubts of the previous reading; nil: this is the first reading
	findings          []Finding      // the first MaxFindings of doubtful
}

type feedEvent struct {
	page            Place
	sequence, again int64 // again is the sequence number of a second entry; 0: there is none
	content         uint64
	isErased        bool // see contentOf
	isStored, shown bool
	isDamaged       bool
}

// contentOf returns a checksum of what an event says. rest leaves out the members of the data that may be erased
// (docs/operating/privacy.md), and isErased reports whether they are empty or missing.
func contentOf(e event.Event) (all, rest uint64, isErased bool) {
	sum := func(data []byte) uint64 {
		hash := fnv.New64a()
		_, _ = fmt.Fprintf(hash, "%s %d %s", e.Type, e.At.UnixMilli(), data) // a hash.Hash never fails
		return hash.Sum64()
	}
	members, isErased := make(map[string]json.RawMessage), true
	_ = json.Unmarshal(e.Data, &members) // a stored event whose data is no object is damaged
	for _, name := range []string{"nick", "payment", "data"} {
		isErased = isErased && slices.Contains([]string{"", "null", "{}", `""`}, string(members[name]))
		delete(members, name)
	}
	others, _ := json.Marshal(members) // a valid RawMessage can always be encoded
	return sum(e.Data), sum(others), isErased
}

// doubt identifies a finding across readings.
type doubt struct {
	kind Kind
	id   event.ID
	gap  int64 // the sequence number before a gap
	page Place // of a damaged page
}

// NewFeed returns a comparison for a feed that stores events for the retention. itemOf returns the place of an event's
// item.
func NewFeed(retention time.Duration, itemOf func(event.ID) Place) *Feed {
	return &Feed{retention: retention, itemOf: itemOf}
}

// Begin begins a reading. parked has the places of records whose changes are set aside, with the reasons.
func (f *Feed) Begin(now time.Time, parked map[Place]string) {
	*f = Feed{
		retention: f.retention, itemOf: f.itemOf, now: now, events: make(map[event.ID]feedEvent), parked: parked,
		doubtful: make(map[doubt]bool), earlier: f.doubtful,
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

// AddDamagedPage adds a page that is damaged. AddEvent may follow for its events.
func (f *Feed) AddDamagedPage(page Place) {
	f.doubt(doubt{kind: KindMalformed, page: page}, page,
		"the page has lost its feed's ID or its events, or was changed, so the feed cannot be read there")
}

// AddEvent adds the event that a page names next. If the event is not stored, it has only its ID and Sequence.
func (f *Feed) AddEvent(page Place, e event.Event, isStored bool) {
	// after expired events, a whole page may have expired, too
	if !f.coverage.oldest.IsZero() && e.Sequence != f.last+1 {
		f.doubt(doubt{kind: KindEventGap, gap: f.last}, page, "the events %d to %d are missing", f.last+1, e.Sequence-1)
	}
	f.last = e.Sequence
	isDamaged := isStored && e.Damaged() != nil
	if isDamaged {
		f.doubt(doubt{kind: KindMalformed, id: e.ID}, f.itemOf(e.ID), "the event %d (%s) cannot be read", e.Sequence,
			e.ID)
	} else {
		f.coverage.Add(e.Sequence, e.At)
	}
	known, again := f.events[e.ID]
	if again {
		known.again = e.Sequence
	} else {
		known = feedEvent{page: page, sequence: e.Sequence, isStored: isStored, isDamaged: isDamaged}
		all, rest, isErased := contentOf(e)
		if known.content, known.isErased = all, isErased; isErased {
			known.content = rest
		}
	}
	f.events[e.ID] = known
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
	reason, isParked := f.parked[place]
	switch {
	case named && e.isStored && !e.isDamaged && differs(e, fact):
		f.doubt(doubt{kind: KindEventDiffers, id: id}, f.itemOf(id),
			"the event %d (%s, %s) has another type, time or data than its record shows", e.sequence, id, fact.Type)
	// the event may have expired, and may have been added again later
	case fact.At.Before(f.coverage.Since(f.now, f.retention)):
	case !named && isParked && fact.At.Before(f.now.Add(-RecordingTime)):
		f.doubt(doubt{kind: KindEventParked, id: id}, place, "the event %s (%s at %s) is not in the feed, because the "+
			"change is set aside: %s", id, fact.Type, written(fact.At), reason)
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

// differs reports whether an event does not say what a fact says, even if its personal data was erased.
func differs(e feedEvent, fact event.Fact) bool {
	want, err := fact.Event()
	all, rest, _ := contentOf(want)
	if e.isErased {
		all = rest
	}
	return err == nil && e.content != all
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
