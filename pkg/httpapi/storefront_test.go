package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/storefront"
)

const (
	shopPath    = "/shop/emberforge"
	htmlType    = "text/html; charset=utf-8"
	demoPayment = "http://127.0.0.1:3000/demo/payment?checkout={checkout}&return={return}"
)

// visit requests the page of a shop, or an asset.
func visit(catalogue httpapi.Catalogue, s service, r *http.Request) response {
	return s.send(s.Storefront(catalogue, storefront.NewSite(), ""), r)
}

func (a response) wantHeaders(t *testing.T, headers map[string]string) {
	t.Helper()
	for name, want := range headers {
		a.wantHeader(t, name, want)
	}
}

func found(text, expression string) (all []string) {
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		all = append(all, html.UnescapeString(match[1]))
	}
	return all
}

func shownProducts(text string) []string { return found(text, ` data-product="([^"]*)"`) }

// wantApology checks that a response is the HTML page that shoppers see instead of a problem.
func (a response) wantApology(t *testing.T, status int) {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, `<main class="apology"><h1>`) ||
		strings.Contains(a.body, "SECRET") {
		t.Errorf("got %d %s, want %d", a.status, a.body, status)
	}
	a.wantHeaders(t, map[string]string{
		"Content-Type": htmlType, "Cache-Control": "no-store", "ETag": "", "Vary": "Accept-Encoding, Accept-Language",
		"Referrer-Policy":        "no-referrer",
		"X-Content-Type-Options": "nosniff", "Request-Id": "request-1",
	})
	if policy := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("the policy is %s", policy)
	}
}

func TestStorefront_Page_HasTheProductsOnSale(t *testing.T) {
	s := newService(t)
	a := visit(emberforge(capes(3)...), s, get(shopPath))
	if got := shownProducts(a.body); a.status != http.StatusOK ||
		!slices.Equal(got, []string{"cape-000", "cape-001", "cape-002"}) {
		t.Errorf("%d with the products %q", a.status, got)
	}
	a.wantHeaders(t, map[string]string{
		"Content-Type": htmlType, "Content-Encoding": "", "Vary": "Accept-Encoding, Accept-Language",
		"Cache-Control":   "no-cache",
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Request-Id": "request-1",
		"Set-Cookie": "",
	})
	policy := regexp.MustCompile(`^default-src 'none'; script-src 'self'; style-src 'self' ` +
		`'sha256-[A-Za-z0-9+/]{43}='; img-src https: data:; ` +
		`connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$`)
	if got := a.header.Get("Content-Security-Policy"); !policy.MatchString(got) {
		t.Errorf("the policy is %s", got)
	}
	if line := s.logged(t); line["outcome"] != "shown" || line["customer"] != "emberforge" || line["status"] != 200.0 {
		t.Errorf("logged %v", line)
	}
}

func TestStorefront_LogLine_HasNoQuery(t *testing.T) {
	s := newService(t)
	visit(emberforge(), s, get(shopPath+"?lang=de&cursor=QUERY&utm_source=QUERY"))
	if s.logged(t); strings.Contains(s.log.String(), "QUERY") {
		t.Errorf("logged %s", s.log)
	}
}

func TestStorefront_HEADAndGzip_AreLikeGET(t *testing.T) {
	shop := emberforge(capes(3)...)
	for _, encoding := range []string{"", "gzip"} {
		whole := visit(shop, newService(t), get(shopPath, "Accept-Encoding", encoding))
		whole.wantHeader(t, "Content-Encoding", encoding)
		if got := shownProducts(plain(t, whole)); len(got) != 3 {
			t.Errorf("%q: the products are %q", encoding, got)
		}
		head := visit(shop, newService(t), request(http.MethodHead, shopPath, "", "Accept-Encoding", encoding))
		head.want(t, http.StatusOK, "")
		for name := range whole.header {
			head.wantHeader(t, name, whole.header.Get(name))
		}
	}
}

