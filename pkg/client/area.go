package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
)

// Page is a part of the checkout area: what a customer has on sale. Names and descriptions are text, not HTML: escape them.
type Page struct {
	Customer Customer
	Products []Product // in the order of their IDs

	query string // by which the page is asked for
	next  string // the query of the next page; empty on the last
	etag  string
}

// Customer is the shop account.
type Customer struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Currency string `json:"currency"` // ISO 4217, that of all prices
}

// Product is something on sale, in one or more variants.
type Product struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Variants    []Variant `json:"variants"`
}

// Variant is the form in which a product is sold.
type Variant struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Price Money  `json:"price"` // for one
	// MinAmount and MaxAmount bound, inclusively, the amount of an Order; 1 <= MinAmount <= MaxAmount.
	MinAmount int64 `json:"minAmount"`
	MaxAmount int64 `json:"maxAmount"`
	// DataSchema is the JSON Schema (2020-12) of an Order's data. Without one, any text is.
	DataSchema json.RawMessage `json:"dataSchema,omitempty"`
}

// CheckoutArea yields the pages of the checkout area, each asked for when its turn comes. It ends at the first error;
// ErrNotFound is a customer that is unknown or off sale. Pages of an earlier call may be handed in: what has not changed
// since is not sent again.
func (c *Client) CheckoutArea(ctx context.Context, known ...Page) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		var page Page
		for more := true; more; more = page.next != "" {
			var err error
			if page, err = c.nextPage(ctx, page, known); err != nil {
				yield(Page{}, fmt.Errorf("checkout area: %w", err))
				return
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}

// nextPage is the page behind another, or the first one.
func (c *Client) nextPage(ctx context.Context, previous Page, known []Page) (Page, error) {
	page := Page{query: previous.next}
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
		if page, understood = r.readPage(a); !understood || !page.isOf(c.customer) || !page.follows(previous) {
			return a.notUnderstood("it is no page of the checkout area")
		}
		return nil
	}
	err := c.do(ctx, r)
	return page, err
}

func (r request) readPage(a answer) (Page, bool) {
	var answered struct {
		Customer Customer        `json:"customer"`
		Products []Product       `json:"products"`
		Next     json.RawMessage `json:"next"` // a path or null; where it is missing, the rest may be too
	}
	var path *string
	if !a.decode("application/json", &answered) || json.Unmarshal(answered.Next, &path) != nil {
		return Page{}, false
	}
	page := Page{Customer: answered.Customer, Products: answered.Products, query: r.query, etag: a.header.Get("ETag")}
	if path == nil {
		return page, true
	}
	next, err := url.Parse(*path)
	if err != nil || next.RawQuery == "" || *path != r.path+"?"+next.RawQuery {
		return Page{}, false
	}
	page.next = next.RawQuery
	return page, true
}

func (p Page) isOf(customer string) bool {
	for _, product := range p.Products {
		if !isID(product.ID) || len(product.Variants) == 0 {
			return false
		}
		for _, v := range product.Variants {
			if !isID(v.ID) || v.Price.Currency != p.Customer.Currency || v.MinAmount < 1 || v.MaxAmount < v.MinAmount {
				return false
			}
		}
	}
	return p.Customer.ID == customer && p.Customer.Currency != ""
}

// follows tells whether the products go on behind those of the page before, so that no product comes twice and the pages end.
func (p Page) follows(previous Page) bool {
	last := ""
	if len(previous.Products) > 0 {
		last = previous.Products[len(previous.Products)-1].ID
	}
	for _, product := range p.Products {
		if product.ID <= last {
			return false
		}
		last = product.ID
	}
	return p.next == "" || len(p.Products) > 0
}
