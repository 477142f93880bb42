package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
)

// kiosk has its own catalogue table and checkouts table. It sells coins/500 of emberforge for 4.99 EUR.
type kiosk struct {
	*stockroom
	checkouts string // the table
	opener    checkout.Opener
	shown     checkout.Checkouts // the functions' store, for showing a checkout
}

func newKiosk(t testing.TB) *kiosk {
	stock := newStockroom(t)
	stock.put(profile(emberforge, "EUR"), product("coins"))
	table := dynamotest.Table(t, "CheckoutsTable")
	k := &kiosk{stockroom: stock, checkouts: table}
	k.opener = k.openerOf(stock.client)
	k.shown = checkout.Checkouts{Store: dynamo.NewOrders(stock.client, table, "", mathrand.Int64N)}
	return k
}

func (k *kiosk) openerOf(client *dynamodb.Client) checkout.Opener {
	return checkout.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(client, k.table, mathrand.Int64N)},
		Store:     dynamo.NewCheckouts(client, dynamo.Tables{Checkouts: k.checkouts}, mathrand.Int64N), Random: rand.Reader,
	}
}

func (k *kiosk) over(network *unreliable) checkout.Opener {
	return k.openerOf(newClient(k.t, over(network)))
}

// coins returns a request for three packs of coins. The key may be empty.
func coins(key string) checkout.Request {
	r := checkout.Request{Shop: emberforge, Product: "coins", Variant: "500", Amount: 3, At: noon()}
	if key != "" {
		r.Key = idempotency.Key("till-" + key)
	}
	return r
}

func (k *kiosk) mustOpen(r checkout.Request) checkout.Checkout {
	k.t.Helper()
	c, replayed, err := k.opener.Open(within(k.t), r)
	if err != nil || replayed {
		k.t.Fatalf("Open = replayed %v, %v", replayed, err)
	}
	return c
}

// stored returns the stored checkouts of a shop.
func (k *kiosk) stored(shop catalog.ShopID) []checkout.Checkout {
	k.t.Helper()
	var all []checkout.Checkout
	owner := ownerOf(shop, k.client, backoffice.Tables{Checkouts: k.checkouts})
	for c, err := range owner.Checkouts(k.t.Context(), checkout.Filter{}, noon()) {
		must(k.t, err)
		all = append(all, c)
	}
	return all
}

func (k *kiosk) wantStored(want ...checkout.Checkout) {
	k.t.Helper()
	got := k.stored(emberforge)
	if len(got) != len(want) {
		k.t.Fatalf("%d checkouts are stored, want %d", len(got), len(want))
	}
	for _, c := range want {
		if shown, err := k.shown.Show(k.t.Context(), emberforge, c.ID); shown != c || err != nil {
			k.t.Errorf("Show = %+v, %v\nwant %+v", shown, err, c)
		}
	}
}

func TestCheckout_IsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	made := checkout.Checkout{
		ID: checkout.ID(strings.Repeat("a", 22) + strings.Repeat("b", 22)), Product: "vip-rank", Variant: "30-day",
		Amount: catalog.MaxAmount,
		Data:   `{ "player": "Álder", "note": "\u0000" }`, DataIsObject: true,
		UnitPrice: money.Money{Minor: 499, Currency: "BHD"},
		Subtotal:  money.Money{Minor: money.MaxMinor, Currency: "BHD"},
		Discount:  money.Money{Minor: 1, Currency: "BHD"},
		Total:     money.Money{Minor: money.MaxMinor - 1, Currency: "BHD"},
		Created:   noon().Add(time.Millisecond), Expires: noon().Add(time.Millisecond + checkout.Lifetime),
	}
	bare := checkout.Checkout{
		ID: checkout.ID(strings.Repeat("c", 44)), Created: noon(),
		Expires: noon().Add(checkout.Lifetime),
	}
	for _, c := range []checkout.Checkout{made, bare} {
		got, err := k.opener.Store.Open(t.Context(), checkout.Opening{Shop: emberforge, Checkout: c})
		if got != c || err != nil {
			t.Errorf("Open = %+v, %v", got, err)
		}
	}
	k.wantStored(made, bare)
}

func TestCheckout_TimeToLive_Is8DaysAfterExpiry(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	r := coins("")
	r.At = noon().Add(time.Millisecond)
	c := k.mustOpen(r)
	// 2026-11-29T12:30:00.001Z, rounded up to a whole second, because the time to live is in seconds since 1970.
	deleted, is := k.item(c)["expiresAt"].(*types.AttributeValueMemberN)
	if !is || deleted.Value != "1795955401" {
		t.Errorf("expiresAt is %+v, want 1795955401", deleted)
	}
}

