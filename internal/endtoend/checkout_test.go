package endtoend_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
)

// area is a page of the checkout area.
type area struct {
	Customer struct{ ID, Name, Currency string }
	Products []struct {
		ID, Name, Description string
		Variants              []struct {
			ID, Name             string
			Price                price
			MinAmount, MaxAmount int64
			DataSchema           json.RawMessage
			Checkout             string
		}
	}
	Next *string
}

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

func TestCheckoutArea_ListsOnlyWhatIsOnSale(t *testing.T) {
	s := newShop(t)
	a := s.get(t, "/checkout")
	a.wantStatus(t, http.StatusOK)
	if a.header.Get("Cache-Control") != "no-cache" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("the headers are %v, want no-cache and application/json", a.header)
	}
	page := decode[area](t, a)
	if page.Customer != struct{ ID, Name, Currency string }{s.id, "Emberforge", "EUR"} || page.Next != nil {
		t.Errorf("the page is %s, want the shop %s with EUR, and no next page", a.body, s.id)
	}
	var shown []string
	for _, product := range page.Products {
		for _, v := range product.Variants {
			shown = append(shown, fmt.Sprintf("%s/%s %s %d-%d", product.ID, v.ID, v.Price.Display, v.MinAmount,
				v.MaxAmount))
			if want := fmt.Sprintf("/shop/%s/checkout/%s/%s", s.id, product.ID, v.ID); v.Checkout != want {
				t.Errorf("checkout %q, want %q", v.Checkout, want)
			}
		}
	}
	// Products are in the order of their IDs. Products and variants that are off sale are missing.
	if want := []string{
		"coins/500 4.99 EUR 1-10", "coins/1200 9.99 EUR 2-5",
		"vip-rank/30-days 7.99 EUR 1-1",
	}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	if schema := string(page.Products[1].Variants[0].DataSchema); !strings.Contains(schema, `"required":["player"]`) {
		t.Errorf("the schema is %s, want one that requires player", schema)
	}
	(shop{id: "unknown-" + s.id}).get(t, "/checkout").wantProblem(t, http.StatusNotFound, "not-found")
	closed := loadShop(t, strings.Replace(emberforge, "currency: EUR", "currency: EUR\n    off-sale: true", 1),
		"closed-"+s.id)
	closed.get(t, "/checkout").wantProblem(t, http.StatusNotFound, "not-found")
	closed.get(t, "/checkout/coins/500").wantProblem(t, http.StatusNotFound, "not-found")
}

func TestCheckoutArea_NextLinks_LeadThroughAllPages(t *testing.T) {
	s := newShop(t)
	var products []string
	next := "/shop/" + s.id + "/checkout?limit=1"
	for next != "" {
		page := decode[area](t, send(t, baseURL(t), request{target: next}))
		if len(page.Products) != 1 {
			t.Fatalf("%d products at %s, want 1", len(page.Products), next)
		}
		products = append(products, page.Products[0].ID)
		next = ""
		if page.Next != nil {
			next = *page.Next
		}
	}
	if want := []string{"coins", "vip-rank"}; !slices.Equal(products, want) {
		t.Errorf("products %q, want %q", products, want)
	}
}

func TestCheckoutArea_UnchangedPage_Is304(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	page := s.get(t, "/checkout")
	etag := page.header.Get("ETag")
	if !regexp.MustCompile(`^"[^"]+"$`).MatchString(etag) {
		t.Fatalf("ETag %q is not strong", etag)
	}
	for _, tags := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
		a := s.get(t, "/checkout", "If-None-Match: "+tags)
		a.wantStatus(t, http.StatusNotModified)
		if a.body != "" || a.header.Get("ETag") != etag || a.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("If-None-Match %s: %v %s, want the same ETag, no-cache and no body", tags, a.header, a.body)
		}
	}
	s.get(t, "/checkout", `If-None-Match: "other"`).wantStatus(t, http.StatusOK)
	loadShop(t, strings.Replace(emberforge, "4.99", "5.49", 1), s.id)
	if c := s.get(t, "/checkout/coins/500"); !strings.Contains(c.body, "5.49 EUR") {
		t.Errorf("a checkout after a new price is %s, want 5.49 EUR", c.body)
	}
	time.Sleep(catalog.MaxAge) // until then, the checkout area may show the old price
	changed := s.get(t, "/checkout", "If-None-Match: "+etag)
	changed.wantStatus(t, http.StatusOK)
	if changed.header.Get("ETag") == etag || !strings.Contains(changed.body, "5.49 EUR") {
		t.Errorf("the page after a new price is %v %s, want another ETag and 5.49 EUR", changed.header, changed.body)
	}
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

