package localrun

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/client"
)

const (
	// paymentPath is the path of the demo payment page, which stands in for a payment provider and for the shop's
	// server.
	paymentPath = "/demo/payment"
	// paymentKeyName is the name of the keys with which the demo payment page places orders.
	paymentKeyName = "demo payment page"
)

// payment handles a request to the demo payment page. A GET shows the checkout to pay. A POST places the order if the
// shopper pays, and redirects to the shop if the shopper pays or cancels.
func (p *demoPages) payment(r *http.Request) (page, error) {
	back := r.FormValue("return")
	address, err := url.Parse(back)
	// Another site may point its own name to this machine. The browser would then treat that site's pages and this page
	// as the same origin.
	if err != nil || !p.isShopPage(back) || !p.isShopPage("http://"+r.Host+"/shop/") {
		return page{ //nolint:nilerr // the request is wrong, not the run
			Status: http.StatusBadRequest, Title: "This payment page cannot return there",
			Message: "Open the shop at " + p.State.BaseURL + ", and pay again.",
		}, nil
	}
	pays := r.Method == http.MethodPost
	if pays && http.NewCrossOriginProtection().Check(r) != nil {
		//nolint:nilerr // the request is wrong, not the run
		return page{
			Status: http.StatusForbidden, Title: "This payment comes from another site",
			Message: "Pay in the shop.", Back: back,
		}, nil
	}
	if pays && r.PostFormValue("action") != "pay" {
		return page{Location: back}, nil
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(address.Path, "/shop/"), "/")
	shop, checkout, err := p.checkout(r.Context(), id, r.FormValue("checkout"), pays)
	problem, isProblem := errors.AsType[*client.ProblemError](err)
	switch {
	case err == nil && pays:
		return page{Location: back}, nil
	case err == nil:
		return page{Title: "Demo payment", Shop: shop, Checkout: &checkout, Back: back}, nil
	case errors.Is(err, client.ErrMalformedID), errors.Is(err, client.ErrNotFound), errors.Is(err, catalog.ErrNotFound):
		return page{
			Status: http.StatusNotFound, Title: "No such checkout",
			Message: "The shop does not know this checkout.", Back: back,
		}, nil
	case isProblem:
		return page{Status: problem.Status, Title: problem.Title, Message: problem.Detail, Back: back}, nil
	default:
		return page{}, err
	}
}

// isShopPage reports whether an address leads to a shop's page of this run. People may also open that page at
// localhost.
func (p *demoPages) isShopPage(address string) bool {
	return strings.HasPrefix(address, p.State.BaseURL+"/shop/") ||
		strings.HasPrefix(address, strings.Replace(p.State.BaseURL, "127.0.0.1", "localhost", 1)+"/shop/")
}

// checkout returns a shop's catalogue entry and checkout. If pays is set, it also orders the checkout. The
// payment's reference depends only on the checkout, so two clicks place one order.
func (p *demoPages) checkout(
	ctx context.Context, shopID, id string, pays bool,
) (catalogfile.Entry, client.Checkout, error) {
	if _, err := client.New(p.State.BaseURL, shopID); err != nil { // the ID comes from the request
		return catalogfile.Entry{}, client.Checkout{}, err
	}
	shop, err := p.State.Deployment(p.Random).CatalogueEntry(ctx, catalog.ShopID(shopID))
	if err != nil {
		return catalogfile.Entry{}, client.Checkout{}, err
	}
	server, err := p.server(ctx, shop.Profile.ID)
	if err != nil {
		return catalogfile.Entry{}, client.Checkout{}, err
	}
	checkout, err := server.ShowCheckout(ctx, id)
	if err == nil && pays {
		var payment client.Payment // stays zero if there is nothing to pay
		if checkout.Total.Minor > 0 {
			payment = client.Payment{Provider: "demo", Reference: "demo-" + checkout.ID}
		}
		_, err = server.PlaceOrder(ctx, checkout.ID, payment)
	}
	return shop, checkout, err
}

// server returns a client with a key of the shop, which only this process knows. Before it creates the key, it
// revokes the keys of earlier runs, because a shop may have only a few live keys.
func (p *demoPages) server(ctx context.Context, shopID catalog.ShopID) (*client.Client, error) {
	p.serversMu.Lock()
	defer p.serversMu.Unlock()
	if open := p.servers[shopID]; open != nil {
		return open, nil
	}
	shop, err := p.State.Deployment(p.Random).Shop(ctx, shopID)
	if err != nil {
		return nil, err
	}
	records, err := shop.Keys(ctx)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	for _, record := range records {
		if record.Name != paymentKeyName || !record.Live(now) {
			continue
		}
		if _, err := shop.RevokeKey(ctx, record.ID, now); err != nil {
			return nil, err
		}
	}
	key, _, err := shop.CreateKey(ctx, paymentKeyName, time.Time{}, rand.Reader, now)
	if err != nil {
		return nil, err
	}
	server, err := client.New(p.State.BaseURL, string(shopID), client.WithServerKey(key.Secret()))
	if err == nil {
		p.servers[shopID] = server
	}
	return server, err
}