// item returns the stored item of a checkout, or an empty item if the checkout is not stored.
func (k *kiosk) item(c checkout.Checkout) map[string]types.AttributeValue {
	k.t.Helper()
	out, err := k.client.GetItem(k.t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(k.checkouts), ConsistentRead: aws.Bool(true),
		Key: table.CheckoutKey(emberforge, c.ID.Token()).Attributes(),
	})
	must(k.t, err)
	return out.Item
}

// outcomes counts the results of a race.
type outcomes struct {
	mu               sync.Mutex
	opened, replayed map[checkout.ID]int
	inUse            int
	unexpected       error
}

// race sends 32 requests at once.
func (k *kiosk) race(requestOf func(i int) checkout.Request) *outcomes {
	k.t.Helper()
	got := &outcomes{opened: map[checkout.ID]int{}, replayed: map[checkout.ID]int{}}
	start := make(chan struct{})
	var racers sync.WaitGroup
	for i := range 32 {
		racers.Go(func() {
			<-start
			c, replayed, err := k.opener.Open(within(k.t), requestOf(i))
			got.mu.Lock()
			defer got.mu.Unlock()
			switch {
			case errors.Is(err, checkout.ErrKeyInUse):
				got.inUse++
			case err != nil:
				got.unexpected = err
			case replayed:
				got.replayed[c.ID]++
			default:
				got.opened[c.ID]++
			}
		})
	}
	close(start)
	racers.Wait()
	if got.unexpected != nil {
		k.t.Fatal(got.unexpected)
	}
	return got
}

func TestCheckout_RaceOfOneKey_OpensOneCheckout(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	first := k.race(func(int) checkout.Request { return coins("1047") })
	made := k.stored(emberforge)
	if len(made) != 1 || first.opened[made[0].ID] != 1 || first.replayed[made[0].ID] != 31 {
		t.Fatalf("stored %+v, opened %v, replayed %v", made, first.opened, first.replayed)
	}
	// The same race after the checkout has expired.
	again := coins("1047")
	again.At = made[0].Expires
	second := k.race(func(int) checkout.Request { return again })
	remade := k.stored(emberforge)
	if len(remade) != 1 || remade[0].ID == made[0].ID || second.opened[remade[0].ID] != 1 ||
		second.replayed[remade[0].ID] != 31 {
		t.Errorf("stored %+v, opened %v, replayed %v", remade, second.opened, second.replayed)
	}
}

func TestCheckout_RaceOfOneKeyForDifferentAmounts_OpensOneCheckout(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	got := k.race(func(i int) checkout.Request {
		r := coins("1047")
		r.Amount = int64(1 + i%4)
		return r
	})
	made := k.stored(emberforge)
	if len(made) != 1 || got.opened[made[0].ID] != 1 || got.replayed[made[0].ID] != 7 || got.inUse != 24 {
		t.Errorf("stored %+v, opened %v, replayed %v, refused %d", made, got.opened, got.replayed, got.inUse)
	}
}

func TestCheckout_RaceWithoutKeys_EachRequestOpensItsOwn(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	got := k.race(func(int) checkout.Request { return coins("") })
	if len(got.opened) != 32 || len(got.replayed) != 0 || len(k.stored(emberforge)) != 32 {
		t.Errorf("opened %d, replayed %d, stored %d", len(got.opened), len(got.replayed), len(k.stored(emberforge)))
	}
}

// The SDK retries a call that got no response. If only the response was lost, the retry finds the item that the first
// attempt wrote.
func TestCheckout_LostRequestOrResponse_OpensOneCheckout(t *testing.T) {
	t.Parallel()
	for name, losesResponses := range map[string]bool{"response": true, "request": false} {
		for _, key := range []string{"", "1047"} {
			t.Run("lost "+name+", key "+key, func(t *testing.T) {
				k := newKiosk(t)
				network := &unreliable{operation: "PutItem", losesResponses: losesResponses}
				network.failures.Store(2)
				opener := k.over(network)
				c, replayed, err := opener.Open(within(t), coins(key))
				if replayed || err != nil {
					t.Errorf("Open = replayed %v, %v", replayed, err)
				}
				if left := network.failures.Load(); left >= 0 {
					t.Errorf("the third attempt was not made, %d failures are left", left)
				}
				k.wantStored(c)
			})
		}
	}
}

func TestCheckout_AllResponsesLost_RetryWithTheKeyIsReplayed(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	network := losingResponses("PutItem", 1<<20)
	_, _, err := k.over(network).Open(network.untilItFails(t), coins("1047"))
	wantUnavailable(t, err)
	made := k.stored(emberforge)
	if len(made) != 1 {
		t.Fatalf("%d checkouts are stored, want 1", len(made))
	}
	if c, replayed, err := k.opener.Open(within(t), coins("1047")); c != made[0] || !replayed || err != nil {
		t.Errorf("Open = %+v, replayed %v, %v, want the first checkout", c, replayed, err)
	}
	k.wantStored(made[0])
}

