package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
)

// till is a kiosk that takes orders.
type till struct {
	*kiosk

	orders checkout.Orders
}

func newTill(t testing.TB) *till {
	k := newKiosk(t)
	return &till{kiosk: k, orders: ordersOf(k.client, k.checkouts)}
}

func ordersOf(client *dynamodb.Client, table string) checkout.Orders {
	return checkout.Orders{Store: dynamo.NewOrders(client, table, "", mathrand.Int64N)}
}

func stripe(reference string) checkout.Payment {
	return checkout.Payment{Provider: "stripe", Reference: reference}
}

// mustPlace orders a checkout at noon, paid with pi_1047.
func (k *till) mustPlace(c checkout.Checkout) checkout.Checkout {
	k.t.Helper()
	return k.must(k.orders.Place(within(k.t), emberforge, c.ID, stripe("pi_1047"), noon()))
}

func (k *till) mustFulfil(c checkout.Checkout) checkout.Checkout {
	k.t.Helper()
	return k.must(k.orders.Fulfil(within(k.t), emberforge, c.ID, noon().Add(time.Minute)))
}

func (k *till) mustCancel(c checkout.Checkout) checkout.Checkout {
	k.t.Helper()
	return k.must(k.orders.Cancel(within(k.t), emberforge, c.ID, "out of stock", noon().Add(time.Hour)))
}

// must returns the changed order. It fails the test after an error or a replay.
func (k *till) must(order checkout.Checkout, replayed bool, err error) checkout.Checkout {
	k.t.Helper()
	if replayed || err != nil {
		k.t.Fatalf("the change returned %+v, replayed %v, %v; want no replay", order, replayed, err)
	}
	return order
}

// withOrder returns a copy of the checkout that has the order.
func withOrder(order checkout.Order, c checkout.Checkout) checkout.Checkout {
	c.Order = &order
	return c
}

// wantOrder compares the returned order with the wanted one. It also reads the order in every possible way, and
// compares the results. It lists only one order, so the wanted order must be the newest.
func (k *till) wantOrder(what string, got, want checkout.Checkout) {
	k.t.Helper()
	shown, failed := k.orders.Show(k.t.Context(), emberforge, want.ID)
	record, missing := k.shown.Show(k.t.Context(), emberforge, want.ID)
	if err := errors.Join(failed, missing); err != nil {
		k.t.Fatalf("%s: %v", what, err)
	}
	listed, _, unlisted := k.orders.List(k.t.Context(), emberforge, checkout.OrderFilter{Limit: 1})
	if unlisted != nil || len(listed) != 1 {
		k.t.Fatalf("%s: listed %+v, %v", what, listed, unlisted)
	}
	for how, is := range map[string]checkout.Checkout{
		"returned": got, "shown": shown, "recorded": record,
		"listed": listed[0],
	} {
		if !reflect.DeepEqual(is, want) {
			k.t.Errorf("%s: %s as %+v, %+v\nwant %+v, %+v", what, how, is, is.Order, want, want.Order)
		}
	}
}

func TestOrder_IsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	c := k.mustOpen(coins("1047"))
	order := checkout.Order{
		Payment: checkout.Payment{Provider: "apple-pay", Reference: "a#b/~!"},
		Placed:  noon().Add(time.Millisecond),
	}
	got := k.must(k.orders.Place(within(t), emberforge, c.ID, order.Payment, order.Placed))
	k.wantOrder("placed", got, withOrder(order, c))
	order.Fulfilled = noon().Add(2 * time.Millisecond)
	got = k.must(k.orders.Fulfil(within(t), emberforge, c.ID, order.Fulfilled))
	k.wantOrder("fulfilled", got, withOrder(order, c))
	order.Cancelled, order.Reason = noon().AddDate(3, 0, 0), "Rückbuchung 📦"
	got = k.must(k.orders.Cancel(within(t), emberforge, c.ID, order.Reason, order.Cancelled))
	k.wantOrder("cancelled", got, withOrder(order, c))
	if got := k.stored(emberforge); len(got) != 1 || !reflect.DeepEqual(got[0], withOrder(order, c)) {
		t.Errorf("stored %+v", got)
	}
}

