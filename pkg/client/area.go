package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Page is a part of the checkout area, which lists what a customer has on sale. Names and descriptions are text, not HTML: escape
// them.
type Page struct {
	Customer Customer  `json:"customer"`
	Products []Product `json:"products"` // in the shop's order

	query string // of the request for this page
	next  string // the query of the next page; empty on the last page
	etag  string
}

// Customer is the account of a shop.
type Customer struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Currency string `json:"currency"` // ISO 4217, of all prices
}

// Product is something on sale, in one or more variants.
type Product struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Image       string    `json:"image,omitzero"`    // an https URL
	Category    string    `json:"category,omitzero"` // a heading, in one line
	Variants    []Variant `json:"variants"`
}

// Variant is a form in which a product is sold.
type Variant struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Price Money  `json:"price"` // for an amount of one, at the time of the request
	// OriginalPrice is the price without the sale. It is zero unless a sale is in force: show it struck through.
	OriginalPrice Money `json:"originalPrice,omitzero"`
	// SaleEndsAt is the first moment after the sale. It is zero if there is no sale, or if the sale has no end.
	SaleEndsAt time.Time `json:"saleEndsAt,omitzero"`
	// MinAmount and MaxAmount are the inclusive bounds of an Order's amount; 1 <= MinAmount <= MaxAmount.
	MinAmount int64 `json:"minAmount"`
	MaxAmount int64 `json:"maxAmount"`
	// DataSchema is the JSON Schema (2020-12) for an Order's data. Without a schema, data is any text.
	DataSchema json.RawMessage `json:"dataSchema,omitempty"`
}

// CheckoutArea iterates over the pages of the checkout area. It requests each page when the loop gets there and ends at the first
// error. ErrNotFound means that the customer is unknown or off sale. Pass the pages of an earlier call to revalidate them: the
// service does not send unchanged pages again.
//
// A product whose position the shop changes between two requests can come twice, or not at all.
func (c *Client) CheckoutArea(ctx context.Context, known ...Page) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		var page Page
		requested := map[string]bool{}
		for more := true; more; more = page.next != "" {
			var err error
			requested[page.next] = true
			if page, err = c.nextPage(ctx, page.next, requested, known); err != nil {
				yield(Page{}, fmt.Errorf("checkout area: %w", err))
				return
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

// nextPage returns the page of a query, or the first page if the query is empty.
func (c *Client) nextPage(ctx context.Context, query string, requested map[string]bool, known []Page) (Page, error) {
	page := Page{query: query}
	if i := slices.IndexFunc(known, func(p Page) bool { return p.query == page.query && p.Customer.ID == c.customer }); i >= 0 {
		page = known[i]
	}
	r := request{
		method: http.MethodGet, path: "/shop/" + c.customer + "/checkout", query: page.query, etag: page.etag, maxBytes: maxPageBytes,
	}
	r.read = func(a answer) error {
		if a.status == http.StatusNotModified {
			return nil
		}
		var understood bool
		if page, understood = r.readPage(a); !understood || page.Customer.ID != c.customer || !page.isComplete() || requested[page.next] && page.next != "" {
			return a.notUnderstood("it is not a page of the checkout area")
		}
		return nil
	}
	err := c.do(ctx, r)
	return page, err
}

func (r request) readPage(a answer) (Page, bool) {
	var received struct {
		Page
		Next json.RawMessage `json:"next"` // a path or null; if it is missing, the response may be cut off
	}
	if !a.decode("application/json", &received) {
		return Page{}, false
	}
	page := received.Page
	page.query, page.etag = r.query, a.header.Get("ETag")
	var understood bool
	page.next, understood = r.readNext(received.Next)
	return page, understood
}

// readNext returns the query of the next page from its path, or an empty query from null.
func (r request) readNext(text json.RawMessage) (query string, understood bool) {
	var path *string
	if json.Unmarshal(text, &path) != nil {
		return "", false
	}
	if path == nil {
		return "", true
	}
	next, err := url.Parse(*path)
	if err != nil || next.RawQuery == "" || *path != r.path+"?"+next.RawQuery {
		return "", false
	}
	return next.RawQuery, true
}

// isComplete reports whether every product and variant has what the interface promises, and no product comes twice.
func (p Page) isComplete() bool {
	seen := map[string]bool{}
	for _, product := range p.Products {
		if !isID(product.ID) || seen[product.ID] || len(product.Variants) == 0 {
			return false
		}
		seen[product.ID] = true
		for _, v := range product.Variants {
			if !isID(v.ID) || v.Price.Currency != p.Customer.Currency || v.MinAmount < 1 || v.MaxAmount < v.MinAmount ||
				v.OriginalPrice != (Money{}) && (v.OriginalPrice.Currency != v.Price.Currency || v.OriginalPrice.Minor <= v.Price.Minor) {
				return false
			}
		}
	}
	return p.Customer.Currency != "" && (p.next == "" || len(p.Products) > 0)
}
