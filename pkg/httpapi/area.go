package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"shopfront/pkg/catalog"
)

// Bounds of one page of the checkout area.
const (
	defaultLimit = 100
	maxLimit     = 200
	// maxPageBytes bounds the products of a page, in bytes as Lambda transports them, so that a whole page stays below 4 MB.
	maxPageBytes = 4_000_000 - 4096
)

// Catalogue reads what a shopper may see: a customer, and its products after a place. It returns catalog.ErrNotFound for an unknown
// customer.
type Catalogue interface {
	OnSale(ctx context.Context, customer catalog.CustomerID, after catalog.Place, want int) (catalog.Listing, error)
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
			area, err := readArea(c.Context(), catalogue, request, c.received)
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
	after    catalog.Place
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
		if request.after, err = parseCursor(query.Get("cursor"), request.customer, parsePlace); err != nil {
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

// encodePlace returns POSITION/ID, or only the ID if the products are listed by ID, as in older releases.
func encodePlace(place catalog.Place) string {
	if place.Position == 0 {
		return string(place.ID)
	}
	return fmt.Sprintf("%d/%s", place.Position, place.ID)
}

func parsePlace(end string) (place catalog.Place, err error) {
	position, id, hasPosition := strings.Cut(end, "/")
	if !hasPosition {
		id = end
	} else if place.Position, err = strconv.ParseInt(position, 10, 64); err != nil {
		return catalog.Place{}, err
	}
	place.ID, err = catalog.ParseID[catalog.ProductID](id)
	return place, err
}

// readArea reads a page with the prices in force at a time.
func readArea(ctx context.Context, catalogue Catalogue, request pageRequest, at time.Time) (areaJSON, error) {
	listing, err := catalogue.OnSale(ctx, request.customer, request.after, request.limit+1)
	if err != nil {
		return areaJSON{}, err
	}
	customer := listing.Customer
	area := areaJSON{
		Customer: customerJSON{ID: string(customer.ID), Name: customer.Name, Currency: string(customer.Currency)},
		Products: []json.RawMessage{},
	}
	var last catalog.Place
	size := 0
	for product, err := range listing.Products {
		if err != nil {
			return areaJSON{}, err
		}
		encoded, err := encodeProduct(request.customer, product, at)
		if err != nil {
			return areaJSON{}, err
		}
		size += transportedBytes(encoded)
		if len(area.Products) == request.limit || size > maxPageBytes && len(area.Products) > 0 {
			next := fmt.Sprintf("/shop/%s/checkout?limit=%d&cursor=%s", request.customer, request.limit, encodeCursor(request.customer, encodePlace(last)))
			area.Next = &next
			break
		}
		area.Products = append(area.Products, encoded)
		last = listing.Place(product)
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
	Image       string        `json:"image,omitempty"`
	Category    string        `json:"category,omitempty"`
	Variants    []variantJSON `json:"variants"`
}

type variantJSON struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	Price *moneyJSON `json:"price"` // in force
	// OriginalPrice is the price without the sale. It is missing if no sale is in force.
	OriginalPrice *moneyJSON `json:"originalPrice,omitempty"`
	SaleEndsAt    string     `json:"saleEndsAt,omitempty"`
	MinAmount     int64      `json:"minAmount"`
	MaxAmount     int64      `json:"maxAmount"`
	// DataSchema is the JSON Schema of the data; without it, data is any string.
	DataSchema json.RawMessage `json:"dataSchema,omitempty"`
	Checkout   string          `json:"checkout"` // the path at which the variant is checked out
}

func encodeProduct(customer catalog.CustomerID, p catalog.Product, at time.Time) (json.RawMessage, error) {
	represented := productJSON{
		ID: string(p.ID), Name: p.Name, Description: p.Description, Image: p.Image, Category: p.Category,
		Variants: make([]variantJSON, len(p.Variants)),
	}
	for i, v := range p.Variants {
		represented.Variants[i] = variantJSON{
			ID: string(v.ID), Name: v.Name, Price: representMoney(v.PriceAt(at)), MinAmount: v.MinAmount, MaxAmount: v.MaxAmount,
			DataSchema: json.RawMessage(v.DataSchema),
			Checkout:   fmt.Sprintf("/shop/%s/checkout/%s/%s", customer, p.ID, v.ID),
		}
		if sale, onSale := v.SaleAt(at); onSale {
			represented.Variants[i].OriginalPrice = representMoney(v.Price)
			if !sale.Until.IsZero() {
				represented.Variants[i].SaleEndsAt = representTime(sale.Until)
			}
		}
	}
	return encodeJSON(represented)
}