func TestCheckout_Data_IsReturnedAsJSON(t *testing.T) {
	s := newShop(t)
	a := s.get(t, "/checkout/vip-rank/30-days?data="+url.QueryEscape(`{"player": "Alder"}`))
	a.wantStatus(t, http.StatusOK)
	if c := decode[checkout](t, a); string(c.Data) != `{"player": "Alder"}` && string(c.Data) != `{"player":"Alder"}` {
		t.Errorf("the data are %s, want the JSON object that was sent", c.Data)
	}
}

func TestCheckout_Yen_HasNoSmallerUnit(t *testing.T) {
	const player = `{"player":"haru"}`
	yen := strings.NewReplacer("EUR", "JPY", "4.99", "499", "9.99", "999", "44.99", "4499", "7.99", "799", "14.99",
		"1499").Replace(emberforge)
	s := loadShop(t, yen, newShop(t).id+"-jpy")
	c := decode[checkout](t, s.get(t, "/checkout/coins/500?amount=2"))
	if c.UnitPrice != (price{499, "JPY", "499 JPY"}) || c.Total != (price{998, "JPY", "998 JPY"}) {
		t.Errorf("the checkout is %+v, want 499 JPY each and 998 JPY in total", c)
	}
	s.get(t, "/checkout/vip-rank/30-days?data="+url.QueryEscape(player)).wantStatus(t, http.StatusOK)
}

func TestCheckout_NotOnSale_IsNotFound(t *testing.T) {
	s := newShop(t)
	unchanged(t, func(t *testing.T) {
		eachForm(t, func(t *testing.T, path func(product, variant string) string) {
			for _, sold := range [][2]string{
				{"coins", "700"},
				{"crate-key", "single"},
				{"coins", "6500"},
				{"founders-cape", "red"},
				{"Coins", "500"},
			} {
				a := s.get(t, path(sold[0], sold[1]))
				a.wantProblem(t, http.StatusNotFound, "not-found")
				a.wantDeprecated(t, s, path(sold[0], sold[1]), sold[0], sold[1])
			}
			(shop{id: "unknown-" + s.id}).get(t, path("coins", "500")).wantProblem(t, http.StatusNotFound, "not-found")
		})
	})
}

// badCheckout is a query that is invalid for the variant. The problem must name the parameter and the pointer.
type badCheckout struct{ product, variant, query, parameter, pointer string }

