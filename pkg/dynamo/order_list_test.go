package dynamo_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/money"
)

// takeOrders stores one order for each number, placed that many milliseconds after noon. It returns the orders newest
// first. Of orders that were placed at the same time, the last one given here counts as the newest.
func (k *till) takeOrders(millis ...int) []checkout.Checkout {
	k.t.Helper()
	var taken []checkout.Checkout
	for i, after := range millis {
		placed := noon().Add(time.Duration(after) * time.Millisecond)
		c := checkout.Checkout{
			ID: checkout.ID(fmt.Sprintf("%022d%022d", i, i)), Product: "coins", Variant: "500", Amount: 1,
			Total: money.Money{Minor: 499, Currency: "EUR"}, Created: noon().Add(-time.Hour), Expires: noon(),
		}
		if _, err := k.opener.Store.Open(within(k.t), checkout.Opening{Shop: emberforge, Checkout: c}); err != nil {
			k.t.Fatal(err)
		}
		taken = append(taken, k.must(k.orders.Place(within(k.t), emberforge, c.ID, stripe("pi_1047"), placed)))
	}
	slices.Reverse(taken)
	slices.SortStableFunc(taken, func(a, b checkout.Checkout) int { return b.Order.Placed.Compare(a.Order.Placed) })
	return taken
}

// list returns all pages of a list.
func (k *till) list(filter checkout.OrderFilter) (pages [][]checkout.Checkout) {
	k.t.Helper()
	for {
		page, end, err := k.orders.List(within(k.t), emberforge, filter)
		if err != nil {
			k.t.Fatalf("%+v: %v", filter, err)
		}
		pages = append(pages, page)
		if end == nil {
			return pages
		}
		filter.After = end
	}
}

func (k *till) wantList(what string, filter checkout.OrderFilter, want []checkout.Checkout) {
	k.t.Helper()
	var got []checkout.Checkout
	for _, page := range k.list(filter) {
		if len(page) > filter.Limit {
			k.t.Errorf("%s: a page has %d orders, more than %d", what, len(page), filter.Limit)
		}
		got = append(got, page...)
	}
	if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		k.t.Errorf("%s: listed %s\nwant %s", what, summary(got), summary(want))
	}
}

func summary(orders []checkout.Checkout) (lines []string) {
	for _, c := range orders {
		lines = append(lines, fmt.Sprintf("%s %s %s", c.ID[:22], c.Order.Placed.Format(time.StampMilli),
			c.Order.Status()))
	}
	return lines
}

func TestListOrders_AreNewestFirst(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	k.wantList("no orders", checkout.OrderFilter{Limit: 50}, nil)
	k.mustOpen(coins("1047"))
	k.wantList("a checkout, but no orders", checkout.OrderFilter{Limit: 50}, nil)
	orders := k.takeOrders(-1, 0, 1, 1000, -1000, 7)
	k.wantList("orders", checkout.OrderFilter{Limit: 50}, orders)
}

// Orders that were placed at the same time are sorted by their token, so that a page can end between them.
func TestListOrders_Pages_HaveNoGapsAndNoDuplicates(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	orders := k.takeOrders(0, 5, 5, 5, 5, 1, 2, 2, 9, 9, 9, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)
	var cancelled []checkout.Checkout
	for i := 0; i < len(orders); i += 4 {
		orders[i] = k.mustCancel(orders[i])
		cancelled = append(cancelled, orders[i])
	}
	for _, oldestFirst := range []bool{false, true} {
		for limit := 1; limit <= len(orders)+1; limit++ {
			what := fmt.Sprintf("%d on a page, oldest first %t", limit, oldestFirst)
			filter := checkout.OrderFilter{Limit: limit, OldestFirst: oldestFirst}
			k.wantList(what, filter, orders)
			filter.Status = checkout.OrderCancelled
			k.wantList(what+", cancelled", filter, cancelled)
		}
		slices.Reverse(orders)
		slices.Reverse(cancelled)
	}
}