func TestStorefront_MatchingETag_Is304(t *testing.T) {
	shop := emberforge(capes(3)...)
	first := visit(shop, newService(t), get(shopPath))
	etag := first.header.Get("ETag")
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		a := visit(shop, newService(t), request(method, shopPath, "", "If-None-Match", "W/"+etag))
		a.want(t, http.StatusNotModified, "")
		a.wantHeaders(t, map[string]string{
			"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding, Accept-Language", "Content-Type": "",
			"Content-Security-Policy": first.header.Get("Content-Security-Policy"),
		})
	}
	dearer := emberforge(capes(3)...)
	dearer.products[0].Variants[0].Price.Minor++
	recoloured := emberforge(capes(3)...)
	recoloured.profile.Page.Accent = "#c2410c"
	for what, a := range map[string]response{
		"a new price":      visit(dearer, newService(t), get(shopPath, "If-None-Match", etag)),
		"a new colour":     visit(recoloured, newService(t), get(shopPath, "If-None-Match", etag)),
		"another language": visit(shop, newService(t), get(shopPath, "If-None-Match", etag, "Accept-Language", "de")),
		"another encoding": visit(shop, newService(t), get(shopPath, "If-None-Match", etag, "Accept-Encoding", "gzip")),
	} {
		if a.status != http.StatusOK || a.header.Get("ETag") == etag {
			t.Errorf("%s: got %d with ETag %s, want 200 with a new ETag", what, a.status, a.header.Get("ETag"))
		}
	}
}

func TestStorefront_Language_IsTheChosenOneOrTheBrowsers(t *testing.T) {
	for _, test := range []struct {
		query   string
		accepts []string
		want    string
		links   string // how the page links to its next page
	}{
		{"", nil, "en", "?cursor="},
		{"", []string{"de-AT, en;q=0.5"}, "de", "?cursor="},
		{"", []string{"pt", "fr;q=0.1"}, "fr", "?cursor="}, // two header lines
		{"?lang=ja", []string{"de"}, "ja", "?cursor="},
		{"?lang=pt", []string{"de"}, "de", "?cursor="},
		{"?lang=", []string{"es"}, "es", "?cursor="},
	} {
		var headers []string
		for _, value := range test.accepts {
			headers = append(headers, "Accept-Language", value)
		}
		a := visit(emberforge(capes(50)...), newService(t), get(shopPath+test.query, headers...))
		if got := found(a.body, `<html lang="([^"]*)"`); !slices.Equal(got, []string{test.want}) {
			t.Errorf("%q %q: got %q, want %s", test.query, test.accepts, got, test.want)
		}
		next := nextPage(t, a.body)
		if chosen := test.query == "?lang=ja"; !strings.HasPrefix(next, test.links) ||
			strings.HasSuffix(next, "&lang=ja") != chosen {
			t.Errorf("%q %q: the next page is %s", test.query, test.accepts, next)
		}
	}
}

// nextPage returns the query of the next page, or nothing.
func nextPage(t *testing.T, text string) string {
	t.Helper()
	links := found(text, `<a id="more"[^>]* href="([^"]*)"`)
	if len(links) == 0 {
		return ""
	}
	return links[0]
}

func TestStorefront_Cursor_LeadsThroughAllProducts(t *testing.T) {
	sorted := capes(400)
	shops := map[string]httpapi.Catalogue{
		"by ID":          shelf{emberforge(sorted...)}.area(),
		"with positions": shelf{emberforge(placed(400)...)}.area(),
	}
	for what, shop := range shops {
		var seen []string
		pages := 0
		for target := shopPath + "?lang=de"; target != shopPath; pages++ {
			a := visit(shop, newService(t), get(target))
			onPage := shownProducts(a.body)
			if len(onPage) > 48 || pages > 9 {
				t.Fatalf("%s: page %d has %d products", what, pages, len(onPage))
			}
			seen = append(seen, onPage...)
			target = shopPath + nextPage(t, a.body)
		}
		if isByID := slices.IsSorted(seen); isByID != (what == "by ID") {
			t.Errorf("%s: sorted by ID %t", what, isByID)
		}
		slices.Sort(seen)
		if seen = slices.Compact(seen); pages != 9 || len(seen) != 400 {
			t.Errorf("%s: %d different products on %d pages", what, len(seen), pages)
		}
	}
}

func TestStorefront_Page_ReadsOnlyOneMoreProductThanItShows(t *testing.T) {
	shop := emberforge(capes(49)...)
	shop.wanted = new(int)
	shop.err = errors.New("read beyond the page")
	if a := visit(shop, newService(t), get(shopPath)); a.status != http.StatusOK || len(shownProducts(a.body)) != 48 ||
		*shop.wanted != 49 {
		t.Errorf("%d with %d products; asked the catalogue for %d", a.status, len(shownProducts(a.body)), *shop.wanted)
	}
}

