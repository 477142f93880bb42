package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// meteredStall is a stall with a meter. Requests that only prepare a step are not metered.
type meteredStall struct {
	*stall

	meter  *memdynamo.Endpoint
	prices map[string]price
	opener checkout.Opener
	till   checkout.Orders
	desk   voucher.Redeemer
	undoer voucher.Redemptions
}

// alwaysFirst is a source of random numbers that makes all requests take the same counter.
func alwaysFirst(int64) int64 { return 0 }

// newMeteredStall returns a stall with the code SUMMER-20.
func newMeteredStall(t *testing.T, of limits) *meteredStall {
	t.Helper()
	meter, client := metered(t)
	s := &meteredStall{stall: newStall(t), meter: meter}
	s.opener = s.stall.opener
	s.opener.Store = dynamo.NewCheckouts(client, s.tables.Checkouts)
	s.opener.Holds = dynamo.NewHeldCheckouts(client, s.tables, alwaysFirst)
	s.till = checkout.Orders{Store: dynamo.NewOrders(client, s.tables.Checkouts, s.tables.Vouchers, alwaysFirst)}
	s.desk = voucher.Redeemer{Store: dynamo.NewRedeemer(client, s.tables, alwaysFirst), Random: rand.Reader}
	s.undoer = voucher.Redemptions{Store: dynamo.NewRedemptionRecords(client, s.tables, alwaysFirst)}
	s.percent20(of.uses, of.ofNick)
	return s
}

// price is the number of calls, read units and write units that a request takes. Calls of the catalogue do not count.
type price struct {
	calls       int
	read, write float64
}

// want fails the test unless a request succeeds at the price that s.prices has for it.
func (s *meteredStall) want(what string, request func(ctx context.Context) error) {
	s.t.Helper()
	s.meter.Take()
	if err := request(within(s.t)); err != nil {
		s.t.Errorf("%s: %v", what, err)
	}
	var got price
	var operations []string
	for _, call := range s.meter.Take() {
		got.calls++
		got.read += call.Units.Read
		got.write += call.Units.Write
		operations = append(operations, fmt.Sprintf("%s %v", call.Operation, call.Units))
	}
	if want, known := s.prices[what]; !known || got != want {
		s.t.Errorf("%s takes %+v, want %+v: %q", what, got, want, operations)
	}
}

// Requests that have a price.
const (
	checksOut         = "check out"
	checksOutAgain    = "check out, the same again"
	checksOutStranger = "check out, a stranger"
	shares            = "share"
	replaces          = "replace"
	takesOver         = "take a lapsed hold over"
	redeemsOver       = "redeem with a lapsed hold"
	swaps             = "swap the own lapsed hold"
	findsFull         = "find a code full"
	redeemsFull       = "be refused a redemption while the code is full"
	isRefused         = "be refused while the code is full"
	findsFullWrongly  = "find a code full with a wrong amount"
	isRefusedReplaced = "be refused while the code is full, with a wrong checkout to replace"
	orders            = "order"
	ordersAgain       = "order again"
	ordersLate        = "order late"
	cancels           = "cancel"
	cancelsAgain      = "cancel again"
	redeems           = "redeem"
	redeemsCounted    = "redeem within a quota"
	undoes            = "undo"
	undoesAgain       = "undo again"
	redeemsNoMore     = "redeem with the key of an undone redemption"
	redeemsAnew       = "redeem after an undone redemption"
	lists             = "list"
)

func TestHolds_EachRequest_TakesItsCallsAndUnits(t *testing.T) {
	t.Parallel()
	for what, of := range kindsOfLimits() {
		if of.uses > 1 {
			of.uses = 2
		}
		for name, scene := range map[string]func(*meteredStall, limits){
			"checkout": (*meteredStall).checkingOut, "stranger": (*meteredStall).checkingOutAsAStranger,
			"lapsed":     (*meteredStall).takingOver,
			"own lapsed": (*meteredStall).swapping, "late": (*meteredStall).orderingLate,
			"full": (*meteredStall).refusing, "full, wrong": (*meteredStall).refusingWrongRequests,
			"undo": (*meteredStall).undoing, "quota": (*meteredStall).redeemingWithinAQuota,
			"IPv6": (*meteredStall).checkingOutOverIPv6,
		} {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newMeteredStall(t, of)
				s.prices = heldPrices()[what]
				scene(s, of)
			})
		}
	}
}

