package checkout_test

import (
	"errors"
	"strings"
	"testing"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// ranksOfPlayers is onSale for a shop whose ranks take the nick from the data.
func ranksOfPlayers(c catalog.ShopID, p catalog.ProductID, v catalog.VariantID) (catalog.Offer, error) {
	offer, err := onSale(c, p, v)
	if p == "vip-rank" {
		offer.Product.NickFrom = "player"
	}
	return offer, err
}

func TestOpen_NickFrom_TakesTheNickFromTheData(t *testing.T) {
	for _, test := range []struct {
		name, data, nick, want string
		pointer                string // of the data, if it is refused
	}{
		{name: "no nick", data: `{"player":"Alder"}`, want: "Alder"},
		{name: "the same nick", data: `{"player":"Alder"}`, nick: "Alder", want: "Alder"},
		{name: "the same nick in another case", data: `{"player":"Alder"}`, nick: "ALDER", want: "ALDER"},
		{name: "another nick", data: `{"player":"Alder"}`, nick: "Heron", pointer: "/player"},
		{name: "an empty member", data: `{"player":""}`, want: ""},
		{name: "an empty member, and a nick", data: `{"player":""}`, nick: "Heron", pointer: "/player"},
		{name: "a member that is no nick", data: `{"player":"` + strings.Repeat("x", 65) + `"}`, pointer: "/player"},
		{name: "no member", data: `{}`, nick: "Heron", pointer: "/player"},
	} {
		opener, store := newOpener()
		opener.Catalogue = catalogueFunc(ranksOfPlayers)
		request := withData(t, buy("vip-rank", "30-day", 1), test.data)
		var err error
		if request.Nick, err = voucher.ParseNick(test.nick); err != nil {
			t.Fatal(err)
		}
		c, _, err := opener.Open(t.Context(), request)
		fault, _ := errors.AsType[*checkout.ParameterError](err)
		switch {
		case test.pointer == "" && (err != nil || c.Nick != test.want):
			t.Errorf("%s: nick %q, %v; want %q", test.name, c.Nick, err, test.want)
		case test.pointer != "" && (fault == nil || fault.Parameter != checkout.ParameterData ||
			fault.Pointer != test.pointer || store.count() != 0):
			t.Errorf("%s: nick %q, %v; want the data refused at %s", test.name, c.Nick, err, test.pointer)
		}
	}
}

func TestOpen_NickFrom_CodeSeesTheNickOfTheData(t *testing.T) {
	opener, holds := newHeldOpener(summer20(t, voucher.Terms{
		MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(1)),
	}))
	opener.Catalogue = catalogueFunc(ranksOfPlayers)
	request := withCode(t, buy("vip-rank", "30-day", 1), "SUMMER20", "")
	if _, _, err := opener.Open(t.Context(), request); !isRefusedAs(err, voucher.ReasonNickMissing) {
		t.Errorf("without data: %v, want a refusal", err)
	}
	c, _, err := opener.Open(t.Context(), withData(t, request, `{"player":"Alder"}`))
	if err != nil || c.Nick != "Alder" || len(holds.opened) != 1 || holds.opened[0].Request.Nick.Compared != "alder" {
		t.Errorf("%+v, %v; want a claim of Alder", c, err)
	}
	// a code is refused before the data, so that a stranger learns nothing about it
	holds.v.Disabled = true
	if _, _, err := opener.Open(t.Context(), withData(t, request, `{"player":"`+strings.Repeat("x", 65)+`"}`)); !isRefusedAs(err,
		voucher.ReasonDisabled) {
		t.Errorf("a disabled code, and data that is no nick: %v, want a refusal of the code", err)
	}
}

func TestOpen_NickFrom_RetryFindsItsCheckoutWithAndWithoutTheNick(t *testing.T) {
	opener, store := newOpener()
	opener.Catalogue = catalogueFunc(ranksOfPlayers)
	bare := withKey(withData(t, buy("vip-rank", "30-day", 1), `{"player":"Alder"}`), "till-1")
	named, other := bare, bare
	named.Nick, _ = voucher.ParseNick("alder")
	other.Nick, _ = voucher.ParseNick("Heron")
	first, _, err := opener.Open(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	for _, catalogue := range []catalogueFunc{ranksOfPlayers, onSale, nothingOnSale} {
		opener.Catalogue = catalogue
		for _, retry := range []checkout.Request{bare, named} {
			if c, replayed, err := opener.Open(t.Context(), retry); err != nil || !replayed || c.ID != first.ID {
				t.Errorf("%+v, replayed %t, %v; want %s", c, replayed, err, first.ID)
			}
		}
		if _, _, err := opener.Open(t.Context(), other); !errors.Is(err, checkout.ErrKeyInUse) {
			t.Errorf("with another nick: %v, want checkout.ErrKeyInUse", err)
		}
	}
	if store.count() != 1 {
		t.Errorf("%d checkouts are stored, want 1", store.count())
	}
}

func TestOpen_NickFrom_UnreadableCatalogueIsNoRefusal(t *testing.T) {
	opener, holds := newHeldOpener(summer20(t, voucher.Terms{
		MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(1)),
	}))
	broken := errors.New("connection lost")
	opener.Catalogue = catalogueFunc(func(catalog.ShopID, catalog.ProductID, catalog.VariantID) (catalog.Offer, error) {
		return catalog.Offer{}, broken
	})
	request := withCode(t, withData(t, buy("vip-rank", "30-day", 1), `{"player":"Alder"}`), "SUMMER20", "")
	if _, _, err := opener.Open(t.Context(), request); !errors.Is(err, broken) || holds.looks != 0 {
		t.Errorf("Open = %v after %d looks at the code, want the error of the catalogue at once", err, holds.looks)
	}
}
