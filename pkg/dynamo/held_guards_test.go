package dynamo_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// meanwhile is a client that calls beforeWrite before its first transaction or, if nth is set, before its nth
// UpdateItem. It calls beforeRead before the first GetItem after a transaction.
type meanwhile struct {
	*dynamodb.Client

	beforeWrite, beforeRead func()
	nth                     int
	write, read             sync.Once
	updates                 int
	written                 bool
}

func (m *meanwhile) UpdateItem(
	ctx context.Context, input *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if m.updates++; m.updates == m.nth {
		m.write.Do(m.beforeWrite)
	}
	return m.Client.UpdateItem(ctx, input, options...)
}

func (m *meanwhile) TransactWriteItems(
	ctx context.Context, input *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if m.nth == 0 {
		m.write.Do(m.beforeWrite)
	}
	m.written = true
	return m.Client.TransactWriteItems(ctx, input, options...)
}

func (m *meanwhile) GetItem(
	ctx context.Context, input *dynamodb.GetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if m.written && m.beforeRead != nil {
		m.read.Do(m.beforeRead)
	}
	return m.Client.GetItem(ctx, input, options...)
}

// openerDuring returns an opener that calls the function do before its first transaction.
func (s *stall) openerDuring(client *dynamodb.Client, do func()) checkout.Opener {
	opener := s.opener
	opener.Holds = dynamo.NewHeldCheckouts(&meanwhile{Client: client, beforeWrite: do}, s.tables, mathrand.Int64N)
	return opener
}

func (s *stall) mustOpen(request checkout.Request) checkout.Checkout {
	s.t.Helper()
	c, replayed, err := s.opener.Open(within(s.t), request)
	if err != nil || replayed {
		s.t.Fatalf("Open = replayed %v, %v", replayed, err)
	}
	return c
}

func (s *stall) mustDisable(v voucher.Voucher) {
	s.t.Helper()
	s.mustEdit(v, voucher.Edit{Disabled: new(true)})
}

func TestOpenHeld_VoucherEditedSinceItWasRead_IsJudgedAgain(t *testing.T) {
	t.Parallel()
	t.Run("new hold", func(t *testing.T) {
		t.Parallel()
		s := newStall(t)
		v := s.percent20(1, 0)
		_, _, err := s.openerDuring(s.client, func() { s.mustDisable(v) }).Open(within(t),
			s.wanted("Alder", "", noon()))
		wantRefused(t, err, voucher.ReasonDisabled)
	})
	t.Run("shared hold", func(t *testing.T) {
		t.Parallel()
		s := newStall(t)
		v := s.percent20(1, 0)
		replacing := s.wanted("Alder", "", noon().Add(2*time.Minute))
		replacing.Replaces = s.mustOpen(s.wanted("Alder", "", noon())).ID
		during := s.openerDuring(s.client, func() {
			s.mustOpen(s.wanted("Alder", "", noon().Add(time.Minute)))
			s.mustDisable(v)
		})
		_, _, err := during.Open(within(t), replacing)
		wantRefused(t, err, voucher.ReasonDisabled)
	})
}

// The first attempt got no response and may still store the checkout. So the request must not be refused, although the
// voucher is disabled by then.
func TestOpenHeld_AttemptInFlight_OutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(1, 0)
	network := losingRequests("TransactWriteItems", 1)
	opener := s.openerDuring(newClient(t, over(network)), func() { s.mustDisable(v) })
	_, _, err := opener.Open(within(t), s.wanted("Alder", "", noon()))
	wantUnavailable(t, err)
}

func TestOpenHeld_SourceAtAnotherShop_HasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(100, voucher.NoLimit)
	for range checkout.MaxHoldsPerSource {
		s.mustOpen(s.wanted("", "203.0.113.7", noon()))
	}
	reward := voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 10}
	s.createFor("sakura-goods", voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(100)), Reward: reward})
	elsewhere := s.wanted("Alder", "203.0.113.7", noon())
	elsewhere.Shop = "sakura-goods"
	s.mustOpen(elsewhere)
}

