package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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

	mu    sync.Mutex
	terms map[table.Key]voucher.Voucher // of codes with many uses; no edit changes the terms that events contain
}

// EventSourceAPI lists the DynamoDB operations that EventSource calls.
type EventSourceAPI interface{ table.BatchGetter }

// NewEventSource returns the source for the tables of vouchers and checkouts. random is as in NewRedeemer.
func NewEventSource(api EventSourceAPI, tables Tables, random func(n int64) int64) *EventSource {
	return &EventSource{api: api, tables: tables, random: random, terms: make(map[table.Key]voucher.Voucher)}
}

// image is an item before and after a change. An item that does not exist is empty.
type image struct {
	place    event.Place
	old, new table.Item
}

// Changes reads the records of a DynamoDB stream with new and old images, as Lambda delivers them
// (https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html). It ignores the kind of a record, because DynamoDB Local
// names some kinds differently. For a record that cannot be read, the change has an Err.
func (s *EventSource) Changes(ctx context.Context, records []json.RawMessage) []event.Change {
	changes, images := make([]event.Change, len(records)), make([]image, len(records))
	for i, record := range records {
		changes[i].ID, images[i], changes[i].Err = s.decode(record)
	}
	s.interpret(ctx, changes, images)
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
	s.interpret(ctx, changes, images)
	return changes
}

// interpret fills in the changes from their images.
func (s *EventSource) interpret(ctx context.Context, changes []event.Change, images []image) {
	missing := s.remember(ctx, images)
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
		after, err := s.facts(c.Shop, at.place, at.new)
		if errors.Is(err, errNoTerms) && missing != nil {
			err = missing
		}
		if err != nil {
			c.Err = err
			continue
		}
		// if old is unreadable, all facts count as new: recording a fact twice is a no-op
		before, _ := s.facts(c.Shop, at.place, at.old)
		c.Facts = event.News(before, after)
	}
}

// Facts returns what an item of a table shows, event.Vouchers or event.Checkouts. terms is the voucher to which the
// item belongs. It may be nil for the item of a voucher or a checkout.
func Facts(
	shop catalog.ShopID, in string, it map[string]types.AttributeValue, terms *voucher.Voucher,
) ([]event.Fact, error) {
	s := NewEventSource(nil, Tables{}, nil)
	key := table.KeyOf(it)
	place := event.Place{Table: in, Partition: key.Partition, Sort: key.Sort}
	if terms != nil {
		s.terms[table.VoucherKey(shop, terms.Code)] = *terms
	}
	all, err := s.facts(shop, place, it)
	return slices.Concat(all...), err
}

// errNoTerms means that the voucher of a redemption does not exist or is damaged.
var errNoTerms = errors.New("the voucher of the redemption is missing or damaged")

// facts returns one slice for each redemption or order that an item shows, with its facts.
func (s *EventSource) facts(shop catalog.ShopID, place event.Place, it table.Item) ([][]event.Fact, error) {
	switch {
	case len(it) == 0 || strings.HasPrefix(place.Sort, table.PaymentPrefix):
		return nil, nil
	case place.Table == event.Checkouts:
		return ofCheckout(shop, it)
	default:
		return s.ofVoucher(shop, place, it)
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

func (s *EventSource) ofVoucher(shop catalog.ShopID, place event.Place, it table.Item) ([][]event.Fact, error) {
	redemptions, err := s.redemptions(shop, place, it)
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

// redemptions returns the redemptions that an item of the vouchers table holds.
func (s *EventSource) redemptions(
	shop catalog.ShopID, place event.Place, it table.Item,
) ([]voucher.Redemption, error) {
	code, hasRecords := recordsOf(place)
	switch {
	case string(code) == place.Sort:
		v, err := table.DecodeVoucher(it)
		if err != nil || v.Redeemed == nil {
			return nil, err
		}
		return []voucher.Redemption{*v.Redeemed}, nil
	case !hasRecords:
		if isCounterOrHold(place.Sort, code) {
			return nil, nil
		}
		return nil, errors.New("item of an unknown kind in the vouchers table")
	}
	s.mu.Lock()
	terms, known := s.terms[table.VoucherKey(shop, code)]
	s.mu.Unlock()
	if !known {
		return nil, errNoTerms
	}
	found, err := redemptionsIn(it, terms)
	var redemptions []voucher.Redemption
	for _, f := range found {
		redemptions = append(redemptions, f.redemption)
	}
	return redemptions, err
}

// recordsOf returns the code that an item of the vouchers table belongs to. hasRecords reports whether the item can
// have records of redemptions: it is the item of a nick, or of one redemption.
func recordsOf(place event.Place) (code voucher.Code, hasRecords bool) {
	code = table.Key{Sort: place.Sort}.Code()
	rest := strings.TrimPrefix(place.Sort, string(code))
	return code, code != "" && (strings.HasPrefix(rest, table.NickInfix) ||
		strings.HasPrefix(rest, table.RedemptionInfix))
}

func isCounterOrHold(sort string, code voucher.Code) bool {
	rest := strings.TrimPrefix(sort, string(code))
	return strings.HasPrefix(rest, table.CounterInfix) || strings.HasPrefix(rest, table.HoldInfix)
}

// termsTime bounds the time for reading vouchers, because the changes of all shops in the batch wait for these
// reads. Changes whose voucher was not read in time are tried again, and parked if that fails, too.
const termsTime = time.Second

// remember reads the vouchers that the records in the images need and that are not in s.terms yet. They may be at most
// 100, the limit of BatchGet. After an error, remember keeps the vouchers that it has read.
func (s *EventSource) remember(ctx context.Context, images []image) error {
	var keys []table.Key
	s.mu.Lock()
	if len(s.terms) > maxManyUseCodes {
		clear(s.terms)
	}
	for _, at := range images {
		code, hasRecords := recordsOf(at.place)
		shop, _, _ := strings.Cut(at.place.Partition, "#")
		key := table.VoucherKey(catalog.ShopID(shop), code)
		if _, known := s.terms[key]; hasRecords && !known && at.place.Table == event.Vouchers {
			keys = append(keys, key)
		}
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, termsTime)
	defer cancel()
	found, err := table.BatchGet(ctx, s.api, s.random, s.tables.Vouchers, keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, it := range found {
		if v, err := table.DecodeVoucher(it); err == nil { // the change is parked if its voucher is damaged
			s.terms[key] = v.Voucher
		}
	}
	return table.Outcome(err)
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
