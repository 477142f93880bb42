package dynamo_test

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// meanwhile is a client that calls beforeWrite before its first transaction, and beforeRead before the first reads
// together.
type meanwhile struct {
	*dynamodb.Client

	beforeWrite, beforeRead func()
	write, read             sync.Once
}

func (m *meanwhile) TransactWriteItems(
	ctx context.Context, input *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	m.write.Do(m.beforeWrite)
	return m.Client.TransactWriteItems(ctx, input, options...)
}

func (m *meanwhile) TransactGetItems(
	ctx context.Context, input *dynamodb.TransactGetItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactGetItemsOutput, error) {
	if m.beforeRead != nil {
		m.read.Do(m.beforeRead)
	}
	return m.Client.TransactGetItems(ctx, input, options...)
}

func (s *stall) mustOpen(request checkout.Request) checkout.Checkout {
	s.t.Helper()
	c, replayed, err := s.opener.Open(within(s.t), request)
	if err != nil || replayed {
		s.t.Fatalf("Open = replayed %v, %v", replayed, err)
	}
	return c
}

// The first attempt got no response and may still store the checkout. So the request must not be refused, although the
// voucher is disabled by then.
func TestOpenHeld_AttemptInFlight_OutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(1, 0)
	api := &meanwhile{
		Client:      newClient(t, over(losingRequests("TransactWriteItems", 1))),
		beforeWrite: func() { s.mustEdit(v, voucher.Edit{Disabled: new(true)}) },
	}
	opener := s.opener
	opener.Store = dynamo.NewCheckouts(api, s.tables, mathrand.Int64N)
	_, _, err := opener.Open(within(t), s.wanted("Alder", "", noon()))
	wantUnavailable(t, err)
}

func (s *stall) mustPlace(c checkout.Checkout, at time.Time) checkout.Checkout {
	s.t.Helper()
	placed, replayed, err := s.orders.Place(within(s.t), emberforge, c.ID, stripe("pi_1047"), at)
	if err != nil || replayed {
		s.t.Fatalf("Place = replayed %v, %v", replayed, err)
	}
	return placed
}

func (s *stall) undoer() voucher.Redemptions {
	return voucher.Redemptions{Store: dynamo.NewRedemptionRecords(s.client, s.tables, mathrand.Int64N)}
}

func (s *stall) undo(code voucher.Code, id string) (voucher.Redemption, bool, error) {
	s.t.Helper()
	return s.undoer().Undo(within(s.t), voucher.UndoRequest{
		Shop: emberforge, Code: code, ID: id, Reason: "charged twice", At: noon().Add(time.Minute),
	})
}

func (s *stall) mustUndo(v voucher.Voucher, r voucher.Redemption) {
	s.t.Helper()
	if undone, replayed, err := s.undo(v.Code, r.ID); err != nil || replayed || undone.Undone.IsZero() {
		s.t.Fatalf("Undo = %+v, replayed %v, %v", undone, replayed, err)
	}
}

// limits are how often a code may be used, in total and by each nick. 0 means no limit.
type limits struct{ uses, ofNick voucher.Limit }

// kindsOfLimits returns limits for each way to take a use and to record it.
func kindsOfLimits() map[string]limits {
	return map[string]limits{
		"single-use": {1, 0}, "limited, one for each nick": {100, 1}, "limited": {100, 0}, "one for each nick": {0, 1},
		"no limit": {0, 0},
	}
}

func TestUndo_KeyOfTheUndoneRedemption_RedeemsNoMore(t *testing.T) {
	t.Parallel()
	for what, limits := range kindsOfLimits() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			v := s.percent20(limits.uses, limits.ofNick)
			first := request(t, "SUMMER-20", "Alder", "order-1047")
			wantUndone := func(when string) {
				t.Helper()
				if r, _, err := s.redeemer.Redeem(within(t), first); !errors.Is(err, voucher.ErrUndone) {
					t.Errorf("%s: Redeem = %+v, %v; want voucher.ErrUndone", when, r, err)
				}
			}
			s.mustUndo(v, s.mustRedeem(first))
			wantUndone("at first")
			c := s.mustOpen(s.wanted("Alder", "", noon()))
			wantUndone("while a checkout holds the use")
			s.mustPlace(c, noon())
			wantUndone("after an order took the use")
		})
	}
}

