package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"shopfront/pkg/client"
)

const (
	maxBodyBytes = 64 << 10
	// metadataKey names the checkout in a Stripe session. Only the owner of the Stripe account can write metadata,
	// while a shopper can choose the client_reference_id of a payment link.
	metadataKey = "shopfront_checkout"
	// sessionMargin is how long a Stripe session outlives its checkout. Stripe rejects a session that ends within 30
	// minutes, and an open checkout may be about to expire. Shopfront keeps the price for 7 more days, so a late
	// payment does no harm. But if somebody else has taken the use of the code meanwhile, the payment must be refunded.
	sessionMargin = 31 * time.Minute
	// otherUnits lists the currencies that Stripe and Shopfront count in different units. Shopfront counts in the minor
	// units of ISO
	// 4217. Stripe uses two decimals for ISK and UGX where ISO has none, and none for MGA where ISO has two. For
	//     currencies with three
	// decimals, Stripe only accepts amounts that end in 0. All other currencies agree: for both, 500 means 5.00 EUR or
	// 500 JPY. See https://docs.stripe.com/currencies
	otherUnits = "ISK UGX MGA BHD IQD JOD KWD LYD OMR TND"

	page = `<!doctype html><title>Ember coins</title><form method="post" action="/buy?product=coins&amp;variant=500">` +
		`<input type="hidden" name="attempt" value="%s"><label>Discount code <input name="code"></label> ` +
		`<button>Buy 500 coins</button></form>`
)

// till sells products: it checks out at Shopfront, takes the payment with Stripe, places the order and delivers.
type till struct {
	shop          *client.Client
	stripe        *stripe.Client
	webhookSecret string
	ownURL        string // where shoppers reach this server
	// deliver delivers an order once for each order ID. It is called again if the server crashed before the order was
	// fulfilled.
	deliver func(context.Context, client.PlacedOrder) error
	// nick returns the name of the signed-in shopper who sent a request, or "" if nobody is signed in. It must not take
	// the name from a form, in which a shopper can claim any name.
	nick func(*http.Request) string
	// address returns the network address of the shopper who sent a request. It must not take the address from what a
	// shopper can write, or the shop's limits do not limit anybody.
	address func(*http.Request) netip.Addr
	log     *slog.Logger
}

func (t *till) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, page, client.NewKey())
	})
	mux.HandleFunc("GET /thanks", func(w http.ResponseWriter, _ *http.Request) {
		// only /webhook learns whether it has
		_, _ = io.WriteString(w, "Thank you. We deliver as soon as the payment has arrived.\n")
	})
	mux.HandleFunc("POST /buy", t.buy)
	mux.HandleFunc("POST /webhook", t.webhook)
	// Another site's page must not make a shopper's browser hold codes. Stripe's server is no browser.
	handler := http.NewCrossOriginProtection().Handler(mux)
	// A request that takes too long gets 503, and its context ends.
	return http.TimeoutHandler(http.MaxBytesHandler(handler, maxBodyBytes), patience, "Please try again.\n")
}

// buy checks out a variant and sends the shopper to Stripe. The form's attempt is a random value that the page made: a
// shopper who clicks twice gets the same checkout and the same Stripe session, and pays once. A retry after a lost
// response also gets the same checkout, with the use of the code that this checkout holds.
func (t *till) buy(w http.ResponseWriter, r *http.Request) {
	order := client.Order{
		Product: r.FormValue("product"), Variant: r.FormValue("variant"), Data: r.FormValue("data"),
		Code: strings.TrimSpace(r.FormValue("code")), Nick: t.nick(r),
	}
	checkout, err := t.shop.Checkout(r.Context(), order,
		client.WithKey(cmp.Or(r.FormValue("attempt"), client.NewKey())), client.WithShopperAddress(t.address(r)))
	for _, refusal := range []error{
		client.ErrNotFound, client.ErrInvalid, client.ErrMalformedID,
		client.ErrMalformedKey,
	} {
		if errors.Is(err, refusal) {
			http.Error(w, "This is not on sale, or something is missing in the form.", http.StatusUnprocessableEntity)
			return
		}
	}
	if errors.Is(err, client.ErrKeyInUse) {
		http.Error(w, "This form was used already. To buy something else, reload the shop's page.", http.StatusConflict)
		return
	}
	if errors.Is(err, client.ErrCodeRefused) { // never sell at the full price instead
		http.Error(w, "This code cannot be used. Go back, and try another one or none.", http.StatusConflict)
		return
	}
	if errors.Is(err, client.ErrTooManyRefusals) || errors.Is(err, client.ErrTooManyHolds) {
		http.Error(w, "Too many attempts with codes. Please try again later, or without a code.",
			http.StatusTooManyRequests)
		return
	}
	next := t.ownURL + "/thanks"
	switch {
	case err != nil:
	case checkout.Total.Minor == 0:
		err = t.settle(r.Context(), checkout.ID, client.Payment{})
	default:
		next, err = t.openSession(r.Context(), checkout)
	}
	if err != nil {
		t.log.ErrorContext(r.Context(), "cannot sell", "error", err)
		http.Error(w, "Please try again.", http.StatusServiceUnavailable)
		return
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // the address is Stripe's or this server's own
}

// openSession returns the address of the Stripe session in which the shopper pays the checkout. Every parameter follows
// from the checkout, because Stripe rejects a retry with the same idempotency key and other parameters.
func (t *till) openSession(ctx context.Context, checkout client.Checkout) (string, error) {
	if slices.Contains(strings.Fields(otherUnits), checkout.Total.Currency) {
		return "", fmt.Errorf("%s: Stripe and Shopfront count this currency in different units",
			checkout.Total.Currency)
	}
	params := &stripe.CheckoutSessionCreateParams{
		Mode:              new(string(stripe.CheckoutSessionModePayment)),
		ClientReferenceID: new(checkout.Number), // for people who search the dashboard
		ExpiresAt:         new(checkout.ExpiresAt.Add(sessionMargin).Unix()),
		SuccessURL:        new(t.ownURL + "/thanks"),
		CancelURL:         new(t.ownURL + "/"),
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Quantity: new(int64(1)), // one line for the whole checkout: the shopper owes exactly its total
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency:   new(strings.ToLower(checkout.Total.Currency)),
				UnitAmount: new(checkout.Total.Minor),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{
					Name: new(fmt.Sprintf("%d × %s, %s", checkout.Amount, checkout.Product, checkout.Variant)),
				},
			},
		}},
	}
	params.AddMetadata(metadataKey, checkout.ID)
	params.SetIdempotencyKey("shopfront-" + checkout.ID)
	session, err := t.stripe.V1CheckoutSessions.Create(ctx, params)
	if failure, is := errors.AsType[*stripe.Error](err); is { // its message can contain parts of the request
		return "", fmt.Errorf("open a Stripe session: %s %s, status %d, request %s",
			failure.Type, failure.Code, failure.HTTPStatusCode, failure.RequestID)
	}
	if err != nil {
		return "", fmt.Errorf("open a Stripe session: %w", err)
	}
	return session.URL, nil
}

