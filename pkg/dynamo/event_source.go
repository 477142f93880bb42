package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// EventSource reads changes of the items of vouchers and checkouts, and derives the facts that events report. Create it
// with NewEventSource.
type EventSource struct {
	api    EventSourceAPI
	tables Tables
	random func(n int64) int64
}

// EventSourceAPI lists the DynamoDB operations that EventSource calls.
type EventSourceAPI interface{ table.BatchGetter }

// NewEventSource returns the source for the tables of vouchers and checkouts. random is as in NewRedeemer.
func NewEventSource(api EventSourceAPI, tables Tables, random func(n int64) int64) *EventSource {
	return &EventSource{api, tables, random}
}

// image is an item before and after a change. An item that does not exist is empty.
type image struct {
	place    event.Place
	old, new table.Item
}

// Changes reads the records of a DynamoDB stream with new and old images, as Lambda delivers them
// (https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html). It ignores the kind of a record, because DynamoDB Local
// names some kinds differently. For a record that cannot be read, the change has an Err.
func (s *EventSource) Changes(records []json.RawMessage) []event.Change {
	changes, images := make([]event.Change, len(records)), make([]image, len(records))
	for i, record := range records {
		changes[i].ID, images[i], changes[i].Err = s.decode(record)
	}
	interpret(changes, images)
	return changes
}

// Reread returns all facts that the items at the given places show now. There may be at most 100 places, the limit of
// BatchGet.
func (s *EventSource) Reread(ctx context.Context, places []event.Place) []event.Change {
	changes, images := make([]event.Change, len(places)), make([]image, len(places))
	keys := make(map[string][]table.Key)
	for _, place := range places {
		keys[place.Table] = append(keys[place.Table], table.Key{Partition: place.Partition, Sort: place.Sort})
	}
	vouchers, vouchersErr := table.BatchGet(ctx, s.api, s.random, s.tables.Vouchers, keys[event.Vouchers]...)
	checkouts, checkoutsErr := table.BatchGet(ctx, s.api, s.random, s.tables.Checkouts, keys[event.Checkouts]...)
	for i, place := range places {
		found, err := vouchers, vouchersErr
		if place.Table == event.Checkouts {
			found, err = checkouts, checkoutsErr
		}
		if place == (event.Place{}) {
			err = errors.New("the record of the stream could not be read: repair the cause, and rebuild the events " +
				"of its shop")
		}
		it, isFound := found[table.Key{Partition: place.Partition, Sort: place.Sort}]
		if images[i] = (image{place: place, new: it}); !isFound {
			changes[i].Err = table.Outcome(err)
		}
	}
	interpret(changes, images)
	return changes
}

// interpret fills in the changes from their images.
func interpret(changes []event.Change, images []image) {
	for i := range changes {
		c, at := &changes[i], images[i]
		c.Place = at.place
		shop, _, _ := strings.Cut(at.place.Partition, "#")
		if id, err := catalog.ParseID[catalog.ShopID](shop); err == nil {
			c.Shop = id
		} else if c.Err == nil {
			c.Err = errors.New("the partition key does not begin with a shop")
		}
		if c.Err != nil {
			continue
		}
		after, err := factsOf(c.Shop, at.place, at.new)
		if err != nil {
			c.Err = err
			continue
		}
		// if old is unreadable, all facts count as new: recording a fact twice is a no-op
		before, _ := factsOf(c.Shop, at.place, at.old)
		c.Facts = event.News(before, after)
	}
}

// Facts returns what an item of a table shows, event.Vouchers or event.Checkouts.
func Facts(shop catalog.ShopID, in string, it map[string]types.AttributeValue) ([]event.Fact, error) {
	key := table.KeyOf(it)
	all, err := factsOf(shop, event.Place{Table: in, Partition: key.Partition, Sort: key.Sort}, it)
	return slices.Concat(all...), err
}

// factsOf returns one slice for each redemption or order that an item shows, with its facts.
func factsOf(shop catalog.ShopID, place event.Place, it table.Item) ([][]event.Fact, error) {
	switch {
	case len(it) == 0 || strings.HasPrefix(place.Sort, table.PaymentPrefix):
		return nil, nil
	case place.Table == event.Checkouts:
		return ofCheckout(shop, it)
	default:
		return ofVoucher(shop, place, it)
	}
}

