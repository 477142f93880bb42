package checkout_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
)

// orderStore is a checkout.OrderStore in memory.
type orderStore struct{ *fakeStore }

func (s orderStore) Place(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, order checkout.Order, expiresAfter time.Time,
) (checkout.Checkout, error) {
	return s.change(ctx, shop, id, func(c *checkout.Checkout) {
		isPaid := order.Payment != checkout.Payment{} || c.Total.Minor == 0
		if c.Order == nil && c.Expires.After(expiresAfter) && isPaid {
			c.Order = &order
		}
	})
}

func (s orderStore) Fulfil(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, at time.Time,
) (checkout.Checkout, error) {
	return s.change(ctx, shop, id, func(c *checkout.Checkout) {
		if c.Order != nil && c.Order.Status() == checkout.OrderPlaced {
			c.Order.Fulfilled = at
		}
	})
}

func (s orderStore) Cancel(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, reason string, at time.Time,
) (checkout.Checkout, error) {
	return s.change(ctx, shop, id, func(c *checkout.Checkout) {
		if c.Order != nil && c.Order.Status() != checkout.OrderCancelled {
			c.Order.Cancelled, c.Order.Reason = at, reason
		}
	})
}

func (s orderStore) Release(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout,
) (checkout.Checkout, bool, error) {
	released := false
	stored, err := s.change(ctx, shop, c.ID, func(c *checkout.Checkout) {
		released = !c.HasEnded()
		c.Released = c.Released || released
	})
	return stored, released, err
}

func (s orderStore) List(
	_ context.Context, shop catalog.ShopID, filter checkout.OrderFilter,
) (orders []checkout.Checkout, end *checkout.OrderPosition, err error) {
	for token, c := range s.stored[shop] {
		if c.Order != nil && c.Order.Status() == filter.Status {
			return []checkout.Checkout{c}, &checkout.OrderPosition{Placed: c.Order.Placed, Token: token}, s.err
		}
	}
	return nil, nil, s.err
}

// change calls the parameter change with the stored checkout if that has the ID. It returns a copy of what is stored
// afterwards.
func (s orderStore) change(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, change func(*checkout.Checkout),
) (checkout.Checkout, error) {
	stored, err := s.Recall(ctx, shop, id.Token())
	if err != nil {
		return checkout.Checkout{}, err
	}
	if stored.Order != nil {
		stored.Order = new(*stored.Order)
	}
	if stored.ID == id {
		change(&stored)
	}
	s.stored[shop][id.Token()] = stored
	return stored, nil
}

// till takes the orders of emberforge's shoppers.
type till struct {
	checkout.Orders
	*checkout.Opener

	t     *testing.T
	store *fakeStore
}

func newTill(t *testing.T) *till {
	opener, store := newOpener()
	return &till{Orders: checkout.Orders{Store: orderStore{store}}, Opener: opener, t: t, store: store}
}

func stripe(reference string) checkout.Payment {
	return checkout.Payment{Provider: "stripe", Reference: reference}
}

// mustPlace turns a checkout into an order that is paid with pi_1047.
func (s *till) mustPlace(c checkout.Checkout, at time.Time) checkout.Checkout {
	s.t.Helper()
	order, replayed, err := s.Place(s.t.Context(), emberforge, c.ID, stripe("pi_1047"), at)
	if replayed || err != nil {
		s.t.Fatalf("Place = replayed %v, %v", replayed, err)
	}
	return order
}

// wantOrder fails the test unless got is the checkout as it was opened, with the wanted order.
func wantOrder(t *testing.T, got, opened checkout.Checkout, want checkout.Order) {
	t.Helper()
	if got.Order == nil || *got.Order != want {
		t.Errorf("order is %+v, want %+v", got.Order, want)
	}
	if got.Order = nil; got != opened {
		t.Errorf("checkout is %+v, want it unchanged: %+v", got, opened)
	}
}

func TestPlace_OpenCheckout_BecomesAnOrder(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	paid := noon.Add(5 * time.Minute)
	got := s.mustPlace(c, paid)
	wantOrder(t, got, c, checkout.Order{Payment: stripe("pi_1047"), Placed: paid})
	if now, later := got.Status(paid),
		got.Status(c.Expires); now != checkout.StatusOrdered || later != checkout.StatusOrdered {
		t.Errorf("status is %s, and %s after the expiry", now, later)
	}
	if shown, err := s.Show(t.Context(), emberforge, c.ID); err != nil || *shown.Order != *got.Order {
		t.Errorf("Show = %+v, %v", shown, err)
	}
}