// heldPrices returns the price of each request, by the kind of its code.
func heldPrices() map[string]map[string]price {
	return map[string]map[string]price{
		"single-use": {
			checksOut: {2, 2, 4}, checksOutAgain: {2, 2, 4}, checksOutStranger: {3, 3, 6}, shares: {2, 2, 4},
			replaces:  {3, 3, 6},
			takesOver: {2, 2, 4}, redeemsOver: {1, 0, 1}, isRefused: {1, 2, 0}, isRefusedReplaced: {2, 3, 0},
			redeemsFull: {1, 0, 1},
			orders:      {2, 0, 6}, ordersAgain: {1, 0, 1}, ordersLate: {2, 0, 6}, cancels: {3, 3, 8},
			cancelsAgain: {1, 0, 1},
			redeems:      {1, 0, 1}, undoes: {2, 3, 4}, undoesAgain: {1, 3, 0}, redeemsAnew: {2, 0, 5},
			redeemsNoMore: {2, 0, 5}, lists: {65, 65, 0},
			redeemsCounted: {1, 0, 1},
		},
		"limited, one for each nick": {
			checksOut: {2, 2, 8}, checksOutAgain: {2, 2, 8}, checksOutStranger: {3, 3, 10}, shares: {2, 2, 8},
			replaces:  {3, 3, 10},
			takesOver: {4, 4, 10}, redeemsOver: {4, 2, 7}, swaps: {2, 2, 8}, findsFull: {5, 5, 9}, isRefused: {1, 2, 0},
			findsFullWrongly: {3, 3, 1}, isRefusedReplaced: {2, 3, 0},
			redeemsFull: {1, 0, 1},
			orders:      {2, 0, 8}, ordersAgain: {1, 0, 1}, ordersLate: {4, 2, 8}, cancels: {4, 4, 12},
			cancelsAgain: {1, 0, 1},
			redeems:      {2, 1, 4}, undoes: {3, 4, 8}, undoesAgain: {1, 3, 0}, redeemsAnew: {4, 3, 10},
			redeemsNoMore: {4, 3, 10}, lists: {65, 65, 0},
			redeemsCounted: {2, 1, 6},
		},
		"limited": {
			checksOut: {2, 2, 6}, checksOutAgain: {2, 2, 6}, checksOutStranger: {3, 3, 8}, replaces: {3, 3, 8},
			takesOver: {4, 4, 6}, redeemsOver: {4, 2, 5}, findsFull: {4, 3, 7}, isRefused: {1, 2, 0},
			findsFullWrongly: {3, 3, 1}, isRefusedReplaced: {2, 3, 0},
			redeemsFull: {1, 0, 1},
			orders:      {2, 0, 8}, ordersAgain: {1, 0, 1}, ordersLate: {3, 1, 8}, cancels: {4, 4, 10},
			cancelsAgain: {1, 0, 1},
			redeems:      {2, 1, 4}, undoes: {3, 4, 6}, undoesAgain: {1, 3, 0}, redeemsAnew: {2, 1, 4},
			redeemsNoMore: {2, 1, 4}, lists: {65, 65, 0},
			redeemsCounted: {2, 1, 6},
		},
		"one for each nick": {
			checksOut: {2, 2, 4}, checksOutAgain: {2, 2, 4}, checksOutStranger: {3, 3, 6}, shares: {2, 2, 4},
			replaces: {3, 3, 6},
			swaps:    {2, 2, 4}, orders: {2, 0, 6}, ordersAgain: {1, 0, 1}, ordersLate: {4, 2, 6}, cancels: {3, 3, 8},
			cancelsAgain: {1, 0, 1},
			redeems:      {2, 1, 1}, undoes: {2, 3, 4}, undoesAgain: {1, 3, 0}, redeemsAnew: {4, 3, 5},
			redeemsNoMore: {4, 3, 5}, lists: {65, 65, 0},
			redeemsCounted: {2, 1, 4},
		},
		"no limit": {
			checksOut: {2, 2, 2}, checksOutAgain: {2, 2, 2}, checksOutStranger: {2, 2, 2}, replaces: {3, 3, 4},
			orders: {2, 0, 6}, ordersAgain: {1, 0, 1}, ordersLate: {2, 0, 6}, cancels: {3, 3, 6},
			cancelsAgain: {1, 0, 1},
			redeems:      {2, 1, 1}, undoes: {2, 3, 1}, undoesAgain: {1, 3, 0}, redeemsAnew: {2, 1, 1},
			redeemsNoMore: {2, 1, 1}, lists: {65, 65, 0},
			redeemsCounted: {2, 1, 4},
		},
	}
}

