package backoffice_test

import (
	"slices"
	"testing"
	"time"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/checkout"
)

func TestOrders_MoreThanAPage_AreAllListedOldestFirst(t *testing.T) {
	s := newTables(t).newShop(t)
	const count = checkout.MaxOrdersPerPage + 3
	for range count {
		s.checkOut(s.opened)
	}
	made, err := backoffice.Collect(s.operator.Checkouts(t.Context(), checkout.Filter{}, s.opened))
	if err != nil {
		t.Fatal(err)
	}
	var want []checkout.ID
	for i, c := range made {
		at := s.opened.Add(time.Duration(i) * time.Millisecond)
		if _, _, err := s.operator.PlaceOrder(t.Context(), c.ID,
			checkout.Payment{Provider: "stripe", Reference: "pi_3QK8ZbF2eZvKYlo1"}, at); err != nil {
			t.Fatal(err)
		}
		want = append(want, c.ID)
	}
	for name, c := range map[string]struct {
		filter checkout.OrderFilter
		want   []checkout.ID
	}{
		"all":       {checkout.OrderFilter{}, want},
		"placed":    {checkout.OrderFilter{Status: checkout.OrderPlaced}, want},
		"fulfilled": {checkout.OrderFilter{Status: checkout.OrderFulfilled}, nil},
		"in a period": {checkout.OrderFilter{
			From:  s.opened.Add(time.Millisecond),
			Until: s.opened.Add(count * time.Millisecond),
		}, want[1:count]},
	} {
		orders, err := backoffice.Collect(s.operator.Orders(t.Context(), c.filter))
		if err != nil {
			t.Fatal(err)
		}
		var listed []checkout.ID
		for _, order := range orders {
			listed = append(listed, order.ID)
		}
		if !slices.Equal(listed, c.want) {
			t.Errorf("%s: %d listed, want %d, oldest first", name, len(listed), len(c.want))
		}
	}
}

func TestOrders_FirstChangeAtATimeWithMicroseconds_IsNotReportedAsReplayed(t *testing.T) {
	s := newTables(t).newShop(t)
	s.checkOut(s.opened)
	made, err := backoffice.Collect(s.operator.Checkouts(t.Context(), checkout.Filter{}, s.opened))
	if err != nil {
		t.Fatal(err)
	}
	id, now := made[0].ID, s.opened.Add(time.Second+time.Microsecond)
	for _, c := range []struct {
		change string
		do     func() (checkout.Checkout, bool, error)
	}{
		{"placed", func() (checkout.Checkout, bool, error) {
			return s.operator.PlaceOrder(t.Context(), id,
				checkout.Payment{Provider: "stripe", Reference: "pi_3QK8ZbF2eZvKYlo1"}, now)
		}},
		{"fulfilled", func() (checkout.Checkout, bool, error) { return s.operator.FulfilOrder(t.Context(), id, now) }},
		{"cancelled", func() (checkout.Checkout, bool, error) {
			return s.operator.CancelOrder(t.Context(), id, "asked for a refund", now)
		}},
	} {
		if _, replayed, err := c.do(); err != nil || replayed {
			t.Errorf("%s for the first time: replayed %t, %v", c.change, replayed, err)
		}
	}
}