func TestPlace_SamePaymentAgain_IsReplayed(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	first := s.mustPlace(c, noon)
	for what, later := range map[string]time.Time{
		"a moment later": noon.Add(time.Millisecond),
		"a year later":   noon.AddDate(1, 0, 0),
	} {
		got, replayed, err := s.Place(t.Context(), emberforge, c.ID, stripe("pi_1047"), later)
		if !replayed || err != nil || *got.Order != *first.Order {
			t.Errorf("%s: Place = %+v, replayed %v, %v", what, got.Order, replayed, err)
		}
	}
}

func TestPlace_FulfilledOrder_IsReplayed(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	s.mustPlace(c, noon)
	fulfilled, _, err := s.Fulfil(t.Context(), emberforge, c.ID, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	got, replayed, err := s.Place(t.Context(), emberforge, c.ID, stripe("pi_1047"), noon.Add(2*time.Hour))
	if !replayed || err != nil || *got.Order != *fulfilled.Order {
		t.Errorf("Place = %+v, replayed %v, %v", got.Order, replayed, err)
	}
}

func TestPlace_AnotherPayment_IsAMismatch(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	s.mustPlace(c, noon)
	for what, payment := range map[string]checkout.Payment{
		"another reference": stripe("pi_1048"),
		"another provider":  {Provider: "paypal", Reference: "pi_1047"},
		"no payment":        {},
	} {
		if _, _, err := s.Place(t.Context(), emberforge, c.ID, payment, noon.Add(time.Minute)); !errors.Is(err,
			checkout.ErrPaymentMismatch) {
			t.Errorf("%s: Place = %v, want checkout.ErrPaymentMismatch", what, err)
		}
	}
	got, err := s.Show(t.Context(), emberforge, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantOrder(t, got, c, checkout.Order{Payment: stripe("pi_1047"), Placed: noon})
}

func TestPlace_OnePayment_PaysSeveralCheckouts(t *testing.T) {
	s := newTill(t)
	s.mustPlace(mustOpen(t, s.Opener, buy("coins", "500", 3)), noon)
	s.mustPlace(mustOpen(t, s.Opener, buy("cup", "engraved", 1)), noon)
}

func TestPlace_CancelledOrder_StaysCancelled(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	s.mustPlace(c, noon)
	if _, _, err := s.Cancel(t.Context(), emberforge, c.ID, "chargeback", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for payment, want := range map[checkout.Payment]error{
		stripe("pi_1047"): checkout.ErrOrderCancelled, stripe("pi_1048"): checkout.ErrPaymentMismatch,
		{}: checkout.ErrPaymentMismatch,
	} {
		if _, _, err := s.Place(t.Context(), emberforge, c.ID, payment, noon.Add(2*time.Hour)); !errors.Is(err, want) {
			t.Errorf("paid with %+v: Place = %v, want %v", payment, err, want)
		}
	}
}

func TestPlace_ZeroTotal_NeedsNoPayment(t *testing.T) {
	s := newTill(t)
	for _, payment := range []checkout.Payment{{}, stripe("pi_1047")} {
		sticker := mustOpen(t, s.Opener, buy("sticker", "free", 5))
		got, replayed, err := s.Place(t.Context(), emberforge, sticker.ID, payment, noon)
		if replayed || err != nil {
			t.Fatalf("Place = replayed %v, %v", replayed, err)
		}
		wantOrder(t, got, sticker, checkout.Order{Payment: payment, Placed: noon})
		if _, replayed, err := s.Place(t.Context(), emberforge, sticker.ID, payment,
			noon.Add(time.Millisecond)); !replayed || err != nil {
			t.Errorf("again: Place = replayed %v, %v", replayed, err)
		}
	}
	cup := mustOpen(t, s.Opener, buy("cup", "engraved", 1))
	cup.Discount, cup.Total = cup.Subtotal, money.Money{Currency: "EUR"}
	s.store.stored[emberforge][cup.ID.Token()] = cup
	if _, _, err := s.Place(t.Context(), emberforge, cup.ID, checkout.Payment{}, noon); err != nil {
		t.Errorf("a discount of the whole price: Place = %v", err)
	}
}

func TestPlace_WithoutPayment_IsRejected(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	_, _, err := s.Place(t.Context(), emberforge, c.ID, checkout.Payment{}, noon)
	wantMemberError(t, err, checkout.MemberError{
		Pointer: "/payment",
		Reason:  "is required, because the total is not zero",
	})
	if got := s.store.stored[emberforge][c.ID.Token()]; got != c {
		t.Errorf("stored %+v", got)
	}
}

func wantMemberError(t *testing.T, err error, want checkout.MemberError) {
	t.Helper()
	got, is := errors.AsType[*checkout.MemberError](err)
	if !is || *got != want {
		t.Errorf("error is %v, want %v", err, &want)
	}
}

// A payment may arrive late. It buys at the agreed price until 7 days after the expiry, even if the variant is off sale
// by then.
func TestPlace_LateOrder_IsAcceptedFor7Days(t *testing.T) {
	const days = 7 * 24 * time.Hour
	cup, sticker := buy("cup", "engraved", 1), buy("sticker", "free", 1)
	for what, test := range map[string]struct {
		request checkout.Request
		payment checkout.Payment
		late    time.Duration // after the expiry
		want    error
	}{
		"the last moment while open":  {cup, stripe("pi_1047"), -time.Millisecond, nil},
		"at the expiry":               {cup, stripe("pi_1047"), 0, nil},
		"the last moment of 7 days":   {cup, stripe("pi_1047"), days - time.Millisecond, nil},
		"7 days later":                {cup, stripe("pi_1047"), days, checkout.ErrExpired},
		"8 days later":                {cup, stripe("pi_1047"), days + 24*time.Hour, checkout.ErrExpired},
		"free, the last moment":       {sticker, checkout.Payment{}, days - time.Millisecond, nil},
		"free, 7 days later":          {sticker, checkout.Payment{}, days, checkout.ErrExpired},
		"free but paid, 7 days later": {sticker, stripe("pi_1047"), days, checkout.ErrExpired},
	} {
		t.Run(what, func(t *testing.T) {
			s := newTill(t)
			c := mustOpen(t, s.Opener, test.request)
			s.Catalogue = catalogueFunc(nothingOnSale)
			got, replayed, err := s.Place(t.Context(), emberforge, c.ID, test.payment, c.Expires.Add(test.late))
			if replayed || !errors.Is(err, test.want) {
				t.Errorf("Place = replayed %v, %v, want %v", replayed, err, test.want)
			}
			if test.want == nil {
				wantOrder(t, got, c, checkout.Order{Payment: test.payment, Placed: c.Expires.Add(test.late)})
			}
		})
	}
}

func TestRetention_OutlastsLateOrders(t *testing.T) {
	if checkout.Retention < checkout.LateOrders+time.Hour {
		t.Errorf("a checkout is stored for %s, but can be ordered for %s", checkout.Retention, checkout.LateOrders)
	}
}

func TestPlace_KeyThatMadeAnotherCheckoutSince_IsExpired(t *testing.T) {
	s := newTill(t)
	request := withKey(buy("coins", "500", 3), "till-1")
	first := mustOpen(t, s.Opener, request)
	second := mustOpen(t, s.Opener, at(request, first.Expires))
	for _, payment := range []checkout.Payment{stripe("pi_1047"), {}} {
		if _, _, err := s.Place(t.Context(), emberforge, first.ID, payment, first.Expires); !errors.Is(err,
			checkout.ErrExpired) {
			t.Errorf("paid with %+v: Place = %v, want checkout.ErrExpired", payment, err)
		}
	}
	s.mustPlace(second, first.Expires)
	// Ordering the new checkout does not order the old one.
	_, _, err := s.Place(t.Context(), emberforge, first.ID, stripe("pi_1047"), first.Expires.Add(time.Millisecond))
	if !errors.Is(err, checkout.ErrExpired) {
		t.Errorf("after the new checkout was ordered: Place = %v, want checkout.ErrExpired", err)
	}
}

// A wrong ID is unknown, or belongs to another shop's checkout, to a checkout that was not ordered, or to one whose key
// has made a newer checkout.
func TestOrders_WrongID_IsNotFound(t *testing.T) {
	s := newTill(t)
	request := withKey(buy("coins", "500", 3), "till-1")
	first := mustOpen(t, s.Opener, request)
	second := mustOpen(t, s.Opener, at(request, first.Expires))
	s.mustPlace(second, first.Expires)
	open := mustOpen(t, s.Opener, buy("coins", "500", 3))
	unknown := checkout.ID(strings.Repeat("A", 44))
	for what, test := range map[string]struct {
		shop catalog.ShopID
		id   checkout.ID
	}{
		"unknown":                       {emberforge, unknown},
		"of another shop":               {sakura, second.ID},
		"not ordered":                   {emberforge, open.ID},
		"its key made a newer checkout": {emberforge, first.ID},
	} {
		for method, call := range map[string]func() error{
			"Show":   func() error { _, err := s.Show(t.Context(), test.shop, test.id); return err },
			"Fulfil": func() error { _, _, err := s.Fulfil(t.Context(), test.shop, test.id, noon); return err },
			"Cancel": func() error {
				_, _, err := s.Cancel(t.Context(), test.shop, test.id, "chargeback", noon)
				return err
			},
		} {
			if err := call(); !errors.Is(err, checkout.ErrOrderNotFound) {
				t.Errorf("%s: %s = %v, want checkout.ErrOrderNotFound", what, method, err)
			}
		}
	}
	for shop, id := range map[catalog.ShopID]checkout.ID{emberforge: unknown, sakura: second.ID} {
		if _, _, err := s.Place(t.Context(), shop, id, stripe("pi_1047"), noon); !errors.Is(err,
			checkout.ErrNotFound) {
			t.Errorf("Place(%s, %s) = %v, want checkout.ErrNotFound", shop, id, err)
		}
	}
	if stored := s.store.stored[emberforge][second.ID.Token()]; stored.Order.Status() != checkout.OrderPlaced {
		t.Errorf("the order became %s", stored.Order.Status())
	}
}

func TestFulfil_Retry_KeepsTheFirstTime(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	s.mustPlace(c, noon)
	delivered := noon.Add(time.Hour)
	got, replayed, err := s.Fulfil(t.Context(), emberforge, c.ID, delivered)
	if replayed || err != nil || got.Order.Status() != checkout.OrderFulfilled {
		t.Errorf("Fulfil = %+v, replayed %v, %v", got.Order, replayed, err)
	}
	got, replayed, err = s.Fulfil(t.Context(), emberforge, c.ID, delivered.Add(time.Millisecond))
	if !replayed || err != nil {
		t.Errorf("again: Fulfil = replayed %v, %v", replayed, err)
	}
	wantOrder(t, got, c, checkout.Order{Payment: stripe("pi_1047"), Placed: noon, Fulfilled: delivered})
}

func TestFulfil_CancelledOrder_IsRefused(t *testing.T) {
	for what, isFulfilled := range map[string]bool{"never fulfilled": false, "fulfilled before": true} {
		s := newTill(t)
		c := mustOpen(t, s.Opener, buy("coins", "500", 3))
		s.mustPlace(c, noon)
		if isFulfilled {
			if _, _, err := s.Fulfil(t.Context(), emberforge, c.ID, noon); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.Cancel(t.Context(), emberforge, c.ID, "out of stock", noon.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Fulfil(t.Context(), emberforge, c.ID, noon.Add(2*time.Hour)); !errors.Is(err,
			checkout.ErrOrderCancelled) {
			t.Errorf("%s: Fulfil = %v, want checkout.ErrOrderCancelled", what, err)
		}
	}
}

func TestCancel_Retry_KeepsTheFirstReason(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	s.mustPlace(c, noon)
	if _, replayed, err := s.Cancel(t.Context(), emberforge, c.ID, "out of stock", noon.Add(time.Hour)); replayed ||
		err != nil {
		t.Errorf("Cancel = replayed %v, %v", replayed, err)
	}
	got, replayed, err := s.Cancel(t.Context(), emberforge, c.ID, "chargeback", noon.Add(2*time.Hour))
	if !replayed || err != nil {
		t.Errorf("again: Cancel = replayed %v, %v", replayed, err)
	}
	wantOrder(t, got, c, checkout.Order{
		Payment: stripe("pi_1047"), Placed: noon, Cancelled: noon.Add(time.Hour),
		Reason: "out of stock",
	})
}

// After a chargeback the shop cancels what it delivered.
func TestCancel_FulfilledOrder_IsCancelled(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	s.mustPlace(c, noon)
	if _, _, err := s.Fulfil(t.Context(), emberforge, c.ID, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	got, replayed, err := s.Cancel(t.Context(), emberforge, c.ID, "chargeback", noon.Add(2*time.Hour))
	if replayed || err != nil || got.Order.Status() != checkout.OrderCancelled {
		t.Errorf("Cancel = %s, replayed %v, %v", got.Order.Status(), replayed, err)
	}
	wantOrder(t, got, c, checkout.Order{
		Payment: stripe("pi_1047"), Placed: noon, Fulfilled: noon.Add(time.Hour), Cancelled: noon.Add(2 * time.Hour),
		Reason: "chargeback",
	})
}

// A failure must not look like a result.
func TestOrders_Failures_AreReturned(t *testing.T) {
	s := newTill(t)
	c := mustOpen(t, s.Opener, buy("coins", "500", 3))
	s.mustPlace(c, noon)
	down := errors.New("store is down")
	s.store.err = down
	shop := checkout.Checkouts{Store: s.Orders.Store}
	for method, call := range map[string]func() error{
		"Place": func() error {
			_, _,
				err := s.Place(t.Context(), emberforge, c.ID, stripe("pi_1047"), noon)
			return err
		},
		"Fulfil": func() error { _, _, err := s.Fulfil(t.Context(), emberforge, c.ID, noon); return err },
		"Cancel": func() error {
			_, _,
				err := s.Cancel(t.Context(), emberforge, c.ID, "chargeback", noon)
			return err
		},
		"Show": func() error { _, err := s.Show(t.Context(), emberforge, c.ID); return err },
		"List": func() error {
			_, _,
				err := s.List(t.Context(), emberforge, checkout.OrderFilter{})
			return err
		},
		"Checkouts.Show": func() error { _, err := shop.Show(t.Context(), emberforge, c.ID); return err },
	} {
		if err := call(); !errors.Is(err, down) {
			t.Errorf("%s = %v, want %v", method, err, down)
		}
	}
}

func TestShowCheckout_IDWithTheSameFirstHalf_IsNotFound(t *testing.T) {
	s := newTill(t)
	shop := checkout.Checkouts{Store: s.Orders.Store}
	request := withKey(buy("coins", "500", 3), "till-1")
	first := mustOpen(t, s.Opener, request)
	if got, err := shop.Show(t.Context(), emberforge, first.ID); got != first || err != nil {
		t.Errorf("Show = %+v, %v", got, err)
	}
	second := mustOpen(t, s.Opener, at(request, first.Expires))
	if _, err := shop.Show(t.Context(), emberforge, first.ID); !errors.Is(err, checkout.ErrNotFound) {
		t.Errorf("after the key made another checkout: Show = %v, want checkout.ErrNotFound", err)
	}
	order := s.mustPlace(second, first.Expires)
	if got, err := shop.Show(t.Context(), emberforge, second.ID); err != nil || got != order {
		t.Errorf("ordered: Show = %+v, %v", got, err)
	}
	if _, err := shop.Show(t.Context(), sakura, second.ID); !errors.Is(err, checkout.ErrNotFound) {
		t.Errorf("of another shop: Show = %v, want checkout.ErrNotFound", err)
	}
}

// The shopper has paid for what the key bought. A new checkout with this key would be a second purchase by mistake.
func TestOpen_KeyOfAnOrderedCheckout_IsInUseForEver(t *testing.T) {
	s := newTill(t)
	request := withKey(buy("coins", "500", 3), "till-1")
	c := mustOpen(t, s.Opener, request)
	s.mustPlace(c, noon)
	requests := map[string]checkout.Request{
		"the same request":        request,
		"another request":         withKey(buy("cup", "engraved", 1), "till-1"),
		"an amount out of bounds": withKey(buy("coins", "500", 65), "till-1"),
		"an unknown product":      withKey(buy("gems", "500", 1), "till-1"),
	}
	check := func(state string) {
		t.Helper()
		for what, request := range requests {
			for _, received := range []time.Time{noon, c.Expires, noon.AddDate(1, 0, 0)} {
				for _, ask := range []func(context.Context, checkout.Request) (checkout.Checkout, bool, error){
					s.Open,
					s.Quote,
				} {
					if _, _, err := ask(t.Context(), at(request, received)); !errors.Is(err, checkout.ErrKeyInUse) {
						t.Errorf("%s, %s at %s: got %v, want checkout.ErrKeyInUse", state, what, received, err)
					}
				}
			}
		}
	}
	check("placed")
	if _, _, err := s.Cancel(t.Context(), emberforge, c.ID, "out of stock", noon); err != nil {
		t.Fatal(err)
	}
	check("cancelled")
	if s.store.count() != 1 {
		t.Errorf("%d checkouts are stored, want 1", s.store.count())
	}
}

func TestOrderStatus_TheLastEventDecides(t *testing.T) {
	for want, order := range map[checkout.OrderStatus]checkout.Order{
		checkout.OrderPlaced:    {Placed: noon},
		checkout.OrderFulfilled: {Placed: noon, Fulfilled: noon},
		checkout.OrderCancelled: {Placed: noon, Fulfilled: noon, Cancelled: noon},
	} {
		if got := order.Status(); got != want {
			t.Errorf("status of %+v is %s, want %s", order, got, want)
		}
	}
	if len(checkout.OrderStatuses()) != 3 {
		t.Errorf("OrderStatuses() = %v, want 3 statuses", checkout.OrderStatuses())
	}
}

func TestParsePayment(t *testing.T) {
	const provider = "must have 1 to 32 of the characters a-z 0-9 -"
	const reference = "must have 1 to 255 visible ASCII characters"
	tests := map[string]struct {
		provider, reference string
		pointer, reason     string // empty: accepted
	}{
		"usual":                     {"stripe", "pi_3MtwBwLkdIwHu7ix28a3tqPa", "", ""},
		"shortest":                  {"p", "1", "", ""},
		"longest":                   {strings.Repeat("a", 32), strings.Repeat("1", 255), "", ""},
		"every kind of character":   {"az-09", "!#/~", "", ""},
		"no provider":               {"", "pi_1047", "/payment/provider", "is required"},
		"provider too long":         {strings.Repeat("a", 33), "pi_1047", "/payment/provider", provider},
		"provider in upper case":    {"Stripe", "pi_1047", "/payment/provider", provider},
		"provider with #":           {"str#ipe", "pi_1047", "/payment/provider", provider},
		"provider with a space":     {"apple pay", "pi_1047", "/payment/provider", provider},
		"provider not ASCII":        {"café", "pi_1047", "/payment/provider", provider},
		"no reference":              {"stripe", "", "/payment/reference", "is required"},
		"reference too long":        {"stripe", strings.Repeat("1", 256), "/payment/reference", reference},
		"reference with a space":    {"stripe", "pi 1047", "/payment/reference", reference},
		"reference with a delete":   {"stripe", "pi\x7f1047", "/payment/reference", reference},
		"reference with a new line": {"stripe", "pi_1047\n", "/payment/reference", reference},
		"reference not ASCII":       {"stripe", "pï_1047", "/payment/reference", reference},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := checkout.ParsePayment(test.provider, test.reference)
			if test.reason != "" {
				wantMemberError(t, err, checkout.MemberError{Pointer: test.pointer, Reason: test.reason})
				return
			}
			if want := (checkout.Payment{Provider: test.provider, Reference: test.reference}); got != want ||
				err != nil {
				t.Errorf("ParsePayment = %+v, %v", got, err)
			}
		})
	}
}

func TestParseReason(t *testing.T) {
	const length, control = "must have at most 400 bytes of UTF-8", "must have no control characters"
	tests := map[string]struct{ text, reason string }{
		"usual":                 {"Chargeback, see ticket #88", ""},
		"shortest":              {"x", ""},
		"longest":               {strings.Repeat("é", 200), ""},
		"empty":                 {"", "is required"},
		"only white space":      {" \u3000", "is required"},
		"too long":              {strings.Repeat("é", 200) + "x", length},
		"not UTF-8":             {"out of \xff stock", length},
		"with a line break":     {"out of\nstock", control},
		"with a NUL":            {"out of stock\x00", control},
		"with a control of C1":  {"out of\u0085stock", control},
		"with a delete":         {"out of stock\x7f", control},
		"with a kana and emoji": {"在庫切れ 📦", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := checkout.ParseReason(test.text)
			if test.reason != "" {
				wantMemberError(t, err, checkout.MemberError{Pointer: "/reason", Reason: test.reason})
			} else if got != test.text || err != nil {
				t.Errorf("ParseReason = %q, %v", got, err)
			}
		})
	}
}

func TestParseToken(t *testing.T) {
	const good = "q83vEjRWeJASNFZ4kBI_-g"
	if token, err := checkout.ParseToken(good); token != idempotency.Token(good) || err != nil {
		t.Errorf("ParseToken = %q, %v", token, err)
	}
	for _, text := range []string{"", good[1:], good + "A", strings.Replace(good, "_", "/", 1), good[:20] + "é"} {
		if _, err := checkout.ParseToken(text); !errors.Is(err, checkout.ErrMalformedID) {
			t.Errorf("ParseToken(%q) = %v", text, err)
		}
	}
}

func TestRelease(t *testing.T) {
	for name, test := range map[string]struct {
		stored   func(*checkout.Checkout)
		byServer bool
		err      error
		replayed bool
	}{
		"open":                                 {},
		"expired":                              {stored: func(c *checkout.Checkout) { c.Expires = noon }},
		"released before":                      {stored: func(c *checkout.Checkout) { c.Released = true }, replayed: true},
		"replaced":                             {stored: func(c *checkout.Checkout) { c.Replaced = true }, replayed: true},
		"ordered":                              {stored: func(c *checkout.Checkout) { c.Order = &checkout.Order{Placed: noon} }, err: checkout.ErrOrdered},
		"another checkout of the key":          {stored: func(c *checkout.Checkout) { c.ID = c.ID[:43] + "_" }, err: checkout.ErrNotFound},
		"of the shop's server":                 {stored: func(c *checkout.Checkout) { c.ByServer = true }, byServer: true},
		"of the shop's server, for a stranger": {stored: func(c *checkout.Checkout) { c.ByServer = true }, err: checkout.ErrNotFound},
		"of a stranger, for the shop's server": {byServer: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTill(t)
			c := mustOpen(t, s.Opener, buy("coins", "500", 3))
			stored := c
			if test.stored != nil {
				test.stored(&stored)
			}
			s.store.stored[emberforge][c.ID.Token()] = stored
			got, replayed, err := s.Release(t.Context(), emberforge, c.ID, test.byServer)
			if !errors.Is(err, test.err) || replayed != test.replayed {
				t.Fatalf("Release = replayed %t, %v; want %t, %v", replayed, err, test.replayed, test.err)
			}
			if now := s.store.stored[emberforge][c.ID.Token()]; err != nil && now != stored {
				t.Errorf("stored is %+v, want it unchanged", now)
			}
			if err == nil && got.Status(noon) != checkout.StatusReleased {
				t.Errorf("released %+v", got)
			}
			if _, _, err := s.Place(t.Context(), emberforge, c.ID, stripe("pi_1047"), noon); test.err == nil &&
				!errors.Is(err, map[bool]error{true: checkout.ErrReplaced, false: checkout.ErrReleased}[stored.Replaced]) {
				t.Errorf("Place = %v", err)
			}
		})
	}
}

// damagedStatus is a store that cannot change an order, because the order's stored status is damaged.
type damagedStatus struct{ checkout.OrderStore }

func (damagedStatus) Fulfil(
	_ context.Context, _ catalog.ShopID, id checkout.ID, _ time.Time,
) (checkout.Checkout, error) {
	return checkout.Checkout{ID: id, Order: &checkout.Order{Payment: stripe("pi_1047"), Placed: noon}}, nil
}

func (s damagedStatus) Cancel(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, _ string, at time.Time,
) (checkout.Checkout, error) {
	return s.Fulfil(ctx, shop, id, at)
}

func TestOrders_ChangeThatTheStoreDidNotMake_IsAnError(t *testing.T) {
	orders := checkout.Orders{Store: damagedStatus{}}
	id := checkout.ID("q83vEjRWeJASNFZ4kBI0Vg_-5ZHo9V0Hk3RmKUL0dT2g")
	if _, _, err := orders.Fulfil(t.Context(), emberforge, id, noon); err == nil {
		t.Error("Fulfil returned no error")
	}
	if _, _, err := orders.Cancel(t.Context(), emberforge, id, "chargeback", noon); err == nil {
		t.Error("Cancel returned no error")
	}
}