func (s *meteredStall) opens(request checkout.Request, c *checkout.Checkout) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		*c, _, err = s.opener.Open(ctx, request)
		return err
	}
}

func (s *meteredStall) orders(c *checkout.Checkout, at time.Time) func(context.Context) error {
	return func(ctx context.Context) error {
		_, _, err := s.till.Place(ctx, emberforge, c.ID, stripe("pi_1047"), at)
		return err
	}
}

func (s *meteredStall) cancels(c *checkout.Checkout) func(context.Context) error {
	return func(ctx context.Context) error {
		_, _, err := s.till.Cancel(ctx, emberforge, c.ID, "chargeback", noon().Add(time.Hour))
		return err
	}
}

func (s *meteredStall) redeems(
	nick string, key idempotency.Key, at time.Time, r *voucher.Redemption,
) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		wanted := request(s.t, "SUMMER-20", nick, string(key))
		wanted.At = at
		*r, _, err = s.desk.Redeem(ctx, wanted)
		return err
	}
}

// refuses returns a request that succeeds if the given request is refused.
func refuses(request func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := request(ctx)
		if _, refused := voucher.IsRefusal(err); refused || errors.Is(err, voucher.ErrUndone) {
			return nil
		}
		return fmt.Errorf("want a refusal, got %w", err)
	}
}

// later returns a time at which the holds of checkouts that were made at noon have lapsed.
func later() time.Time { return noon().Add(time.Hour) }

func (s *meteredStall) checkingOut(of limits) {
	var c, shared checkout.Checkout
	request := s.wanted("Alder", "", noon())
	request.Key = "cart-1"
	s.want(checksOut, s.opens(request, &c))
	s.want(checksOutAgain, s.opens(request, &c))
	if of.uses == 1 || of.ofNick == 1 {
		s.want(shares, s.opens(s.wanted("Alder", "", noon().Add(time.Minute)), &c))
	}
	request = s.wanted("Alder", "", noon().Add(2*time.Minute))
	request.Replaces = c.ID
	s.want(replaces, s.opens(request, &shared))
	s.want(orders, s.orders(&shared, request.At))
	s.want(ordersAgain, s.orders(&shared, later()))
	s.want(cancels, s.cancels(&shared))
	s.want(cancelsAgain, s.cancels(&shared))
}

func (s *meteredStall) checkingOutAsAStranger(limits) {
	var c checkout.Checkout
	s.want(checksOutStranger, s.opens(s.wanted("Alder", "203.0.113.7", noon()), &c))
}

// Counting a hold for its subnet and for its network costs no more than counting it for an address.
func (s *meteredStall) checkingOutOverIPv6(limits) {
	var c checkout.Checkout
	wanted := s.wanted("Alder", "2001:db8:5::/48", noon())
	wanted.Source.Subnet = "00a1"
	s.want(checksOutStranger, s.opens(wanted, &c))
}

func (s *meteredStall) redeemingWithinAQuota(of limits) {
	if of.uses != 1 { // from then on the process knows that the code has many uses
		_ = s.redeems("Visitor", "", noon(), new(voucher.Redemption))(within(s.t))
	}
	s.want(redeemsCounted, func(ctx context.Context) error {
		wanted := request(s.t, "SUMMER-20", "Alder", "")
		wanted.Quota = voucher.Quota{
			Source: "2001:db8:5::/48", Subnet: "00a1", Limit: 20, Network: 320,
			Start: noon(), End: noon().Add(time.Hour),
		}
		_, _, err := s.desk.Redeem(ctx, wanted)
		return err
	})
}