func TestListOrders_OrderPlacedMeanwhile_DisturbsNoPage(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	orders := k.takeOrders(0, 1, 2, 3)
	first, end, err := k.orders.List(within(t), emberforge, checkout.OrderFilter{Limit: 2})
	if err != nil || !reflect.DeepEqual(first, orders[:2]) {
		t.Fatalf("first page: %s, %v", summary(first), err)
	}
	k.must(k.orders.Place(within(t), emberforge, k.mustOpen(coins("")).ID, stripe("pi_1048"), noon().Add(time.Second)))
	// the last order of the first page
	k.must(k.orders.Cancel(within(t), emberforge, first[1].ID, "out of stock", noon().Add(time.Second)))
	k.wantList("following pages", checkout.OrderFilter{Limit: 2, After: end}, orders[2:])
}

func TestListOrders_FromAndUntil_LimitTheTimes(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	orders := k.takeOrders(0, 1, 1, 2, 3) // newest first: 3, 2, 1, 1, 0
	at := func(millis int) time.Time { return noon().Add(time.Duration(millis) * time.Millisecond) }
	unset, year2300, year9999 := time.Time{}, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		from, until time.Time
		want        []checkout.Checkout
	}{
		"without times":                  {unset, unset, orders},
		"from, inclusive":                {at(1), unset, orders[:4]},
		"until, exclusive":               {unset, at(1), orders[4:]},
		"both":                           {at(1), at(3), orders[1:4]},
		"one moment":                     {at(1), at(2), orders[2:4]},
		"an empty range":                 {at(1), at(1), nil},
		"a range that ends before":       {at(3), at(1), nil},
		"from half a millisecond later":  {at(1).Add(500 * time.Microsecond), unset, orders[:2]},
		"until half a millisecond later": {unset, at(1).Add(500 * time.Microsecond), orders[2:]},
		"from the first moment of 1970":  {time.Unix(0, 0), unset, orders},
		"from before 1970":               {time.Unix(-1, 0), unset, orders},
		"until before 1970":              {unset, time.Unix(-1, 0), nil},
		"after the last order":           {at(4), unset, nil},
		"before the first order":         {unset, at(0), nil},
		"until the year 2300":            {unset, year2300, orders},
		"from the year 2300":             {year2300, unset, nil},
		"from the year 2300 until 9999":  {year2300, year9999, nil},
	}
	for what, test := range tests {
		for _, limit := range []int{1, 50} {
			filter := checkout.OrderFilter{From: test.from, Until: test.until, Limit: limit}
			k.wantList(fmt.Sprintf("%s, %d on a page", what, limit), filter, test.want)
		}
	}
}

// A client may send a cursor of one list with the times of another. The response then has the orders that follow the
// cursor and were placed within these times.
func TestListOrders_CursorOfAListWithOtherTimes_Continues(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	orders := k.takeOrders(0, 1, 2, 3, 4) // newest first: 4, 3, 2, 1, 0
	at := func(millis int) time.Time { return noon().Add(time.Duration(millis) * time.Millisecond) }
	after := func(index int) *checkout.OrderPosition {
		return &checkout.OrderPosition{Placed: orders[index].Order.Placed, Token: orders[index].ID.Token()}
	}
	unknownOrder := checkout.OrderPosition{Placed: at(2), Token: "zzzzzzzzzzzzzzzzzzzzzz"}
	// in the year 33658
	tooFar := checkout.OrderPosition{Placed: time.UnixMilli(999_999_999_999_999), Token: unknownOrder.Token}
	tests := map[string]struct {
		after       *checkout.OrderPosition
		from, until time.Time
		want        []checkout.Checkout
	}{
		"in the range":                  {after(2), at(1), at(4), orders[3:4]},
		"the newest of the range":       {after(1), at(1), at(4), orders[2:4]},
		"the oldest of the range":       {after(3), at(1), at(4), nil},
		"newer than the range":          {after(0), at(1), at(3), orders[2:4]},
		"just newer than the range":     {after(1), at(1), at(3), orders[2:4]},
		"older than the range":          {after(4), at(1), at(3), nil},
		"with an empty range":           {after(2), at(2), at(2), nil},
		"with a range that ends before": {after(2), at(3), at(1), nil},
		"of an unknown order":           {&unknownOrder, at(1), at(4), orders[2:4]},
		"in the far future":             {&tooFar, at(1), at(3), orders[2:4]},
	}
	for what, test := range tests {
		k.wantList(what, checkout.OrderFilter{From: test.from, Until: test.until, After: test.after, Limit: 2},
			test.want)
	}
}

