package event_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

func summer(id string) voucher.Redemption {
	return voucher.Redemption{
		ID: id, Code: "SUMMER20", Nick: "Alder", At: noon(),
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
}

func undone(r voucher.Redemption) voucher.Redemption {
	r.Undone, r.UndoReason = noon().Add(time.Hour), "charged twice"
	return r
}

func TestOfRedemption(t *testing.T) {
	t.Parallel()
	r := summer("3CqS0o1wm6_VInM79wKfDQ")
	created := event.Fact{Type: event.RedemptionCreated, Shop: emberforge, At: noon(), Redemption: &r}
	if got := event.OfRedemption(emberforge, r); !reflect.DeepEqual(got, []event.Fact{created}) {
		t.Errorf("a redemption: %+v", got)
	}
	after := undone(r)
	want := []event.Fact{created, {
		Type: event.RedemptionUndone, Shop: emberforge, At: noon().Add(time.Hour),
		Redemption: &after,
	}}
	if got := event.OfRedemption(emberforge, after); !reflect.DeepEqual(got, want) {
		t.Errorf("an undone redemption has the facts %+v, with the redemptions %+v and %+v", got, got[0].Redemption,
			got[1].Redemption)
	}
}

func TestOfOrder(t *testing.T) {
	t.Parallel()
	const placed, fulfilled, cancelled = 0, time.Hour, 2 * time.Hour
	payment := checkout.Payment{Provider: "stripe", Reference: "pi_1047"}
	at := func(after time.Duration) time.Time { return noon().Add(after) }
	asOf := func(kind event.Type, after time.Duration, order checkout.Order) event.Fact {
		order.Payment, order.Placed = payment, at(placed)
		return event.Fact{
			Type: kind, Shop: emberforge, At: at(after),
			Order: &checkout.Checkout{ID: "b", Code: "SUMMER20", Order: &order},
		}
	}
	created := asOf(event.OrderCreated, placed, checkout.Order{})
	delivered := asOf(event.OrderFulfilled, fulfilled, checkout.Order{Fulfilled: at(fulfilled)})
	for what, test := range map[string]struct {
		order *checkout.Order
		want  []event.Fact
	}{
		"not ordered": {nil, nil},
		"placed":      {&checkout.Order{Payment: payment, Placed: at(placed)}, []event.Fact{created}},
		"fulfilled": {
			&checkout.Order{Payment: payment, Placed: at(placed), Fulfilled: at(fulfilled)},
			[]event.Fact{created, delivered},
		},
		"cancelled": {
			&checkout.Order{Payment: payment, Placed: at(placed), Cancelled: at(cancelled), Reason: "chargeback"},
			[]event.Fact{created, asOf(event.OrderCancelled, cancelled,
				checkout.Order{Cancelled: at(cancelled), Reason: "chargeback"})},
		},
		"fulfilled and cancelled": {
			&checkout.Order{
				Payment: payment, Placed: at(placed), Fulfilled: at(fulfilled), Cancelled: at(cancelled),
				Reason: "chargeback",
			},
			[]event.Fact{
				created, delivered,
				asOf(event.OrderCancelled, cancelled,
					checkout.Order{Fulfilled: at(fulfilled), Cancelled: at(cancelled), Reason: "chargeback"}),
			},
		},
	} {
		got := event.OfOrder(emberforge, checkout.Checkout{ID: "b", Code: "SUMMER20", Order: test.order})
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v; want %+v", what, got, test.want)
		}
	}
}

// A fact that is found again must get the same ID, even if other data of its redemption or order have changed.
func TestFactID_DependsOnTypeShopAndSubjectOnly(t *testing.T) {
	t.Parallel()
	r := summer("3CqS0o1wm6_VInM79wKfDQ")
	first := event.OfRedemption(emberforge, r)[0]
	edited := r
	edited.Nick, edited.At = "ALDER", noon().Add(time.Hour)
	if again := event.OfRedemption(emberforge, undone(edited))[0]; again.ID() != first.ID() || len(first.ID()) != 22 {
		t.Errorf("the IDs of one fact are %s and %s, want the same 22 characters", first.ID(), again.ID())
	}
	ids := map[event.ID]string{first.ID(): "first"}
	for what, other := range map[string]event.Fact{
		"another type":       event.OfRedemption(emberforge, undone(r))[1],
		"another shop":       event.OfRedemption(sakura, r)[0],
		"another redemption": event.OfRedemption(emberforge, summer("LmX0aPqv0YcLyd2ZKfPjzw"))[0],
		"an order": {
			Type: event.OrderCreated, Shop: emberforge, Order: &checkout.Checkout{ID: checkout.ID(r.ID)},
		},
		"the same order, another type": {
			Type: event.OrderCancelled, Shop: emberforge, Order: &checkout.Checkout{ID: checkout.ID(r.ID)},
		},
	} {
		if taken, is := ids[other.ID()]; is {
			t.Errorf("%s has the ID of %s", what, taken)
		}
		ids[other.ID()] = what
	}
}