// placedMeanwhile places an order of Alder's checkout. The order's first transaction fails, because another checkout
// makes the shared hold last longer. Before the order looks for the hold again, placedMeanwhile calls the function do.
func placedMeanwhile(
	t *testing.T, do func(s *stall, c checkout.Checkout),
) (placed checkout.Checkout, replayed bool, err error) {
	t.Helper()
	s := newStall(t)
	s.percent20(100, 1)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	api := &meanwhile{
		Client: s.client, beforeWrite: func() { s.mustOpen(s.wanted("Alder", "", noon().Add(time.Minute))) },
		beforeRead: func() { do(s, c) },
	}
	orders := checkout.Orders{Store: dynamo.NewOrders(api, s.tables.Checkouts, s.tables.Vouchers, mathrand.Int64N)}
	return orders.Place(within(t), emberforge, c.ID, stripe("pi_1047"), noon().Add(2*time.Minute))
}

func (s *stall) mustPlace(c checkout.Checkout, at time.Time) checkout.Checkout {
	s.t.Helper()
	placed, replayed, err := s.orders.Place(within(s.t), emberforge, c.ID, stripe("pi_1047"), at)
	if err != nil || replayed {
		s.t.Fatalf("Place = replayed %v, %v", replayed, err)
	}
	return placed
}

func TestPlaceHeld_PlacedMeanwhile_IsReplayed(t *testing.T) {
	t.Parallel()
	placed, replayed, err := placedMeanwhile(t,
		func(s *stall, c checkout.Checkout) { s.mustPlace(c, noon().Add(time.Second)) })
	if err != nil || !replayed || placed.Order == nil || !placed.Order.Placed.Equal(noon().Add(time.Second)) {
		t.Errorf("Place = %+v, replayed %v, %v; want the order that the other request placed", placed, replayed, err)
	}
}

func TestPlaceHeld_ReplacedMeanwhile_IsReleased(t *testing.T) {
	t.Parallel()
	_, _, err := placedMeanwhile(t, func(s *stall, c checkout.Checkout) {
		changed := s.wanted("Alder", "", noon().Add(time.Minute))
		changed.Replaces = c.ID
		s.mustPlace(s.mustOpen(changed), noon().Add(time.Minute))
	})
	if !errors.Is(err, checkout.ErrReplaced) {
		t.Errorf("Place = %v, want checkout.ErrReplaced", err)
	}
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

// kindsOfLimits returns limits for each voucher.HoldKind.
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
			s.mustUndo(v, s.mustRedeem(first))
			for range 2 {
				if r, _, err := s.redeemer.Redeem(within(t), first); !errors.Is(err, voucher.ErrUndone) {
					t.Errorf("Redeem = %+v, %v; want voucher.ErrUndone", r, err)
				}
			}
			s.mustRedeem(request(t, "SUMMER-20", "Alder", "order-1048"))
			if r, _, err := s.redeemer.Redeem(within(t), first); !errors.Is(err, voucher.ErrUndone) {
				t.Errorf("after another request redeemed the code: Redeem = %+v, %v; want voucher.ErrUndone", r, err)
			}
		})
	}
}

