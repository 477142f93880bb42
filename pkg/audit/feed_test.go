package audit_test

import (
	"fmt"
	"testing"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// redeemed returns the fact of a redemption at noon.
func redeemed(id string) event.Fact {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return event.OfRedemption("emberforge", voucher.Redemption{ID: id, Code: "SUMMER20", At: noon})[0]
}

func anywhere(event.ID) audit.Place { return audit.Place{} }

// entry returns the event of a fact as it is in the feed.
func entry(sequence int64, fact event.Fact) event.Event {
	e, err := fact.Event()
	if err != nil {
		panic(err)
	}
	e.Sequence = sequence
	return e
}

// read makes one reading, an hour after noon. The parameter named has the events in the feed, and shown has the facts
// that records show.
func read(feed *audit.Feed, named, shown []event.Fact) (count int, first []audit.Finding) {
	feed.Begin(redeemed("").At.Add(time.Hour), nil)
	for i, fact := range named {
		feed.AddEvent(audit.Place{}, entry(int64(i)+1, fact), true)
	}
	for _, fact := range shown {
		feed.AddFact(audit.Place{}, fact)
	}
	return feed.End()
}

func TestFeed_FindingThatOneReadingDoesNotMake_IsDropped(t *testing.T) {
	feed := audit.NewFeed(24*time.Hour, anywhere)
	alder, birch := redeemed("Alder"), redeemed("Birch")
	if count, _ := read(feed, nil, []event.Fact{alder}); count != 1 {
		t.Errorf("the first reading made %d findings, want 1", count)
	}
	if count, first := read(feed, []event.Fact{alder}, []event.Fact{alder, birch}); count != 0 {
		t.Errorf("found %+v, which the first reading did not find", first)
	}
	if count, first := read(feed, nil, []event.Fact{alder, birch}); count != 0 {
		t.Errorf("found %+v, which the second reading did not find", first)
	}
}

func TestFeed_MoreThanMaxFindings_AreAllCounted(t *testing.T) {
	feed := audit.NewFeed(24*time.Hour, anywhere)
	var shown []event.Fact
	for n := range audit.MaxFindings + 1 {
		shown = append(shown, redeemed(fmt.Sprint(n)))
	}
	for range audit.Readings {
		if count, first := read(feed, nil, append(shown, shown...)); count != len(shown) ||
			len(first) != audit.MaxFindings {
			t.Errorf("counted %d findings and returned %d of them, want %d and %d", count, len(first), len(shown),
				audit.MaxFindings)
		}
	}
}

// DynamoDB deletes expired pages in any order, so a gap after expired events is not a fault.
func TestFeed_GapInTheSequence_IsFoundOnlyAfterAStoredEvent(t *testing.T) {
	for name, test := range map[string]struct {
		isStored bool
		want     int
	}{
		"after a stored event":   {true, 1},
		"after an expired event": {false, 0},
	} {
		feed := audit.NewFeed(24*time.Hour, anywhere)
		feed.Begin(redeemed("").At.Add(time.Hour), nil)
		alder := event.Event{ID: redeemed("Alder").ID(), Sequence: 1}
		if test.isStored {
			alder = entry(1, redeemed("Alder"))
		}
		feed.AddEvent(audit.Place{}, alder, test.isStored)
		feed.AddEvent(audit.Place{}, entry(101, redeemed("Birch")), true)
		feed.AddUnread()
		if count, first := feed.End(); count != test.want {
			t.Errorf("a gap %s: %d findings, want %d: %+v", name, count, test.want, first)
		}
	}
}

// If the retention was raised, an event younger than the retention may have expired under the earlier one. A year has
// 365 days here.
func TestCoverage_Since(t *testing.T) {
	const day = 24 * time.Hour
	now := redeemed("").At
	for name, test := range map[string]struct {
		sequence int64           // of the first event
		ages     []time.Duration // of the events in sequence; 0: no longer stored
		year     time.Duration   // how far back the feed must be complete if the retention is a year
		days90   time.Duration   // the same for a retention of 90 days
	}{
		"no events":                           {1, nil, 365 * day, 90 * day},
		"every event is stored":               {1, []time.Duration{120 * day, 5 * day}, 365 * day, 90 * day},
		"a page has expired":                  {51, []time.Duration{120 * day, 130 * day}, 120 * day, 90 * day},
		"an event has expired":                {1, []time.Duration{0, 120 * day, 0}, 120 * day, 90 * day},
		"the stored events are young":         {51, []time.Duration{5 * day}, 90 * day, 90 * day},
		"the stored events are very old":      {51, []time.Duration{400 * day}, 365 * day, 90 * day},
		"every event has expired":             {1, []time.Duration{0, 0}, 90 * day, 90 * day},
		"a stored event, then an expired one": {1, []time.Duration{120 * day, 0}, 365 * day, 90 * day},
	} {
		var c audit.Coverage
		for i, age := range test.ages {
			at := now.Add(-age)
			if age == 0 {
				at = time.Time{}
			}
			c.Add(test.sequence+int64(i), at)
		}
		if got := now.Sub(c.Since(now, 365*day)); got != test.year {
			t.Errorf("%s: a retention of a year: %s, want %s", name, got, test.year)
		}
		if got := now.Sub(c.Since(now, 90*day)); got != test.days90 {
			t.Errorf("%s: a retention of 90 days: %s, want %s", name, got, test.days90)
		}
	}
}