// fill holds every use of the code. It then requests one more, so that the code is marked as full.
func (s *meteredStall) fill(of limits) {
	s.t.Helper()
	for i := range of.uses {
		s.mustOpen(s.wanted(fmt.Sprint("Visitor ", i), "", noon()))
	}
	_, _, err := s.stall.opener.Open(within(s.t), s.wanted("Birch", "", noon()))
	wantRefused(s.t, err, voucher.ReasonUsedUp)
}

func (s *meteredStall) takingOver(of limits) {
	if of.uses == 0 {
		return
	}
	var c checkout.Checkout
	var r voucher.Redemption
	s.fill(of)
	s.want(takesOver, s.opens(s.wanted("Birch", "", later()), &c))
	s.want(redeemsOver, s.redeems("Cedar", "", later().Add(time.Hour), &r))
}

func (s *meteredStall) swapping(of limits) {
	if of.ofNick == 0 {
		return
	}
	var c checkout.Checkout
	s.mustOpen(s.wanted("Alder", "", noon()))
	s.want(swaps, s.opens(s.wanted("Alder", "", later()), &c))
}

func (s *meteredStall) orderingLate(limits) {
	c := s.mustOpen(s.wanted("Alder", "", noon()))
	s.want(ordersLate, s.orders(&c, later()))
}

func (s *meteredStall) refusing(of limits) {
	if of.uses == 0 {
		return
	}
	var c checkout.Checkout
	var r voucher.Redemption
	for i := range of.uses {
		s.mustOpen(s.wanted(fmt.Sprint("Visitor ", i), "", noon()))
	}
	if of.uses > 1 {
		s.want(findsFull, refuses(s.opens(s.wanted("Birch", "", noon()), &c)))
	}
	s.want(isRefused, refuses(s.opens(s.wanted("Birch", "", noon()), &c)))
	s.want(redeemsFull, refuses(s.redeems("Birch", "", noon(), &r)))
}

// A stranger must not be able to tell a code that is used up from an unknown one by the time that a wrong request takes.
// Only the first request that finds the code full takes more calls.
func (s *meteredStall) refusingWrongRequests(of limits) {
	if of.uses == 0 {
		return
	}
	for i := range of.uses {
		s.mustOpen(s.wanted(fmt.Sprint("Visitor ", i), "", noon()))
	}
	var c checkout.Checkout
	wrong := s.wanted("Birch", "", noon())
	wrong.Amount = 65
	if of.uses > 1 {
		s.want(findsFullWrongly, refuses(s.opens(wrong, &c)))
	}
	unknown := wrong
	unknown.Code = request(s.t, "SUMMER-21", "", "").Code
	for _, r := range []checkout.Request{wrong, unknown} {
		s.want(isRefused, refuses(s.opens(r, &c)))
		r.Replaces = checkout.ID(strings.Repeat("a", 44))
		s.want(isRefusedReplaced, refuses(s.opens(r, &c)))
	}
}

func (s *meteredStall) undoing(of limits) {
	var r, other voucher.Redemption
	if of.uses != 1 { // from then on the process knows that the code has many uses
		_ = s.redeems("Visitor", "", noon(), &other)(within(s.t))
	}
	s.want(redeems, s.redeems("Alder", "", noon(), &r))
	undo := func(ctx context.Context) error {
		about := request(s.t, "SUMMER-20", "Alder", "")
		_, _, err := s.undoer.Undo(ctx, voucher.UndoRequest{
			Shop: emberforge, Code: about.Code, ID: r.ID, At: later(), Reason: "charged twice",
		})
		return err
	}
	s.want(undoes, undo)
	s.want(undoesAgain, undo)
	s.want(redeemsAnew, s.redeems("Alder", "order-1047", later(), &r))
	if err := undo(within(s.t)); err != nil {
		s.t.Error(err)
	}
	s.want(redeemsNoMore, refuses(s.redeems("Alder", "order-1047", later(), &r)))
	s.want(lists, func(ctx context.Context) error {
		_, _, err := s.undoer.List(ctx, emberforge, request(s.t, "SUMMER-20", "", "").Code,
			voucher.RedemptionFilter{Limit: 50})
		return err
	})
}
