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
	"shopfront/pkg/voucher"
)

// fakeHolds is a checkout.Store with one voucher.
type fakeHolds struct {
	*fakeStore

	v       voucher.Voucher
	looks   int
	short   voucher.Reason // why no use could be held; empty: one could
	openErr error
	opened  []checkout.Opening
}

func (h *fakeHolds) Rules(_ context.Context, request voucher.Request) (voucher.Voucher, error) {
	h.looks++
	if request.Code != h.v.Code {
		return voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	return h.v, nil
}

func (h *fakeHolds) RecallSettled(
	ctx context.Context, shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	return h.Recall(ctx, shop, token)
}

func (h *fakeHolds) Holdable(context.Context, voucher.Request, *checkout.Checkout) error {
	if h.short != "" {
		return &voucher.RefusalError{Reason: h.short}
	}
	return nil
}

func (h *fakeHolds) Open(ctx context.Context, opening checkout.Opening) (checkout.Checkout, error) {
	if opening.Request.Code == "" && opening.Replaces == nil {
		return h.fakeStore.Open(ctx, opening)
	}
	h.opened = append(h.opened, opening)
	if h.openErr != nil {
		return checkout.Checkout{}, h.openErr
	}
	return h.fakeStore.Open(ctx, opening)
}

// summer20 returns a single-use voucher for 20 % off, unless the terms say otherwise.
func summer20(t *testing.T, terms voucher.Terms) voucher.Voucher {
	t.Helper()
	code, err := voucher.ParseCode("SUMMER20")
	if err != nil {
		t.Fatal(err)
	}
	v := voucher.Voucher{Code: code, Written: "SUMMER20", MaxUses: 1, Reward: terms.Reward}
	if v.Reward == (voucher.Reward{}) {
		v.Reward = voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	}
	if terms.MaxUses != nil {
		v.MaxUses = *terms.MaxUses
	}
	if terms.MaxUsesPerNick != nil {
		v.MaxUsesPerNick = *terms.MaxUsesPerNick
	}
	return v
}

func newHeldOpener(v voucher.Voucher) (*checkout.Opener, *fakeHolds) {
	opener, store := newOpener()
	holds := &fakeHolds{fakeStore: store, v: v}
	opener.Store = holds
	return opener, holds
}

func withCode(t *testing.T, request checkout.Request, code, nick string) checkout.Request {
	t.Helper()
	var err error
	if request.Code, err = voucher.ParseCode(code); err != nil {
		t.Fatal(err)
	}
	if request.Nick, err = voucher.ParseNick(nick); err != nil {
		t.Fatal(err)
	}
	return request
}

func TestOpen_Code_TakesTheDiscountOffAndHoldsAUse(t *testing.T) {
	opener, holds := newHeldOpener(summer20(t, voucher.Terms{}))
	c, replayed, err := opener.Open(t.Context(), withCode(t, buy("coins", "500", 2), "summer20", "Alder"))
	eur := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	if err != nil || replayed || c.Subtotal != eur(998) || c.Discount != eur(199) || c.Total != eur(799) ||
		c.Code != "SUMMER20" || c.Nick != "Alder" {
		t.Fatalf("%+v, replayed %t, %v", c, replayed, err)
	}
	if len(holds.opened) != 1 {
		t.Fatalf("%d checkouts with a hold were opened, want 1", len(holds.opened))
	}
	if request := holds.opened[0].Request; request.Code != holds.v.Code || request.Nick.Compared != "alder" {
		t.Errorf("request %+v", request)
	}
}

func TestOpen_CodeThatCannotBeUsed_StoresNothing(t *testing.T) {
	goods := summer20(t, voucher.Terms{Reward: voucher.Reward{
		Kind: voucher.RewardProduct, Product: "coins",
		Variant: "500", Amount: 1,
	}})
	several := summer20(t, voucher.Terms{Reward: voucher.Reward{
		Kind: voucher.RewardBundle,
		Items: [voucher.MaxBundleItems]voucher.Good{
			{Product: "coins", Variant: "500", Amount: 1}, {Product: "rank", Variant: "vip", Amount: 1},
		},
	}})
	dollars := summer20(t, voucher.Terms{Reward: voucher.Reward{
		Kind:      voucher.RewardAmountOff,
		AmountOff: money.Money{Minor: 100, Currency: "USD"},
	}})
	used, disabled, paused := summer20(t, voucher.Terms{}), summer20(t, voucher.Terms{}), summer20(t, voucher.Terms{})
	used.Redeemed, disabled.Disabled, paused.Batch = &voucher.Redemption{ID: "earlier"}, true, "summer"
	for _, test := range []struct {
		what string
		v    voucher.Voucher
		code string
		buy  checkout.Request
		want voucher.Reason
	}{
		{"unknown", used, "WINTER20", buy("coins", "500", 2), voucher.ReasonUnknown},
		{"used up", used, "SUMMER20", buy("coins", "500", 2), voucher.ReasonUsedUp},
		{"disabled", disabled, "SUMMER20", buy("coins", "500", 2), voucher.ReasonDisabled},
		{"paused", paused, "SUMMER20", buy("coins", "500", 2), voucher.ReasonPaused},
		{"goods", goods, "SUMMER20", buy("coins", "500", 2), voucher.ReasonNoDiscount},
		{"several goods", several, "SUMMER20", buy("coins", "500", 2), voucher.ReasonNoDiscount},
		{"another currency", dollars, "SUMMER20", buy("coins", "500", 2), voucher.ReasonNoDiscount},
		{
			"nothing to take off", summer20(t, voucher.Terms{}), "SUMMER20", buy("sticker", "free", 1),
			voucher.ReasonNoDiscount,
		},
	} {
		for _, key := range []idempotency.Key{"", "key-of-the-basket"} {
			opener, holds := newHeldOpener(test.v)
			request := withCode(t, test.buy, test.code, "")
			request.Paused.Batches = []string{"summer"}
			request.Key = key
			_, _, err := opener.Open(t.Context(), request)
			if reason, _ := voucher.IsRefusal(err); reason != test.want || len(holds.opened) > 0 || holds.count() > 0 {
				t.Errorf("%s: %v, %d holds, %d stored; want %q", test.what, err, len(holds.opened), holds.count(),
					test.want)
			}
			if _, _, err := opener.Quote(t.Context(), request); err == nil {
				t.Errorf("%s: quoted", test.what)
			}
		}
	}
}

// A code is refused before the catalogue is read.
func TestOpen_RefusedCode_TakesOneRead(t *testing.T) {
	used := summer20(t, voucher.Terms{})
	used.Redeemed = &voucher.Redemption{ID: "earlier"}
	opener, holds := newHeldOpener(used)
	opener.Catalogue = catalogueFunc(func(catalog.ShopID, catalog.ProductID, catalog.VariantID) (catalog.Offer,
		error,
	) {
		t.Error("the catalogue is read")
		return catalog.Offer{}, catalog.ErrNotFound
	})
	_, _, err := opener.Open(t.Context(), withCode(t, buy("coins", "500", 2), "SUMMER20", ""))
	if _, refused := voucher.IsRefusal(err); !refused || holds.looks != 1 {
		t.Errorf("%v after %d reads", err, holds.looks)
	}
}

// The first request holds the only use. The retry must get the first checkout instead of a refusal.
func TestOpen_RetryWithCode_ReturnsTheSameCheckout(t *testing.T) {
	opener, holds := newHeldOpener(summer20(t, voucher.Terms{}))
	request := withKey(withCode(t, buy("coins", "500", 2), "SUMMER20", ""), "key-of-the-basket")
	first, _, err := opener.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	holds.openErr = &voucher.RefusalError{Reason: voucher.ReasonUsedUp}
	again, replayed, err := opener.Open(t.Context(), request)
	if err != nil || !replayed || again.ID != first.ID {
		t.Errorf("%+v, replayed %t, %v", again, replayed, err)
	}
	for what, other := range map[string]checkout.Request{
		"no code":      withKey(buy("coins", "500", 2), request.Key),
		"another nick": withKey(withCode(t, buy("coins", "500", 2), "SUMMER20", "Birch"), request.Key),
	} {
		if _, _, err := opener.Open(t.Context(), other); !errors.Is(err, checkout.ErrKeyInUse) {
			t.Errorf("%s: Open = %v, want checkout.ErrKeyInUse", what, err)
		}
	}
}

// The response is that of a code that can be used, but the refusal must count: otherwise a key that is in use would make
// guesses free.
func TestOpen_RefusedCodeWithAKeyInUse_IsBoth(t *testing.T) {
	opener, _ := newHeldOpener(summer20(t, voucher.Terms{}))
	mustOpen(t, opener, withKey(buy("coins", "500", 2), "key-of-the-basket"))
	for code, want := range map[string]bool{"SUMMER20": false, "WINTER20": true} {
		guess := withKey(withCode(t, buy("coins", "500", 2), code, ""), "key-of-the-basket")
		for what, ask := range map[string]func(context.Context, checkout.Request) (checkout.Checkout, bool, error){
			"Open": opener.Open, "Quote": opener.Quote,
		} {
			_, _, err := ask(t.Context(), guess)
			if _, refused := voucher.IsRefusal(err); !errors.Is(err, checkout.ErrKeyInUse) || refused != want {
				t.Errorf("%s with %s: %v; want checkout.ErrKeyInUse, with a refusal: %t", what, code, err, want)
			}
		}
	}
}

// A retry of a request whose checkout was ordered is no guess, although its code is used up now.
func TestOpen_RetryOfAnOrderedCheckoutWithAUsedCode_IsNoRefusal(t *testing.T) {
	opener, holds := newHeldOpener(summer20(t, voucher.Terms{}))
	request := withKey(withCode(t, buy("coins", "500", 2), "SUMMER20", ""), "key-of-the-basket")
	c := mustOpen(t, opener, request)
	c.Order = &checkout.Order{Placed: request.At}
	holds.stored[emberforge][c.ID.Token()], holds.v.Redeemed = c, &voucher.Redemption{ID: "of the order"}
	_, _, err := opener.Open(t.Context(), request)
	if _, refused := voucher.IsRefusal(err); !errors.Is(err, checkout.ErrKeyInUse) || refused {
		t.Errorf("Open = %v, want only checkout.ErrKeyInUse", err)
	}
}

func TestOpen_TooManyHolds_IsReportedUnlessTheKeyHasACheckout(t *testing.T) {
	opener, holds := newHeldOpener(summer20(t, voucher.Terms{}))
	request := withKey(withCode(t, buy("coins", "500", 2), "SUMMER20", ""), "key-of-the-basket")
	holds.openErr = &checkout.TooManyHoldsError{Until: noon.Add(time.Minute)}
	if _, _, err := opener.Open(t.Context(), request); !errors.Is(err, holds.openErr) {
		t.Errorf("Open = %v, want %v", err, holds.openErr)
	}
	holds.openErr = nil
	stored, _, err := opener.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	holds.openErr = &checkout.TooManyHoldsError{Until: noon.Add(time.Minute)}
	if again, replayed, err := opener.Open(t.Context(), request); err != nil || !replayed || again.ID != stored.ID {
		t.Errorf("%+v, replayed %t, %v", again, replayed, err)
	}
}

func TestOpen_Replaces_HandsTheOldCheckoutToTheStore(t *testing.T) {
	opener, holds := newHeldOpener(summer20(t, voucher.Terms{}))
	old, _, err := opener.Open(t.Context(), buy("coins", "500", 2))
	if err != nil {
		t.Fatal(err)
	}
	request := buy("coins", "500", 4)
	request.Replaces = old.ID
	if _, _, err := opener.Open(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if replaces := holds.opened[0].Replaces; replaces == nil || replaces.ID != old.ID {
		t.Errorf("the store was asked to replace %+v, want checkout %s", replaces, old.ID)
	}
	ordered, replaced, byServer := old, old, old
	ordered.Order, replaced.Replaced, byServer.ByServer = &checkout.Order{Placed: noon}, true, true
	other := old.ID[:22] + "0123456789012345678901"
	for what, test := range map[string]struct {
		id     checkout.ID
		stored checkout.Checkout
	}{
		"ordered": {old.ID, ordered}, "replaced": {old.ID, replaced},
		"another checkout with the same key": {other, old}, "made by the server": {old.ID, byServer},
	} {
		holds.stored[emberforge][old.ID.Token()] = test.stored
		request.Replaces = test.id
		if _, _, err := opener.Open(t.Context(), request); !errors.Is(err, checkout.ErrNotReplaceable) {
			t.Errorf("%s: Open = %v, want checkout.ErrNotReplaceable", what, err)
		}
	}
	holds.stored[emberforge][old.ID.Token()] = byServer
	request.Replaces, request.ByServer = old.ID, true
	if c, _, err := opener.Open(t.Context(), request); err != nil || !c.ByServer {
		t.Errorf("the server replaces its own checkout: %+v, %v", c, err)
	}
}

// Another error would tell a stranger that the code exists, and the guess would not count as a refusal.
func TestOpen_CodeThatCannotBeUsed_IsRefusedWhateverElseIsWrong(t *testing.T) {
	goods := summer20(t, voucher.Terms{Reward: voucher.Reward{
		Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1,
	}})
	used, disabled := summer20(t, voucher.Terms{}), summer20(t, voucher.Terms{})
	used.Redeemed, disabled.Disabled = &voucher.Redemption{ID: "earlier"}, true
	limited := summer20(t, voucher.Terms{MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(1))})
	replacing := buy("coins", "500", 2)
	replacing.Replaces = checkout.ID(strings.Repeat("a", 44))
	for fault, test := range map[string]struct {
		request checkout.Request
		err     error // with a code that can be used
	}{
		"product":  {buy("gems", "500", 2), catalog.ErrNotFound},
		"variant":  {buy("coins", "501", 2), catalog.ErrNotFound},
		"amount":   {buy("coins", "500", 65), &checkout.ParameterError{}},
		"price":    {buy("castle", "gold", 3), &checkout.ParameterError{}},
		"data":     {withData(t, buy("vip-rank", "30-day", 1), "{}"), &checkout.ParameterError{}},
		"replaces": {replacing, checkout.ErrNotReplaceable},
	} {
		for what, code := range map[string]struct {
			v     voucher.Voucher
			short voucher.Reason // why no use could be held
			want  voucher.Reason // empty: not refused
		}{
			"can be used": {limited, "", ""}, "used": {used, "", voucher.ReasonUsedUp},
			"no use free": {limited, voucher.ReasonUsedUp, voucher.ReasonUsedUp},
			"disabled":    {disabled, "", voucher.ReasonDisabled}, "goods": {goods, "", voucher.ReasonNoDiscount},
			"unknown": {voucher.Voucher{}, "", voucher.ReasonUnknown},
		} {
			opener, holds := newHeldOpener(code.v)
			holds.short = code.short
			request := withCode(t, test.request, "SUMMER20", "Alder")
			request.Key = "key-of-the-basket"
			_, _, opened := opener.Open(t.Context(), request)
			_, _, quoted := opener.Quote(t.Context(), request)
			for _, err := range []error{opened, quoted} {
				_, isParameter := errors.AsType[*checkout.ParameterError](err)
				_, wantsParameter := errors.AsType[*checkout.ParameterError](test.err)
				isFault := errors.Is(err, test.err) || isParameter && wantsParameter
				if !isRefusedAs(err, code.want) || code.want == "" && !isFault {
					t.Errorf("wrong %s, code %s: %v; want %q", fault, what, err, code.want)
				}
			}
		}
	}
}

func isRefusedAs(err error, want voucher.Reason) bool {
	reason, _ := voucher.IsRefusal(err)
	return reason == want
}

func TestQuote_Code_HoldsNothing(t *testing.T) {
	for _, short := range []voucher.Reason{"", voucher.ReasonUsedUp} {
		opener, holds := newHeldOpener(summer20(t, voucher.Terms{}))
		holds.short = short
		c, _, err := opener.Quote(t.Context(), withCode(t, buy("coins", "500", 2), "SUMMER20", "Alder"))
		if !isRefusedAs(err, short) || short == "" && (err != nil || c.Discount.Minor != 199) || holds.count() > 0 ||
			len(holds.opened) > 0 {
			t.Errorf("%q: %+v, %v", short, c, err)
		}
	}
}
