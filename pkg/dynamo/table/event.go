package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	AttrSeal     = "seal"     // in a page: EventPage.Seal
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
func EventKey(shop catalog.ShopID, id event.ID) Key {
	return Key{Bucket(shop, hashBucket(string(id))), eventPrefix + string(id)}
}

// EventPageKey is the key of a page of a shop's log. number starts at 0.
func EventPageKey(shop catalog.ShopID, number int64) Key {
	return Key{string(shop), fmt.Sprintf("%s%012d", pagePrefix, number)}
}

// IsEventPage reports whether a key of the events table belongs to a page.
func IsEventPage(key Key) bool { return strings.HasPrefix(key.Sort, pagePrefix) }

// ParkedShopKey is the key of the item that says that a shop has parked changes.
func ParkedShopKey(shop catalog.ShopID) Key {
	return Key{ParkedPartition, ParkedPartition + "#" + string(shop)}
}

// ParkedKey is the key of a parked change: one that could not be recorded as events. If its record could not be read,
// the shop and the place may be empty.
func ParkedKey(shop catalog.ShopID, place event.Place) Key {
	return Key{ParkedPartition + "#" + string(shop), place.Table + "/" + place.Partition + "/" + place.Sort}
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

// Seal returns a checksum of the page. If it does not match the stored one, something other than Shopfront has changed
// the page.
func (p EventPage) Seal(shop catalog.ShopID) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s/%d/%s", shop, p.Number, p.Feed, p.Extended.UnixMilli(), p.IDs))
	return sum[:8]
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

// DecodeEventPage reads a page of a log. The error is an *event.DamagedError. If the page only lost its feed's ID, or
// does not match its seal, DecodeEventPage returns it with the error.
func DecodeEventPage(it Item) (EventPage, error) {
	number, err := strconv.ParseInt(strings.TrimPrefix(it.Str(SortKey), pagePrefix), 10, 64)
	ids, is := it[AttrEventIDs].(*types.AttributeValueMemberB)
	shop := catalog.ShopID(it.Str(PartitionKey))
	damaged := &event.DamagedError{Shop: shop, Page: it.Str(SortKey)}
	if err != nil || !is || len(ids.Value)%EventIDBytes != 0 || len(ids.Value) > EventsPerPage*EventIDBytes {
		return EventPage{}, damaged
	}
	page := EventPage{Number: number, Feed: it.Str(AttrFeed), IDs: ids.Value, Extended: it.Time(AttrExtended)}
	seal, _ := it[AttrSeal].(*types.AttributeValueMemberB)
	if page.Feed == "" || seal == nil || !bytes.Equal(seal.Value, page.Seal(shop)) {
		return page, damaged
	}
	return page, nil
}

// EventPagesQuery returns a consistent query for the pages of a shop's log, from a page number on.
func EventPagesQuery(table string, shop catalog.ShopID, from int64) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(PartitionKey + " = :customer AND " + SortKey + " BETWEEN :first AND :end"),
		ExpressionAttributeValues: Item{
			":customer": Str(shop), ":first": Str(EventPageKey(shop, from).Sort), ":end": Str(pageEnd),
		},
	}
}

// EncodeEvent returns the item of an event.
func EncodeEvent(e event.Event, page int64, expires time.Time) Item {
	it := EventKey(e.Shop, e.ID).Attributes()
	it[AttrType], it[AttrAt], it[AttrData] = Str(e.Type), Millis(e.At), Str(string(e.Data))
	it[AttrPage], it[AttrExpiresAt] = Num(page), Num(expires.Unix())
	return it
}

// DecodeEvent reads an event. stored is false if the item is missing or has expired. DynamoDB deletes expired items
// with a delay. An event that cannot be read has no Data, see event.Event.Damaged.
func DecodeEvent(shop catalog.ShopID, sequence int64, it Item, now time.Time) (e event.Event, stored bool) {
	e = event.Event{Sequence: sequence, Shop: shop}
	if len(it) == 0 || it.Num(AttrExpiresAt) <= now.Unix() {
		return e, false
	}
	e.ID = event.ID(strings.TrimPrefix(it.Str(SortKey), eventPrefix))
	data := []byte(it.Str(AttrData))
	if !json.Valid(data) || data[0] != '{' || it.Str(AttrType) == "" || it.Num(AttrAt) <= 0 {
		return e, true
	}
	e.Type, e.At, e.Data = event.Type(it.Str(AttrType)), it.Time(AttrAt), data
	return e, true
}