// Lambda limits the size of a response as JSON, which escapes the HTML once more.
func TestStorefront_LargeProducts_EndThePageBelow4MB(t *testing.T) {
	for what, text := range map[string]string{"plain": "xx", "quotes": `\"`, "ampersands": "&&"} {
		t.Run(what, func(t *testing.T) {
			products := capes(30)
			for i := range products { // each is almost as large as a product may be
				products[i].Category = strings.Repeat("&", i)
				variant := products[i].Variants[0]
				variant.DataSchema = `{"type":"object","description":"` + strings.Repeat(text, 4000) + `"}`
				products[i].Variants = slices.Repeat([]catalog.Variant{variant}, 46)
			}
			shop := emberforge(products...)
			seen, pages := 0, 0
			for target := shopPath; pages == 0 || target != shopPath; pages++ {
				a := visit(shop, newService(t), get(target))
				onPage := len(shownProducts(a.body))
				carried, err := json.Marshal(a.body)
				if limit := 4_000_000; err != nil || onPage == 0 || len(carried) >= limit && onPage > 1 ||
					len(carried) >= limit+200_000 {
					t.Fatalf("a page of %d products and %d bytes takes %d in Lambda's response, %v", onPage,
						len(a.body), len(carried), err)
				}
				seen += onPage
				target = shopPath + nextPage(t, a.body)
			}
			if seen != 30 || pages < 2 {
				t.Errorf("%d products on %d pages", seen, pages)
			}
		})
	}
}

// Shoppers follow old links, and links with parameters that other sites have added.
func TestStorefront_StrangeQueries_ShowTheFirstPage(t *testing.T) {
	shop := emberforge(capes(3)...)
	want := visit(shop, newService(t), get(shopPath)).body
	for _, query := range []string{
		"utm_source=newsletter&utm_campaign=a;b", "fbclid=%zz", "lang=de-AT", "lang=%00", "lang=xx&lang=de", "cursor=",
		"cursor=%2F%2F", "cursor=A",
		"cursor=c2FrdXJhLWdvb2RzL2NhcGUtMDAw", // sakura-goods/cape-000
		"cursor=ZW1iZXJmb3JnZS8",              // emberforge/
		"cursor=ZW1iZXJmb3JnZS83Lw",           // emberforge/7/
		"cursor=" + strings.Repeat("A", 4000), "=", "&&", "limit=1",
	} {
		r := get(shopPath)
		r.URL.RawQuery = query
		if a := visit(shop, newService(t), r); a.status != http.StatusOK || a.body != want {
			t.Errorf("%s: %d with the products %q", query, a.status, shownProducts(a.body))
		}
	}
}

func TestStorefront_AnyQueryAndLanguage_ShowAPage(t *testing.T) {
	shop := emberforge(capes(3)...)
	rapid.Check(t, func(rt *rapid.T) {
		r := get(shopPath, "Accept-Language", rapid.String().Draw(rt, "Accept-Language"))
		r.URL.RawQuery = rapid.OneOf(rapid.String(), rapid.Map(rapid.String(), func(text string) string {
			return "lang=" + url.QueryEscape(text) + "&cursor=" + url.QueryEscape(text)
		})).Draw(rt, "query")
		a := visit(shop, newService(t), r)
		if language := found(a.body, `<html lang="([^"]*)"`); a.status != http.StatusOK ||
			!slices.Contains(storefront.Languages(), strings.Join(language, " ")) {
			rt.Errorf("%d in the language %q", a.status, language)
		}
	})
}

