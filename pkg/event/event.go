// Package event holds the rules of a shop's feed of events: what happened to redemptions and orders, in a sequence
// without gaps.
//
// A Recorder turns changes of the tables into events and appends them to the log of their shop. A Feed reads the log
// for the shop's server. Delivery is at least once and in sequence; an event is in the log exactly once.
//
// It is a rules package: it may import only other rules packages and the standard library, except net/http.
package event

import (
	"encoding/json"
	"fmt"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// Type is what happened.
type Type string

// The types of events. Later releases may add types.
const (
	RedemptionCreated Type = "redemption.created"
	RedemptionUndone  Type = "redemption.undone"
	OrderCreated      Type = "order.created"
	OrderFulfilled    Type = "order.fulfilled"
	OrderCancelled    Type = "order.cancelled"
)

// Types returns every type of event.
func Types() []Type {
	return []Type{RedemptionCreated, RedemptionUndone, OrderCreated, OrderFulfilled, OrderCancelled}
}

// ID identifies an event: 128 bits in 22 characters of base64url. It is computed from what happened, so the same fact
// always has the same ID.
type ID = idempotency.Token

// Event is an entry of a shop's feed.
type Event struct {
	ID       ID
	Type     Type
	Shop     catalog.ShopID
	At       time.Time // when it happened; UTC, whole milliseconds
	Data     []byte    // the redemption or the order as it was then, in JSON; nil: the stored event is damaged
	Sequence int64     // from 1, without gaps; 0: not in the feed yet
}

// DamagedError means that something other than Shopfront has changed a part of the feed. It must be restored.
type DamagedError struct {
	Shop     catalog.ShopID
	Sequence int64  // of an event; 0: unknown
	ID       ID     // of an event
	Page     string // the sort key of a page, if a page is damaged
}

func (e *DamagedError) Error() string {
	if e.Page != "" {
		return fmt.Sprintf("the page %s of the feed of %s is damaged", e.Page, e.Shop)
	}
	return fmt.Sprintf("the event %d (%s) of the feed of %s is damaged", e.Sequence, e.ID, e.Shop)
}

// Damaged returns a *DamagedError if the event is stored but cannot be read.
func (e Event) Damaged() error {
	if e.ID == "" || e.Data != nil {
		return nil
	}
	return &DamagedError{Shop: e.Shop, Sequence: e.Sequence, ID: e.ID}
}

// MarshalJSON encodes the event as the feed shows it. Standard Webhooks recommends the members type, timestamp and data
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
func (e Event) MarshalJSON() ([]byte, error) {
	return wire.Encode(struct {
		ID        ID              `json:"id"`
		Type      Type            `json:"type"`
		Timestamp string          `json:"timestamp"`
		Sequence  int64           `json:"sequence,omitempty"`
		Shop      catalog.ShopID  `json:"customer"`
		Data      json.RawMessage `json:"data"`
	}{e.ID, e.Type, wire.Time(e.At), e.Sequence, e.Shop, e.Data})
}

// Fact is what happened to a redemption or an order. Either Redemption or Order is set.
type Fact struct {
	Type       Type
	Shop       catalog.ShopID
	At         time.Time
	Redemption *voucher.Redemption
	Order      *checkout.Checkout
}

// ID returns the ID of the fact's event.
func (f Fact) ID() ID {
	return idempotency.Digest("event", string(f.Type), string(f.Shop), f.subject())
}

// Event returns the event of the fact, which is not in the feed yet.
func (f Fact) Event() (Event, error) {
	var subject any
	if f.Redemption != nil {
		subject = wire.OfRedemption(*f.Redemption)
	} else {
		subject = wire.OfOrder(*f.Order)
	}
	data, err := wire.Encode(subject)
	return Event{ID: f.ID(), Type: f.Type, Shop: f.Shop, At: f.At, Data: data}, err
}

// Silent reports whether the fact stays out of the feed. Facts about an imported redemption stay out, because the shop
// delivered its reward before the import.
func (f Fact) Silent() bool { return f.Redemption != nil && f.Redemption.Imported }

// subject returns the ID of the redemption or order.
func (f Fact) subject() string {
	if f.Redemption != nil {
		return f.Redemption.ID
	}
	return string(f.Order.ID)
}

// OfRedemption returns what happened to a redemption, oldest first. Each fact has the redemption as it was then.
func OfRedemption(shop catalog.ShopID, r voucher.Redemption) []Fact {
	created := r
	created.Undone, created.UndoReason, created.UndoneBy = time.Time{}, "", ""
	facts := []Fact{{Type: RedemptionCreated, Shop: shop, At: r.At, Redemption: &created}}
	if !r.Undone.IsZero() {
		facts = append(facts, Fact{Type: RedemptionUndone, Shop: shop, At: r.Undone, Redemption: &r})
	}
	return facts
}

// OfOrder returns what happened to an order, oldest first. Each fact has the order as it was then. A checkout that was
// not ordered has no facts.
func OfOrder(shop catalog.ShopID, c checkout.Checkout) []Fact {
	if c.Order == nil {
		return nil
	}
	then := checkout.Order{Payment: c.Order.Payment, Placed: c.Order.Placed}
	fact := func(kind Type, at time.Time, order checkout.Order) Fact {
		asOfThen := c
		asOfThen.Order = &order
		return Fact{Type: kind, Shop: shop, At: at, Order: &asOfThen}
	}
	facts := []Fact{fact(OrderCreated, c.Order.Placed, then)}
	if !c.Order.Fulfilled.IsZero() {
		then.Fulfilled = c.Order.Fulfilled
		facts = append(facts, fact(OrderFulfilled, c.Order.Fulfilled, then))
	}
	if !c.Order.Cancelled.IsZero() {
		then.Cancelled, then.Reason = c.Order.Cancelled, c.Order.Reason
		facts = append(facts, fact(OrderCancelled, c.Order.Cancelled, then))
	}
	return facts
}

// News returns what happened between two states of an item. Each state has one list of facts for each redemption or
// order in the item. If a redemption or order has a new fact, News returns all its facts, because the stream may
// deliver the records of earlier facts later, from another shard. In the log, the creation of a redemption or an order
// must come before its other events.
func News(before, after [][]Fact) []Fact {
	known := make(map[ID]bool)
	for _, facts := range before {
		known[facts[len(facts)-1].ID()] = true
	}
	var news []Fact
	for _, facts := range after {
		if !known[facts[len(facts)-1].ID()] {
			news = append(news, facts...)
		}
	}
	return news
}