func TestPlace_ZeroTotal_IsOrderedWithoutPayment(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	c := k.mustOpenFree()
	got := k.must(k.orders.Place(within(t), emberforge, c.ID, checkout.Payment{}, noon()))
	k.wantOrder("placed", got, withOrder(checkout.Order{Placed: noon()}, c))
	if _, replayed, err := k.orders.Place(within(t), emberforge, c.ID, checkout.Payment{}, noon().Add(1)); !replayed ||
		err != nil {
		t.Errorf("again: replayed %v, %v", replayed, err)
	}
}

// mustOpenFree opens a checkout of a sticker that costs nothing.
func (k *till) mustOpenFree() checkout.Checkout {
	k.t.Helper()
	sticker := product("sticker")
	sticker.Variants[0].Price.Minor = 0
	k.put(profile(emberforge, "EUR"), sticker)
	r := coins("")
	r.Product = "sticker"
	return k.mustOpen(r)
}

// An order is permanent: it has no time to live, and its key never makes another checkout.
func TestPlace_Order_IsPermanent(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	c := k.mustOpen(coins("1047"))
	k.mustPlace(c)
	wantPermanent := func(what string) {
		t.Helper()
		before := k.item(c)
		if before["expiresAt"] != nil {
			t.Errorf("%s: expiresAt is %v, want none", what, before["expiresAt"])
		}
		again := coins("1047")
		for _, again.At = range []time.Time{noon(), c.Expires, noon().AddDate(1, 0, 0)} {
			if _, _, err := k.opener.Open(within(t), again); !errors.Is(err, checkout.ErrKeyInUse) {
				t.Errorf("%s: Open at %s = %v, want checkout.ErrKeyInUse", what, again.At, err)
			}
		}
		if after := k.item(c); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: stored %+v, want %+v", what, after, before)
		}
	}
	wantPermanent("placed")
	k.mustFulfil(c)
	wantPermanent("fulfilled")
	k.mustCancel(c)
	wantPermanent("cancelled")
}

