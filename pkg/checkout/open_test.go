package checkout_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
)

const (
	emberforge catalog.ShopID = "emberforge"
	sakura     catalog.ShopID = "sakura-goods"

	rankSchema = `{"type":"object","properties":{"player":{"type":"string"}}}`
)

var noon = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant in all but syntax

type catalogueFunc func(catalog.ShopID, catalog.ProductID, catalog.VariantID) (catalog.Offer, error)

func (f catalogueFunc) Offer(
	_ context.Context, c catalog.ShopID, p catalog.ProductID, v catalog.VariantID,
) (catalog.Offer, error) {
	return f(c, p, v)
}

// onSale offers coins (2 to 64 at a time), ranks (whose data must be an object), engraved cups (whose data is any
// text), free stickers, and castles (three of them cost more than money.Money can hold).
func onSale(_ catalog.ShopID, product catalog.ProductID, variant catalog.VariantID) (catalog.Offer, error) {
	eur := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	variants := map[string]catalog.Variant{
		"coins/500":       {Price: eur(499), MinAmount: 2, MaxAmount: 64},
		"vip-rank/30-day": {Price: eur(999), MinAmount: 1, MaxAmount: 1, DataSchema: rankSchema},
		"cup/engraved":    {Price: eur(1250), MinAmount: 1, MaxAmount: 10},
		"sticker/free":    {Price: eur(0), MinAmount: 1, MaxAmount: 5},
		"castle/gold":     {Price: eur(money.MaxMinor / 2), MinAmount: 1, MaxAmount: 10},
	}
	found, ok := variants[string(product)+"/"+string(variant)]
	if !ok {
		return catalog.Offer{}, catalog.ErrNotFound
	}
	found.ID = variant
	return catalog.Offer{Variant: found}, nil
}

func nothingOnSale(catalog.ShopID, catalog.ProductID, catalog.VariantID) (catalog.Offer, error) {
	return catalog.Offer{}, catalog.ErrNotFound
}

type checkerFunc func(schema, data string) error

func (f checkerFunc) Check(schema, data string) error { return f(schema, data) }

// needsPlayer accepts data that names a player.
func needsPlayer(_, data string) error {
	if !strings.Contains(data, `"player"`) {
		return &checkout.ParameterError{Parameter: checkout.ParameterData, Pointer: "/player", Reason: "is required"}
	}
	return nil
}

// fakeStore is a checkout.Store in memory.
type fakeStore struct {
	checkout.Store // nil: the tests without a code or a checkout to replace do not need the other methods

	stored map[catalog.ShopID]map[idempotency.Token]checkout.Checkout
	err    error
}

func (s *fakeStore) Open(_ context.Context, opening checkout.Opening) (checkout.Checkout, error) {
	shop, c := opening.Shop, opening.Checkout
	if s.err != nil {
		return checkout.Checkout{}, s.err
	}
	if old, found := s.stored[shop][c.ID.Token()]; found && old.Status(c.Created) != checkout.StatusExpired {
		return old, nil
	}
	if s.stored == nil {
		s.stored = map[catalog.ShopID]map[idempotency.Token]checkout.Checkout{}
	}
	if s.stored[shop] == nil {
		s.stored[shop] = map[idempotency.Token]checkout.Checkout{}
	}
	s.stored[shop][c.ID.Token()] = c
	return c, nil
}

func (s *fakeStore) Recall(
	_ context.Context, shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	if s.err != nil {
		return checkout.Checkout{}, s.err
	}
	c, found := s.stored[shop][token]
	if !found {
		return checkout.Checkout{}, checkout.ErrNotFound
	}
	return c, nil
}

func (s *fakeStore) Numbered(
	_ context.Context, shop catalog.ShopID, group string,
) (found []checkout.Checkout, err error) {
	for token, c := range s.stored[shop] {
		if checkout.NumberGroup(token) == group {
			found = append(found, c)
		}
	}
	return found, s.err
}

func (s *fakeStore) count() int {
	n := 0
	for _, stored := range s.stored {
		n += len(stored)
	}
	return n
}

func newOpener() (*checkout.Opener, *fakeStore) {
	store := &fakeStore{}
	return &checkout.Opener{
		Catalogue: catalogueFunc(onSale), Store: store, Data: checkerFunc(needsPlayer), Random: rand.Reader,
	}, store
}

func buy(product catalog.ProductID, variant catalog.VariantID, amount int64) checkout.Request {
	return checkout.Request{Shop: emberforge, Product: product, Variant: variant, Amount: amount, At: noon}
}

