package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/storefront"
)

// Bounds of one HTML page.
const (
	productsPerPage = 48
	// maxProductsBytes bounds the products of a page with several products, in bytes as Lambda transports them. It
	// keeps the whole page below 4 MB. A page with a single product can have up to 4.2 MB, if all its characters are
	// escaped. Lambda's limit is 6 MB.
	maxProductsBytes = maxPageBytes - 300_000
)

// Storefront serves the page of a shop at GET /shop/{customer}, and the page's script and stylesheet at GET
// /assets/{name}. demoPaymentURL is a template like catalog.Page.PaymentURL. It is for shops that have neither a
// payment page nor a text about paying. Only the local run sets it; elsewhere it is empty.
func (s Service) Storefront(catalogue Catalogue, site *storefront.Site, demoPaymentURL string) http.Handler {
	assets, page := s.assets(site), s.handler(endpoint{
		path: "/shop/{customer}", revalidates: true,
		respond:     func(c *call) (response, error) { return c.showPage(catalogue, site, demoPaymentURL) },
		problemPage: func(c *call, problem response) (response, error) { return c.apologise(site, problem) },
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			assets.ServeHTTP(w, r)
		} else {
			page.ServeHTTP(w, r)
		}
	})
}

func (c *call) showPage(catalogue Catalogue, site *storefront.Site, demoPaymentURL string) (response, error) {
	// The policies decide what the page offers. Anyone may see the page.
	if err := c.admit(anyone); err != nil {
		return response{}, err
	}
	c.query = c.URL.Query() // accepts any parameters, because other sites add parameters to links
	after, err := parseCursor(c, parsePlace)
	if err != nil {
		after = catalog.Place{}
	}
	listing, err := catalogue.OnSale(c.Context(), c.shop, after, productsPerPage+1)
	if err != nil {
		return response{}, err
	}
	if listing.Profile.Page.Off {
		return response{}, problemNotFound.new()
	}
	page := &storefront.Page{
		Profile: listing.Profile, At: c.received, Language: c.language(site, c.query),
		Redeems: c.settings.Redeem == access.Anyone, Sells: c.settings.CheckOut == access.Anyone,
		PaymentURL: listing.Profile.Page.PaymentURL,
	}
	page.Chosen = page.Language == c.query.Get("lang")
	if page.PaymentURL == "" && listing.Profile.Page.PaymentText == "" {
		page.PaymentURL = demoPaymentURL
	}
	render := func(p catalog.Product) (string, error) { return page.Product(site, p) }
	products, cursor, err := onPage(c, listing, productsPerPage, maxProductsBytes, render)
	if err != nil {
		return response{}, err
	}
	page.Next = cursor
	for _, p := range products {
		page.Add(p.Category, p.encoded)
	}
	html, policy, err := page.HTML(site)
	if err != nil {
		return response{}, err
	}
	c.record.note("shown")
	return c.htmlResponse(http.StatusOK, html, policy)
}

func (c *call) language(site *storefront.Site, query url.Values) string {
	return site.Language(query.Get("lang"), strings.Join(c.Header.Values("Accept-Language"), ","))
}

// apologise converts a problem to a page for shoppers, with the problem's status and headers.
func (c *call) apologise(site *storefront.Site, problem response) (response, error) {
	html, policy, err := site.Apology(c.language(site, c.URL.Query()), problem.status == http.StatusNotFound)
	if err != nil {
		return response{}, err
	}
	resp, err := c.htmlResponse(problem.status, html, policy)
	if err != nil {
		return response{}, err
	}
	for _, name := range []string{"Allow", "Retry-After", "WWW-Authenticate"} {
		if value := problem.header.Get(name); value != "" {
			resp.header.Set(name, value)
		}
	}
	return resp, nil
}

func (c *call) htmlResponse(status int, html, policy string) (response, error) {
	resp, err := encoded(c.Request, html, func() ([]byte, error) { return compress(html) })
	if err != nil {
		return response{}, err
	}
	resp.status = status
	resp.header.Set("Vary", "Accept-Encoding, Accept-Language")
	resp.setDocument("text/html; charset=utf-8", policy)
	return resp, nil
}

// assets serves the script and the stylesheet. The content behind a name never changes, so browsers may keep it for a
// year.
func (s Service) assets(site *storefront.Site) http.Handler {
	published := make(map[string]publishedDocument)
	for _, asset := range []storefront.Asset{site.Script, site.Stylesheet} {
		published["/assets/"+asset.Name] = publish(Document{ContentType: asset.ContentType, Content: asset.Content})
	}
	return s.handler(endpoint{
		path: "/assets/{name}",
		respond: func(c *call) (response, error) {
			asset, found := published[c.URL.Path]
			if !found {
				return response{}, problemNotFound.new()
			}
			resp, err := asset.show(c.Request)
			if err != nil {
				return response{}, err
			}
			resp.setDocument(asset.ContentType, "default-src 'none'")
			resp.header.Set("Cache-Control", "public, max-age=31536000, immutable")
			c.record.note("shown")
			return resp, nil
		},
	})
}
