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
		feed.AddEvent(reconciliation.Place{}, int64(i)+1, fact.ID(), true)
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