// Each case breaks a condition of a write. The write must change nothing, and return the right error.
func TestOrders_BrokenCondition_ChangesNothing(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	at := noon().Add(2 * time.Hour)
	open, placed, fulfilled, cancelled := k.mustOpen(coins("")), k.mustOpen(coins("")), k.mustOpen(coins("")),
		k.mustOpen(coins(""))
	k.mustPlace(placed)
	k.mustPlace(fulfilled)
	k.mustFulfil(fulfilled)
	k.mustPlace(cancelled)
	k.mustCancel(cancelled)
	free := k.mustOpenFree()
	sameFirstHalf := func(c checkout.Checkout) checkout.ID {
		return checkout.ID(string(c.ID.Token()) + strings.Repeat("A", 22))
	}
	unknown := checkout.ID(strings.Repeat("A", 44))
	place := func(id checkout.ID, payment checkout.Payment, at time.Time) func() error {
		return func() error { _, _, err := k.orders.Place(within(t), emberforge, id, payment, at); return err }
	}
	fulfil := func(id checkout.ID) func() error {
		return func() error { _, _, err := k.orders.Fulfil(within(t), emberforge, id, at); return err }
	}
	cancel := func(id checkout.ID) func() error {
		return func() error { _, _, err := k.orders.Cancel(within(t), emberforge, id, "chargeback", at); return err }
	}
	for what, test := range map[string]struct {
		change func() error
		want   error // nil: the same order is returned
	}{
		"place: unknown": {place(unknown, stripe("pi_1048"), at), checkout.ErrNotFound},
		"place: another ID": {
			place(sameFirstHalf(open), stripe("pi_1048"), at),
			checkout.ErrExpired,
		},
		"place: another ID, free": {
			place(sameFirstHalf(free), checkout.Payment{}, at),
			checkout.ErrExpired,
		},
		"place: another ID of an order": {
			place(sameFirstHalf(placed), stripe("pi_1047"), at),
			checkout.ErrExpired,
		},
		"place: 7 days after the expiry": {place(open.ID, stripe("pi_1048"),
			open.Expires.Add(checkout.LateOrders)), checkout.ErrExpired},
		"place: free, 7 days later": {place(free.ID, checkout.Payment{},
			free.Expires.Add(checkout.LateOrders)), checkout.ErrExpired},
		"place: already placed": {place(placed.ID, stripe("pi_1047"), at), nil},
		"place: already placed, another payment": {
			place(placed.ID, stripe("pi_1048"), at),
			checkout.ErrPaymentMismatch,
		},
		"place: already fulfilled": {place(fulfilled.ID, stripe("pi_1047"), at), nil},
		"place: cancelled": {
			place(cancelled.ID, stripe("pi_1047"), at),
			checkout.ErrOrderCancelled,
		},
		"place: already placed, no payment": {
			place(placed.ID, checkout.Payment{}, at),
			checkout.ErrPaymentMismatch,
		},
		"fulfil: unknown":           {fulfil(unknown), checkout.ErrOrderNotFound},
		"fulfil: another ID":        {fulfil(sameFirstHalf(placed)), checkout.ErrOrderNotFound},
		"fulfil: not ordered":       {fulfil(open.ID), checkout.ErrOrderNotFound},
		"fulfil: already fulfilled": {fulfil(fulfilled.ID), nil},
		"fulfil: cancelled":         {fulfil(cancelled.ID), checkout.ErrOrderCancelled},
		"cancel: unknown":           {cancel(unknown), checkout.ErrOrderNotFound},
		"cancel: another ID":        {cancel(sameFirstHalf(placed)), checkout.ErrOrderNotFound},
		"cancel: not ordered":       {cancel(open.ID), checkout.ErrOrderNotFound},
		"cancel: already cancelled": {cancel(cancelled.ID), nil},
	} {
		t.Run(what, func(t *testing.T) {
			before := k.items()
			if err := test.change(); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if after := k.items(); !reflect.DeepEqual(before, after) {
				t.Errorf("stored %+v\nwant %+v", after, before)
			}
		})
	}
	t.Run("place: no payment", func(t *testing.T) {
		before := k.item(open)
		err := place(open.ID, checkout.Payment{}, at)()
		if member, is := errors.AsType[*checkout.MemberError](err); !is || member.Pointer != "/payment" {
			t.Errorf("got %v, want a *checkout.MemberError", err)
		}
		if after := k.item(open); !reflect.DeepEqual(before, after) {
			t.Errorf("stored %+v\nwant %+v", after, before)
		}
	})
}

// items returns everything that is stored.
func (k *till) items() []map[string]types.AttributeValue {
	k.t.Helper()
	out, err := k.client.Scan(k.t.Context(),
		&dynamodb.ScanInput{TableName: aws.String(k.checkouts), ConsistentRead: aws.Bool(true)})
	must(k.t, err)
	return out.Items
}

// orderChange is a change of an order. prepare stores the checkout or order that is changed.
type orderChange struct {
	prepare func(*till) checkout.Checkout
	do      func(ctx context.Context, orders checkout.Orders, id checkout.ID, at time.Time) (checkout.Checkout, bool,
		error)
}

func orderChanges() map[string]orderChange {
	return map[string]orderChange{
		"place": {
			func(k *till) checkout.Checkout { return k.mustOpen(coins("1047")) },
			func(ctx context.Context, orders checkout.Orders, id checkout.ID, at time.Time) (
				checkout.Checkout, bool, error,
			) {
				return orders.Place(ctx, emberforge, id, stripe("pi_1047"), at)
			},
		},
		"fulfil": {
			func(k *till) checkout.Checkout { return k.mustPlace(k.mustOpen(coins("1047"))) },
			func(ctx context.Context, orders checkout.Orders, id checkout.ID, at time.Time) (
				checkout.Checkout, bool, error,
			) {
				return orders.Fulfil(ctx, emberforge, id, at)
			},
		},
		"cancel": {
			func(k *till) checkout.Checkout { return k.mustFulfil(k.mustPlace(k.mustOpen(coins("1047")))) },
			func(ctx context.Context, orders checkout.Orders, id checkout.ID, at time.Time) (
				checkout.Checkout, bool, error,
			) {
				return orders.Cancel(ctx, emberforge, id, "chargeback", at)
			},
		},
	}
}