func TestCheckout_ProductChangedOrOffSale_RetryIsReplayed(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	made := k.mustOpen(coins("1047"))
	dearer := product("coins")
	dearer.Variants[0].Price.Minor = 999
	dearer.Variants[0].MinAmount = 10
	closed := profile(emberforge, "EUR")
	closed.OffSale = true
	changes := []struct {
		name   string
		change func()
	}{
		{"a higher price, and larger amounts", func() { k.replace(profile(emberforge, "EUR"), dearer) }},
		{"off sale", func() { k.replace(profile(emberforge, "EUR"), offSale(product("coins"))) }},
		{"closed", func() { k.replace(closed) }},
	}
	for _, test := range changes {
		t.Run(test.name, func(t *testing.T) {
			test.change()
			if c, replayed, err := k.opener.Open(within(t), coins("1047")); c != made || !replayed || err != nil {
				t.Errorf("Open = %+v, replayed %v, %v, want the first checkout", c, replayed, err)
			}
			_, _, err := k.opener.Open(within(t), coins(""))
			_, badAmount := errors.AsType[*checkout.ParameterError](err)
			if !badAmount && !errors.Is(err, catalog.ErrNotFound) {
				t.Errorf("without the key: Open = %v, want a *checkout.ParameterError or catalog.ErrNotFound", err)
			}
		})
	}
	k.wantStored(made)
}

func TestCheckout_EachRequest_TakesOneOrTwoCalls(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	k.mustOpen(coins("1047"))
	unknown, tooMany := coins(""), coins("")
	unknown.Product, tooMany.Amount = "gems", 65
	keyed := func(r checkout.Request) checkout.Request {
		r.Key = "another"
		return r
	}
	tests := map[string]struct {
		request checkout.Request
		quote   bool
		want    int32
	}{
		"new":                              {request: coins(""), want: 2},
		"new, with a key":                  {request: keyed(coins("")), want: 2},
		"replayed":                         {request: coins("1047"), want: 2},
		"unknown product":                  {request: unknown, want: 1},
		"unknown product, with a key":      {request: keyed(unknown), want: 2},
		"amount out of bounds":             {request: tooMany, want: 1},
		"amount out of bounds, with a key": {request: keyed(tooMany), want: 2},
		"quote":                            {request: coins(""), quote: true, want: 1},
		"quote, with a key":                {request: keyed(coins("")), quote: true, want: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			network, option := counted()
			opener := k.openerOf(newClient(t, option))
			ask := opener.Open
			if test.quote {
				ask = opener.Quote
			}
			_, _, _ = ask(within(t), test.request) // other tests check the response
			if got := network.calls.Load(); got != test.want {
				t.Errorf("%d calls, want %d", got, test.want)
			}
		})
	}
}

func TestCheckout_Quote_IsNotStored(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	for _, key := range []string{"", "1047"} {
		c, replayed, err := k.opener.Quote(within(t), coins(key))
		if c.Total.String() != "14.97 EUR" || replayed || err != nil {
			t.Errorf("Quote = %+v, replayed %v, %v", c, replayed, err)
		}
	}
	k.wantStored()
}

func TestCheckout_OtherShopsCheckouts_AreInvisible(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	k.put(profile(sakura, "EUR"), product("coins"))
	theirs := coins("1047")
	theirs.Shop = sakura
	mine := k.mustOpen(coins("1047"))
	other := k.mustOpen(theirs)
	k.wantStored(mine)
	if stored := k.stored(sakura); len(stored) != 1 || stored[0] != other {
		t.Errorf("%s has the checkouts %+v, want only %+v", sakura, stored, other)
	}
	for shop, id := range map[catalog.ShopID]checkout.ID{
		emberforge: other.ID, sakura: mine.ID,
		"nobody": mine.ID,
	} {
		if _, err := k.shown.Show(t.Context(), shop, id); !errors.Is(err, checkout.ErrNotFound) {
			t.Errorf("Show(%s, …) = %v, want checkout.ErrNotFound", shop, err)
		}
		if shop == "nobody" && len(k.stored(shop)) != 0 {
			t.Error("an unknown shop has checkouts")
		}
	}
	// The token does not find another shop's checkout either.
	if _, err := k.opener.Store.Recall(t.Context(), sakura, mine.ID.Token()); !errors.Is(err, checkout.ErrNotFound) {
		t.Errorf("Recall = %v, want checkout.ErrNotFound", err)
	}
}