func withData(t *testing.T, request checkout.Request, text string) checkout.Request {
	t.Helper()
	data, err := checkout.ParseData(text)
	if err != nil {
		t.Fatal(err)
	}
	request.Data = data
	return request
}

func withKey(request checkout.Request, key idempotency.Key) checkout.Request {
	request.Key = key
	return request
}

func at(request checkout.Request, received time.Time) checkout.Request {
	request.At = received
	return request
}

func mustOpen(t *testing.T, opener *checkout.Opener, request checkout.Request) checkout.Checkout {
	t.Helper()
	c, replayed, err := opener.Open(t.Context(), request)
	if err != nil || replayed {
		t.Fatalf("Open = replayed %v, %v, want a new checkout", replayed, err)
	}
	return c
}

func TestOpen_Checkout_IsPricedAndExpiresIn30Minutes(t *testing.T) {
	opener, store := newOpener()
	got := mustOpen(t, opener, buy("coins", "500", 3))
	eur := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	want := checkout.Checkout{
		ID: got.ID, Product: "coins", Variant: "500", Amount: 3,
		UnitPrice: eur(499), Subtotal: eur(1497), Discount: eur(0), Total: eur(1497),
		Created: noon, Expires: noon.Add(30 * time.Minute),
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if id, err := checkout.ParseID(string(got.ID)); id != got.ID || err != nil {
		t.Errorf("ParseID(%q) = %q, %v", got.ID, id, err)
	}
	if stored := store.stored[emberforge][got.ID.Token()]; stored != want {
		t.Errorf("stored %+v", stored)
	}
}

func TestOpen_Amount_IsWithinTheVariantsBoundsAndDefaultsTo1(t *testing.T) {
	tests := map[string]struct {
		request checkout.Request
		reason  string
	}{
		"not given":       {buy("cup", "engraved", 0), ""},
		"default too low": {buy("coins", "500", 0), "must be at least 2"},
		"least":           {buy("coins", "500", 2), ""},
		"below the least": {buy("coins", "500", 1), "must be at least 2"},
		"most":            {buy("coins", "500", 64), ""},
		"above the most":  {buy("coins", "500", 65), "must be at most 64"},
		"negative":        {buy("cup", "engraved", -1), "must be at least 1"},
		"overflow":        {buy("castle", "gold", 3), "makes the price too large"},
		"no overflow yet": {buy("castle", "gold", 2), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			opener, store := newOpener()
			c, _, err := opener.Open(t.Context(), test.request)
			if test.reason == "" {
				if err != nil || c.Amount != max(1, test.request.Amount) {
					t.Errorf("Open = amount %d, %v", c.Amount, err)
				}
				return
			}
			wantParameterError(t, err, checkout.ParameterError{Parameter: "amount", Reason: test.reason})
			if store.count() != 0 {
				t.Error("a checkout was stored")
			}
		})
	}
}

func wantParameterError(t *testing.T, err error, want checkout.ParameterError) {
	t.Helper()
	got, is := errors.AsType[*checkout.ParameterError](err)
	if !is || *got != want {
		t.Errorf("error is %v, want %v", err, &want)
	}
}

func TestOpen_Data_IsValidatedByTheVariantsSchema(t *testing.T) {
	opener, store := newOpener()
	rank := buy("vip-rank", "30-day", 1)

	sent := `{ "player" : "Alder" }`
	got := mustOpen(t, opener, withData(t, rank, sent))
	if got.Data != sent || !got.DataIsObject {
		t.Errorf("data is %q, object %v, want it as sent, an object", got.Data, got.DataIsObject)
	}
	_, _, err := opener.Open(t.Context(), withData(t, rank, `{"rank":"VIP"}`))
	wantParameterError(t, err, checkout.ParameterError{Parameter: "data", Pointer: "/player", Reason: "is required"})
	_, _, err = opener.Open(t.Context(), rank)
	wantParameterError(t, err, checkout.ParameterError{Parameter: "data", Pointer: "/player", Reason: "is required"})
	if store.count() != 1 {
		t.Errorf("%d checkouts are stored, want 1", store.count())
	}
}