// The SDK retries a call that got no response. If only the response was lost, the retry finds what the first attempt
// changed. In either case, the client sees no replay.
func TestOrders_LostRequestOrResponse_ChangesTheOrderOnce(t *testing.T) {
	t.Parallel()
	at := noon().Add(2 * time.Hour)
	for what, change := range orderChanges() {
		for lost, losesResponses := range map[string]bool{"response": true, "request": false} {
			t.Run(what+", lost "+lost, func(t *testing.T) {
				k, undisturbed := newTill(t), newTill(t)
				c := change.prepare(k)
				network := &unreliable{operation: "UpdateItem", losesResponses: losesResponses}
				network.failures.Store(2)
				got := k.must(change.do(within(t), ordersOf(newClient(t, over(network)), k.checkouts), c.ID, at))
				if left := network.failures.Load(); left >= 0 {
					t.Errorf("the third attempt was not made, %d failures are left", left)
				}
				want := undisturbed.must(change.do(within(t), undisturbed.orders, change.prepare(undisturbed).ID, at))
				k.wantOrder("the order", got, withOrder(*want.Order, c))
				if len(k.items()) != 1 {
					t.Errorf("%d items are stored, want 1", len(k.items()))
				}
			})
		}
	}
}

func TestOrders_AllResponsesLost_TheNextRequestIsAReplay(t *testing.T) {
	t.Parallel()
	at := noon().Add(2 * time.Hour)
	for what, change := range orderChanges() {
		t.Run(what, func(t *testing.T) {
			k := newTill(t)
			c := change.prepare(k)
			network := losingResponses("UpdateItem", 1<<20)
			orders := ordersOf(newClient(t, over(network)), k.checkouts)
			_, _, err := change.do(network.untilItFails(t), orders, c.ID, at)
			wantUnavailable(t, err)
			stored := k.item(c)
			if _, replayed, err := change.do(within(t), k.orders, c.ID, at.Add(time.Second)); !replayed || err != nil {
				t.Errorf("the next request: replayed %v, %v", replayed, err)
			}
			if after := k.item(c); !reflect.DeepEqual(stored, after) {
				t.Errorf("stored %+v\nwant %+v", after, stored)
			}
		})
	}
}

func TestOrders_StoreOutOfReach_AreUnavailable(t *testing.T) {
	t.Parallel()
	orders := func(operation string) checkout.Orders { return ordersOf(cutOff(t, operation), "checkouts") }
	wantEachUnavailable(t, map[string]func(context.Context) error{
		"place": func(ctx context.Context) error {
			_, _, err := orders("UpdateItem").Place(ctx, emberforge, "unknown", stripe("pi_1047"), noon())
			return err
		},
		"show": func(ctx context.Context) error {
			_, err := orders("GetItem").Show(ctx, emberforge, "unknown")
			return err
		},
		"list": func(ctx context.Context) error {
			_, _, err := orders("Query").List(ctx, emberforge, checkout.OrderFilter{Limit: 1})
			return err
		},
	})
}

// atOnce calls all functions at the same moment, and waits for them.
func atOnce(calls ...func()) {
	start := make(chan struct{})
	var racers sync.WaitGroup
	for _, call := range calls {
		racers.Go(func() {
			<-start
			call()
		})
	}
	close(start)
	racers.Wait()
}

// placing is one request of a race, and its response.
type placing struct {
	payment  checkout.Payment
	at       time.Time
	order    checkout.Checkout
	replayed bool
	err      error
}

