package reconciliation_test

import (
	"fmt"
	"testing"
	"time"

	"shopfront/pkg/event"
	"shopfront/pkg/reconciliation"
	"shopfront/pkg/voucher"
)

// redeemed returns the fact of a redemption at noon.
func redeemed(id string) event.Fact {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return event.OfRedemption("emberforge", voucher.Redemption{ID: id, Code: "SUMMER20", At: noon})[0]
}

// read reads a feed and records an hour after noon.
func read(feed *reconciliation.Feed, named, shown []event.Fact) (count int, first []reconciliation.Finding) {
	feed.Begin(redeemed("").At.Add(time.Hour))
	for i, fact := range named {
		feed.AddEvent(reconciliation.Place{}, int64(i)+1, fact.ID(), fact.At)
	}
	for _, fact := range shown {
		feed.AddFact(reconciliation.Place{}, fact)
	}
	return feed.End()
}

func TestFeed_FindingsOfOneReading_DoNotCount(t *testing.T) {
	feed := reconciliation.NewFeed(24 * time.Hour)
	alder, birch := redeemed("Alder"), redeemed("Birch")
	if count, _ := read(feed, nil, []event.Fact{alder}); count != 1 {
		t.Errorf("%d findings of the first reading", count)
	}
	if count, first := read(feed, []event.Fact{alder}, []event.Fact{alder, birch}); count != 0 {
		t.Errorf("found %+v, which the first reading did not", first)
	}
	if count, first := read(feed, nil, []event.Fact{alder, birch}); count != 0 {
		t.Errorf("found %+v, which the second reading did not", first)
	}
}

func TestFeed_ManyFindings_AreCounted(t *testing.T) {
	feed := reconciliation.NewFeed(24 * time.Hour)
	var shown []event.Fact
	for n := range reconciliation.MaxFindings + 1 {
		shown = append(shown, redeemed(fmt.Sprint(n)))
	}
	for range reconciliation.Readings {
		if count, first := read(feed, nil, append(shown, shown...)); count != len(shown) || len(first) != reconciliation.MaxFindings {
			t.Errorf("%d findings, and the first %d", count, len(first))
		}
	}
}

// DynamoDB deletes expired pages in any order.
func TestFeed_GapBehindEventsThatAreKept_IsFound(t *testing.T) {
	for name, test := range map[string]struct {
		at   time.Time
		want int
	}{
		"behind an event that is kept":    {redeemed("").At, 1},
		"behind events that have expired": {time.Time{}, 0},
	} {
		feed := reconciliation.NewFeed(24 * time.Hour)
		feed.Begin(redeemed("").At.Add(time.Hour))
		alder, birch := redeemed("Alder"), redeemed("Birch")
		feed.AddEvent(reconciliation.Place{}, 1, alder.ID(), test.at)
		feed.AddEvent(reconciliation.Place{}, 101, birch.ID(), birch.At)
		feed.AddUnread()
		if count, first := feed.End(); count != test.want {
			t.Errorf("a gap %s: %d findings: %+v", name, count, first)
		}
	}
}

// Whatever an event's age, it may have expired by a shorter retention of earlier days. A year is 365 days here.
func TestCoverage_Since(t *testing.T) {
	const day = 24 * time.Hour
	now := redeemed("").At
	for name, test := range map[string]struct {
		sequence int64           // of the first event
		ages     []time.Duration // 0: no longer kept
		year     time.Duration   // since when events must be in the feed if the retention is a year
		days90   time.Duration
	}{
		"no events":                     {1, nil, 365 * day, 90 * day},
		"everything is kept":            {1, []time.Duration{120 * day, 5 * day}, 365 * day, 90 * day},
		"a page has expired":            {51, []time.Duration{120 * day, 130 * day}, 120 * day, 90 * day},
		"an event has expired":          {1, []time.Duration{0, 120 * day, 0}, 120 * day, 90 * day},
		"what is left is young":         {51, []time.Duration{5 * day}, 90 * day, 90 * day},
		"what is left is very old":      {51, []time.Duration{400 * day}, 365 * day, 90 * day},
		"everything has expired":        {1, []time.Duration{0, 0}, 90 * day, 90 * day},
		"a kept event, then an expired": {1, []time.Duration{120 * day, 0}, 365 * day, 90 * day},
	} {
		var c reconciliation.Coverage
		for i, age := range test.ages {
			at := now.Add(-age)
			if age == 0 {
				at = time.Time{}
			}
			c.Add(test.sequence+int64(i), at)
		}
		if got := now.Sub(c.Since(now, 365*day)); got != test.year {
			t.Errorf("%s: %s of a year, want %s", name, got, test.year)
		}
		if got := now.Sub(c.Since(now, 90*day)); got != test.days90 {
			t.Errorf("%s: %s of 90 days, want %s", name, got, test.days90)
		}
	}
}
