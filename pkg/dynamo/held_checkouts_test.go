package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/access"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// stall checks out coins with codes, in its own tables.
type stall struct {
	*shop

	tables dynamo.Tables
	opener checkout.Opener
	orders checkout.Orders
}

func newStall(t testing.TB) *stall {
	s := &stall{shop: newShop(t)}
	s.tables = dynamo.Tables{
		Checkouts: dynamotest.Table(t, "CheckoutsTable"), Vouchers: s.table,
		Refusals: dynamotest.Table(t, "RefusalsTable"),
	}
	api := restricted{s.client, t, s.table}
	s.opener = checkout.Opener{
		Catalogue: coinsOnSale{}, Store: dynamo.NewCheckouts(api, s.tables, mathrand.Int64N), Random: rand.Reader,
	}
	s.orders = checkout.Orders{Store: dynamo.NewOrders(api, s.tables.Checkouts, s.tables.Vouchers, mathrand.Int64N)}
	return s
}

// restricted is a client with the rights of a checkout function: an update in the vouchers table may not name the
// reward, the limit per nick or the number of parts, not even in a condition.
type restricted struct {
	dynamo.CheckoutsAPI

	t        testing.TB
	vouchers string
}

func (r restricted) check(tableName *string, attributes iter.Seq[string]) {
	for attribute := range attributes {
		switch attribute {
		case table.AttrReward, table.AttrCurrency, table.AttrPerNick, table.AttrParts:
			if *tableName == r.vouchers {
				r.t.Errorf("a checkout's write names %s, which the role of the function does not allow", attribute)
			}
		}
	}
}

func (r restricted) UpdateItem(
	ctx context.Context, input *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	r.check(input.TableName, maps.Values(input.ExpressionAttributeNames))
	return r.CheckoutsAPI.UpdateItem(ctx, input, options...)
}

func (r restricted) TransactWriteItems(
	ctx context.Context, input *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, item := range input.TransactItems {
		if update := item.Update; update != nil {
			r.check(update.TableName, maps.Values(update.ExpressionAttributeNames))
		}
	}
	return r.CheckoutsAPI.TransactWriteItems(ctx, input, options...)
}

// percent20 creates SUMMER-20, which takes 20 % off.
func (s *stall) percent20(maxUses, perNick voucher.Limit) voucher.Voucher {
	s.t.Helper()
	terms := voucher.Terms{
		Written: "SUMMER-20", MaxUses: &maxUses,
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
	if maxUses != 1 {
		terms.MaxUsesPerNick = &perNick
	}
	return s.create(terms)
}

// wanted returns a request for one pack of coins with the code SUMMER-20. The nick and the source may be empty.
func (s *stall) wanted(nick, source string, at time.Time) checkout.Request {
	s.t.Helper()
	r := request(s.t, "SUMMER-20", nick, "")
	return checkout.Request{
		Shop: emberforge, Product: "coins", Variant: "500", Code: r.Code, Nick: r.Nick,
		Source: access.Source{Name: source}, At: at,
	}
}

// An address may have 20 live holds. So may each IPv6 subnet, but all subnets of a /48 have a limit of their own. A hold
// frees its place when it lapses.
func TestOpenHeld_SourceOrNetwork_HasALimitOfLiveHolds(t *testing.T) {
	t.Parallel()
	// not noon: DynamoDB Local deletes items whose time to live is over
	now := time.Now().UTC().Truncate(time.Millisecond)
	lapse := voucher.HeldUntil(now.Add(checkout.Lifetime))
	network := access.Source{Name: "2001:db8:5::/48"}
	full := network
	full.Subnet = "0000"
	var subnets []access.Source // all but full
	for i := range checkout.MaxHoldsPerNetwork - checkout.MaxHoldsPerSource {
		subnets = append(subnets, access.Source{Name: network.Name, Subnet: fmt.Sprintf("%04x", 1+i%20)})
	}
	address := access.Source{Name: "203.0.113.7"}
	for what, test := range map[string]struct {
		others         []access.Source // each has a hold
		source, beside access.Source   // the source at its limit, and one that is not
	}{
		"address":           {nil, address, access.Source{Name: "203.0.113.8"}},
		"the shop's server": {nil, address, access.Source{}},
		"subnet":            {nil, full, access.Source{Name: network.Name, Subnet: "00ff"}},
		"network":           {subnets, full, access.Source{Name: "2001:db8:6::/48", Subnet: "0000"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			s.percent20(1000, voucher.NoLimit)
			wanted := func(source access.Source, at time.Time) checkout.Request {
				r := s.wanted("", "", at)
				r.Source = source
				return r
			}
			for _, source := range append(test.others, slices.Repeat([]access.Source{test.source}, 20)...) {
				s.mustOpen(wanted(source, now))
			}
			another := test.source
			if test.others != nil {
				another.Subnet = "00ff"
			}
			_, _, err := s.opener.Open(within(t), wanted(another, now.Add(time.Second)))
			if tooMany, is := errors.AsType[*checkout.TooManyHoldsError](err); !is || !tooMany.Until.Equal(lapse) {
				t.Errorf("Open = %v; want a *checkout.TooManyHoldsError until %s", err, lapse)
			}
			s.mustOpen(wanted(test.beside, now))
			s.mustOpen(wanted(another, lapse))
			s.createFor(sakura, voucher.Terms{
				Written: "SUMMER-20", MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.NoLimit),
				Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 10},
			})
			elsewhere := wanted(another, now)
			elsewhere.Shop = sakura
			s.mustOpen(elsewhere)
		})
	}
}

