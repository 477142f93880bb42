package backoffice

import (
	"context"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
)

// feed compares the feed with the records. If they differ, it reads both again, with growing pauses.
func (v *verifier) feed(ctx context.Context) error {
	if v.shop.Tables.Events == "" {
		return nil
	}
	feed := audit.NewFeed(v.shop.EventRetention, func(id event.ID) audit.Place {
		return placeOf(v.shop.Tables.Events, table.EventKey(v.shop.Profile.ID, id))
	})
	return v.again(ctx, func() (int, []audit.Finding, error) { return v.readFeed(ctx, feed) },
		func() error { return nil })
}

// readFeed reads the feed before the records. So the records must show everything that the feed reports.
func (v *verifier) readFeed(ctx context.Context, feed *audit.Feed) (count int, findings []audit.Finding, err error) {
	parked, err := v.shop.parked(ctx)
	if err != nil {
		return 0, nil, err
	}
	feed.Begin(v.Now(), parked)
	for entry, err := range v.shop.log(ctx, v.Now()) {
		if err != nil {
			return 0, nil, err
		}
		if entry.Sequence == 0 {
			feed.AddDamagedPage(entry.page)
			continue
		}
		feed.AddEvent(entry.page, entry.Event, entry.isStored)
		v.Read(1)
	}
	for record, err := range v.shop.records(ctx) {
		if err != nil {
			return 0, nil, err
		}
		if record.err != nil {
			feed.AddUnread()
		}
		for _, fact := range record.facts {
			feed.AddFact(record.place, fact)
		}
		v.Read(1)
	}
	count, findings = feed.End()
	return count, findings, nil
}

// parked returns the places of the shop's changes that are set aside, with the reasons.
func (s *Shop) parked(ctx context.Context) (map[audit.Place]string, error) {
	parked, err := dynamo.NewEventParking(s.api, s.Tables.Events, nil, time.Now).Parked(ctx, s.Profile.ID)
	reasons := make(map[audit.Place]string, len(parked))
	for _, p := range parked {
		place := table.Key{Partition: p.Place.Partition, Sort: p.Place.Sort}
		reasons[placeOf(s.nameOf(p.Place.Table), place)] = p.Reason
	}
	return reasons, err
}