func badCheckouts() []badCheckout {
	long := strings.Repeat("x", 2049)
	deep := `{"player":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}"
	all := []badCheckout{
		{"coins", "1200", "", "amount", ""}, // the default amount is 1, the minimum is 2
		{"vip-rank", "30-days", "", "data", "/player"},
	}
	for _, amount := range []string{
		"0", "-1", "%2B1", "+1", "01", "1.0", "1e1", "0x1", "", "%20", "1%20", "one", "11", "9223372036854775808",
		"99999999999999999999999", "%D9%A3", "1%00", "null", "1,2", "NaN", "1?data=x",
	} {
		all = append(all, badCheckout{"coins", "500", "amount=" + amount, "amount", ""})
	}
	for _, data := range []string{long, "\xff\xfe", "\xed\xa0\x80"} {
		all = append(all, badCheckout{"coins", "500", "data=" + url.QueryEscape(data), "data", ""})
	}
	for data, pointer := range map[string]string{
		"":                                    "",
		"Alder":                               "",
		"{":                                   "",
		"[]":                                  "",
		"null":                                "",
		`"Alder"`:                             "",
		"1":                                   "",
		`{}`:                                  "/player",
		`{"player":1}`:                        "/player",
		`{"player":null}`:                     "/player",
		`{"player":"A"}`:                      "/player",
		`{"player":"Al der"}`:                 "/player",
		`{"player":"Alder","rank":"x"}`:       "/rank",
		deep:                                  "/player" + strings.Repeat("/0", 15),
		`{"player":"Alder"}x`:                 "",
		`{"player":"Alder","player":"Birch"}`: "/player",
		`{"player":"` + "\xff" + `"}`:         "",
		`{"player":"\ud800"}`:                 "/player",
		`{"player":"` + long + `"}`:           "",
	} {
		all = append(all, badCheckout{"vip-rank", "30-days", "data=" + url.QueryEscape(data), "data", pointer})
	}
	return all
}

func TestCheckout_BadAmountsAndData_AreInvalid(t *testing.T) {
	s := newShop(t)
	unchanged(t, func(t *testing.T) {
		eachForm(t, func(t *testing.T, path func(product, variant string) string) {
			for _, bad := range badCheckouts() {
				a := s.get(t, path(bad.product, bad.variant)+"?"+bad.query)
				p := a.wantProblem(t, http.StatusUnprocessableEntity, "invalid")
				pointer := "none"
				if p.Pointer != nil {
					pointer = *p.Pointer
				}
				if p.Parameter != bad.parameter || bad.parameter == "data" && pointer != bad.pointer ||
					bad.parameter == "amount" && p.Pointer != nil {
					t.Errorf("%.80q: %s, want parameter %s and pointer %q", bad.query, a.body, bad.parameter,
						bad.pointer)
				}
				a.wantDeprecated(t, s, path(bad.product, bad.variant), bad.product, bad.variant)
			}
		})
	})
	s.get(t, "/checkout/coins/500?data="+strings.Repeat("x", 2048)).wantStatus(t, http.StatusOK)
	s.get(t, "/checkout/coins/500?amount=1&").wantStatus(t, http.StatusOK)
	s.get(t, "/checkout/coins/1200?amount=5").wantStatus(t, http.StatusOK)
}

func TestCheckout_SameKey_IsReplayed(t *testing.T) {
	s := newShop(t)
	first := s.get(t, "/checkout/coins/500?amount=2&data=gift", key("till-1"))
	first.wantStatus(t, http.StatusOK)
	unchanged(t, func(t *testing.T) {
		for _, path := range []string{
			"/checkout/coins/500?amount=2&data=gift",
			"/checkout/coins/variant/500?data=%67ift&amount=2",
		} {
			again := s.get(t, path, key("till-1"))
			if again.header.Get("Idempotency-Replayed") != "true" || again.body != first.body {
				t.Errorf("%s: %v %s, want %s", path, again.header, again.body, first.body)
			}
		}
		for _, path := range []string{
			"/checkout/coins/500?amount=3&data=gift", "/checkout/coins/500?amount=2&data=Gift",
			"/checkout/coins/500?amount=2",
			"/checkout/coins/1200?amount=2&data=gift", "/checkout/coins/variant/500?amount=1&data=gift",
			"/checkout/vip-rank/30-days?data=" + url.QueryEscape(`{"player":"Alder"}`),
		} {
			s.get(t, path, key("till-1")).wantProblem(t, http.StatusUnprocessableEntity, "idempotency-key-in-use")
		}
	})
	// A replay shows the price of the first request, even if the price has changed and the variant is off sale.
	loadShop(t, strings.Replace(emberforge, "price: 4.99", "off-sale: true, price: 5.49", 1), s.id)
	s.get(t, "/checkout/coins/500").wantProblem(t, http.StatusNotFound, "not-found")
	if again := s.get(t, "/checkout/coins/500?amount=2&data=gift", key("till-1")); again.body != first.body {
		t.Errorf("after a new price: %s, want %s", again.body, first.body)
	}
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

func TestCheckout_Prefetch_StoresNothing(t *testing.T) {
	s := newShop(t)
	unchanged(t, func(t *testing.T) {
		eachForm(t, func(t *testing.T, path func(product, variant string) string) {
			for _, purpose := range []string{"prefetch", "prefetch;prerender", "prefetch;anonymous-client-ip"} {
				a := s.get(t, path("coins", "500"), "Sec-Purpose: "+purpose)
				a.wantProblem(t, http.StatusServiceUnavailable, "unavailable")
				a.wantDeprecated(t, s, path("coins", "500"), "coins", "500")
			}
		})
	})
}

func TestHEAD_RespondsLikeGETAndStoresNothing(t *testing.T) {
	s := newShop(t)
	s.get(t, "/checkout/coins/500", key("till-1")).wantStatus(t, http.StatusOK)
	unchanged(t, func(t *testing.T) {
		for path, status := range map[string]int{
			"/checkout": 200, "/checkout?limit=0": 422, "/checkout/coins/500": 200, "/checkout/coins/variant/500": 200,
			"/checkout/coins/500?amount=0": 422, "/checkout/coins/variant/none": 404,
		} {
			a := s.head(t, path)
			a.wantStatus(t, status)
			if a.body != "" {
				t.Errorf("%s has a body: %s", path, a.body)
			}
			if isDeprecated := strings.Contains(path,
				"/variant/"); isDeprecated != (a.header.Get("Deprecation") != "") {
				t.Errorf("%s: the headers are %v, want Deprecation only for a deprecated path", path, a.header)
			}
		}
		if a := s.head(t, "/checkout"); a.header.Get("ETag") != s.get(t, "/checkout").header.Get("ETag") {
			t.Errorf("the ETag of HEAD differs from that of GET: %v", a.header)
		}
		s.head(t, "/checkout/coins/500", key("till-2")).wantStatus(t, http.StatusOK)
		s.head(t, "/checkout/coins/500?amount=2", key("till-1")).wantStatus(t, http.StatusUnprocessableEntity)
	})
}