func TestShowCheckout_IDWithTheSameFirstHalf_IsNotFound(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	first := k.mustOpen(coins("1047"))
	half := checkout.ID(string(first.ID.Token()) + strings.Repeat("A", 22))
	if _, err := k.shown.Show(t.Context(), emberforge, half); !errors.Is(err, checkout.ErrNotFound) {
		t.Errorf("Show of another ID with the same first half = %v, want checkout.ErrNotFound", err)
	}
	later := coins("1047")
	later.At = first.Expires
	second := k.mustOpen(later)
	if _, err := k.shown.Show(t.Context(), emberforge, first.ID); !errors.Is(err, checkout.ErrNotFound) {
		t.Errorf("Show of the replaced checkout = %v, want checkout.ErrNotFound", err)
	}
	k.wantStored(second)
}

// The first two share the first group, and the last two share the number.
func TestFindCheckout_ByNumber(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	const (
		alone  checkout.ID = "LRLuWYz8-QoWsPfs4cYnaafPkI5GrohS55kPQs7VRFUw"
		shared checkout.ID = "LRLuWYz8-QoWsPfs4c6Daa_2aflcPZvHBww39tksoraa"
		twin   checkout.ID = "LRLuWYz8-QoWsPfs4cYnaafPkI5GrohS55kPQs7Vn9da"
	)
	open := func(id checkout.ID) checkout.Checkout {
		c := checkout.Checkout{ID: id, Created: noon(), Expires: noon().Add(checkout.Lifetime)}
		_, err := k.opener.Store.Open(within(t), checkout.Opening{Shop: emberforge, Checkout: c})
		must(t, err)
		return c
	}
	find := func(shop catalog.ShopID, number checkout.Number, want checkout.Checkout) {
		t.Helper()
		got, err := k.shown.Find(within(t), shop, number)
		if got != want || (want == checkout.Checkout{}) != errors.Is(err, checkout.ErrNotFound) {
			t.Errorf("%s of %s: %+v, %v; want %+v", number, shop, got, err, want)
		}
	}
	none := checkout.Checkout{}
	first, second := open(alone), open(shared)
	find(emberforge, alone.Number(), first)
	find(emberforge, shared.Number(), second)
	find(emberforge, alone.Number()[:6]+"00000", none)
	find(sakura, alone.Number(), none)

	replacement := checkout.Checkout{ID: twin, Created: first.Expires, Expires: first.Expires.Add(checkout.Lifetime)}
	// with the key of the first, which has expired
	_, err := k.opener.Store.Open(within(t), checkout.Opening{Shop: emberforge, Checkout: replacement})
	must(t, err)
	find(emberforge, alone.Number(), none)
	find(emberforge, shared.Number(), none) // now it is also the number of the twin
}

func TestListCheckouts_MoreThanOnePage_AllAreListed(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	const many = 560 // more than 2 KB each: two pages
	want := make(map[checkout.ID]bool, many)
	data, err := checkout.ParseData(strings.Repeat("x", checkout.MaxDataBytes))
	must(t, err)
	requests := make(chan checkout.Request)
	var mu sync.Mutex
	var tills sync.WaitGroup
	for range 8 {
		tills.Go(func() {
			for r := range requests {
				c, _, err := k.opener.Open(within(t), r)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				want[c.ID] = true
				mu.Unlock()
			}
		})
	}
	for range many {
		r := coins("")
		r.Data = data
		requests <- r
	}
	close(requests)
	tills.Wait()
	for _, c := range k.stored(emberforge) {
		if !want[c.ID] {
			t.Errorf("%s is listed twice or was never opened", c.ID)
		}
		delete(want, c.ID)
	}
	if len(want) > 0 {
		t.Errorf("%d checkouts are not listed", len(want))
	}
}

func TestCheckout_OutOfReach_IsUnavailable(t *testing.T) {
	t.Parallel()
	k := newKiosk(t)
	wantEachUnavailable(t, map[string]func(context.Context) error{
		"open": func(ctx context.Context) error {
			_, err := dynamo.NewCheckouts(cutOff(t, "PutItem"), dynamo.Tables{Checkouts: k.checkouts}, nil).Open(ctx,
				checkout.Opening{
					Shop: emberforge, Checkout: checkout.Checkout{ID: checkout.ID(strings.Repeat("a", 44))},
				})
			return err
		},
		"recall": func(ctx context.Context) error {
			_, err := dynamo.NewCheckouts(cutOff(t, "GetItem"), dynamo.Tables{Checkouts: k.checkouts}, nil).Recall(ctx,
				emberforge, "token")
			return err
		},
		"show": func(ctx context.Context) error {
			_, err := checkout.Checkouts{Store: dynamo.NewOrders(cutOff(t, "GetItem"), k.checkouts, "",
				mathrand.Int64N)}.Show(ctx, emberforge, checkout.ID(strings.Repeat("a", 44)))
			return err
		},
		"list": func(ctx context.Context) error {
			owner := ownerOf(emberforge, cutOff(t, "Query"), backoffice.Tables{Checkouts: k.checkouts})
			for _, err := range owner.Checkouts(ctx, checkout.Filter{}, noon()) {
				return err
			}
			return nil
		},
	})
}