// This test uses the validator that the Lambda functions use. The package itself must not import dataschema.
func TestOpen_InvalidData_IsAParameterError(t *testing.T) {
	opener, store := newOpener()
	opener.Data = new(dataschema.Validator)
	rank := buy("vip-rank", "30-day", 1)
	if got := mustOpen(t, opener, rank); got.Data != "{}" || !got.DataIsObject {
		t.Errorf("data is %q, object %v", got.Data, got.DataIsObject)
	}
	for data, want := range map[string]checkout.ParameterError{
		`{"player":500}`:            {Parameter: "data", Pointer: "/player", Reason: "must be a string"},
		`{"player":"a","player":1}`: {Parameter: "data", Pointer: "/player", Reason: "appears twice"},
		`["Alder"]`:                 {Parameter: "data", Reason: "must be an object"},
		"":                          {Parameter: "data", Reason: "is not valid JSON"},
	} {
		_, _, err := opener.Open(t.Context(), withData(t, rank, data))
		wantParameterError(t, err, want)
	}
	if store.count() != 1 {
		t.Errorf("%d checkouts are stored, want 1", store.count())
	}
}

func TestOpen_AbsentData_CountsAsAnEmptyObject(t *testing.T) {
	var seen []string
	opener, _ := newOpener()
	opener.Data = checkerFunc(func(schema, data string) error {
		if schema != rankSchema {
			t.Errorf("schema is %q", schema)
		}
		seen = append(seen, data)
		return nil
	})
	rank := buy("vip-rank", "30-day", 1)
	if got := mustOpen(t, opener, rank); got.Data != "{}" || !got.DataIsObject {
		t.Errorf("data is %q, object %v", got.Data, got.DataIsObject)
	}
	mustOpen(t, opener, withData(t, rank, ""))
	if len(seen) != 2 || seen[0] != "{}" || seen[1] != "" {
		t.Errorf("checked %q", seen)
	}
}

func TestOpen_VariantWithoutSchema_AcceptsAnyText(t *testing.T) {
	opener, _ := newOpener()
	opener.Data = checkerFunc(func(_, data string) error { t.Errorf("%q was checked", data); return nil })
	cup := buy("cup", "engraved", 1)
	for _, text := range []string{"", "For Ida", `{"not":"an object here"}`, "{", "\x00"} {
		if got := mustOpen(t, opener, withData(t, cup, text)); got.Data != text || got.DataIsObject {
			t.Errorf("data is %q, object %v, want the text %q", got.Data, got.DataIsObject, text)
		}
	}
	if got := mustOpen(t, opener, cup); got.Data != "" || got.DataIsObject {
		t.Errorf("absent data is %q, object %v", got.Data, got.DataIsObject)
	}
}

func TestOpen_UnusableSchema_IsNotTheClientsFault(t *testing.T) {
	broken := errors.New("schema does not compile")
	opener, store := newOpener()
	opener.Data = checkerFunc(func(string, string) error { return broken })
	request := withKey(withData(t, buy("vip-rank", "30-day", 1), `{}`), "till-1")
	_, _, err := opener.Open(t.Context(), request)
	if _, is := errors.AsType[*checkout.ParameterError](err); is || !errors.Is(err, broken) || store.count() != 0 {
		t.Errorf("Open = %v with %d checkouts stored", err, store.count())
	}
}

func TestOpen_UnknownOrOffSale_IsNotFound(t *testing.T) {
	opener, store := newOpener()
	for _, request := range []checkout.Request{buy("coins", "9999", 1), buy("gems", "500", 1)} {
		if _, _, err := opener.Open(t.Context(), request); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("Open = %v, want catalog.ErrNotFound", err)
		}
	}
	if store.count() != 0 {
		t.Error("a checkout was stored")
	}
}

func TestOpen_WithoutKey_EachRequestMakesACheckout(t *testing.T) {
	opener, store := newOpener()
	first, second := mustOpen(t, opener, buy("coins", "500", 3)), mustOpen(t, opener, buy("coins", "500", 3))
	if first.ID.Token() == second.ID.Token() || first.ID[22:] == second.ID[22:] || store.count() != 2 {
		t.Errorf("IDs are %q and %q, %d checkouts are stored", first.ID, second.ID, store.count())
	}
}