func TestListOrders_Status_SelectsTheOrders(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	orders := k.takeOrders(0, 1, 2, 3, 4, 5)
	for _, i := range []int{1, 2, 5} {
		orders[i] = k.mustFulfil(orders[i])
	}
	for _, i := range []int{0, 2} { // order 2 was fulfilled before
		orders[i] = k.mustCancel(orders[i])
	}
	for status, want := range map[checkout.OrderStatus][]checkout.Checkout{
		"":                      orders,
		checkout.OrderPlaced:    {orders[3], orders[4]},
		checkout.OrderFulfilled: {orders[1], orders[5]},
		checkout.OrderCancelled: {orders[0], orders[2]},
	} {
		for _, limit := range []int{1, 2, 50} {
			k.wantList(fmt.Sprintf("%q, %d on a page", status, limit),
				checkout.OrderFilter{Status: status, Limit: limit}, want)
		}
	}
}

// A page reads each shelf at most five times. So a list of orders with a rare status may have short or empty pages
// before its last page.
func TestListOrders_RareStatus_TakesFewCallsPerPage(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	millis := make([]int, 60)
	for i := range millis {
		millis[i] = i
	}
	orders := k.takeOrders(millis...)
	rare := k.mustCancel(orders[50])
	network, option := counted()
	filter := checkout.OrderFilter{Status: checkout.OrderCancelled, Limit: 1}
	counting := ordersOf(newClient(t, option), k.checkouts)
	var got []checkout.Checkout
	pages := 0
	for {
		page, end, err := counting.List(within(t), emberforge, filter)
		must(t, err)
		if calls := network.calls.Swap(0); calls > 5*table.Shelves {
			t.Errorf("page %d took %d calls, want at most five for each shelf", pages, calls)
		}
		got = append(got, page...)
		if pages++; end == nil {
			break
		}
		filter.After = end
	}
	if len(got) != 1 || !reflect.DeepEqual(got[0], rare) || pages == 1 {
		t.Errorf("%d pages with %s, want several with the cancelled order", pages, summary(got))
	}
}

// A page can have as many orders as allowed, even if all of them have the largest data.
func TestListOrders_LargestPage_IsComplete(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	const many = checkout.MaxOrdersPerPage
	data, err := checkout.ParseData(string(slices.Repeat([]byte("x"), checkout.MaxDataBytes)))
	must(t, err)
	var placing []func()
	errs := make([]error, many)
	for i := range many {
		request := coins("")
		request.Data = data
		placing = append(placing, func() {
			c, _, err := k.opener.Open(within(t), request)
			if err == nil {
				_, _, err = k.orders.Place(within(t), emberforge, c.ID, stripe(fmt.Sprint("pi_", i)), noon())
			}
			errs[i] = err
		})
	}
	atOnce(placing...)
	must(t, errors.Join(errs...))
	if orders, _, err := k.orders.List(within(t), emberforge, checkout.OrderFilter{Limit: many}); len(orders) != many ||
		err != nil {
		t.Errorf("a page has %d orders, %v, want %d", len(orders), err, many)
	}
}