// 100 checkouts are each ordered four times at once: twice with one payment, twice with another.
func TestPlace_RaceOfTwoPayments_HasOneWinner(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	races := make(map[checkout.ID][]*placing)
	var requests []func()
	for range 100 {
		c := k.mustOpen(coins(""))
		for n := range 4 {
			p := &placing{
				payment: stripe(fmt.Sprintf("pi_%d", n%2)),
				at:      noon().Add(time.Duration(n) * time.Millisecond),
			}
			races[c.ID] = append(races[c.ID], p)
			requests = append(requests, func() {
				p.order, p.replayed,
					p.err = k.orders.Place(within(t), emberforge, c.ID, p.payment, p.at)
			})
		}
	}
	atOnce(requests...)
	for id, race := range races {
		k.wantOneWinner(id, race)
	}
	if got := len(k.items()); got != len(races) {
		t.Errorf("%d items are stored, want %d", got, len(races))
	}
}

// wantOneWinner checks a race. The first request with the stored payment places the order, and the second is a replay.
// Requests with the other payment get checkout.ErrPaymentMismatch.
func (k *till) wantOneWinner(id checkout.ID, race []*placing) {
	k.t.Helper()
	stored, err := k.shown.Show(k.t.Context(), emberforge, id)
	if err != nil || stored.Order == nil {
		k.t.Fatalf("%s is not ordered: %+v, %v", id, stored, err)
	}
	placed := 0
	for _, p := range race {
		if p.err == nil && !p.replayed {
			placed++
		}
		if p.payment != stored.Order.Payment {
			if !errors.Is(p.err, checkout.ErrPaymentMismatch) {
				k.t.Errorf("%s: the other payment gets %v, want checkout.ErrPaymentMismatch", id, p.err)
			}
		} else if p.err != nil || !reflect.DeepEqual(p.order, stored) {
			k.t.Errorf("%s: the payment gets %+v, %v, want %+v", id, p.order.Order, p.err, stored.Order)
		}
	}
	if placed != 1 {
		k.t.Errorf("%d requests placed %s, want 1", placed, id)
	}
}

// At the instant of expiry, a key can make another checkout, and a late payment can order the old checkout. Only one of
// the two happens, so no paid checkout is lost.
func TestPlace_RaceWithTheKeysNextCheckout_HasOneWinner(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	ordered := 0
	for i := range 50 {
		c := k.mustOpen(coins(""))
		next := c
		next.ID = checkout.ID(string(c.ID.Token()) + strings.Repeat("A", 22))
		next.Created, next.Expires = c.Expires, c.Expires.Add(checkout.Lifetime)
		var opened, placed checkout.Checkout
		var opening, placing error
		atOnce(
			func() {
				opened, opening = k.opener.Store.Open(within(t), checkout.Opening{Shop: emberforge, Checkout: next})
			},
			func() { placed, _, placing = k.orders.Place(within(t), emberforge, c.ID, stripe("pi_1047"), c.Expires) },
		)
		want := next
		if placing == nil {
			want = placed
			ordered++
		} else if !errors.Is(placing, checkout.ErrExpired) {
			t.Errorf("checkout %d: Place = %v, want checkout.ErrExpired", i, placing)
		}
		stored, err := k.opener.Store.Recall(within(t), emberforge, c.ID.Token())
		if err := errors.Join(opening, err); err != nil || !reflect.DeepEqual(opened, want) ||
			!reflect.DeepEqual(stored, want) {
			t.Errorf("checkout %d: Open = %+v, stored %+v, %v, want %+v", i, opened, stored, err, want)
		}
	}
	t.Logf("%d of 50 checkouts were ordered, the others were replaced", ordered)
}