// Checkouts of one nick can share a hold. Sharing makes the hold last longer, but the source still has only one hold.
func TestOpenHeld_SharedHold_CountsOnceForItsSource(t *testing.T) {
	t.Parallel()
	for what, limits := range map[string][2]voucher.Limit{"single-use": {1, 0}, "one for each nick": {100, 1}} {
		s := newStall(t)
		s.percent20(limits[0], limits[1])
		at := time.Now().UTC().Truncate(time.Millisecond)
		for i := range checkout.MaxHoldsPerSource + 5 {
			if _, _, err := s.opener.Open(within(t), s.wanted("Alder", "203.0.113.7", at)); err != nil {
				t.Fatalf("%s: checkout %d: %v", what, i, err)
			}
			at = at.Add(20 * time.Second)
		}
	}
}

func TestOpenHeld_ReplacementWithoutANick_KeepsTheHold(t *testing.T) {
	t.Parallel()
	for what, maxUses := range map[string]voucher.Limit{"single-use": 1, "limited": 2} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			if v := s.percent20(maxUses, voucher.NoLimit); v.Limited() {
				s.mustOpen(s.wanted("", "", noon())) // the other use
			}
			replaceACheckout(s, noon().Add(time.Minute))
		})
	}
}

// replaceACheckout opens a checkout that holds the last use of a code, and replaces that checkout at the given time.
func replaceACheckout(s *stall, at time.Time) {
	s.t.Helper()
	old := s.mustOpen(s.wanted("", "", noon()))
	changed := s.wanted("", "", at)
	if _, _, err := s.opener.Open(within(s.t), changed); err == nil {
		s.t.Error("the last use is held twice")
	}
	changed.Replaces, changed.Amount = old.ID, 3
	c := s.mustOpen(changed)
	if c.Total.Minor != 1200 {
		s.t.Errorf("the new checkout is %+v, want a total of 12.00 EUR", c)
	}
	if err := s.order(old, at); !errors.Is(err, checkout.ErrReplaced) {
		s.t.Errorf("ordering the replaced checkout = %v, want checkout.ErrReplaced", err)
	}
	if err := s.order(c, at); err != nil {
		s.t.Errorf("ordering the new checkout = %v", err)
	}
	if _, _, err := s.opener.Open(within(s.t), changed); !isUsedUp(err) { // the code is checked before Replaces
		s.t.Errorf("replacing the checkout again = %v, want a refusal as used up", err)
	}
	changed.Code = ""
	if _, _, err := s.opener.Open(within(s.t), changed); !errors.Is(err, checkout.ErrNotReplaceable) {
		s.t.Errorf("replacing the checkout again without the code = %v, want checkout.ErrNotReplaceable", err)
	}
}

func isUsedUp(err error) bool {
	reason, _ := voucher.IsRefusal(err)
	return reason == voucher.ReasonUsedUp
}

func (s *stall) order(c checkout.Checkout, at time.Time) error {
	s.t.Helper()
	_, _, err := s.orders.Place(within(s.t), emberforge, c.ID,
		checkout.Payment{Provider: "stripe", Reference: "pi_" + string(c.ID[:8])}, at)
	return err
}

// Until its hold lapses, a checkout can be ordered, no matter what the operator has edited. A lapsed hold still counts,
// unless others need it. If the operator has lowered the limit below the uses taken, lapsed holds pay for that first.
func TestOrders_VoucherEditedMeanwhile_AreHonoured(t *testing.T) {
	t.Parallel()
	for what, edit := range map[string]voucher.Edit{
		"disabled": {Disabled: new(true)}, "expired": {ValidUntil: new(noon())},
		"bound to another nick": {Nick: new("Birch")},
		"limit lowered":         {MaxUses: new(voucher.Limit(2))},
	} {
		for _, late := range []time.Duration{time.Second, time.Hour} {
			t.Run(fmt.Sprint(what, ", ordered after ", late), func(t *testing.T) {
				t.Parallel()
				want := 4
				if edit.MaxUses != nil && late == time.Hour {
					want = int(*edit.MaxUses)
				}
				if ordered := orderAfterEdit(newStall(t), edit, noon().Add(late)); ordered != want {
					t.Errorf("%d of 4 are ordered, want %d", ordered, want)
				}
			})
		}
	}
}

// orderAfterEdit opens checkouts that hold all four uses of a code, edits the code, and orders the checkouts at the
// given time. It returns how many are ordered. The others are expired.
func orderAfterEdit(s *stall, edit voucher.Edit, at time.Time) (ordered int) {
	s.t.Helper()
	v := s.percent20(4, voucher.NoLimit)
	var held []checkout.Checkout
	for range 4 {
		held = append(held, s.mustOpen(s.wanted("Alder", "", noon())))
	}
	s.mustEdit(v, edit)
	for _, c := range held {
		if err := s.order(c, at); err == nil {
			ordered++
		} else if !errors.Is(err, checkout.ErrExpired) {
			s.t.Errorf("the order = %v", err)
		}
	}
	return ordered
}

func TestOpenHeld_AnotherShopsCheckout_IsNotReplaced(t *testing.T) {
	t.Parallel()
	s := newStall(t)
	s.percent20(2, voucher.NoLimit)
	old := s.mustOpen(s.wanted("", "", noon()))
	request := checkout.Request{
		Shop: sakura, Product: "coins", Variant: "500",
		Replaces: old.ID, At: noon(),
	}
	if _, _, err := s.opener.Open(within(t), request); !errors.Is(err, checkout.ErrNotReplaceable) {
		t.Errorf("Open = %v, want checkout.ErrNotReplaceable", err)
	}
}
