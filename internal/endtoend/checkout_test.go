package endtoend_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// area is the part of a page of the checkout area that these tests read.
type area struct{ Next *string }

// checkout is the body of a checkout's response.
type checkout struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Product   string          `json:"product"`
	Variant   string          `json:"variant"`
	Amount    int64           `json:"amount"`
	Data      json.RawMessage `json:"data"`
	Code      string          `json:"code"`
	Nick      string          `json:"nick"`
	UnitPrice price           `json:"unitPrice"`
	Subtotal  price           `json:"subtotal"`
	Discount  price           `json:"discount"`
	Total     price           `json:"total"`
	CreatedAt time.Time       `json:"createdAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
}

// eachForm runs a test twice: with the current path of a checkout, and with the deprecated path.
func eachForm(t *testing.T, test func(t *testing.T, path func(product, variant string) string)) {
	t.Helper()
	t.Run("current path", func(t *testing.T) {
		test(t, func(product, variant string) string { return "/checkout/" + product + "/" + variant })
	})
	t.Run("deprecated path", func(t *testing.T) {
		test(t, func(product, variant string) string { return "/checkout/" + product + "/variant/" + variant })
	})
}

// wantDeprecated checks that the response to a deprecated path has the deprecation headers, and that any other response
// has none of them.
func (a answer) wantDeprecated(t *testing.T, s shop, path, product, variant string) {
	t.Helper()
	want := http.Header{}
	if strings.Contains(path, "/variant/") {
		want = http.Header{
			"Deprecation": {"@1795219200"},
			"Sunset":      {"Sun, 21 Nov 2027 00:00:00 GMT"},
			"Link":        {"</shop/" + s.id + "/checkout/" + product + "/" + variant + `>; rel="successor-version"`},
		}
	}
	for _, name := range []string{"Deprecation", "Sunset", "Link"} {
		if !slices.Equal(a.header[name], want[name]) {
			t.Errorf("%s %q, want %q", name, a.header[name], want[name])
		}
	}
}

func TestCheckout_Response_IsStored(t *testing.T) {
	eachForm(t, func(t *testing.T, path func(product, variant string) string) {
		s := newShop(t)
		began := time.Now().Add(-time.Second)
		a := s.get(t, path("coins", "500")+"?amount=3&data=for+Alder%20%26%20Birch")
		a.wantStatus(t, http.StatusOK)
		a.wantDeprecated(t, s, path("coins", "500"), "coins", "500")
		if a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the headers are %v, want no-store", a.header)
		}
		c := decode[checkout](t, a)
		want := checkout{
			ID: c.ID, Status: "open", Product: "coins", Variant: "500", Amount: 3,
			Data:      json.RawMessage(`"for Alder & Birch"`),
			UnitPrice: price{499, "EUR", "4.99 EUR"}, Subtotal: price{1497, "EUR", "14.97 EUR"},
			Discount: price{0, "EUR", "0.00 EUR"}, Total: price{1497, "EUR", "14.97 EUR"},
			CreatedAt: c.CreatedAt, ExpiresAt: c.CreatedAt.Add(30 * time.Minute),
		}
		if fmt.Sprintf("%+v", c) != fmt.Sprintf("%+v", want) {
			t.Errorf("checkout %+v, want %+v", c, want)
		}
		if len(c.ID) != 44 || c.CreatedAt.Before(began) || c.CreatedAt.After(time.Now()) {
			t.Errorf("the checkout is %s, want an ID of 44 characters and the time of the request", a.body)
		}
		again := decode[checkout](t, s.get(t, path("coins", "500")))
		if again.ID == c.ID || again.Amount != 1 || string(again.Data) != `""` {
			t.Errorf("a second request without a key gets %+v, want another checkout with the defaults", again)
		}
		kept := s.checkouts(t)
		if len(kept) != 2 {
			t.Fatalf("%d checkouts are stored, want 2", len(kept))
		}
		if string(kept[0].ID) != c.ID || kept[0].Total.Minor != 1497 {
			t.Errorf("stored %+v, want %+v", kept[0], c)
		}
	})
}

func TestCheckout_SameKeyAtOnce_MakesOneCheckout(t *testing.T) {
	s := newShop(t)
	same := request{target: "/shop/" + s.id + "/checkout/coins/500?amount=2", header: []string{key("till-1")}}
	made := 0
	var id string
	for _, a := range race(t, 40, func(int) request { return same }) {
		a.wantStatus(t, http.StatusOK)
		if a.header.Get("Idempotency-Replayed") == "" {
			made++
		}
		c := decode[checkout](t, a)
		if id == "" {
			id = c.ID
		}
		if c.ID != id {
			t.Errorf("checkout %s, want %s", c.ID, id)
		}
	}
	if kept := s.checkouts(t); len(kept) != 1 || made != 1 {
		t.Errorf("%d checkouts are stored and %d responses are not replays, want 1 and 1", len(kept), made)
	}
}
