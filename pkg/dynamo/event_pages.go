package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
)

// EventAddition is an event that was added to the log of its shop.
type EventAddition struct {
	Record   string // the sequence number of the change in the stream of the events table
	Shop     catalog.ShopID
	ID       event.ID
	Sequence int64
}

// EventAdditions returns the events that were added to logs, in order, according to records of the events table's
// stream. Records of items other than pages are ignored. If a page cannot be read, EventAdditions leaves out its events
// and returns the other events with an error.
func EventAdditions(records []json.RawMessage) (added []EventAddition, err error) {
	for _, text := range records {
		var record streamRecord
		if malformed := json.Unmarshal(text, &record); malformed != nil {
			err = errors.Join(err, errors.New("malformed record of a stream"))
			continue
		}
		key, after := table.KeyOf(itemOf(record.DynamoDB.Keys)), itemOf(record.DynamoDB.NewImage)
		if !table.IsEventPage(key) || len(after) == 0 {
			continue
		}
		shop, badShop := catalog.ParseID[catalog.ShopID](key.Partition)
		page, badPage := table.DecodeEventPage(after)
		if unreadable := errors.Join(badShop, badPage); unreadable != nil {
			err = errors.Join(err, unreadable)
			continue
		}
		old, _ := table.DecodeEventPage(itemOf(record.DynamoDB.OldImage)) // empty for a new page
		for place := old.Len(); place < page.Len(); place++ {
			added = append(added, EventAddition{
				record.DynamoDB.SequenceNumber, shop, page.ID(place),
				page.First() + int64(place),
			})
		}
	}
	return added, err
}

// EventPages reads events that were added to logs. Create it with NewEventPages.
type EventPages struct {
	api       table.BatchGetter
	tableName string
	now       func() time.Time
	random    func(n int64) int64
}

// NewEventPages returns a reader of a table of events. random is as in NewRedeemer.
func NewEventPages(
	api table.BatchGetter, tableName string, now func() time.Time, random func(n int64) int64,
) *EventPages {
	return &EventPages{api, tableName, now, random}
}

// Events reads the events of at most 100 additions, in order. An event that is no longer stored has only its Shop
// and Sequence.
func (p *EventPages) Events(ctx context.Context, added []EventAddition) ([]event.Event, error) {
	keys := make([]table.Key, len(added))
	for i, a := range added {
		keys[i] = table.EventKey(a.Shop, a.ID)
	}
	found, err := table.BatchGet(ctx, p.api, p.random, p.tableName, keys...)
	if err != nil {
		return nil, table.Outcome(err)
	}
	events := make([]event.Event, len(added))
	for i, a := range added {
		events[i], _ = table.DecodeEvent(a.Shop, a.Sequence, found[keys[i]], p.now())
	}
	return events, nil
}
