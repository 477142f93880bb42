package endtoend_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/client"
	"shopfront/pkg/voucher"
)

// client returns a client of the shop, as a storefront uses it. Its requests and responses are checked against the
// OpenAPI document. The function lose, if it is not nil, decides for each response whether the response is lost.
func (s shop) client(t *testing.T, lose func() bool, options ...client.Option) *client.Client {
	t.Helper()
	document, err := shared.document()
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	transport := document.Transport(t, throughGateway{base})
	options = append(options, client.WithHTTPClient(&http.Client{Transport: lossy{transport, lose}}))
	c, err := client.New(baseURL(t), s.id, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// throughGateway removes the response headers that only the gateway of `sam local start-api` adds.
type throughGateway struct{ http.RoundTripper }

func (g throughGateway) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.RoundTripper.RoundTrip(r)
	if err == nil {
		dropGatewaysOwn(response.Header)
	}
	return response, err
}

// lossy loses responses after the service has sent them. If lose is nil, it loses none.
type lossy struct {
	http.RoundTripper
	lose func() bool
}

func (l lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(r)
	if err != nil || l.lose == nil || !l.lose() {
		return response, err
	}
	return nil, errors.Join(errors.New("the response is lost"), response.Body.Close())
}

func TestClient_Redeem_ReturnsTheRedemptionOrTheProblem(t *testing.T) {
	s := newShop(t)
	c := s.client(t, nil)
	s.create(t, "WELCOME-COINS", func(terms *voucher.Terms) { terms.Reward.Amount = 2 })

	redeemable, err := c.Check(t.Context(), "welcome coins", "Alder")
	coins := client.Reward{Kind: client.RewardProduct, Product: "coins", Variant: "500", Amount: 2}
	if want := (client.Redeemable{Code: "WELCOME-COINS", Nick: "Alder", Reward: coins}); err != nil ||
		!reflect.DeepEqual(redeemable, want) {
		t.Errorf("Check returns %+v, %v, want %+v", redeemable, err, want)
	}
	key := client.NewKey()
	redemption, err := c.Redeem(t.Context(), "welcome coins", "Alder", client.WithKey(key))
	want := client.Redemption{
		ID: redemption.ID, Code: "WELCOME-COINS", Nick: "Alder",
		RedeemedAt: redemption.RedeemedAt, Reward: coins,
	}
	if err != nil || !reflect.DeepEqual(redemption, want) {
		t.Fatalf("Redeem returns %+v, %v, want %+v", redemption, err, want)
	}
	want.Replayed = true
	if again, err := c.Redeem(t.Context(), "WELCOME-COINS", "ALDER", client.WithKey(key)); err != nil ||
		!reflect.DeepEqual(again, want) {
		t.Errorf("the retry returns %+v, %v, want %+v", again, err, want)
	}
	if kept := s.redemptions(t); len(kept) != 1 || kept[0].ID != redemption.ID ||
		!kept[0].At.Equal(redemption.RedeemedAt) {
		t.Errorf("stored %+v, want %+v", kept, redemption)
	}

	unknown := shop{id: "unknown-" + s.id}.client(t, nil)
	for name, test := range map[string]struct {
		redeem func() (client.Redemption, error)
		want   error
	}{
		"used up": {
			func() (client.Redemption, error) { return c.Redeem(t.Context(), "WELCOME-COINS", "Alder") },
			client.ErrVoucherNotFound,
		},
		"another nick": {func() (client.Redemption, error) {
			return c.Redeem(t.Context(), "WELCOME-COINS", "Birch", client.WithKey(key))
		}, client.ErrVoucherNotFound},
		"unknown": {
			func() (client.Redemption, error) { return c.Redeem(t.Context(), "INVENTED", "Alder") },
			client.ErrVoucherNotFound,
		},
		"unknown shop": {func() (client.Redemption,
			error,
		) {
			return unknown.Redeem(t.Context(), "WELCOME-COINS", "Alder")
		}, client.ErrVoucherNotFound},
		"no code": {
			func() (client.Redemption, error) { return c.Redeem(t.Context(), "-", "Alder") },
			client.ErrInvalid,
		},
		"not UTF-8": {
			func() (client.Redemption, error) { return c.Redeem(t.Context(), "\xff", "Alder") },
			client.ErrMalformedRequest,
		},
		"too long": {
			func() (client.Redemption, error) { return c.Redeem(t.Context(), strings.Repeat("A", 5000), "") },
			client.ErrContentTooLarge,
		},
	} {
		redemption, err := test.redeem()
		p, is := errors.AsType[*client.ProblemError](err)
		if !errors.Is(err, test.want) || !is || p.RequestID == "" ||
			!reflect.DeepEqual(redemption, client.Redemption{}) {
			t.Errorf("%s: %+v, %v, want %v", name, redemption, err, test.want)
		}
	}
	if _, err := c.Check(t.Context(), "WELCOME-COINS", "Alder"); !errors.Is(err, client.ErrVoucherNotFound) {
		t.Errorf("checking a used voucher: %v, want ErrVoucherNotFound", err)
	}
}

// Each shopper's first two responses are lost. If the first attempt redeemed the code, the retries report that
// redemption and do not redeem again.
func TestClient_Redeem_LostResponses_NoShopperRedeemsTwice(t *testing.T) {
	t.Parallel()
	const shoppers, uses = 12, 7
	s := newShop(t)
	s.create(t, "LAUNCH", limits(uses, 1))
	redemptions, errs := make([]client.Redemption, shoppers), make([]error, shoppers)
	var racing sync.WaitGroup
	for i := range shoppers {
		answers := 0
		c := s.client(t, func() bool { answers++; return answers <= 2 })
		racing.Go(func() {
			redemptions[i], errs[i] = c.Redeem(t.Context(), "launch", fmt.Sprintf("Racer_%d", i))
		})
	}
	racing.Wait()
	var reported, kept []string
	for i, err := range errs {
		if err == nil && redemptions[i].Replayed {
			reported = append(reported, redemptions[i].ID)
		} else if !errors.Is(err, client.ErrVoucherNotFound) {
			t.Errorf("shopper %d gets %+v, %v, want a replayed redemption or ErrVoucherNotFound", i, redemptions[i],
				err)
		}
	}
	for _, record := range s.redemptions(t) {
		kept = append(kept, record.ID)
	}
	slices.Sort(reported)
	slices.Sort(kept)
	if len(kept) != uses || !slices.Equal(reported, kept) {
		t.Errorf("reported %q, stored %q, want the same %d redemptions", reported, kept, uses)
	}
}

func TestClient_Checkout_ReturnsTheCheckoutOrTheProblem(t *testing.T) {
	s := newShop(t)
	answers := 0
	c := s.client(t, func() bool { answers++; return answers == 1 })
	rank := client.Order{Product: "vip-rank", Variant: "30-days", Data: `{"player":"Alder"}`}
	key := client.NewKey()
	checkout, err := c.Checkout(t.Context(), rank, client.WithKey(key))
	price := client.Money{Minor: 799, Currency: "EUR", Display: "7.99 EUR"}
	if err != nil || !checkout.Replayed || checkout.Total != price || string(checkout.Data) != rank.Data {
		t.Errorf("%+v, %v: want the checkout of the lost response", checkout, err)
	}
	if kept := s.checkouts(t); len(kept) != 1 || string(kept[0].ID) != checkout.ID {
		t.Errorf("stored %+v, want %s", kept, checkout.ID)
	}
	if _, err := c.Checkout(t.Context(), client.Order{Product: "coins", Variant: "500"},
		client.WithKey(key)); !errors.Is(err, client.ErrKeyInUse) {
		t.Errorf("checking out with the key of another order: %v, want ErrKeyInUse", err)
	}
	for name, test := range map[string]struct {
		order client.Order
		want  client.ProblemError
		is    error
	}{
		"off sale": {client.Order{Product: "coins", Variant: "6500"}, client.ProblemError{}, client.ErrNotFound},
		"too many": {
			client.Order{Product: "coins", Variant: "500", Amount: 11},
			client.ProblemError{Parameter: "amount"},
			client.ErrInvalid,
		},
		"negative amount": {
			client.Order{Product: "coins", Variant: "500", Amount: -1},
			client.ProblemError{Parameter: "amount"},
			client.ErrInvalid,
		},
		"bad data": {
			client.Order{Product: "vip-rank", Variant: "30-days", Data: `{"player":"A"}`},
			client.ProblemError{Parameter: "data", Pointer: "/player"},
			client.ErrInvalid,
		},
	} {
		_, err := c.Checkout(t.Context(), test.order)
		p, is := errors.AsType[*client.ProblemError](err)
		if !errors.Is(err, test.is) || !is || p.Parameter != test.want.Parameter || p.Pointer != test.want.Pointer {
			t.Errorf("%s: %+v, want %v %+v", name, p, test.is, test.want)
		}
	}
}

// Every second response is lost. Each change is still applied only once, and the retry returns the order.
func TestClient_Orders_LostResponses_ApplyEachChangeOnce(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c, calm := s.clients(t)
	rank := client.Order{Product: "vip-rank", Variant: "30-days", Data: `{"player":"Alder"}`}
	payment := client.Payment{Provider: "stripe", Reference: "pi_3Q0001"}
	checkout, err := c.Checkout(t.Context(), rank)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ShowOrder(t.Context(), checkout.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("showing an order that was not placed: %v, want ErrNotFound", err)
	}
	placed, err := c.PlaceOrder(t.Context(), checkout.ID, payment)
	if err != nil || !placed.Replayed || placed.Status != client.OrderPlaced || placed.Total != checkout.Total ||
		string(placed.Data) != rank.Data {
		t.Fatalf("%+v, %v: want the order of the lost response", placed, err)
	}
	other := client.Payment{Provider: "stripe", Reference: "pi_3Q0002"}
	if _, err := c.PlaceOrder(t.Context(), checkout.ID, other); !errors.Is(err, client.ErrPaymentMismatch) {
		t.Errorf("placing the order with another payment: %v, want ErrPaymentMismatch", err)
	}
	if shown, err := c.ShowCheckout(t.Context(), checkout.ID); err != nil || shown.Status != client.CheckoutOrdered ||
		string(shown.Data) != rank.Data {
		t.Errorf("the shop's server gets %+v, %v, want the ordered checkout with its data", shown, err)
	}
	if shown, err := s.client(t, nil).ShowCheckout(t.Context(), checkout.ID); err != nil ||
		shown.Status != client.CheckoutOrdered || shown.Data != nil {
		t.Errorf("a client without the key gets %+v, %v, want the ordered checkout without its data", shown, err)
	}
	fulfilled, err := c.FulfilOrder(t.Context(), checkout.ID)
	if err != nil || !fulfilled.Replayed || fulfilled.Status != client.OrderFulfilled ||
		!fulfilled.OrderedAt.Equal(placed.OrderedAt) {
		t.Errorf("%+v, %v: want the order of the lost response", fulfilled, err)
	}
	cancelled, err := c.CancelOrder(t.Context(), checkout.ID, "chargeback")
	if err != nil || !cancelled.Replayed || cancelled.CancelReason != "chargeback" ||
		!cancelled.FulfilledAt.Equal(fulfilled.FulfilledAt) {
		t.Errorf("%+v, %v: want the order of the lost response", cancelled, err)
	}
	if _, err := c.FulfilOrder(t.Context(), checkout.ID); !errors.Is(err, client.ErrOrderCancelled) {
		t.Errorf("fulfilling a cancelled order: %v, want ErrOrderCancelled", err)
	}
	if _, err := c.PlaceOrder(t.Context(), checkout.ID, payment); !errors.Is(err, client.ErrOrderCancelled) {
		t.Errorf("placing a cancelled order: %v, want ErrOrderCancelled", err)
	}
	if shown, err := c.ShowOrder(t.Context(), checkout.ID); err != nil ||
		!reflect.DeepEqual(unreplayed(shown), unreplayed(cancelled)) {
		t.Errorf("ShowOrder returns %+v, %v, want %+v", shown, err, cancelled)
	}
	_, err = calm.PlaceOrder(t.Context(), checkout.ID, client.Payment{Provider: "Stripe", Reference: "pi_3Q0001"})
	if p, is := errors.AsType[*client.ProblemError](err); !is || !errors.Is(err, client.ErrInvalid) ||
		p.Pointer != "/payment/provider" {
		t.Errorf("placing the order with a malformed payment: %+v, want ErrInvalid with the pointer /payment/provider",
			err)
	}
}

func TestClient_NumberOfACheckout_FindsItForTheShopsServerOnly(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	lossy, _ := s.clients(t)
	made, err := s.client(t, nil).Checkout(t.Context(), client.Order{Product: "coins", Variant: "500"})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := lossy.ShowCheckout(t.Context(), made.Number); err != nil || found.ID != made.ID {
		t.Errorf("the shop's server finds %+v, %v, want %+v", found, err, made)
	}
	if found, err := s.client(t, nil).ShowCheckout(t.Context(), made.Number); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("a client without the key finds %+v, %v, want ErrUnauthorized", found, err)
	}
}

