package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"shopfront/pkg/catalog"
)

// Bounds of one page of the checkout area.
const (
	defaultLimit = 100
	maxLimit     = 200
	// maxPageBytes bounds the products of a page, in bytes as Lambda transports them, so that a whole page stays below 4 MB.
	maxPageBytes = 4_000_000 - 4096
)

// Catalogue reads what a shopper may see: a customer, and its products after a given one, in ID order. It returns
// catalog.ErrNotFound for an unknown customer.
type Catalogue interface {
	OnSale(ctx context.Context, customer catalog.CustomerID, after catalog.ProductID, want int) (
		catalog.Customer, iter.Seq2[catalog.Product, error], error)
}

// CheckoutArea is GET /shop/{customer}/checkout (docs/interface.md). It lists, in pages, what a storefront needs to draw the
// shop's checkout page.
func (s Service) CheckoutArea(catalogue Catalogue) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/checkout", methods: []string{http.MethodGet, http.MethodHead}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			request, err := areaRequest(c)
			if err != nil {
				return answer{}, err
			}
			if err := c.admit(nil); err != nil {
				return answer{}, err
			}
			area, err := readArea(c.Context(), catalogue, request)
			if err != nil {
				return answer{}, err
			}
			c.record.note("shown")
			a, err := jsonAnswer(http.StatusOK, area)
			if err != nil {
				return answer{}, err
			}
			return revalidated(c.Request, a), nil
		},
	})
}

// pageRequest asks for a page of a customer's products.
type pageRequest struct {
	customer catalog.CustomerID
	after    catalog.ProductID // empty: from the start
	limit    int
}

func areaRequest(c *call) (request pageRequest, err error) {
	if c.customer == "" {
		return pageRequest{}, problemNotFound.new()
	}
	request.customer = c.customer
	query, err := parseQuery(c.Request, "limit", "cursor")
	if err != nil {
		return pageRequest{}, err
	}
	if query.Has("cursor") {
		if request.after, err = parseCursor(query.Get("cursor"), request.customer, catalog.ParseID[catalog.ProductID]); err != nil {
			return pageRequest{}, err
		}
	}
	request.limit, err = pageLimit(query, maxLimit)
	return request, err
}

// pageLimit returns the limit that a list's query asks for, or the default.
func pageLimit(query url.Values, most int) (int, error) {
	if !query.Has("limit") {
		return defaultLimit, nil
	}
	text := query.Get("limit")
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > most || strconv.Itoa(limit) != text {
		return 0, problemInvalid.because("The limit must be a whole number from 1 to %d.", most).of("limit")
	}
	return limit, nil
}

// encodeCursor encodes the customer and where a page ended. A cursor is not a secret and grants nothing: it only selects where in the
// customer's own list the next page starts.
func encodeCursor(customer catalog.CustomerID, end string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(customer) + "/" + end))
}

// parseCursor decodes a cursor of the customer. parse reads where the page ended.
func parseCursor[T any](text string, customer catalog.CustomerID, parse func(end string) (T, error)) (end T, err error) {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	of, rest, _ := strings.Cut(string(decoded), "/")
	if err == nil && of == string(customer) {
		if end, err = parse(rest); err == nil {
			return end, nil
		}
	}
	return end, problemMalformedRequest.because("The cursor is malformed, or belongs to another list.").of("cursor")
}

func readArea(ctx context.Context, catalogue Catalogue, request pageRequest) (areaJSON, error) {
	customer, products, err := catalogue.OnSale(ctx, request.customer, request.after, request.limit+1)
	if err != nil {
		return areaJSON{}, err
	}
	area := areaJSON{
		Customer: customerJSON{ID: string(customer.ID), Name: customer.Name, Currency: string(customer.Currency)},
		Products: []json.RawMessage{},
	}
	var last catalog.ProductID
	size := 0
	for product, err := range products {
		if err != nil {
			return areaJSON{}, err
		}
		encoded, err := encodeProduct(request.customer, product)
		if err != nil {
			return areaJSON{}, err
		}
		size += transportedBytes(encoded)
		if len(area.Products) == request.limit || size > maxPageBytes && len(area.Products) > 0 {
			next := fmt.Sprintf("/shop/%s/checkout?limit=%d&cursor=%s", request.customer, request.limit, encodeCursor(request.customer, string(last)))
			area.Next = &next
			break
		}
		area.Products = append(area.Products, encoded)
		last = product.ID
	}
	return area, nil
}

// transportedBytes returns the length of JSON inside the JSON of a function's response, whose size Lambda bounds. There, quotes
// and backslashes are escaped; aws-lambda-go's encoder also escapes <, >, &, U+2028 and U+2029 to six bytes each.
func transportedBytes(encoded []byte) int {
	size := len(encoded) + len(",") + 3*(bytes.Count(encoded, []byte("\u2028"))+bytes.Count(encoded, []byte("\u2029")))
	for _, c := range encoded {
		switch c {
		case '"', '\\':
			size++
		case '<', '>', '&':
			size += 5
		}
	}
	return size
}

type areaJSON struct {
	Customer customerJSON      `json:"customer"`
	Products []json.RawMessage `json:"products"` // each a productJSON
	Next     *string           `json:"next"`
}

type customerJSON struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Currency string `json:"currency"`
}

type productJSON struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Variants    []variantJSON `json:"variants"`
}

type variantJSON struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Price     *moneyJSON `json:"price"`
	MinAmount int64      `json:"minAmount"`
	MaxAmount int64      `json:"maxAmount"`
	// DataSchema is the JSON Schema of the data; without it, data is any string.
	DataSchema json.RawMessage `json:"dataSchema,omitempty"`
	Checkout   string          `json:"checkout"` // the path at which the variant is checked out
}

func encodeProduct(customer catalog.CustomerID, p catalog.Product) (json.RawMessage, error) {
	represented := productJSON{
		ID: string(p.ID), Name: p.Name, Description: p.Description, Variants: make([]variantJSON, len(p.Variants)),
	}
	for i, v := range p.Variants {
		represented.Variants[i] = variantJSON{
			ID: string(v.ID), Name: v.Name, Price: representMoney(v.Price), MinAmount: v.MinAmount, MaxAmount: v.MaxAmount,
			DataSchema: json.RawMessage(v.DataSchema),
			Checkout:   fmt.Sprintf("/shop/%s/checkout/%s/%s", customer, p.ID, v.ID),
		}
	}
	return encodeJSON(represented)
}
