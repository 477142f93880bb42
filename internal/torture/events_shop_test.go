package torture_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// eventShop is a shop, with what the writers learned from responses.
type eventShop struct {
	shop     catalog.ShopID
	vouchers []voucher.Voucher

	mu        sync.Mutex
	sent      []voucher.Request // with a key
	redeemed  []undoable
	opened    []checkout.ID
	ordered   []checkout.ID
	confirmed []event.Fact // what responses showed
	outcomes  struct{ refused, unknown int }
}

type undoable struct {
	code voucher.Code
	id   string
}

// eventVouchers returns vouchers of every kind. Half of them are discounts, which checkouts hold.
func eventVouchers(t *testing.T) (vouchers []voucher.Voucher) {
	t.Helper()
	limit := func(n int) *voucher.Limit { return new(voucher.Limit(n)) }
	kinds := []voucher.Terms{
		{Written: "SUMMER20", MaxUses: limit(60), MaxUsesPerNick: limit(0), Parts: new(2)},
		{Written: "FOUNDER", MaxUses: limit(60), MaxUsesPerNick: limit(3), Parts: new(2)},
		{Written: "DAILY", MaxUses: limit(0), MaxUsesPerNick: limit(3)},
		{Written: "WELCOME", MaxUses: limit(0), MaxUsesPerNick: limit(0)},
	}
	for i := range 16 {
		kinds = append(kinds, voucher.Terms{Written: fmt.Sprintf("EVT-%02d", i)})
	}
	for _, terms := range kinds {
		for _, reward := range []voucher.Reward{
			{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1},
			{Kind: voucher.RewardPercentOff, PercentOff: 20},
		} {
			terms.Reward = reward
			if reward.Kind == voucher.RewardPercentOff {
				terms.Written += "-OFF"
			}
			v, err := voucher.New(terms, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			vouchers = append(vouchers, v)
		}
	}
	return vouchers
}

// coinsForFive sells coins for 5 euros.
type coinsForFive struct{}

func (coinsForFive) Offer(
	context.Context, catalog.ShopID, catalog.ProductID, catalog.VariantID,
) (catalog.Offer, error) {
	price := money.Money{Minor: 500, Currency: "EUR"}
	return catalog.Offer{Variant: catalog.Variant{ID: "500", Price: price, MinAmount: 1, MaxAmount: 64}}, nil
}

// eventWriter is a client of the shops. It works on the real stores.
type eventWriter struct {
	*eventShop

	random   *mathrand.Rand
	redeemer voucher.Redeemer
	undoer   voucher.Redemptions
	opener   checkout.Opener
	orders   checkout.Orders
}

// newEventWriter returns a writer that reaches the store at an endpoint.
func newEventWriter(endpoint string, tables dynamo.Tables, random *mathrand.Rand) *eventWriter {
	client := dynamo.NewClient(eventClient(endpoint))
	return &eventWriter{
		random: random,
		redeemer: voucher.Redeemer{
			Store:  dynamo.NewRedeemer(client, tables, mathrand.Int64N),
			Random: rand.Reader,
		},
		undoer: voucher.Redemptions{Store: dynamo.NewRedemptionRecords(client, tables, mathrand.Int64N)},
		opener: checkout.Opener{
			Catalogue: coinsForFive{}, Store: dynamo.NewCheckouts(client, tables, mathrand.Int64N),
			Random: rand.Reader,
		},
		orders: checkout.Orders{Store: dynamo.NewOrders(client, tables.Checkouts, tables.Vouchers, mathrand.Int64N)},
	}
}

func eventClient(endpoint string) dynamo.Settings {
	return dynamo.Settings{
		Region: dynamotest.Region, Endpoint: endpoint, Jitter: mathrand.Int64N,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// write sends the given number of requests, each for one of the shops.
func (w *eventWriter) write(t *testing.T, shops []*eventShop, requests int) {
	t.Helper()
	for range requests {
		w.eventShop = pickEvent(w.random, shops)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := w.request(ctx)
		cancel()
		w.mu.Lock()
		switch _, unavailable := errors.AsType[*dynamo.UnavailableError](err); {
		case err == nil:
		case unavailable:
			w.outcomes.unknown++
		case isEventRefusal(err):
			w.outcomes.refused++
		default:
			t.Errorf("a request to %s failed: %v", w.shop, err)
		}
		w.mu.Unlock()
	}
}

func isEventRefusal(err error) bool {
	_, refused := voucher.IsRefusal(err)
	for _, named := range []error{
		voucher.ErrUndone, voucher.ErrRedemptionNotFound, voucher.ErrRedemptionOfOrder, checkout.ErrNotFound,
		checkout.ErrOrderNotFound,
		checkout.ErrExpired, checkout.ErrReplaced, checkout.ErrOrderCancelled, checkout.ErrNotReplaceable,
	} {
		refused = refused || errors.Is(err, named)
	}
	return refused
}

func pickEvent[T any](random *mathrand.Rand, from []T) T { return from[random.IntN(len(from))] }

// known picks an element of a list of what the shop's writers learned.
func known[T any](w *eventWriter, list *[]T) (picked T, has bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(*list) == 0 {
		return picked, false
	}
	return pickEvent(w.random, *list), true
}

// learn adds to a list of what the shop's writers learned.
func learn[T any](s *eventShop, list *[]T, more ...T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, more...)
}

// request sends one request.
func (w *eventWriter) request(ctx context.Context) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	switch lot := w.random.IntN(100); {
	case lot < 45:
		return w.redeem(ctx, now)
	case lot < 70:
		return w.checkOut(ctx, now)
	case lot < 88:
		id, has := known(w, &w.ordered)
		switch {
		case !has:
			return w.checkOut(ctx, now)
		case lot < 80:
			return w.learnOrder(w.orders.Fulfil(ctx, w.shop, id, now))
		default:
			return w.learnOrder(w.orders.Cancel(ctx, w.shop, id, "chargeback", now))
		}
	default:
		return w.undo(ctx, now)
	}
}

func (w *eventWriter) learnOrder(c checkout.Checkout, _ bool, err error) error {
	if err == nil {
		learn(w.eventShop, &w.ordered, c.ID)
		learn(w.eventShop, &w.confirmed, event.OfOrder(w.shop, c)...)
	}
	return err
}

// nick returns a nick as a shopper spells it.
func (w *eventWriter) nick() voucher.Nick {
	nick, err := voucher.ParseNick(pickEvent(w.random, []string{"Alder", "alder", "Birch", "Cedar", "Rowan", "Willow"}))
	if err != nil {
		panic(err) // all of them are valid nicks
	}
	return nick
}

// redeem redeems a code, or retries an earlier request.
func (w *eventWriter) redeem(ctx context.Context, now time.Time) error {
	request, again := known(w, &w.sent)
	if !again || w.random.IntN(4) > 0 {
		request = voucher.Request{
			Shop: w.shop, Code: pickEvent(w.random, w.vouchers).Code, Nick: w.nick(),
			At: now,
		}
		if w.random.IntN(2) == 0 {
			request.Key = idempotency.Key(fmt.Sprintf("order-%016x", w.random.Uint64()))
			learn(w.eventShop, &w.sent, request)
		}
	}
	r, _, err := w.redeemer.Redeem(ctx, request)
	if err == nil {
		learn(w.eventShop, &w.redeemed, undoable{request.Code, r.ID})
		learn(w.eventShop, &w.confirmed, event.OfRedemption(w.shop, r)...)
	}
	return err
}

func (w *eventWriter) undo(ctx context.Context, now time.Time) error {
	of, has := known(w, &w.redeemed)
	if !has {
		return w.redeem(ctx, now)
	}
	r, _, err := w.undoer.Undo(ctx,
		voucher.UndoRequest{Shop: w.shop, Code: of.code, ID: of.id, At: now, Reason: "granted twice"})
	if err == nil {
		learn(w.eventShop, &w.confirmed, event.OfRedemption(w.shop, r)...)
	}
	return err
}

// checkOut makes a checkout, mostly with a code, and mostly orders it. Some checkouts have expired when they are
// ordered.
func (w *eventWriter) checkOut(ctx context.Context, now time.Time) error {
	request := checkout.Request{Shop: w.shop, Product: "coins", Variant: "500", Nick: w.nick(), At: now}
	if w.random.IntN(4) > 0 {
		request.Code = pickEvent(w.random, w.vouchers).Code
	}
	if w.random.IntN(6) == 0 {
		request.At = now.Add(-checkout.Lifetime - time.Minute)
	}
	if w.random.IntN(8) == 0 {
		request.Replaces, _ = known(w, &w.opened)
	}
	c, _, err := w.opener.Open(ctx, request)
	if err != nil {
		return err
	}
	learn(w.eventShop, &w.opened, c.ID)
	if w.random.IntN(4) == 0 {
		return nil
	}
	payment := checkout.Payment{Provider: "stripe", Reference: "pi_" + string(c.ID[:8])}
	return w.learnOrder(w.orders.Place(ctx, w.shop, c.ID, payment, now))
}

// eventStore returns a client whose calls go through a transport.
func eventStore(endpoint string, through func(dynamodb.HTTPClient) dynamodb.HTTPClient) *dynamodb.Client {
	options := dynamo.NewClient(eventClient(endpoint)).Options()
	options.HTTPClient = through(options.HTTPClient)
	return dynamodb.New(options)
}