// A redemption of the code was undone before. So the code is redeemed in a transaction, by terms that were read before
// the transaction. Meanwhile, the operator disables the code.
func TestRedeem_UndoneBeforeAndEditedSinceItWasRead_IsJudgedAgain(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(1, 0)
	s.mustUndo(v, s.mustRedeem(request(t, "SUMMER-20", "Alder", "")))
	redeemer := redeemerOf(&meanwhile{Client: s.client, beforeWrite: func() { s.mustDisable(v) }}, s.table)
	wantRequestRefused(t, redeemer, request(t, "SUMMER-20", "Birch", ""), voucher.ReasonDisabled)
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

// wantUses fails the test unless the counters of a limited code have these uses left and used, and no use exceeds the
// limit.
func (s *stall) wantUses(v voucher.Voucher, left, used int) {
	s.t.Helper()
	stored, err := table.ReadVoucher(within(s.t), s.client, s.table, emberforge, v.Code)
	must(s.t, err)
	counters, err := table.ReadCounters(within(s.t), s.client, alwaysFirst, s.table, emberforge, v.Code, v.Counters)
	must(s.t, err)
	var gotLeft, gotUsed int
	for _, counter := range counters {
		gotLeft, gotUsed = gotLeft+counter.Left, gotUsed+counter.Used
		if counter.Left < 0 || counter.Used < 0 {
			s.t.Errorf("counter %+v", counter)
		}
	}
	if gotLeft != left || gotUsed != used || stored.Over != 0 {
		s.t.Errorf("%d left, %d used, %d over the limit; want %d, %d and none", gotLeft, gotUsed, stored.Over, left,
			used)
	}
}

// requestAt returns a request of a nick to redeem SUMMER-20 at the given time.
func (s *stall) requestAt(nick string, at time.Time) voucher.Request {
	s.t.Helper()
	r := request(s.t, "SUMMER-20", nick, "")
	r.At = at
	return r
}

func (s *stall) redeemerOver(api dynamo.UsesAPI, random func(int64) int64) voucher.Redeemer {
	return voucher.Redeemer{Store: dynamo.NewRedeemer(api, s.tables, random), Random: rand.Reader}
}

// percent20of creates SUMMER-20 with a limit and a number of counters.
func (s *stall) percent20of(uses voucher.Limit, counters int) voucher.Voucher {
	s.t.Helper()
	return s.create(voucher.Terms{
		Written: "SUMMER-20", MaxUses: &uses, MaxUsesPerNick: new(voucher.NoLimit), Counters: counters,
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	})
}

// undoDuring undoes a redemption, and calls the function do before the transaction of the undo.
func (s *stall) undoDuring(v voucher.Voucher, r voucher.Redemption, do func()) {
	s.t.Helper()
	undoer := voucher.Redemptions{Store: dynamo.NewRedemptionRecords(&meanwhile{Client: s.client, beforeWrite: do},
		s.tables,
		alwaysFirst)}
	_, _, err := undoer.Undo(within(s.t),
		voucher.UndoRequest{Shop: emberforge, Code: v.Code, ID: r.ID, At: noon().Add(time.Minute)})
	if err != nil {
		s.t.Error(err)
	}
}

func TestUndo_CounterHasAllUsesBackMeanwhile_UseComesBackToAnother(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20of(2, 2)
	// one from each counter
	redemptions := []voucher.Redemption{
		s.mustRedeem(s.requestAt("Alder", noon())),
		s.mustRedeem(s.requestAt("Birch", noon())),
	}
	s.undoDuring(v, redemptions[0], func() { s.undoDuring(v, redemptions[1], func() {}) })
	s.wantUses(v, 2, 0)
}

func TestUndo_LimitLoweredMeanwhile_UseIsDropped(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(3, voucher.NoLimit)
	var r voucher.Redemption
	for range 3 {
		r = s.mustRedeem(s.requestAt("Alder", noon()))
	}
	s.undoDuring(v, r, func() { s.mustEdit(v, voucher.Edit{MaxUses: new(voucher.Limit(2))}) })
	s.wantUses(v, 0, 2)
}

func TestEdit_UseComesBackMeanwhile_IsCounted(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20of(3, 1)
	var r voucher.Redemption
	for range 3 {
		r = s.mustRedeem(s.requestAt("Alder", noon()))
	}
	const lastWrite = 3 // the first write begins the edit, and the second one moves the counter to the new limit
	api := &meanwhile{Client: s.client, nth: lastWrite, beforeWrite: func() { s.mustUndo(v, r) }}
	if _, err := s.owner(api).EditVoucher(within(t), v.Code,
		voucher.Edit{MaxUses: new(voucher.Limit(2))}); err != nil {
		t.Fatal(err)
	}
	s.wantUses(v, 0, 2)
}

func TestRedeem_UseDroppedMeanwhile_DropsNoSecondUse(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(4, voucher.NoLimit)
	for range 4 {
		s.mustOpen(s.wanted("", "", noon()))
	}
	s.mustEdit(v, voucher.Edit{MaxUses: new(voucher.Limit(3))})
	late := s.requestAt("Alder", noon().Add(time.Hour))
	other := s.redeemerOver(s.client, func(n int64) int64 { return n - 1 }) // takes another hold
	redeemer := s.redeemerOver(&meanwhile{Client: s.client, beforeWrite: func() {
		if _, _, err := other.Redeem(within(t), late); err != nil {
			t.Error(err)
		}
	}}, alwaysFirst)
	if _, _, err := redeemer.Redeem(within(t), late); err != nil {
		t.Fatal(err)
	}
	s.wantUses(v, 0, 3)
}

// The clock of a request decides when its hold lapses. So the hold that a counter gets first is not always the first
// hold to lapse.
func TestRedeem_SecondHoldLapsesFirst_IsFound(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20of(2, 1)
	s.mustOpen(s.wanted("Alder", "", noon().Add(time.Second)))
	second := s.mustOpen(s.wanted("Birch", "", noon()))
	s.mustRedeem(s.requestAt("Cedar", second.Hold.Until))
}

// missing is a client whose first Query misses every item, as a Query may while a hold is being moved.
type missing struct {
	*dynamodb.Client

	queried bool
}

func (m *missing) Query(
	ctx context.Context, input *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	if m.queried {
		return m.Client.Query(ctx, input, options...)
	}
	m.queried = true
	return &dynamodb.QueryOutput{}, nil
}

func TestRedeem_HoldMissedWhileItMoved_IsFoundHalfAnHourLater(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20of(2, 1)
	for range 2 {
		s.mustOpen(s.wanted("Alder", "", noon()))
	}
	wantRequestRefused(t, s.redeemerOver(&missing{Client: s.client}, alwaysFirst), s.requestAt("Birch", later()),
		voucher.ReasonUsedUp)
	s.mustRedeem(s.requestAt("Birch", later().Add(checkout.Lifetime)))
}

// swapping is the number of the UpdateItem with which a redemption swaps the nick's own hold. The first UpdateItem
// finds that the code has many uses, the second finds that the nick has no use left.
const swapping = 3

// Alder has one redemption and two lapsed holds, but the limit was lowered to two. So Alder can redeem one of the holds
// only as long as both have lapsed. Meanwhile, a request with a slower clock extends one of them.
func TestRedeem_OwnHoldExtendedMeanwhile_LeavesNoUseFree(t *testing.T) {
	t.Parallel()
	for extended := range 2 {
		s := newStall(t)
		v := s.percent20(0, 3)
		s.mustRedeem(s.requestAt("Alder", noon()))
		held := []checkout.Checkout{
			s.mustOpen(s.wanted("Alder", "", noon())),
			s.mustOpen(s.wanted("Alder", "", noon())),
		}
		// the first is swapped
		slices.SortFunc(held, func(a, b checkout.Checkout) int { return cmp.Compare(a.Hold.ID, b.Hold.ID) })
		s.mustEdit(v, voucher.Edit{MaxUsesPerNick: new(voucher.Limit(2))})
		lapse := held[0].Hold.Until
		extend := s.wanted("Alder", "", lapse.Add(-time.Second))
		extend.Replaces = held[extended].ID
		during := &meanwhile{Client: s.client, nth: swapping, beforeWrite: func() { s.mustOpen(extend) }}
		wantRequestRefused(t, s.redeemerOver(during, alwaysFirst), s.requestAt("Alder", lapse), voucher.ReasonNickLimit)
	}
}

// Alder has one redemption and one lapsed hold, and the limit is two. While Alder's request is in flight, the limit is
// three for a moment, and Alder redeems once more. After that, swapping the lapsed hold would exceed the limit.
func TestRedeem_NickRedeemsMeanwhile_SwapsNoHold(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(0, 2)
	s.mustRedeem(s.requestAt("Alder", noon()))
	held := s.mustOpen(s.wanted("Alder", "", noon()))
	during := &meanwhile{Client: s.client, nth: swapping, beforeWrite: func() {
		s.mustEdit(v, voucher.Edit{MaxUsesPerNick: new(voucher.Limit(3))})
		s.mustRedeem(s.requestAt("Alder", noon()))
		s.mustEdit(v, voucher.Edit{MaxUsesPerNick: new(voucher.Limit(2))})
	}}
	wantRequestRefused(t, s.redeemerOver(during, alwaysFirst), s.requestAt("Alder", held.Hold.Until),
		voucher.ReasonNickLimit)
}

// Alder's request wants to share the hold of Alder's first checkout. Meanwhile, that checkout is ordered and cancelled,
// and Birch gets a hold of the same use. Birch's hold lapses when Alder's would have lapsed.
func TestOpenHeld_AnotherHoldMeanwhile_IsNotShared(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(1, 0)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	during := s.openerDuring(s.client, func() {
		s.mustPlace(c, noon())
		if _, _, err := s.orders.Cancel(within(t), emberforge, c.ID, "chargeback", noon()); err != nil {
			t.Error(err)
		}
		s.mustOpen(s.wanted("Birch", "", noon()))
	})
	_, _, err := during.Open(within(t), s.wanted("Alder", "", noon().Add(time.Minute)))
	wantRefused(t, err, voucher.ReasonUsedUp)
}

// ordersDuring returns orders that call the function do before their first transaction.
func (s *stall) ordersDuring(do func()) checkout.Orders {
	api := &meanwhile{Client: s.client, beforeWrite: do}
	return checkout.Orders{Store: dynamo.NewOrders(api, s.tables.Checkouts, s.tables.Vouchers, mathrand.Int64N)}
}

func TestCancel_FulfilledMeanwhile_ResponseShowsIt(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20of(1, 0)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	s.mustPlace(c, noon())
	during := s.ordersDuring(func() {
		if _, _, err := s.orders.Fulfil(within(t), emberforge, c.ID, noon().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	})
	cancelled, _, err := during.Cancel(within(t), emberforge, c.ID, "chargeback", later())
	if err != nil || cancelled.Order == nil || cancelled.Order.Cancelled.IsZero() ||
		cancelled.Order.Fulfilled.IsZero() {
		t.Errorf("Cancel = %+v, %v; want an order that is fulfilled and cancelled", cancelled.Order, err)
	}
}

func TestOpenHeld_OrderedMeanwhile_IsNotReplaced(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(0, 0)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	replacing := s.wanted("Alder", "", noon())
	replacing.Replaces = c.ID
	_, _, err := s.openerDuring(s.client, func() { s.mustPlace(c, noon()) }).Open(within(t), replacing)
	if !errors.Is(err, checkout.ErrNotReplaceable) {
		t.Errorf("Open = %v, want checkout.ErrNotReplaceable", err)
	}
	if order, err := s.orders.Show(within(t), emberforge, c.ID); err != nil || order.Replaced {
		t.Errorf("Show = %+v, %v; want the order", order, err)
	}
}

func TestPlaceHeld_ReplacedBeforeTheWrite_IsNotOrdered(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(0, 0)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	replacing := s.wanted("Alder", "", noon())
	replacing.Replaces = c.ID
	_, _, err := s.ordersDuring(func() { s.mustOpen(replacing) }).Place(within(t), emberforge, c.ID, stripe("pi_1047"),
		noon())
	if !errors.Is(err, checkout.ErrReplaced) {
		t.Errorf("Place = %v, want checkout.ErrReplaced", err)
	}
}

func TestPlaceHeld_LateAboveTheNicksLoweredLimit_IsExpired(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(0, 2)
	held := []checkout.Checkout{s.mustOpen(s.wanted("Alder", "", noon())), s.mustOpen(s.wanted("Alder", "", noon()))}
	s.mustEdit(v, voucher.Edit{MaxUsesPerNick: new(voucher.Limit(1))})
	for _, c := range held {
		if _, _, err := s.orders.Place(within(t), emberforge, c.ID, stripe("pi_1047"), later()); !errors.Is(err,
			checkout.ErrExpired) {
			t.Errorf("Place = %v, want checkout.ErrExpired", err)
		}
	}
}

func TestOpenHeld_OwnHoldOrderedMeanwhile_IsNotShared(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(0, 1)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	during := s.openerDuring(s.client, func() { s.mustPlace(c, noon()) })
	_, _, err := during.Open(within(t), s.wanted("Alder", "", noon().Add(time.Minute)))
	wantRefused(t, err, voucher.ReasonNickLimit)
}

func percentOff(percent int) voucher.Reward {
	return voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: percent}
}

// everyLimit returns the terms of a code of 20 % off for each combination of limits.
func everyLimit() map[string]voucher.Terms {
	none, two := new(voucher.NoLimit), new(voucher.Limit(2))
	kinds := map[string]voucher.Terms{
		"single-use": {}, "limited": {MaxUses: new(voucher.Limit(9)), MaxUsesPerNick: none},
		"limited per nick": {MaxUses: none, MaxUsesPerNick: two}, "unlimited": {MaxUses: none, MaxUsesPerNick: none},
	}
	for kind, terms := range kinds {
		terms.Written, terms.Reward = "SUMMER-20", percentOff(20)
		kinds[kind] = terms
	}
	return kinds
}

// A redemption of a single-use code may be made between the edit's read and its write.
func TestEdit_Reward_RedemptionsKeepTheirs(t *testing.T) {
	t.Parallel()
	for kind, terms := range everyLimit() {
		for _, when := range []string{"before", "meanwhile", "later"} {
			t.Run(kind+", redeemed "+when, func(t *testing.T) {
				t.Parallel()
				newStall(t).correctReward(terms, when)
			})
		}
	}
}

func (s *stall) correctReward(terms voucher.Terms, when string) {
	s.t.Helper()
	v, corrected := s.create(terms), percentOff(50)
	var r voucher.Redemption
	redeem := func(now string) {
		if now == when {
			r = s.mustRedeem(request(s.t, "SUMMER-20", "Alder", "order-1047"))
		}
	}
	redeem("before")
	api := &meanwhile{Client: s.client, nth: 1, beforeWrite: func() { redeem("meanwhile") }}
	edited, err := ownerOf(emberforge, api, backoffice.Tables{Vouchers: s.table}).
		EditVoucher(within(s.t), v.Code, voucher.Edit{Reward: &corrected})
	if err != nil || edited.Reward != corrected {
		s.t.Errorf("edited to %+v, %v", edited, err)
	}
	redeem("later")
	want := map[bool]voucher.Reward{true: corrected, false: v.Reward}[when == "later"]
	again, _, err := s.redeemer.Redeem(within(s.t), request(s.t, "SUMMER-20", "Alder", "order-1047"))
	if err != nil || again != r || r.Reward != want {
		s.t.Errorf("redeemed %+v, then %+v, %v; want the reward %s twice", r, again, err, want)
	}
	if undone, _, err := s.undo(v.Code, r.ID); err != nil || undone.Reward != want {
		s.t.Errorf("undone %+v, %v; want the reward %s", undone, err, want)
	}
	if other := s.mustRedeem(request(s.t, "SUMMER-20", "Birch", "")); other.Reward != corrected {
		s.t.Errorf("later redeemed %+v, want %s", other, corrected)
	}
}

func TestEdit_Reward_OpenCheckoutsKeepTheirs(t *testing.T) {
	t.Parallel()
	for kind, terms := range everyLimit() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			v, corrected := s.create(terms), percentOff(50)
			c := s.hold(s.wanted("Alder", "", noon()))
			s.mustEdit(v, voucher.Edit{Reward: &corrected})
			placed, _, err := s.orders.Place(within(t), emberforge, c.ID, stripe("pi_1047"), noon())
			records := s.records("SUMMER-20")
			if err != nil || placed.Total != c.Total || len(records) != 1 || records[0].Reward != v.Reward {
				t.Errorf("placed %+v, %v; redeemed %+v; want the old price and reward", placed, err, records)
			}
		})
	}
}
