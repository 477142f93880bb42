package table

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/event"
)

// Attributes of the events table, besides AttrData, AttrReason and AttrExpiresAt.
const (
	AttrType = "type"
	AttrAt   = "at" // when the event happened, in milliseconds
	// the number of the log's last page when the event was stored; no earlier page names the event
	AttrPage     = "page"
	AttrEventIDs = "events"   // in a page: the IDs of its events, EventIDBytes each
	AttrExtended = "extended" // in a page: when it got its last event, in milliseconds
	AttrFeed     = "feed"     // in a page: identifies the log
	AttrFirst    = "first"    // when a change was parked for the first time, in milliseconds
	AttrAttempts = "attempts" // how often a change was parked
	AttrOwner    = "owner"    // the shop of a parked change
)

const (
	// EventsPerPage is how many events a page of a log names. Stored sequence numbers depend on it, so it must never
	// change.
	EventsPerPage = 50
	// EventIDBytes is the size of an event's ID in a page.
	EventIDBytes = 16

	// ParkedPartition is the partition key value of the shops that have parked changes. No shop can have this ID.
	ParkedPartition = "#parked"

	eventPrefix = "e#"
	pagePrefix  = "p#"
	pageEnd     = "p$" // sorts after every page
)

// EventKey is the key of an event.
func EventKey(customer catalog.CustomerID, id event.ID) Key {
	return Key{Bucket(customer, hashBucket(string(id))), eventPrefix + string(id)}
}

// EventPageKey is the key of a page of a shop's log. number starts at 0.
func EventPageKey(customer catalog.CustomerID, number int64) Key {
	return Key{string(customer), fmt.Sprintf("%s%012d", pagePrefix, number)}
}

// IsEventPage reports whether a key of the events table belongs to a page.
func IsEventPage(key Key) bool { return strings.HasPrefix(key.Sort, pagePrefix) }

// ParkedShopKey is the key of the item that says that a shop has parked changes.
func ParkedShopKey(customer catalog.CustomerID) Key {
	return Key{ParkedPartition, ParkedPartition + "#" + string(customer)}
}

// ParkedKey is the key of a parked change: one that could not be recorded as events. If its record could not be read,
// the customer and the place may be empty.
func ParkedKey(customer catalog.CustomerID, place event.Place) Key {
	return Key{ParkedPartition + "#" + string(customer), place.Table + "/" + place.Partition + "/" + place.Sort}
}

// ParkedPlace returns the place that a sort key made by ParkedKey contains. Table names and partition keys contain no
// slash.
func ParkedPlace(sort string) event.Place {
	parts := strings.SplitN(sort, "/", 3)
	if len(parts) != 3 {
		return event.Place{}
	}
	return event.Place{Table: parts[0], Partition: parts[1], Sort: parts[2]}
}

// EventPage is a page of a shop's log. The first event of page 0 has the sequence number 1.
type EventPage struct {
	Number int64
	Feed   string
	IDs    []byte // of the events, in sequence, EventIDBytes each

	Extended time.Time // when the page got its last event
}

// Len returns how many events the page has.
func (p EventPage) Len() int { return len(p.IDs) / EventIDBytes }

// First returns the sequence number of the page's first event.
func (p EventPage) First() int64 { return p.Number*EventsPerPage + 1 }

// Last returns the sequence number of the page's last event. For a page without events, it is the last sequence number
// before the page.
func (p EventPage) Last() int64 { return p.First() - 1 + int64(p.Len()) }

// ID returns the ID of the event at a place of the page. place starts at 0.
func (p EventPage) ID(place int) event.ID {
	return event.ID(base64.RawURLEncoding.EncodeToString(p.IDs[place*EventIDBytes : (place+1)*EventIDBytes]))
}

// EncodeEventID returns an event's ID as pages store it.
func EncodeEventID(id event.ID) ([]byte, error) {
	bytes, err := base64.RawURLEncoding.DecodeString(string(id))
	if err == nil && len(bytes) != EventIDBytes {
		err = errors.New("not an event ID")
	}
	return bytes, err
}

// DecodeEventPage reads a page of a log.
func DecodeEventPage(it Item) (EventPage, error) {
	number, err := strconv.ParseInt(strings.TrimPrefix(it.Str(SortKey), pagePrefix), 10, 64)
	ids, is := it[AttrEventIDs].(*types.AttributeValueMemberB)
	if err != nil || !is || len(ids.Value)%EventIDBytes != 0 || len(ids.Value) > EventsPerPage*EventIDBytes {
		return EventPage{}, errors.New("malformed page of events")
	}
	return EventPage{Number: number, Feed: it.Str(AttrFeed), IDs: ids.Value, Extended: it.Time(AttrExtended)}, nil
}

// EventPagesQuery returns a consistent query for the pages of a shop's log, from a page number on.
func EventPagesQuery(table string, customer catalog.CustomerID, from int64) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(PartitionKey + " = :customer AND " + SortKey + " BETWEEN :first AND :end"),
		ExpressionAttributeValues: Item{
			":customer": Str(customer), ":first": Str(EventPageKey(customer, from).Sort), ":end": Str(pageEnd),
		},
	}
}

// EncodeEvent returns the item of an event.
func EncodeEvent(e event.Event, page int64, expires time.Time) Item {
	it := EventKey(e.Customer, e.ID).Attributes()
	it[AttrType], it[AttrAt], it[AttrData] = Str(e.Type), Millis(e.At), Str(string(e.Data))
	it[AttrPage], it[AttrExpiresAt] = Num(page), Num(expires.Unix())
	return it
}

// DecodeEvent reads an event. stored is false if the item is missing or has expired. DynamoDB deletes expired items
// with a delay.
func DecodeEvent(customer catalog.CustomerID, sequence int64, it Item, now time.Time) (e event.Event, stored bool) {
	if len(it) == 0 || it.Num(AttrExpiresAt) <= now.Unix() {
		return event.Event{Sequence: sequence, Customer: customer}, false
	}
	return event.Event{
		ID: event.ID(strings.TrimPrefix(it.Str(SortKey), eventPrefix)), Type: event.Type(it.Str(AttrType)),
		Customer: customer,
		At:       it.Time(AttrAt), Data: []byte(it.Str(AttrData)), Sequence: sequence,
	}, true
}