// No response reveals that a shop exists but has no page.
func TestStorefront_NoPage_IsTheSameForEveryReason(t *testing.T) {
	off, offSale := emberforge(capes(3)...), shelf{emberforge(capes(3)...)}
	off.profile.Page.Off = true
	offSale.profile.OffSale = true
	for _, headers := range [][]string{nil, {"Accept-Language", "de", "Accept-Encoding", "gzip"}} {
		want := visit(emberforge(), newService(t), get("/shop/nobody", headers...))
		if want.header.Get("Content-Encoding") == "" {
			want.wantApology(t, http.StatusNotFound)
		}
		for what, a := range map[string]response{
			"page off": visit(off, newService(t), get(shopPath, headers...)),
			"next page of page off": visit(off, newService(t),
				get(shopPath+"?cursor=ZW1iZXJmb3JnZS9jYXBlLTAwMA", headers...)),
			"shop off sale":      visit(offSale.area(), newService(t), get(shopPath, headers...)),
			"malformed shop":     visit(emberforge(), newService(t), get("/shop/ember%20forge", headers...)),
			"shop in upper case": visit(emberforge(), newService(t), get("/shop/EMBERFORGE", headers...)),
			"trailing slash":     visit(emberforge(), newService(t), get(shopPath+"/", headers...)),
		} {
			a.want(t, http.StatusNotFound, want.body)
			if fmt.Sprint(a.header) != fmt.Sprint(want.header) {
				t.Errorf("%s: got %v, want %v", what, a.header, want.header)
			}
		}
	}
}

func TestStorefront_StoreFails_IsAnApology(t *testing.T) {
	for status, err := range map[int]error{503: throttled{}, 500: errors.New("SECRET-DETAIL")} {
		shop := emberforge(capes(3)...)
		shop.err = err
		s := newService(t)
		a := visit(shop, s, get(shopPath))
		a.wantApology(t, status)
		a.wantHeader(t, "Retry-After", map[int]string{503: "1"}[status])
		if line := s.logged(t); line["error"] == nil || line["status"] != float64(status) {
			t.Errorf("logged %v", line)
		}
	}
}

func TestStorefront_BadRequests_AreApologies(t *testing.T) {
	shop := emberforge(capes(3)...)
	for _, authorization := range []string{"Bearer other", "Basic ZW1iZXI6Zm9yZ2U=", revokedKey, ""} {
		a := visit(shop, newService(t), get(shopPath, "Authorization", authorization))
		a.wantApology(t, http.StatusUnauthorized)
		a.wantHeader(t, "WWW-Authenticate", "Bearer")
	}
	a := visit(shop, newService(t), post(shopPath, `{}`))
	a.wantApology(t, http.StatusMethodNotAllowed)
	a.wantHeader(t, "Allow", "GET, HEAD")
	visit(shop, newService(t), request(http.MethodHead, "/shop/nobody", "")).want(t, http.StatusNotFound, "")
}

func TestStorefront_Policies_HideWhatOnlyTheServerMayDo(t *testing.T) {
	for _, settings := range []access.Settings{
		{Redeem: access.Anyone, CheckOut: access.Anyone},
		{Redeem: access.ServerOnly, CheckOut: access.Anyone},
		{Redeem: access.Anyone, CheckOut: access.ServerOnly},
		{Redeem: access.ServerOnly, CheckOut: access.ServerOnly},
		{Redeem: "unknown", CheckOut: "unknown"},
	} {
		// shoppers and the shop's server get the same page
		for _, headers := range [][]string{nil, {"Authorization", serverKey}} {
			s := newService(t)
			s.Guard = guard{settings}
			a := visit(emberforge(capes(3)...), s, get(shopPath, headers...))
			if len(shownProducts(a.body)) != 3 {
				t.Errorf("%v: got %d %s, want a page with 3 products", settings, a.status, a.body)
			}
			if has := strings.Contains(a.body, `<form id="voucher"`); has != (settings.Redeem == access.Anyone) {
				t.Errorf("%v: the page redeems vouchers: %t", settings, has)
			}
			for _, part := range []string{`<button class="buy"`, `<dialog id="purchase"`} {
				if has := strings.Contains(a.body, part); has != (settings.CheckOut == access.Anyone) {
					t.Errorf("%v: the page has %s: %t", settings, part, has)
				}
			}
		}
	}
}