func ofCheckout(shop catalog.ShopID, it table.Item) ([][]event.Fact, error) {
	switch it.Str(table.AttrStatus) {
	case table.StatusOpen, table.StatusReplaced, table.StatusReleased:
		return nil, nil // no event reports a checkout that was not ordered
	case table.StatusOrdered, table.StatusCancelled:
	default:
		return nil, errors.New("checkout item: unknown status")
	}
	c := table.DecodeCheckout(it)
	_, err := checkout.ParseID(string(c.ID))
	if err != nil || table.CheckoutKey(shop, c.ID.Token()) != table.KeyOf(it) {
		return nil, errors.New("checkout item: the ID does not match the key")
	}
	if c.Order == nil || c.Order.Placed.UnixMilli() <= 0 ||
		(it.Str(table.AttrStatus) == table.StatusCancelled) == c.Order.Cancelled.IsZero() {
		return nil, errors.New("checkout item: the order's times do not match its status")
	}
	return [][]event.Fact{event.OfOrder(shop, c)}, nil
}

func ofVoucher(shop catalog.ShopID, place event.Place, it table.Item) ([][]event.Fact, error) {
	code := table.Key{Sort: place.Sort}.Code()
	rest := strings.TrimPrefix(place.Sort, string(code))
	switch {
	case code != "" && (strings.HasPrefix(rest, table.CounterInfix) || strings.HasPrefix(rest, table.HoldInfix)):
		return nil, nil
	case code == "" || rest != "" && !strings.HasPrefix(rest, table.NickInfix) &&
		!strings.HasPrefix(rest, table.RedemptionInfix):
		return nil, errors.New("item of an unknown kind in the vouchers table")
	}
	redemptions, err := table.Records(it)
	if err != nil {
		return nil, err
	}
	var facts [][]event.Fact
	for _, r := range redemptions {
		if _, err := voucher.ParseRedemptionID(r.ID); err != nil || r.At.UnixMilli() <= 0 || r.Code == "" {
			return nil, errors.New("voucher item: malformed redemption")
		}
		facts = append(facts, event.OfRedemption(shop, r))
	}
	return facts, nil
}

// attributeJSON is an attribute value as streams deliver it. It has only the types that Shopfront stores.
type attributeJSON struct {
	S    *string `json:"S"`
	N    *string `json:"N"`
	B    []byte  `json:"B"`
	BOOL *bool   `json:"BOOL"`
}

func (a attributeJSON) value() types.AttributeValue {
	switch {
	case a.S != nil:
		return &types.AttributeValueMemberS{Value: *a.S}
	case a.N != nil:
		return &types.AttributeValueMemberN{Value: *a.N}
	case a.BOOL != nil:
		return &types.AttributeValueMemberBOOL{Value: *a.BOOL}
	case a.B != nil:
		return &types.AttributeValueMemberB{Value: a.B}
	default:
		return &types.AttributeValueMemberNULL{Value: true}
	}
}

func itemOf(attributes map[string]attributeJSON) table.Item {
	it := make(table.Item, len(attributes))
	for name, attribute := range attributes {
		it[name] = attribute.value()
	}
	return it
}

// streamRecord is a record of a stream, as Lambda delivers it.
type streamRecord struct {
	Source   string `json:"eventSourceARN"`
	DynamoDB struct {
		SequenceNumber string
		Keys           map[string]attributeJSON
		OldImage       map[string]attributeJSON
		NewImage       map[string]attributeJSON
	} `json:"dynamodb"`
}

// decode reads a record of a stream. id is the record's sequence number, which identifies it in its batch.
func (s *EventSource) decode(text json.RawMessage) (id string, at image, err error) {
	var record streamRecord
	if err := json.Unmarshal(text, &record); err != nil {
		return "", image{}, errors.New("malformed record of a stream")
	}
	_, rest, _ := strings.Cut(record.Source, ":table/")
	name, _, isStream := strings.Cut(rest, "/stream/")
	key := table.KeyOf(itemOf(record.DynamoDB.Keys))
	id = record.DynamoDB.SequenceNumber
	if !isStream || key.Partition == "" || key.Sort == "" {
		return id, image{}, errors.New("record of a stream without a table or a key")
	}
	at.place = event.Place{Partition: key.Partition, Sort: key.Sort}
	switch name {
	case s.tables.Vouchers:
		at.place.Table = event.Vouchers
	case s.tables.Checkouts:
		at.place.Table = event.Checkouts
	default:
		return id, image{}, fmt.Errorf("record of the table %q, which holds neither vouchers nor checkouts", name)
	}
	at.old, at.new = itemOf(record.DynamoDB.OldImage), itemOf(record.DynamoDB.NewImage)
	return id, at, nil
}