func TestUndo_RedemptionOfAnOrder_IsRefused(t *testing.T) {
	t.Parallel()
	for what, limits := range kindsOfLimits() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			v := s.percent20(limits.uses, limits.ofNick)
			c := s.mustPlace(s.mustOpen(s.wanted("Alder", "", noon())), noon())
			if r, _, err := s.undo(v.Code, string(c.ID.Token())); !errors.Is(err, voucher.ErrRedemptionOfOrder) {
				t.Errorf("Undo = %+v, %v; want voucher.ErrRedemptionOfOrder", r, err)
			}
		})
	}
}

// requestAt returns a request of a nick to redeem SUMMER-20 at the given time.
func (s *shop) requestAt(nick string, at time.Time) voucher.Request {
	s.t.Helper()
	r := request(s.t, "SUMMER-20", nick, "")
	r.At = at
	return r
}

func (s *stall) ordersThrough(api *meanwhile) checkout.Orders {
	return checkout.Orders{Store: dynamo.NewOrders(api, s.tables.Checkouts, s.tables.Vouchers, mathrand.Int64N)}
}

func TestCancel_FulfilledMeanwhile_ResponseShowsIt(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(1, 0)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	s.mustPlace(c, noon())
	during := s.ordersThrough(&meanwhile{Client: s.client, beforeWrite: func() {
		_, _, err := s.orders.Fulfil(within(t), emberforge, c.ID, noon().Add(time.Minute))
		must(t, err)
	}})
	cancelled, _, err := during.Cancel(within(t), emberforge, c.ID, "chargeback", later())
	if err != nil || cancelled.Order == nil || cancelled.Order.Cancelled.IsZero() ||
		cancelled.Order.Fulfilled.IsZero() {
		t.Errorf("Cancel = %+v, %v; want an order that is fulfilled and cancelled", cancelled.Order, err)
	}
}

// Alder's first checkout shares its hold with a second one, which is ordered while the order of the first is in flight.
// A retry of the first order, by a clock at which the hold has lapsed, takes another use. Then the first order must not
// say that the checkout expired, because it is ordered.
func TestPlaceHeld_HoldGoneAndOrderedMeanwhile_IsReplayed(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(100, 1)
	first := s.mustOpen(s.wanted("Alder", "", noon()))
	second := s.mustOpen(s.wanted("Alder", "", noon().Add(time.Minute)))
	api := &meanwhile{
		Client: s.client, beforeWrite: func() { s.mustPlace(second, noon()) },
		beforeRead: func() {
			_, _, err := s.orders.Cancel(within(t), emberforge, second.ID, "chargeback", noon())
			must(t, err)
			s.mustPlace(first, later())
		},
	}
	placed, replayed, err := s.ordersThrough(api).Place(within(t), emberforge, first.ID, stripe("pi_1047"),
		noon().Add(2*time.Minute))
	if err != nil || !replayed || placed.Order == nil || !placed.Order.Placed.Equal(later()) {
		t.Errorf("Place = %+v, replayed %v, %v; want the order that the retry placed", placed, replayed, err)
	}
}

func TestPlaceHeld_LateAboveTheNicksLoweredLimit_IsExpired(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(0, 3)
	held := []checkout.Checkout{s.mustOpen(s.wanted("Alder", "", noon())), s.mustOpen(s.wanted("Alder", "", noon()))}
	s.mustRedeem(request(t, "SUMMER-20", "Alder", ""))
	s.mustEdit(v, voucher.Edit{MaxUsesPerNick: new(voucher.Limit(1))})
	for _, c := range held {
		if err := s.order(c, later()); !errors.Is(err, checkout.ErrExpired) {
			t.Errorf("Place = %v, want checkout.ErrExpired", err)
		}
	}
}