func TestOpen_SameKey_ReturnsTheSameCheckoutWhileItIsOpen(t *testing.T) {
	opener, store := newOpener()
	request := withKey(buy("coins", "500", 3), "till-1")
	first := mustOpen(t, opener, request)
	for name, catalogue := range map[string]catalogueFunc{
		"on sale":  onSale,
		"off sale": nothingOnSale,
		"dearer": func(c catalog.ShopID, p catalog.ProductID, v catalog.VariantID) (catalog.Offer, error) {
			offer, err := onSale(c, p, v)
			offer.Variant.Price.Minor *= 2
			return offer, err
		},
		"in other amounts only": func(c catalog.ShopID, p catalog.ProductID, v catalog.VariantID) (catalog.Offer,
			error,
		) {
			offer, err := onSale(c, p, v)
			offer.Variant.MinAmount = 10
			return offer, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			opener.Catalogue = catalogue
			last := noon.Add(30*time.Minute - time.Millisecond)
			for _, ask := range []func(context.Context, checkout.Request) (checkout.Checkout, bool, error){
				opener.Open,
				opener.Quote,
			} {
				if got, replayed, err := ask(t.Context(), at(request, last)); got != first || !replayed || err != nil {
					t.Errorf("got %+v, replayed %v, %v, want the first checkout", got, replayed, err)
				}
			}
		})
	}
	if store.count() != 1 {
		t.Errorf("%d checkouts are stored, want 1", store.count())
	}
}

func TestOpen_SameKeyAfterExpiry_MakesANewCheckout(t *testing.T) {
	opener, store := newOpener()
	request := withKey(buy("coins", "500", 3), "till-1")
	first := mustOpen(t, opener, request)
	second := mustOpen(t, opener, withKey(at(buy("cup", "engraved", 1), first.Expires), "till-1"))
	if second.ID == first.ID || second.ID.Token() != first.ID.Token() || store.count() != 1 {
		t.Errorf("IDs are %q and %q, %d checkouts are stored, want the new one in place of the old", first.ID,
			second.ID, store.count())
	}
}

func TestOpen_SameKeyAfterExpiry_OffSale_IsNotFound(t *testing.T) {
	opener, _ := newOpener()
	request := withKey(buy("coins", "500", 3), "till-1")
	first := mustOpen(t, opener, request)
	opener.Catalogue = catalogueFunc(nothingOnSale)
	if _, _, err := opener.Open(t.Context(), at(request, first.Expires)); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("Open = %v, want catalog.ErrNotFound", err)
	}
}

func TestOpen_SameKeyForAnotherRequest_IsInUse(t *testing.T) {
	opener, store := newOpener()
	cup := withKey(withData(t, buy("cup", "engraved", 1), "For Ida"), "till-1")
	mustOpen(t, opener, cup)
	other := func(change func(*checkout.Request)) checkout.Request {
		request := cup
		change(&request)
		return request
	}
	tests := map[string]checkout.Request{
		"another product": other(func(r *checkout.Request) {
			r.Product, r.Variant, r.Amount = "coins", "500",
				3
		}),
		"another variant":         other(func(r *checkout.Request) { r.Variant = "plain" }),
		"another amount":          other(func(r *checkout.Request) { r.Amount = 2 }),
		"an amount out of bounds": other(func(r *checkout.Request) { r.Amount = 11 }),
		"other data":              withData(t, cup, "For Isa"),
		"data with a final space": withData(t, cup, "For Ida "),
		"empty data":              withData(t, cup, ""),
		"no data":                 other(func(r *checkout.Request) { r.Data = checkout.Data{} }),
		"a product not for sale":  other(func(r *checkout.Request) { r.Product = "gems" }),
	}
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			for _, ask := range []func(context.Context, checkout.Request) (checkout.Checkout, bool, error){
				opener.Open,
				opener.Quote,
			} {
				if _, _, err := ask(t.Context(), request); !errors.Is(err, checkout.ErrKeyInUse) {
					t.Errorf("got %v, want checkout.ErrKeyInUse", err)
				}
			}
		})
	}
	if store.count() != 1 {
		t.Errorf("%d checkouts are stored, want 1", store.count())
	}
}

func TestOpen_KeyOfAReplacedCheckout_IsInUse(t *testing.T) {
	opener, store := newOpener()
	request := withKey(buy("coins", "500", 2), "key-of-the-basket")
	c, _, err := opener.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	c.Replaced = true
	store.stored[emberforge][c.ID.Token()] = c
	if again, replayed, err := opener.Open(t.Context(), request); !errors.Is(err, checkout.ErrKeyInUse) {
		t.Errorf("Open = %+v, replayed %t, %v; want checkout.ErrKeyInUse", again, replayed, err)
	}
}

