package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"
)

// Page is a part of the checkout area, the list of what a shop has on sale. Names and descriptions are text, not HTML:
// escape them.
type Page struct {
	Shop     Shop      `json:"customer"`
	Products []Product `json:"products"` // in the shop's order

	query string // of the request for this page
	next  string // the query of the next page; empty on the last page
	etag  string
}

// Shop names the shop and its currency.
type Shop struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Currency string `json:"currency"` // the ISO 4217 code of the currency of all prices
}

// Product is something on sale, in one or more variants.
type Product struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Image       string    `json:"image,omitzero"`    // an https URL
	Category    string    `json:"category,omitzero"` // a heading, in one line
	NickFrom    string    `json:"nickFrom,omitzero"` // the member of the data that is the nick; empty: none
	Variants    []Variant `json:"variants"`
}

// Variant is a form in which a product is sold.
type Variant struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Price Money  `json:"price"` // for an amount of one, at the time of the request
	// OriginalPrice is the price without the sale, which storefronts show struck through. Zero: no sale is in force.
	OriginalPrice Money `json:"originalPrice,omitzero"`
	// SaleEndsAt is the first moment after the sale. Zero: there is no sale, or it has no end.
	SaleEndsAt time.Time `json:"saleEndsAt,omitzero"`
	// MinAmount and MaxAmount are the inclusive bounds of an Order's amount; 1 <= MinAmount <= MaxAmount.
	MinAmount int64 `json:"minAmount"`
	MaxAmount int64 `json:"maxAmount"`
	// DataSchema is the JSON Schema (2020-12) for an Order's data. Without a schema, data is any text.
	DataSchema json.RawMessage `json:"dataSchema,omitempty"`
}

// CheckoutArea iterates over the pages of the checkout area. Each page is requested when the loop needs it. The first
// error ends the iteration. ErrNotFound means that the shop is unknown or off sale. Pass the pages of an earlier call
// to revalidate them: the service does not send unchanged pages again.
//
// If the shop changes the position of a product between two requests, the product can come twice, or not at all.
func (c *Client) CheckoutArea(ctx context.Context, known ...Page) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		requested := map[string]bool{}
		eachPage("", yield, func(query string) (Page, string, error) {
			requested[query] = true
			page, err := c.areaPage(ctx, query, requested, known)
			return page, page.next, err
		})
	}
}

// areaPage returns the page for a query, or the first page if the query is empty. The page must not lead back to a
// query that was already requested.
func (c *Client) areaPage(ctx context.Context, query string, requested map[string]bool, known []Page) (Page, error) {
	r := c.getPage("checkout area", "/checkout", query)
	var page Page
	if i := slices.IndexFunc(known,
		func(p Page) bool { return p.query == query && p.Shop.ID == c.shop }); i >= 0 {
		page = known[i]
	}
	r.etag = page.etag
	r.read = func(resp response) error {
		if resp.status == http.StatusNotModified {
			return nil
		}
		var received struct {
			Page
			pageEnd
		}
		isPage := resp.decode("application/json", &received) && received.readNext(r)
		page = received.Page
		page.query, page.next, page.etag = query, received.pageEnd.next, resp.header.Get("ETag")
		if !isPage || page.Shop.ID != c.shop || !page.isComplete() || requested[page.next] && page.next != "" {
			return resp.notUnderstood("it is not a page of the checkout area")
		}
		return nil
	}
	if err := c.do(ctx, r); err != nil {
		return Page{}, fmt.Errorf("checkout area: %w", err)
	}
	return page, nil
}

// isComplete reports whether every product and variant follows api/openapi.yaml, and no product comes twice.
func (p Page) isComplete() bool {
	seen := map[string]bool{}
	for _, product := range p.Products {
		if !isID(product.ID) || seen[product.ID] || len(product.Variants) == 0 {
			return false
		}
		seen[product.ID] = true
		for _, v := range product.Variants {
			if !isID(v.ID) || v.Price.Currency != p.Shop.Currency || v.MinAmount < 1 || v.MaxAmount < v.MinAmount ||
				v.OriginalPrice != (Money{}) &&
					(v.OriginalPrice.Currency != v.Price.Currency || v.OriginalPrice.Minor <= v.Price.Minor) {
				return false
			}
		}
	}
	return p.Shop.Currency != "" && (p.next == "" || len(p.Products) > 0)
}
