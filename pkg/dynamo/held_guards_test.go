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
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/voucher"
)

// meanwhile is a client that lets something happen before its first transaction, and before the first GetItem after that.
type meanwhile struct {
	*dynamodb.Client

	beforeWrite, beforeRead func()
	write, read             sync.Once
	written                 bool
}

func (m *meanwhile) TransactWriteItems(
	ctx context.Context, input *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	m.write.Do(m.beforeWrite)
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

// openerDuring returns an opener during whose first transaction something happens.
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
	if _, err := s.vouchers.Edit(within(s.t), emberforge, v.Code, voucher.Edit{Disabled: new(true)}); err != nil {
		s.t.Fatal(err)
	}
}

func TestOpenHeld_EditedSinceTheLook_IsJudgedAgain(t *testing.T) {
	t.Parallel()
	t.Run("new hold", func(t *testing.T) {
		t.Parallel()
		s := newStall(t)
		v := s.percent20(1, 0)
		_, _, err := s.openerDuring(s.client, func() { s.mustDisable(v) }).Open(within(t), s.wanted("Alder", "", noon()))
		wantRefused(t, err, voucher.ReasonDisabled)
	})
	t.Run("shared hold", func(t *testing.T) {
		t.Parallel()
		s := newStall(t)
		v := s.percent20(1, 0)
		s.mustOpen(s.wanted("Alder", "", noon()))
		during := s.openerDuring(s.client, func() {
			s.mustOpen(s.wanted("Alder", "", noon().Add(time.Minute)))
			s.mustDisable(v)
		})
		_, _, err := during.Open(within(t), s.wanted("Alder", "", noon().Add(2*time.Minute)))
		wantRefused(t, err, voucher.ReasonDisabled)
	})
}

// An attempt that got no response may still store the checkout.
func TestOpenHeld_AttemptInFlight_IsUnknown(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(1, 0)
	network := &unreliable{operation: "TransactWriteItems"}
	network.failures.Store(1)
	opener := s.openerDuring(newClient(t, over(network)), func() { s.mustDisable(v) })
	_, _, err := opener.Open(within(t), s.wanted("Alder", "", noon()))
	if _, unavailable := errors.AsType[*dynamo.UnavailableError](err); !unavailable {
		t.Errorf("Open = %v, want an UnavailableError", err)
	}
}

func TestOpenHeld_SourceAtAnotherCustomer_HasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(100, voucher.NoLimit)
	for range checkout.MaxHoldsPerSource {
		s.mustOpen(s.wanted("", "203.0.113.7", noon()))
	}
	reward := voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 10}
	s.createFor("sakura-goods", voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(100)), Reward: reward})
	elsewhere := s.wanted("Alder", "203.0.113.7", noon())
	elsewhere.Customer = "sakura-goods"
	s.mustOpen(elsewhere)
}

// placedMeanwhile places an order of Alder's checkout. Its first transaction fails, because another checkout makes the shared hold last
// longer. Before the request looks for the hold again, something else happens.
func placedMeanwhile(t *testing.T, do func(s *stall, c checkout.Checkout)) (placed checkout.Checkout, replayed bool, err error) {
	t.Helper()
	s := newStall(t)
	s.percent20(100, 1)
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	api := &meanwhile{
		Client: s.client, beforeWrite: func() { s.mustOpen(s.wanted("Alder", "", noon().Add(time.Minute))) }, beforeRead: func() { do(s, c) },
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
	placed, replayed, err := placedMeanwhile(t, func(s *stall, c checkout.Checkout) { s.mustPlace(c, noon().Add(time.Second)) })
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
	if !errors.Is(err, checkout.ErrReleased) {
		t.Errorf("Place = %v, want checkout.ErrReleased", err)
	}
}

// Before vouchers stored how many uses exceed a lowered limit, an edit left nothing that says so.
func TestHolds_LimitLoweredBefore_UsesAboveItAreDropped(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(4, voucher.NoLimit)
	for range 4 {
		s.mustOpen(s.wanted("", "", noon()))
	}
	if _, err := s.vouchers.Edit(within(t), emberforge, v.Code, voucher.Edit{MaxUses: new(voucher.Limit(2))}); err != nil {
		t.Fatal(err)
	}
	forget := table.Update{Key: table.VoucherKey(emberforge, v.Code)}
	forget.Remove(table.AttrOver)
	if _, err := s.client.UpdateItem(within(t), forget.Input(s.table, "")); err != nil {
		t.Fatal(err)
	}
	late := request(t, "SUMMER-20", "Birch", "")
	late.At = noon().Add(time.Hour)
	for range 2 {
		s.mustRedeem(late)
	}
	_, _, err := s.redeemer.Redeem(within(t), late)
	wantRefused(t, err, voucher.ReasonUsedUp)
}

func (s *stall) undoer() voucher.Undoer {
	return voucher.Undoer{Store: dynamo.NewRedemptionRecords(s.client, s.tables, mathrand.Int64N)}
}

func (s *stall) undo(code voucher.Code, id string) (voucher.Redemption, bool, error) {
	s.t.Helper()
	return s.undoer().Undo(within(s.t), voucher.UndoRequest{
		Customer: emberforge, Code: code, ID: id, Reason: "charged twice", At: noon().Add(time.Minute),
	})
}

func (s *stall) mustUndo(v voucher.Voucher, r voucher.Redemption) {
	s.t.Helper()
	if undone, replayed, err := s.undo(v.Code, r.ID); err != nil || replayed || undone.Undone.IsZero() {
		s.t.Fatalf("Undo = %+v, replayed %v, %v", undone, replayed, err)
	}
}

// limits of a code are its uses, and the uses of each nick; 0: no limit.
type limits struct{ uses, ofNick voucher.Limit }

// kindsOfLimits returns the limits of a code of each voucher.HoldKind.
func kindsOfLimits() map[string]limits {
	return map[string]limits{
		"single-use": {1, 0}, "limited, one for each nick": {100, 1}, "limited": {100, 0}, "one for each nick": {0, 1}, "no limit": {0, 0},
	}
}

func TestUndo_KeyOfTheRedemption_RedeemsNoMore(t *testing.T) {
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
				t.Errorf("when another request has redeemed the code: Redeem = %+v, %v; want voucher.ErrUndone", r, err)
			}
		})
	}
}

func TestUndo_EditedSinceTheLook_IsJudgedAgain(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	v := s.percent20(1, 0)
	s.mustUndo(v, s.mustRedeem(request(t, "SUMMER-20", "Alder", "")))
	redeemer := redeemerOf(&meanwhile{Client: s.client, beforeWrite: func() { s.mustDisable(v) }}, s.table)
	_, _, err := redeemer.Redeem(within(t), request(t, "SUMMER-20", "Birch", ""))
	wantRefused(t, err, voucher.ReasonDisabled)
}

func TestUndo_RedemptionOfAnOrder_IsRefused(t *testing.T) {
	t.Parallel()
	for what, limits := range kindsOfLimits() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			v := s.percent20(limits.uses, limits.ofNick)
			c := s.mustPlace(s.mustOpen(s.wanted("Alder", "", noon())), noon())
			if r, _, err := s.undo(v.Code, c.Hold.ID); !errors.Is(err, voucher.ErrRedemptionOfOrder) {
				t.Errorf("Undo = %+v, %v; want voucher.ErrRedemptionOfOrder", r, err)
			}
		})
	}
}
