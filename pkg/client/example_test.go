package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"shopfront/pkg/client"
)

// till stands for the storefront's own code. It stores what must survive a crash.
type till struct{ granted map[string]bool }

// remember stores a redemption before its request is sent.
func (*till) remember(key, code, nick string) error {
	fmt.Printf("remembered for %s: %t\n", nick, key != "" && code != "")
	return nil
}

// forget removes a redemption whose outcome is known.
func (*till) forget(string) error { return nil }

// grant gives a reward once for each redemption.
func (t *till) grant(redemption string, reward client.Reward) error {
	if t.granted[redemption] {
		return nil
	}
	t.granted[redemption] = true
	switch reward.Kind {
	case client.RewardProduct:
		fmt.Printf("granted %d of %s/%s\n", reward.Amount, reward.Product, reward.Variant)
		return nil
	case client.RewardBundle:
		for _, good := range reward.Items {
			fmt.Printf("granted %d of %s/%s\n", good.Amount, good.Product, good.Variant)
		}
		return nil
	case client.RewardPercentOff, client.RewardAmountOff:
		return errors.New("this till gives no discounts")
	default:
		return fmt.Errorf("cannot grant a reward of kind %s", reward.Kind)
	}
}

// redeem redeems a code, and shows what to do with each outcome.
func redeem(ctx context.Context, shop *client.Client, till *till, code, nick string) error {
	key := client.NewKey()
	if err := till.remember(key, code, nick); err != nil { // before the request is sent
		return err
	}
	redemption, err := shop.Redeem(ctx, code, nick, client.WithKey(key))
	if unknown, is := errors.AsType[*client.OutcomeUnknownError](err); is {
		return unknown // redeem it again later, with the key that the till remembers
	}
	if err != nil {
		return errors.Join(err, till.forget(key)) // not redeemed: client.ErrVoucherNotFound, client.ErrInvalid, …
	}
	return till.grant(redemption.ID, redemption.Reward) // once for each ID
}

