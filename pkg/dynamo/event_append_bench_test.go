package dynamo_test

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
)

// BenchmarkEventLog_Append compares appending events with bare puts of the same items, with the same concurrency. Bare
// means one put for each event, and one put for the page of each batch. In a round, each customer gets 100 events. The
// metric x-bare is the time for appending divided by the time for the bare puts.
func BenchmarkEventLog_Append(b *testing.B) {
	for _, customers := range []int{1, 16} {
		for _, size := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("customers=%d/batch=%d", customers, size),
				func(b *testing.B) { benchmarkAppend(b, customers, size) })
		}
	}
}

func benchmarkAppend(b *testing.B, customers, size int) {
	b.Helper()
	const perRound = 100
	transport := &http.Transport{MaxIdleConnsPerHost: 512}
	b.Cleanup(transport.CloseIdleConnections)
	client := newClient(b, func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{
			Transport: transport,
			Timeout:   patience,
		}
	})
	name := dynamotest.Table(b, "EventsTable")
	log := dynamo.NewEventLog(client, name, 90*24*time.Hour, time.Now, mathrand.Int64N, rand.Reader)
	put := func(it table.Item) error {
		_, err := client.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(name), Item: it})
		return err
	}
	write := func(kind string, batch func(customer catalog.CustomerID, events []event.Event) error) time.Duration {
		begun := time.Now()
		var all sync.WaitGroup
		for number := range customers {
			customer := catalog.CustomerID(fmt.Sprintf("%s-%d", kind, number))
			all.Go(func() {
				for events := range slices.Chunk(newEvents(customer, perRound), size) {
					if err := batch(customer, events); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
		return time.Since(begun)
	}
	var appending, bare time.Duration
	for b.Loop() {
		appending += write("emberforge", func(customer catalog.CustomerID, events []event.Event) error {
			_, err := log.Append(b.Context(), customer, events)
			return err
		})
		bare += write("bare", func(customer catalog.CustomerID,
			events []event.Event,
		) error {
			return putBare(customer, events, put)
		})
	}
	b.ReportMetric(appending.Seconds()/bare.Seconds(), "x-bare")
	b.ReportMetric(float64(b.N*customers*perRound)/appending.Seconds(), "events/s")
}

// putBare puts the items of a batch: first its events, 16 at a time, then a page.
func putBare(customer catalog.CustomerID, events []event.Event, put func(table.Item) error) error {
	var all sync.WaitGroup
	slots, failed := make(chan struct{}, 16), make(chan error, len(events))
	for _, e := range events {
		slots <- struct{}{}
		all.Go(func() {
			failed <- put(table.EncodeEvent(e, 1, e.At))
			<-slots
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	page := table.EventPageKey(customer, 1).Attributes()
	page[table.AttrEventIDs] = &types.AttributeValueMemberB{Value: make([]byte,
		table.EventsPerPage*table.EventIDBytes/2)}
	return put(page)
}

// newEvents returns events that are not in any log, as large as the events of redemptions.
func newEvents(customer catalog.CustomerID, count int) []event.Event {
	events := make([]event.Event, count)
	for i := range events {
		id := make([]byte, table.EventIDBytes)
		_, _ = rand.Read(id) // never fails
		events[i] = event.Event{
			ID: table.EventPage{IDs: id}.ID(0), Type: event.RedemptionCreated, Customer: customer, At: time.Now(),
			Data: []byte(`{"id":"` + strings.Repeat("q", 220) + `"}`),
		}
	}
	return events
}
