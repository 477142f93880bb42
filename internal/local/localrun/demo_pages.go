package localrun

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"shopfront/internal/local/gateway"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/client"
	"shopfront/pkg/voucher"
)

// pagesTemplate is the HTML template of all demo pages. Its data is a page.
//
//go:embed demo_pages.html.tmpl
var pagesTemplate string

// demoPages serves the pages that only the local run has: the list of its shops, and the demo payment page. It passes
// every other request to the gateway unchanged. It does not use an http.ServeMux, which would change paths.
type demoPages struct {
	*Run

	gateway   http.Handler
	template  *template.Template
	serversMu sync.Mutex
	servers   map[catalog.ShopID]*client.Client // guarded by serversMu
}

func (r *Run) newDemoPages(api http.Handler) (*demoPages, error) {
	parsed, err := template.New("page").Parse(pagesTemplate)
	return &demoPages{Run: r, gateway: api, template: parsed, servers: make(map[catalog.ShopID]*client.Client)}, err
}

// page is the content of a demo page. The template skips fields that are zero.
type page struct {
	Status         int // 0 means 200
	Title, Message string

	Shops    []listedShop // for the list of shops
	Shop     catalogfile.Entry
	Checkout *client.Checkout // the checkout of Shop to pay
	Back     string           // the address of the shop's page

	Location string // where to redirect the browser; if it is empty, the page is shown
}

// listedShop is a shop in the list of shops.
type listedShop struct {
	catalog.Profile

	// URL is absolute, because the demo payment page returns only to the run's own address.
	URL      string
	Products []catalog.Product  // the products that codes may give
	Codes    []voucher.Standing // the codes that anybody can redeem now
}

// Names formats a good for people, for example as "3 × Crate key, One key".
func (s listedShop) Names(good voucher.Good) string {
	for _, product := range s.Products {
		for _, variant := range product.Variants {
			if product.ID == good.Product && variant.ID == good.Variant {
				return fmt.Sprintf("%d × %s, %s", good.Amount, product.Name, variant.Name)
			}
		}
	}
	return good.String()
}

// IsOpen reports whether the shop has a page.
func (s listedShop) IsOpen() bool { return !s.OffSale && !s.Page.Off }

func (p *demoPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := p.Now()
	path, _, _ := strings.Cut(r.RequestURI, "?")
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	var shown page
	var err error
	switch {
	case path == "/" && isRead:
		shown, err = p.index(r.Context())
	case path == paymentPath && (isRead || r.Method == http.MethodPost):
		shown, err = p.payment(r)
	default:
		p.gateway.ServeHTTP(w, r)
		return
	}
	if err != nil {
		shown = page{Status: http.StatusInternalServerError, Title: "Something went wrong", Message: err.Error()}
	}
	status := p.respond(w, shown)
	p.showRequest(gateway.Record{
		RequestID: "-", Method: r.Method, Path: path, Status: status, Duration: p.Now().Sub(started), Err: err,
	})
}

// respond sends a page and returns the status of the response.
func (p *demoPages) respond(w http.ResponseWriter, shown page) int {
	if shown.Location != "" {
		w.Header().Set("Location", shown.Location)
		w.WriteHeader(http.StatusSeeOther)
		return http.StatusSeeOther
	}
	var html bytes.Buffer
	if err := p.template.Execute(&html, shown); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	_, style, _ := bytes.Cut(html.Bytes(), []byte("<style>"))
	style, _, _ = bytes.Cut(style, []byte("</style>"))
	sum := sha256.Sum256(style)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; img-src data:; "+
			"base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	// with no-referrer, browsers would send the form with Origin: null, as for another site
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	status := cmp.Or(shown.Status, http.StatusOK)
	w.WriteHeader(status)
	_, _ = w.Write(html.Bytes()) // fails only if the client has disconnected
	return status
}

// index returns the list of the run's shops. For the shops of demoFile, it adds the codes that anybody can redeem now.
func (p *demoPages) index(ctx context.Context) (page, error) {
	deployment := p.State.Deployment(p.Random)
	shops, err := deployment.Shops(ctx)
	if err != nil {
		return page{}, err
	}
	file, err := p.demoCatalogue()
	if err != nil {
		return page{}, err
	}
	entries, err := catalogfile.Parse(file)
	if err != nil {
		return page{}, err
	}
	shown := page{
		Title:   "Demo shops",
		Message: "Shopfront runs on this machine with these shops. Payments here do not move money.",
	}
	for _, profile := range shops {
		shop := listedShop{Profile: profile, URL: p.State.BaseURL + "/shop/" + string(profile.ID)}
		if i := slices.IndexFunc(entries,
			func(e catalogfile.Entry) bool { return e.Profile.ID == profile.ID }); i >= 0 {
			shop.Products = entries[i].Products
			if shop.Codes, err = p.codes(ctx, entries[i]); err != nil {
				return page{}, err
			}
		}
		shown.Shops = append(shown.Shops, shop)
	}
	return shown, nil
}

// codes returns the entry's vouchers that anybody can redeem now. It reads them from the store, because somebody may
// have used up or edited a code.
func (p *demoPages) codes(ctx context.Context, entry catalogfile.Entry) ([]voucher.Standing, error) {
	shop, err := p.State.Deployment(p.Random).Shop(ctx, entry.Profile.ID)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	var codes []voucher.Standing
	for _, v := range entry.Vouchers {
		standing, err := shop.Voucher(ctx, v.Code, now)
		if _, isUnknown := errors.AsType[*voucher.RefusalError](err); isUnknown {
			continue
		}
		if err != nil {
			return nil, err
		}
		if standing.Status(now) == voucher.StatusRedeemable && standing.Nick == (voucher.Nick{}) {
			codes = append(codes, standing)
		}
	}
	return codes, nil
}