// webhook receives Stripe's events. With any status but 2xx, Stripe sends the event again later, for up to three days.
func (t *till) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "The body is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	// The Stripe CLI and older endpoints send events of other API versions. The members that are read below are the
	// same in all.
	options := webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true}
	event, err := webhook.ConstructEventWithOptions(body, r.Header.Get("Stripe-Signature"), t.webhookSecret, options)
	if err != nil {
		http.Error(w, "Not an event with a valid signature.", http.StatusBadRequest)
		return
	}
	if event.Type != stripe.EventTypeCheckoutSessionCompleted &&
		event.Type != stripe.EventTypeCheckoutSessionAsyncPaymentSucceeded {
		return
	}
	var session stripe.CheckoutSession
	if err := json.Unmarshal(event.Data.Raw, &session); err != nil {
		t.log.ErrorContext(r.Context(), "cannot read a session", "event", event.ID, "error", err)
		http.Error(w, "Not a session.", http.StatusInternalServerError)
		return
	}
	checkout := session.Metadata[metadataKey]
	// A bank transfer completes its session before it is paid. This server did not open the sessions without a
	// checkout.
	if checkout == "" || session.PaymentStatus != stripe.CheckoutSessionPaymentStatusPaid ||
		session.PaymentIntent == nil {
		return
	}
	// Shopfront compares the amount with the checkout's total.
	payment := client.Payment{
		Provider: "stripe", Reference: session.PaymentIntent.ID, Amount: session.AmountTotal,
		Currency: strings.ToUpper(string(session.Currency)),
	}
	err = t.settle(r.Context(), checkout, payment)
	// Shopfront itself logs no checkout ID, because anybody who knows the ID can read the checkout. This log may
	// contain it: its readers are the shop's operators, who see every checkout anyway, and settle a payment by hand
	// with `shopctl order place`. README.md lists the log lines that must alert somebody.
	log := t.log.With("checkout", checkout, "payment", payment.Reference)
	switch {
	case errors.Is(err, client.ErrOrderCancelled): // whoever cancelled the order decided about the refund
		log.WarnContext(r.Context(), "the order is cancelled", "reason", err)
	case isFinal(err):
		// This server does not refund by itself.
		log.ErrorContext(r.Context(), "refund a payment", "reason", err)
	case needsOperator(err):
		log.ErrorContext(r.Context(), "cannot settle a payment", "error", err)
		http.Error(w, "Please send the event again.", http.StatusServiceUnavailable)
	case err != nil:
		log.WarnContext(r.Context(), "a payment is not settled yet", "error", err)
		http.Error(w, "Please send the event again.", http.StatusServiceUnavailable)
	}
}

// settle places and delivers an order. After an error that is not final, call settle again: every step is applied only
// once.
func (t *till) settle(ctx context.Context, checkout string, payment client.Payment) error {
	order, err := t.shop.PlaceOrder(ctx, checkout, payment)
	if err != nil || order.Status != client.OrderPlaced {
		return err // nil if the order was already delivered
	}
	if err := t.deliver(ctx, order); err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	if _, err = t.shop.FulfilOrder(ctx, order.ID); errors.Is(err, client.ErrOrderCancelled) {
		t.log.ErrorContext(ctx, "take back what was delivered", "checkout", checkout, "payment", payment.Reference)
		return nil
	}
	return err
}

// isFinal reports whether an error of settle means that the payment can never become an order.
func isFinal(err error) bool {
	if _, unknown := errors.AsType[*client.OutcomeUnknownError](err); unknown {
		return false // the order may have been placed
	}
	final := []error{
		client.ErrCheckoutExpired, client.ErrCheckoutReplaced, client.ErrCheckoutReleased,
		client.ErrPaymentMismatch, client.ErrPaymentInsufficient, client.ErrNotFound,
	}
	return slices.ContainsFunc(final, func(refusal error) bool { return errors.Is(err, refusal) })
}

// needsOperator reports whether retries alone do not settle a payment: the key is revoked, SHOP_URL is wrong, or
// Shopfront does not accept the ID of the checkout or the payment. Stripe still sends the event again, so the payment
// is settled once the key or the address is corrected.
func needsOperator(err error) bool {
	lasting := []error{client.ErrUnauthorized, client.ErrWrongBaseURL, client.ErrMalformedID, client.ErrInvalid}
	return slices.ContainsFunc(lasting, func(cause error) bool { return errors.Is(err, cause) })
}