// clients returns two clients of the shop's server. lossy loses every second response. calm loses none. Use calm for
// requests that the service refuses: after a lost response, a client waits before it accepts a refusal.
func (s till) clients(t *testing.T) (lossy, calm *client.Client) {
	t.Helper()
	answers := 0
	serverKey := client.WithServerKey(strings.TrimPrefix(s.authorization, "Authorization: Bearer "))
	return s.client(t, func() bool { answers++; return answers%2 == 1 }, serverKey), s.client(t, nil, serverKey)
}

// A released checkout cannot be ordered, and another nick gets its use at once, even if responses are lost. A stranger
// cannot release a checkout of the shop's server.
func TestClient_ReleasedCheckout_LeavesItsUseToAnotherNick(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.create(t, "HERONS-HALF", func(terms *voucher.Terms) {
		terms.Reward = voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 50}
	})
	c, calm := s.clients(t)
	coins := client.Order{Product: "coins", Variant: "500", Code: "HERONS-HALF", Nick: "Heron"}
	first, err := c.Checkout(t.Context(), coins)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client(t, nil).ReleaseCheckout(t.Context(), first.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a stranger released the server's checkout: %v", err)
	}
	coins.Nick = "Crow"
	if _, err := calm.Checkout(t.Context(), coins); !errors.Is(err, client.ErrCodeRefused) {
		t.Errorf("the use is held twice: %v", err)
	}
	if released, err := c.ReleaseCheckout(t.Context(), first.ID); err != nil || !released.Replayed {
		t.Errorf("%+v, %v: want the checkout of the lost response", released, err)
	}
	second, err := calm.Checkout(t.Context(), coins)
	if err != nil {
		t.Fatal(err)
	}
	payment := client.Payment{Provider: "stripe", Reference: "pi_3Q0002"}
	if _, err := calm.PlaceOrder(t.Context(), first.ID, payment); !errors.Is(err, client.ErrCheckoutReleased) {
		t.Errorf("ordering a released checkout: %v, want ErrCheckoutReleased", err)
	}
	if _, err := calm.PlaceOrder(t.Context(), second.ID, payment); err != nil {
		t.Error(err)
	}
	if _, err := calm.ReleaseCheckout(t.Context(), second.ID); !errors.Is(err, client.ErrCheckoutOrdered) {
		t.Errorf("releasing an order: %v, want ErrCheckoutOrdered", err)
	}
}

