package backoffice

import (
	"context"
	"time"

	"shopfront/pkg/audit"
)

// feed compares the feed with the records. If they differ, it reads both again, with growing pauses.
func (v *verifier) feed(ctx context.Context) error {
	if v.shop.Tables.Events == "" {
		return nil
	}
	feed := audit.NewFeed(v.shop.EventRetention)
	for reading := 1; ; reading++ {
		count, findings, err := v.readFeed(ctx, feed)
		if err != nil {
			return err
		}
		if count == 0 || reading == audit.Readings {
			v.report.Add(findings...)
			v.report.Found += count - len(findings)
			return nil
		}
		if err := v.pause(ctx, time.Duration(reading)*v.Settle); err != nil {
			return err
		}
	}
}

// readFeed reads the feed before the records. So the records must show everything that the feed reports.
func (v *verifier) readFeed(ctx context.Context, feed *audit.Feed) (count int, findings []audit.Finding, err error) {
	feed.Begin(v.Now())
	for entry, err := range v.shop.log(ctx, v.Now()) {
		if err != nil {
			return 0, nil, err
		}
		feed.AddEvent(entry.page, entry.sequence, entry.id, entry.at)
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
