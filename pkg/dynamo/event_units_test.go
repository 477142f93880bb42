package dynamo_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// The steps show how many calls and units it takes to record and read events with 300 bytes of data.
// docs/operating/cost.md uses these figures.
func TestEvents_EachStep_TakesItsCallsAndUnits(t *testing.T) {
	t.Parallel()
	meter, client := metered(t)
	table := dynamotest.Table(t, "EventsTable")
	log := dynamo.NewEventLog(client, table, retention, noon, alwaysFirst, rand.Reader)
	events := eventsOf(emberforge, "redemptions", 1013)
	for i := range events {
		events[i].Data = []byte(`{"":"` + strings.Repeat("x", 293) + `"}`)
	}
	appending := func(first, n, added int) func(context.Context) error {
		return func(ctx context.Context) error {
			got, err := log.Append(ctx, emberforge, events[first:first+n])
			if got != added {
				t.Errorf("added %d of %d events, want %d", got, n, added)
			}
			return err
		}
	}
	appendingBoth := func(known, unknown int) func(context.Context) error {
		return func(ctx context.Context) error {
			got, err := log.Append(ctx, emberforge, []event.Event{events[known], events[unknown]})
			if got != 1 {
				t.Errorf("added %d events, want 1", got)
			}
			return err
		}
	}
	reading := func(after int64, want int) func(context.Context) error {
		return func(ctx context.Context) error {
			page, err := event.Feed{Store: log}.Read(ctx, emberforge, event.Cursor{After: after}, event.MaxPerPage)
			if len(page.Events) != want {
				t.Errorf("read %d events, want %d", len(page.Events), want)
			}
			return err
		}
	}
	wantSteps(t, meter, []step{
		{"a poll before the first event", reading(0, 0), price{1, 1, 0}},
		{"the first event", appending(0, 1, 1), price{3, 1, 2}},
		{"one event", appending(1, 1, 1), price{3, 1, 2}},
		{"10 events", appending(2, 10, 10), price{12, 1, 11}},
		{"an event that the log already has", appending(11, 1, 0), price{3, 2, 1}},
		{"10 events that the log already has", appending(2, 10, 0), price{12, 2, 10}},
		{"100 events, over three pages", appending(12, 100, 100), price{104, 1, 109}},
		{"100 events that the log already has", appending(12, 100, 0), price{102, 2, 100}},
		{"900 more events", func(ctx context.Context) error {
			_, err := log.Append(ctx, emberforge, events[112:1012])
			return err
		}, price{920, 1, 973}},
		{"a new event, with an event that was added 20 pages ago", appendingBoth(11, 1012), price{5, 2, 3}},
		{"a page of the feed with 100 events", reading(0, 100), price{2, 101, 0}},
		{"a poll without news", reading(1013, 0), price{1, 1, 0}},
	})
}

// The steps show how many calls and units it takes to index a redemption by its nick, and to list what the nick
// redeemed.
func TestNicks_EachStep_TakesItsCallsAndUnits(t *testing.T) {
	t.Parallel()
	meter, client := metered(t)
	table := dynamotest.Table(t, "EventsTable")
	log := dynamo.NewEventLog(client, table, retention, noon, alwaysFirst, rand.Reader)
	indexing := func(redemptions ...voucher.Redemption) func(context.Context) error {
		return func(ctx context.Context) error { return log.Index(ctx, emberforge, redemptions) }
	}
	var redemptions []voucher.Redemption
	for second := range 101 {
		redemptions = append(redemptions, redeemedBy("Alder", second))
	}
	owner := ownerOf(emberforge, client,
		backoffice.Tables{Vouchers: dynamotest.Table(t, "VouchersTable"), Events: table})
	ofAlder := backoffice.RedemptionFilter{Nick: request(t, "ANY", "Alder", "").Nick}
	wantSteps(t, meter, []step{
		{"a redemption without a nick", indexing(redeemedBy("", 0)), price{}},
		{"a redemption with a nick", indexing(redemptions[0]), price{1, 0, 1}},
		{"the same again", indexing(redemptions[0]), price{1, 0, 1}},
		{"the same, undone", indexing(undoneLater(redemptions[0])), price{1, 0, 1}},
		{"100 redemptions", indexing(redemptions[1:]...), price{100, 0, 100}},
		{"what a nick redeemed", func(ctx context.Context) error {
			found := 0
			for _, err := range owner.RedemptionsOfNick(ctx, ofAlder) {
				if found++; err != nil {
					return err
				}
			}
			if found != len(redemptions) {
				t.Errorf("found %d redemptions, want %d", found, len(redemptions))
			}
			return nil
		}, price{4, 6, 0}},
	})
}

// metered returns a client and the meter of its calls.
func metered(t *testing.T) (*memdynamo.Endpoint, *dynamodb.Client) {
	t.Helper()
	dynamotest.InMemory(t)
	meter := dynamotest.Memory().Endpoint(memdynamo.Dials{Metered: true})
	return meter, newClient(t, over(meter))
}

// step is a request, with the calls and units that it takes.
type step struct {
	what string
	do   func(context.Context) error
	want price
}

func wantSteps(t *testing.T, meter *memdynamo.Endpoint, steps []step) {
	t.Helper()
	for _, step := range steps {
		t.Run(step.what, func(t *testing.T) {
			meter.Take()
			ctx := endingAfter(t, patience)
			must(t, step.do(ctx))
			var got price
			operations := make(map[string]int)
			for _, call := range meter.Take() {
				got.calls++
				got.read += call.Units.Read
				got.write += call.Units.Write
				operations[fmt.Sprintf("%s %v", call.Operation, call.Units)]++
			}
			if got != step.want {
				t.Errorf("takes %+v, want %+v: %v", got, step.want, operations)
			}
		})
	}
}