// A checkout that replaces another one takes over the use of the code that the replaced checkout held, even if
// responses are lost. Only the last checkout can be ordered.
func TestClient_CodeAtACheckout_IsUsedOnce(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	code := s.createDiscount(t).Code
	c, calm := s.clients(t)
	coins := client.Order{Product: "coins", Variant: "500", Code: "summer 20", Nick: "Alder"}
	first, err := c.Checkout(t.Context(), coins)
	if err != nil || !first.Replayed || first.Code != "SUMMER-20" || first.Nick != "Alder" ||
		first.Discount.Minor != 99 || first.Total.Minor != 400 {
		t.Fatalf("%+v, %v: want the checkout of the lost response", first, err)
	}
	coins.Amount, coins.Replaces = 3, first.ID
	second, err := c.Checkout(t.Context(), coins)
	if err != nil || !second.Replayed || second.Total.Minor != 1198 {
		t.Fatalf("%+v, %v: want the checkout of the lost response", second, err)
	}
	s.wantUses(t, code, 1, 1)
	if shown, err := c.ShowCheckout(t.Context(), first.ID); err != nil || shown.Status != client.CheckoutReleased ||
		shown.Nick != "Alder" {
		t.Errorf("the replaced checkout is %+v, %v, want it released", shown, err)
	}
	payment := client.Payment{Provider: "stripe", Reference: "pi_3Q0001"}
	if _, err := c.PlaceOrder(t.Context(), first.ID, payment); !errors.Is(err, client.ErrCheckoutReplaced) {
		t.Errorf("ordering a checkout that was replaced: %v, want ErrCheckoutReplaced", err)
	}
	if order, err := c.PlaceOrder(t.Context(), second.ID, payment); err != nil || order.Code != "SUMMER-20" ||
		order.Nick != "Alder" || order.Total != second.Total {
		t.Fatalf("the order is %+v, %v, want the code, nick and total of the second checkout", order, err)
	}
	_, err = calm.Checkout(t.Context(), coins)
	if p, is := errors.AsType[*client.ProblemError](err); !is || !errors.Is(err, client.ErrCodeRefused) ||
		p.Reason != "nick_limit" {
		t.Errorf("replacing an ordered checkout with a used code: %v, want the code refused first", err)
	}
	coins.Replaces = ""
	_, err = calm.Checkout(t.Context(), coins)
	if p, is := errors.AsType[*client.ProblemError](err); !is || !errors.Is(err, client.ErrCodeRefused) ||
		p.Reason != "nick_limit" {
		t.Errorf("checking out with a code that the nick has used: %v, want ErrCodeRefused with the reason nick_limit",
			err)
	}
	for nick, want := range map[string]int{"ALDER": 1, "Birch": 0} {
		if orders := ordersOf(t, c, nick); len(orders) != want {
			t.Errorf("orders %+v of %s, want %d", orders, nick, want)
		}
	}
}