// A stranger can guess the keys of a till. The guess must neither find nor block the till's checkout.
func TestOpen_SameKeyOfAnotherCaller_MakesAnotherCheckout(t *testing.T) {
	for name, first := range map[string]bool{"the server first": true, "the stranger first": false} {
		opener, store := newOpener()
		of := func(byServer bool, amount int64) checkout.Request {
			request := withKey(buy("coins", "500", amount), "till-1047")
			request.ByServer = byServer
			return request
		}
		a, b := mustOpen(t, opener, of(first, 2)), mustOpen(t, opener, of(!first, 3))
		if a.ID == b.ID || store.count() != 2 {
			t.Errorf("%s: IDs %s and %s, %d checkouts stored", name, a.ID, b.ID, store.count())
		}
		if again, replayed, err := opener.Open(t.Context(), of(first, 2)); err != nil || !replayed || again.ID != a.ID {
			t.Errorf("%s: a retry returns %s, replayed %v, %v", name, again.ID, replayed, err)
		}
	}
}

func TestOpen_SameKey_DefaultsCountAsTheSameRequest(t *testing.T) {
	opener, _ := newOpener()
	opener.Data = checkerFunc(func(string, string) error { return nil })
	rank := withKey(buy("vip-rank", "30-day", 0), "till-1")
	first := mustOpen(t, opener, rank)
	explicit := withData(t, withKey(buy("vip-rank", "30-day", 1), "till-1"), "{}")
	if got, replayed, err := opener.Open(t.Context(), explicit); got != first || !replayed || err != nil {
		t.Errorf("got %+v, replayed %v, %v", got, replayed, err)
	}
	// If the variant is off sale, its schema is unknown. Then the stored checkout decides what absent data means.
	opener.Catalogue = catalogueFunc(nothingOnSale)
	if got, replayed, err := opener.Open(t.Context(), rank); got != first || !replayed || err != nil {
		t.Errorf("off sale: got %+v, replayed %v, %v", got, replayed, err)
	}
}

func TestOpen_SameKeyOfAnotherShop_IsAnotherRequest(t *testing.T) {
	for _, byServer := range []bool{false, true} {
		opener, _ := newOpener()
		ours := withKey(buy("coins", "500", 3), "till-1")
		ours.ByServer = byServer
		theirs := ours
		theirs.Shop = sakura
		first, second := mustOpen(t, opener, ours), mustOpen(t, opener, theirs)
		if first.ID.Token() == second.ID.Token() {
			t.Errorf("by the server %t: both are stored under %q", byServer, first.ID.Token())
		}
	}
}

func TestQuote_IsPricedAndValidatedButNotStored(t *testing.T) {
	opener, store := newOpener()
	for _, request := range []checkout.Request{buy("coins", "500", 3), withKey(buy("coins", "500", 3), "till-1")} {
		got, replayed, err := opener.Quote(t.Context(), request)
		if got.Total.Minor != 1497 || replayed || err != nil {
			t.Errorf("Quote = %+v, replayed %v, %v", got, replayed, err)
		}
	}
	_, _, err := opener.Quote(t.Context(), buy("coins", "500", 65))
	wantParameterError(t, err, checkout.ParameterError{Parameter: "amount", Reason: "must be at most 64"})
	if _, _, err := opener.Quote(t.Context(), buy("gems", "500", 1)); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("Quote = %v, want catalog.ErrNotFound", err)
	}
	if store.count() != 0 {
		t.Errorf("%d checkouts are stored", store.count())
	}
}

// A failure must neither look like a rejection nor be hidden by one.
func TestOpen_Failures_AreReturned(t *testing.T) {
	down := errors.New("store is down")
	failing := catalogueFunc(func(catalog.ShopID, catalog.ProductID, catalog.VariantID) (catalog.Offer, error) {
		return catalog.Offer{}, down
	})
	tests := map[string]func(*checkout.Opener, *fakeStore){
		"the catalogue": func(d *checkout.Opener, _ *fakeStore) { d.Catalogue = failing },
		"the store":     func(_ *checkout.Opener, s *fakeStore) { s.err = down },
		"the store, for a product off sale": func(d *checkout.Opener, s *fakeStore) {
			d.Catalogue,
				s.err = catalogueFunc(nothingOnSale), down
		},
		"the source of randomness": func(d *checkout.Opener,
			_ *fakeStore,
		) {
			d.Random = iotest.ErrReader(down)
		},
		"the source of randomness, midway": func(d *checkout.Opener, _ *fakeStore) {
			d.Random = io.MultiReader(strings.NewReader("8 bytes."), iotest.ErrReader(down))
		},
	}
	for name, breakIt := range tests {
		t.Run(name, func(t *testing.T) {
			opener, store := newOpener()
			breakIt(opener, store)
			if _, _, err := opener.Open(t.Context(), withKey(buy("coins", "500", 3), "till-1")); !errors.Is(err, down) {
				t.Errorf("Open = %v, want %v", err, down)
			}
		})
	}
}