func TestStorefront_PaymentURL_PrefersTheShopsOwn(t *testing.T) {
	const own = "https://pay.emberforge.example/?checkout={checkout}&return={return}"
	for what, test := range map[string]struct {
		page       catalog.Page
		demo, want string
	}{
		"nothing":                  {catalog.Page{}, "", ""},
		"demo":                     {catalog.Page{}, demoPayment, demoPayment},
		"own URL":                  {catalog.Page{PaymentURL: own}, "", own},
		"own URL before the demo":  {catalog.Page{PaymentURL: own}, demoPayment, own},
		"own text before the demo": {catalog.Page{PaymentText: "Transfer the total."}, demoPayment, ""},
		"own URL and text": {
			catalog.Page{PaymentURL: own, PaymentText: "Transfer the total."},
			demoPayment,
			own,
		},
	} {
		shop := emberforge()
		shop.profile.Page = test.page
		s := newService(t)
		a := s.send(s.Storefront(shop, storefront.NewSite(), test.demo), get(shopPath))
		got := slices.Concat(found(a.body, ` data-payment-url="([^"]*)"`),
			found(a.body, ` data-payment-text="([^"]*)"`))
		if want := []string{test.want, test.page.PaymentText}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
}

func TestStorefront_Assets_AreKeptForAYear(t *testing.T) {
	site := storefront.NewSite()
	for _, asset := range []storefront.Asset{site.Script, site.Stylesheet} {
		for _, encoding := range []string{"", "gzip"} {
			s := newService(t)
			a := visit(emberforge(), s, get("/assets/"+asset.Name, "Accept-Encoding", encoding))
			if a.status != http.StatusOK || plain(t, a) != asset.Content {
				t.Errorf("%s: %d, %d bytes", asset.Name, a.status, len(a.body))
			}
			a.wantHeaders(t, map[string]string{
				"Content-Type": asset.ContentType, "Content-Encoding": encoding,
				"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding",
				"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'",
				"Referrer-Policy": "no-referrer", "Request-Id": "request-1",
			})
			if line := s.logged(t); line["outcome"] != "shown" || line["customer"] != "" {
				t.Errorf("logged %v", line)
			}
		}
		// A query changes nothing.
		visit(emberforge(), newService(t), get("/assets/"+asset.Name+"?v=1")).want(t, http.StatusOK, asset.Content)
		head := visit(emberforge(), newService(t), request(http.MethodHead, "/assets/"+asset.Name, ""))
		head.want(t, http.StatusOK, "")
		head.wantHeader(t, "Cache-Control", "public, max-age=31536000, immutable")
	}
}

func TestStorefront_UnknownAssets_AreNotFound(t *testing.T) {
	script := storefront.NewSite().Script.Name
	for _, path := range []string{
		"/assets/shop-0123456789abcdef.js", "/assets/shop.js", "/assets/" + strings.ToUpper(script),
		"/assets/" + strings.Replace(script, ".js", ".css", 1),
		"/assets/", "/assets/x/" + script, "/assets/../" + script, "/assets/" + script + "/", "/assets/texts/en.json",
	} {
		a := visit(emberforge(), newService(t), get(path))
		if a.status != http.StatusNotFound || !strings.HasPrefix(a.body, problemFormat+`not-found"`) {
			t.Errorf("%s: got %d %s, want 404", path, a.status, a.body)
		}
		a.wantHeader(t, "Cache-Control", "no-store")
	}
	if a := visit(emberforge(), newService(t),
		post("/assets/"+script, `{}`)); a.status != http.StatusMethodNotAllowed ||
		a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", a.status, a.header)
	}
}

// A browser can load only the assets that the service serves.
func TestStorefront_Page_NamesAssetsThatExist(t *testing.T) {
	shop := emberforge()
	paths := found(visit(shop, newService(t), get(shopPath)).body, `(?:src|href)="(/assets/[^"]*)"`)
	for _, path := range paths {
		if a := visit(shop, newService(t), get(path)); a.status != http.StatusOK {
			t.Errorf("%s: got %d, want 200", path, a.status)
		}
	}
	if len(paths) != 2 {
		t.Errorf("the page has the assets %q", paths)
	}
}

func TestStorefront_Sale_EndsOnThePageToo(t *testing.T) {
	ends := now().Truncate(1e6)
	for name, want := range map[string]struct {
		product catalog.Product
		price   []string
	}{
		"in force": {coinsOnSale(ends, ends.AddDate(0, 0, 1)), []string{"3.99"}},
		"ended":    {coinsOnSale(ends.AddDate(0, 0, -1), ends), []string{"4.99"}},
	} {
		a := visit(emberforge(want.product), newService(t), get(shopPath))
		if got := found(a.body, `<data class="price" value="([^"]*)"`); !slices.Equal(got, want.price) {
			t.Errorf("%s: the price is %q, want %q", name, got, want.price)
		}
	}
}