func ordersOf(t *testing.T, c *client.Client, nick string) (orders []client.PlacedOrder) {
	t.Helper()
	for page, err := range c.Orders(t.Context(), client.OrderFilter{Nick: nick}) {
		if err != nil {
			t.Fatal(err)
		}
		orders = append(orders, page...)
	}
	return orders
}

// Undoing a redemption gives its use back once, even if the response is lost. The redemption stays in the list.
func TestClient_UndoRedemption_LostResponse_GivesTheUseBackOnce(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	code := s.createDiscount(t).Code
	c, calm := s.clients(t)
	checkout, err := c.Checkout(t.Context(),
		client.Order{Product: "coins", Variant: "500", Code: "summer 20", Nick: "Alder"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PlaceOrder(t.Context(), checkout.ID,
		client.Payment{Provider: "stripe", Reference: "pi_3Q0001"}); err != nil {
		t.Fatal(err)
	}
	key := client.NewKey()
	redeemed, err := c.Redeem(t.Context(), "summer 20", "Birch", client.WithKey(key))
	if err != nil {
		t.Fatal(err)
	}
	undone, err := c.UndoRedemption(t.Context(), redeemed, "granted twice")
	if err != nil || !undone.Replayed || undone.ID != redeemed.ID || undone.UndoReason != "granted twice" {
		t.Errorf("%+v, %v: want the redemption of the lost response", undone, err)
	}
	s.wantUses(t, code, 1, 0)
	if _, err := calm.Redeem(t.Context(), "summer 20", "Birch", client.WithKey(key)); !errors.Is(err,
		client.ErrRedemptionUndone) {
		t.Errorf("redeeming again with the key: %v, want ErrRedemptionUndone", err)
	}
	listed := make(map[string]client.RedemptionRecord) // by nick
	for page, err := range c.Redemptions(t.Context(), client.RedemptionFilter{Code: "summer 20", PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			listed[r.Nick] = r
		}
	}
	undone.Replayed = false
	if len(listed) != 2 || listed["Alder"].Status != client.RedemptionRedeemed ||
		!reflect.DeepEqual(listed["Birch"], undone) {
		t.Errorf("redemptions %+v, want %+v and the redemption of the order", listed, undone)
	}
	if _, err := calm.UndoRedemption(t.Context(), listed["Alder"].Redemption, ""); !errors.Is(err,
		client.ErrRedemptionOfOrder) {
		t.Errorf("undoing the redemption of an order: %v, want ErrRedemptionOfOrder", err)
	}
}

func TestClient_Orders_Filter_ReturnsMatchingOrdersNewestFirst(t *testing.T) {
	_, c := newTill(t).clients(t)
	var placed []string // newest first
	for i := range 5 {
		checkout, err := c.Checkout(t.Context(), client.Order{Product: "coins", Variant: "500", Data: "gift"})
		if err != nil {
			t.Fatal(err)
		}
		order, err := c.PlaceOrder(t.Context(), checkout.ID,
			client.Payment{Provider: "stripe", Reference: fmt.Sprintf("pi_3Q%04d", i)})
		if err != nil {
			t.Fatal(err)
		}
		placed = append([]string{order.ID}, placed...)
	}
	if _, err := c.FulfilOrder(t.Context(), placed[1]); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		filter client.OrderFilter
		want   []string
	}{
		"all":       {client.OrderFilter{PageSize: 2}, placed},
		"fulfilled": {client.OrderFilter{Status: client.OrderFulfilled, PageSize: 1}, placed[1:2]},
		"the last day": {
			client.OrderFilter{From: time.Now().Add(-24 * time.Hour), Until: time.Now().Add(time.Hour)},
			placed,
		},
		"long ago": {client.OrderFilter{Until: time.Now().Add(-24 * time.Hour)}, nil},
	} {
		var got []string
		for page, err := range c.Orders(t.Context(), test.filter) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, order := range page {
				got = append(got, order.ID)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func unreplayed(order client.PlacedOrder) client.PlacedOrder {
	order.Replayed = false
	return order
}

func TestClient_CheckoutArea_FollowsTheCatalogue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t, nil)
	var pages []client.Page
	show := func(known ...client.Page) (prices []string) {
		pages = nil
		for page, err := range c.CheckoutArea(t.Context(), known...) {
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page)
			for _, product := range page.Products {
				for _, v := range product.Variants {
					prices = append(prices, fmt.Sprintf("%s/%s %d %s", product.ID, v.ID, v.Price.Minor,
						page.Shop.Currency))
				}
			}
		}
		return prices
	}
	want := []string{"coins/500 499 EUR", "coins/1200 999 EUR", "vip-rank/30-days 799 EUR"}
	if got := show(); !slices.Equal(got, want) {
		t.Errorf("shown %q, want %q", got, want)
	}
	if got := show(pages...); !slices.Equal(got, want) {
		t.Errorf("shown again %q, want %q", got, want)
	}
	loadShop(t, strings.Replace(emberforge, "4.99", "5.49", 1), s.id)
	time.Sleep(catalog.MaxAge) // until then, the checkout area may show the old price
	want[0] = "coins/500 549 EUR"
	if got := show(pages...); !slices.Equal(got, want) {
		t.Errorf("shown after a new price %q, want %q", got, want)
	}
	for _, err := range (shop{id: "unknown-" + s.id}).client(t, nil).CheckoutArea(t.Context()) {
		if !errors.Is(err, client.ErrNotFound) {
			t.Errorf("the checkout area of an unknown shop: %v, want ErrNotFound", err)
		}
	}
}