// Each request is one call. A change of an order without data takes one write unit in the table and one in the index. A
// write that changes nothing takes one write unit.
func TestOrders_EachRequest_IsOneCall(t *testing.T) {
	t.Parallel()
	meter, client := metered(t)
	k := newTill(t)
	orders := ordersOf(client, k.checkouts)
	c := k.mustOpen(coins("1047"))
	unknown := checkout.ID(strings.Repeat("A", 44))
	place := func(id checkout.ID, payment checkout.Payment) func() {
		// other tests check the response
		return func() { _, _, _ = orders.Place(within(t), emberforge, id, payment, noon()) }
	}
	changed, unchanged := memdynamo.Units{Write: 2}, memdynamo.Units{Write: 1}
	read := memdynamo.Units{Read: 1}
	for _, step := range []struct {
		what string
		do   func()
		want memdynamo.Units
	}{
		{"show an open checkout", func() {
			_,
				_ = checkout.Checkouts{Store: orders.Store}.Show(within(t), emberforge, c.ID)
		}, read},
		{"find an open checkout by its number", func() {
			_, _ = checkout.Checkouts{Store: orders.Store}.Find(within(t), emberforge, c.ID.Number())
		}, read},
		{"place an unknown checkout", place(unknown, stripe("pi_1047")), unchanged},
		{"place without payment", place(c.ID, checkout.Payment{}), unchanged},
		{"place", place(c.ID, stripe("pi_1047")), changed},
		{"place again", place(c.ID, stripe("pi_1047")), unchanged},
		{"place again, with another payment", place(c.ID, stripe("pi_1048")), unchanged},
		{"show", func() { _, _ = orders.Show(within(t), emberforge, c.ID) }, read},
		{"fulfil", func() { _, _, _ = orders.Fulfil(within(t), emberforge, c.ID, noon()) }, changed},
		{"fulfil again", func() { _, _, _ = orders.Fulfil(within(t), emberforge, c.ID, noon()) }, unchanged},
		{"cancel", func() { _, _, _ = orders.Cancel(within(t), emberforge, c.ID, "out of stock", noon()) }, changed},
		{
			"cancel again", func() { _, _, _ = orders.Cancel(within(t), emberforge, c.ID, "out of stock", noon()) },
			unchanged,
		},
	} {
		step.do()
		if calls := meter.Take(); len(calls) != 1 || calls[0].Units != step.want {
			t.Errorf("%s: %+v, want one call with %+v", step.what, calls, step.want)
		}
	}
	_, _, err := orders.List(within(t), emberforge, checkout.OrderFilter{Limit: 50})
	must(t, err)
	if calls := meter.Take(); len(calls) != table.Shelves || calls[0].Units != (memdynamo.Units{Read: 0.5}) {
		t.Errorf("list: %+v, want a call with half a read unit for each shelf", calls)
	}
}

func TestOrders_OfOtherShops_AreInvisible(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	c := k.mustOpen(coins("1047"))
	others := []catalog.ShopID{sakura, "ember", "emberforge2", "nobody"}
	for _, shop := range others {
		if _, _, err := k.orders.Place(within(t), shop, c.ID, stripe("pi_1047"), noon()); !errors.Is(err,
			checkout.ErrNotFound) {
			t.Errorf("%s: Place = %v, want checkout.ErrNotFound", shop, err)
		}
	}
	k.mustPlace(c)
	before := k.items()
	for _, shop := range others {
		for method, call := range map[string]func() error{
			"Show":   func() error { _, err := k.orders.Show(within(t), shop, c.ID); return err },
			"Fulfil": func() error { _, _, err := k.orders.Fulfil(within(t), shop, c.ID, noon()); return err },
			"Cancel": func() error {
				_, _, err := k.orders.Cancel(within(t), shop, c.ID, "chargeback", noon())
				return err
			},
		} {
			if err := call(); !errors.Is(err, checkout.ErrOrderNotFound) {
				t.Errorf("%s: %s = %v, want checkout.ErrOrderNotFound", shop, method, err)
			}
		}
		if orders, _, err := k.orders.List(within(t), shop, checkout.OrderFilter{Limit: 50}); len(orders) > 0 ||
			err != nil {
			t.Errorf("%s: List = %+v, %v", shop, orders, err)
		}
	}
	if after := k.items(); !reflect.DeepEqual(before, after) {
		t.Errorf("stored %+v\nwant %+v", after, before)
	}
}