// A voucher is redeemed once although the first response is lost.
func Example() {
	server := httptest.NewServer(&service{steps: []step{loses(redeems), redeems}, made: map[string]bool{}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(redeem(context.Background(), shop, &till{granted: map[string]bool{}}, "welcome coins", "Alder"))
	// Output:
	// remembered for Alder: true
	// granted 2 of coins/500
	// <nil>
}

func ExampleClient_Checkout() {
	server := httptest.NewServer(&service{steps: []step{keeps(checkoutJSON)}, made: map[string]bool{}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge")
	if err != nil {
		fmt.Println(err)
		return
	}
	checkout, err := shop.Checkout(context.Background(), client.Order{
		Product: "vip-rank", Variant: "30-days", Data: `{"player":"Alder"}`,
	})
	if problem, is := errors.AsType[*client.ProblemError](err); is && errors.Is(err, client.ErrInvalid) {
		fmt.Println("ask the shopper again for", problem.Parameter, problem.Pointer)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(checkout.Amount, checkout.Product, checkout.Variant, checkout.Total.Display)
	// Output: 1 vip-rank 30-days 7.99 EUR
}

// charge stands for the payment provider's library. It stores the checkout's ID with the payment. If the shopper goes
// away after paying, the till still knows which checkout was paid.
func (*till) charge(checkout string, total client.Money) client.Payment {
	fmt.Printf("charged %s for a checkout: %t\n", total.Display, checkout != "")
	return client.Payment{Provider: "stripe", Reference: "pi_3Q0001"}
}

// refund pays back the part of a payment that was for a checkout. It does so only once.
func (*till) refund(checkout string, payment client.Payment) {
	fmt.Println("refunded the part of", checkout, "in", payment.Reference)
}

// deliver delivers once for each order ID.
func (t *till) deliver(order client.PlacedOrder) error {
	if t.granted[order.ID] {
		return nil
	}
	t.granted[order.ID] = true
	fmt.Printf("delivered %d of %s/%s to %s\n", order.Amount, order.Product, order.Variant, order.Data)
	return nil
}

// sell checks out and takes the payment. An unpaid checkout obliges nobody. So if the response is lost, or the till
// crashes, the shopper just checks out again.
func sell(ctx context.Context, shop *client.Client, till *till, order client.Order) error {
	checkout, err := shop.Checkout(ctx, order)
	if err != nil {
		return err
	}
	payment := till.charge(checkout.ID, checkout.Total) // not before the shopper has seen this total
	return settle(ctx, shop, till, checkout.ID, payment)
}

// settle handles the provider's report of a payment. Call it again after an error or a crash, for example when the
// provider repeats its report: every step is applied once.
func settle(ctx context.Context, shop *client.Client, till *till, checkout string, payment client.Payment) error {
	order, err := shop.PlaceOrder(ctx, checkout, payment)
	if _, unknown := errors.AsType[*client.OutcomeUnknownError](err); unknown {
		return err // the order may exist: neither deliver nor refund
	}
	for _, refusal := range []error{
		client.ErrCheckoutExpired, client.ErrCheckoutReplaced, client.ErrCheckoutReleased,
		client.ErrPaymentMismatch, client.ErrNotFound,
	} {
		if errors.Is(err, refusal) {
			till.refund(checkout, payment) // the payment buys nothing of this checkout, now or later
			return err
		}
	}
	if err != nil {
		// the order was cancelled, or the till made a mistake, such as a wrong base URL: correct that and call again
		return err
	}
	if err := till.deliver(order); err != nil {
		return err // the order stays placed, where Client.Orders finds it
	}
	_, err = shop.FulfilOrder(ctx, order.ID)
	return err // if the response is lost, the next call of settle delivers nothing and fulfils the order
}

// A sale is delivered once although two responses are lost.
func ExampleClient_PlaceOrder() {
	places, fulfils := keeps(orderJSON), keeps(fulfilledJSON())
	server := httptest.NewServer(&service{
		steps: []step{answers(200, checkoutJSON), loses(places), places, loses(fulfils), fulfils},
		made:  map[string]bool{},
	})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge", client.WithServerKey(serverKey))
	if err != nil {
		fmt.Println(err)
		return
	}
	order := client.Order{Product: "vip-rank", Variant: "30-days", Data: `{"player":"Alder"}`}
	fmt.Println(sell(context.Background(), shop, &till{granted: map[string]bool{}}, order))
	// Output:
	// charged 7.99 EUR for a checkout: true
	// delivered 1 of vip-rank/30-days to {"player":"Alder"}
	// <nil>
}

// After a restart, the till delivers the orders that were paid but not delivered.
func ExampleClient_Orders() {
	server := httptest.NewServer(&service{steps: []step{
		answers(200, ordersJSON("null", orderJSON)), answers(200, orderJSON), answers(200, fulfilledJSON()),
	}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge", client.WithServerKey(serverKey))
	if err != nil {
		fmt.Println(err)
		return
	}
	till := &till{granted: map[string]bool{}}
	for page, err := range shop.Orders(context.Background(), client.OrderFilter{Status: client.OrderPlaced}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, order := range page {
			fmt.Println(settle(context.Background(), shop, till, order.ID, order.Payment))
		}
	}
	// Output:
	// delivered 1 of vip-rank/30-days to {"player":"Alder"}
	// <nil>
}

// The client revalidates stored pages. The service sends a page again only if it has changed.
func ExampleClient_CheckoutArea() {
	server := httptest.NewServer(&service{steps: []step{area(499)}, made: map[string]bool{}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge")
	if err != nil {
		fmt.Println(err)
		return
	}
	var kept []client.Page
	for range 2 {
		var pages []client.Page
		for page, err := range shop.CheckoutArea(context.Background(), kept...) {
			if err != nil {
				fmt.Println(err)
				return
			}
			pages = append(pages, page)
		}
		kept = pages
	}
	for _, page := range kept {
		for _, product := range page.Products {
			fmt.Println(product.ID, product.Variants[0].Price.Minor, page.Shop.Currency)
		}
	}
	// Output:
	// coins 499 EUR
	// vip-rank 799 EUR
}

// ledger stands for the shop's database. It stores an effect and the cursor in one transaction.
type ledger struct {
	cursor  client.EventCursor
	applied map[string]bool // by event ID
}

func (l *ledger) apply(event client.Event) error {
	if event.Shop != "emberforge" {
		return errors.New("an event of another shop")
	}
	if !l.applied[event.ID] {
		switch event.Type {
		case client.EventRedemptionCreated:
			fmt.Println(event.Sequence, "granted", event.Redemption.Reward.Amount, "of",
				event.Redemption.Reward.Product)
		case client.EventRedemptionUndone:
			fmt.Println(event.Sequence, "took back", event.Redemption.Reward.Amount, "of",
				event.Redemption.Reward.Product)
		case client.EventOrderCreated, client.EventOrderFulfilled, client.EventOrderCancelled:
			fmt.Println(event.Sequence, "order is", event.Order.Status)
		default: // a type that a later release of the service may add
			fmt.Println(event.Sequence, "skipped")
		}
	}
	l.applied[event.ID], l.cursor = true, event.Cursor()
	return nil
}

// follow applies events until the context ends, the service refuses a request, or the ledger fails. Call it again to
// continue.
func follow(ctx context.Context, shop *client.Client, ledger *ledger) error {
	for event, err := range shop.Events(ctx, ledger.cursor) {
		if err != nil {
			return err
		}
		if err := ledger.apply(event); err != nil {
			return err
		}
	}
	return nil
}

// Every event is applied once although a response is lost and the shop's server restarts.
func ExampleClient_Events() {
	first := answers(200, eventsJSON(2, 0, redeemedEvent(1), eventJSON(2, "redemption.undone", undoneJSON())))
	server := httptest.NewServer(&service{steps: []step{
		loses(first), first, problem("unauthorized", 401),
		answers(200, eventsJSON(3, 0, eventJSON(3, "order.created", orderJSON))), problem("unauthorized", 401),
	}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge", client.WithServerKey(serverKey))
	if err != nil {
		fmt.Println(err)
		return
	}
	ledger := &ledger{applied: map[string]bool{}}
	for range 2 { // the server restarts once
		err := follow(context.Background(), shop, ledger)
		fmt.Println(ledger.cursor.After, errors.Is(err, client.ErrUnauthorized))
	}
	// Output:
	// 1 granted 2 of coins
	// 2 took back 2 of coins
	// 2 true
	// 3 order is placed
	// 3 true
}

// A server that receives forwarded events responds with 2xx once the event is applied. Until then, the sender posts the
// event again.
func ExampleVerifyWebhook() {
	ledger := &ledger{applied: map[string]bool{}}
	now := func() time.Time { return time.Date(2026, 11, 22, 1, 36, 0, 0, time.UTC) }
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			return
		}
		event, err := client.VerifyWebhook([]string{webhookSecret}, r.Header, body, now())
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if err := ledger.apply(event); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()

	for _, body := range []string{redeemedEvent(1), redeemedEvent(1), "forged"} {
		forwarded, err := http.NewRequestWithContext(context.Background(), http.MethodPost, receiver.URL,
			strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		forwarded.Header = http.Header{
			"Webhook-Id": {"MTCXgwWFAhhCzmYLdeg-1"}, "Webhook-Timestamp": {"1795311352"},
			"Webhook-Signature": {"v1,mZrP1RGMbQokfqS9myyHVOpWVmjYMLKVOC+dhSnkfVc="},
		}
		response, err := http.DefaultClient.Do(forwarded)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(response.StatusCode, response.Body.Close())
	}
	// Output:
	// 1 granted 2 of coins
	// 204 <nil>
	// 204 <nil>
	// 400 <nil>
}