func TestTypes_ListsEveryType(t *testing.T) {
	t.Parallel()
	order := &checkout.Order{Placed: noon(), Fulfilled: noon(), Cancelled: noon()}
	var found []event.Type
	for _, fact := range slices.Concat(
		event.OfRedemption(emberforge, undone(summer("3CqS0o1wm6_VInM79wKfDQ"))),
		event.OfOrder(emberforge, checkout.Checkout{Order: order}),
	) {
		found = append(found, fact.Type)
	}
	if !slices.Equal(found, event.Types()) {
		t.Errorf("the facts have the types %s; Types lists %s", found, event.Types())
	}
}

func TestNews(t *testing.T) {
	t.Parallel()
	one, two := summer("3CqS0o1wm6_VInM79wKfDQ"), summer("LmX0aPqv0YcLyd2ZKfPjzw")
	of := func(redemptions ...voucher.Redemption) (facts [][]event.Fact) {
		for _, r := range redemptions {
			facts = append(facts, event.OfRedemption(emberforge, r))
		}
		return facts
	}
	for what, test := range map[string]struct {
		before, after [][]event.Fact
		want          string
	}{
		"a first redemption":                {nil, of(one), "created one"},
		"no change":                         {of(one), of(one), ""},
		"another redemption in the item":    {of(one), of(one, two), "created two"},
		"undone":                            {of(one), of(undone(one)), "created one, undone one"},
		"undone, and the item is new":       {nil, of(undone(one)), "created one, undone one"},
		"already undone":                    {of(undone(one)), of(undone(one)), ""},
		"it moves to another item":          {of(one), nil, ""},
		"one moves away, one stays":         {of(one, two), of(two), ""},
		"another redemption replaces it":    {of(one), of(two), "created two"},
		"two redemptions at once, in order": {nil, of(two, one), "created two, created one"},
	} {
		got := ""
		for _, fact := range event.News(test.before, test.after) {
			if got != "" {
				got += ", "
			}
			got += strings.TrimPrefix(string(fact.Type), "redemption.") + map[string]string{
				one.ID: " one",
				two.ID: " two",
			}[fact.Redemption.ID]
		}
		if got != test.want {
			t.Errorf("%s: %q; want %q", what, got, test.want)
		}
	}
}

func TestNews_OrderChanges_ReturnsTheEarlierFactsToo(t *testing.T) {
	t.Parallel()
	of := func(order checkout.Order) [][]event.Fact {
		order.Placed = noon()
		return [][]event.Fact{event.OfOrder(emberforge, checkout.Checkout{ID: "b", Order: &order})}
	}
	placed, fulfilled := of(checkout.Order{}), of(checkout.Order{Fulfilled: noon()})
	cancelled := of(checkout.Order{Fulfilled: noon(), Cancelled: noon()})
	var none [][]event.Fact
	for what, test := range map[string]struct {
		before, after [][]event.Fact
		want          []event.Type
	}{
		"placed":                             {none, placed, event.Types()[2:3]},
		"fulfilled":                          {placed, fulfilled, event.Types()[2:4]},
		"cancelled":                          {fulfilled, cancelled, event.Types()[2:5]},
		"cancelled, earlier states not seen": {none, cancelled, event.Types()[2:5]},
		"nothing new":                        {cancelled, cancelled, nil},
	} {
		var got []event.Type
		for _, fact := range event.News(test.before, test.after) {
			got = append(got, fact.Type)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %s; want %s", what, got, test.want)
		}
	}
}
