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
	"shopfront/pkg/wire"
)

// Bounds of one page of the checkout area.
const (
	defaultLimit = 100
	maxLimit     = 200
	// maxPageBytes bounds the products of a page, in bytes as Lambda transports them. It keeps a whole page below 4 MB.
	maxPageBytes = 4_000_000 - 4096
)

// Catalogue reads what a shopper may see.
type Catalogue interface {
	// OnSale returns a shop and the products that follow a place: the parameter after. The parameter want is the
	// largest number of products that the caller needs. For an unknown shop OnSale returns catalog.ErrNotFound.
	OnSale(ctx context.Context, shop catalog.ShopID, after catalog.Place, want int) (catalog.Listing, error)
}

// CheckoutArea is GET /shop/{customer}/checkout. It lists, in pages, what a storefront needs to show the shop's
// checkout page.
func (s Service) CheckoutArea(catalogue Catalogue) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/checkout", revalidates: true,
		respond: admitted(areaRequest, (*call).admitWithoutPolicy,
			func(c *call, request pageRequest) (response, error) {
				area, err := readArea(c, catalogue, request)
				if err != nil {
					return response{}, err
				}
				c.record.note("shown")
				return jsonResponse(http.StatusOK, area)
			}),
	})
}

// pageRequest asks for a page of products.
type pageRequest struct {
	after catalog.Place
	limit int
}

func areaRequest(c *call) (request pageRequest, err error) {
	if err := c.parseQuery("limit", "cursor"); err != nil {
		return pageRequest{}, err
	}
	if request.after, err = parseCursor(c, parsePlace); err != nil {
		return pageRequest{}, err
	}
	request.limit, err = pageLimit(c.query, maxLimit)
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

// encodeCursor encodes the shop and where a page ended. A cursor is not a secret and grants nothing: it only selects
// where the next page of the shop's own list starts.
func encodeCursor(shop catalog.ShopID, end string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(shop) + "/" + end))
}

// parseCursor decodes the cursor in the query of a list. It returns where the earlier page ended, as read by the
// parameter parse. If there is no cursor, it returns the zero value.
func parseCursor[T any](c *call, parse func(end string) (T, error)) (end T, err error) {
	if !c.query.Has("cursor") {
		return end, nil
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(c.query.Get("cursor"))
	of, rest, _ := strings.Cut(string(decoded), "/")
	if err == nil && of == string(c.shop) {
		if end, err = parse(rest); err == nil {
			return end, nil
		}
	}
	return end, malformedCursor()
}

func malformedCursor() *problemError {
	return problemMalformedRequest.because("The cursor is malformed, or belongs to another list.").of("cursor")
}

// nextPage returns the link to the page of a list that starts after end.
func (c *call) nextPage(end string) *string {
	c.query.Set("cursor", encodeCursor(c.shop, end))
	link := c.URL.Path + "?" + c.query.Encode()
	return &link
}

// encodePlace returns POSITION/ID, or only the ID if the products are listed by ID.
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

// readArea reads a page, with the prices that are in force when the request is received.
func readArea(c *call, catalogue Catalogue, request pageRequest) (areaJSON, error) {
	listing, err := catalogue.OnSale(c.Context(), c.shop, request.after, request.limit+1)
	if err != nil {
		return areaJSON{}, err
	}
	encode := func(p catalog.Product) ([]byte, error) { return encodeProduct(c.shop, p, c.received) }
	products, cursor, err := onPage(c, listing, request.limit, maxPageBytes, encode)
	if err != nil {
		return areaJSON{}, err
	}
	profile := listing.Profile
	area := areaJSON{
		Shop:     profileJSON{ID: string(profile.ID), Name: profile.Name, Currency: string(profile.Currency)},
		Products: make([]json.RawMessage, len(products)),
	}
	for i, p := range products {
		area.Products[i] = p.encoded
	}
	if cursor != "" {
		next := fmt.Sprintf("%s?limit=%d&cursor=%s", c.URL.Path, request.limit, cursor)
		area.Next = &next
	}
	return area, nil
}

// encodedProduct is a product on a page, and what the page shows of it.
type encodedProduct[T any] struct {
	catalog.Product
	encoded T
}

// onPage returns the products of a page: at most limit products, encoded in at most maxBytes as Lambda transports them.
// But the first product is returned however large it is, so that every page leads on to the next. The cursor is that of
// the next page, or "" if this page is the last.
func onPage[T ~string | ~[]byte](
	c *call, listing catalog.Listing, limit, maxBytes int, encode func(catalog.Product) (T, error),
) (products []encodedProduct[T], cursor string, err error) {
	size := 0
	for product, err := range listing.Products {
		if err != nil {
			return nil, "", err
		}
		encoded, err := encode(product)
		if err != nil {
			return nil, "", err
		}
		size += transportedBytes([]byte(encoded))
		if count := len(products); count == limit || count > 0 && size > maxBytes {
			last := listing.Place(products[count-1].Product)
			return products, encodeCursor(c.shop, encodePlace(last)), nil
		}
		products = append(products, encodedProduct[T]{product, encoded})
	}
	return products, "", nil
}

// transportedBytes returns how many bytes a text takes in a function's response, which is JSON. Lambda bounds the size
// of that JSON. aws-lambda-go escapes quotes and backslashes to two bytes each, and <, >, &, U+2028 and U+2029 to six.
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
	Shop     profileJSON       `json:"customer"`
	Products []json.RawMessage `json:"products"` // each a productJSON
	Next     *string           `json:"next"`
}

type profileJSON struct {
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
	NickFrom    string        `json:"nickFrom,omitempty"` // the member of the data that is the nick
	Variants    []variantJSON `json:"variants"`
}

type variantJSON struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	Price *wire.Money `json:"price"` // the price in force
	// OriginalPrice is the price without the sale. It is missing if no sale is in force.
	OriginalPrice *wire.Money `json:"originalPrice,omitempty"`
	SaleEndsAt    string      `json:"saleEndsAt,omitempty"`
	MinAmount     int64       `json:"minAmount"`
	MaxAmount     int64       `json:"maxAmount"`
	// DataSchema is the JSON Schema of the data; without it, data is any string.
	DataSchema json.RawMessage `json:"dataSchema,omitempty"`
	Checkout   string          `json:"checkout"` // the path at which the variant is checked out
}

func encodeProduct(shop catalog.ShopID, p catalog.Product, at time.Time) (json.RawMessage, error) {
	represented := productJSON{
		ID: string(p.ID), Name: p.Name, Description: p.Description, Image: p.Image, Category: p.Category,
		NickFrom: p.NickFrom, Variants: make([]variantJSON, len(p.Variants)),
	}
	for i, v := range p.Variants {
		represented.Variants[i] = variantJSON{
			ID: string(v.ID), Name: v.Name, Price: wire.OfMoney(v.PriceAt(at)), MinAmount: v.MinAmount,
			MaxAmount:  v.MaxAmount,
			DataSchema: json.RawMessage(v.DataSchema),
			Checkout:   fmt.Sprintf("/shop/%s/checkout/%s/%s", shop, p.ID, v.ID),
		}
		if sale, onSale := v.SaleAt(at); onSale {
			represented.Variants[i].OriginalPrice = wire.OfMoney(v.Price)
			if !sale.Until.IsZero() {
				represented.Variants[i].SaleEndsAt = wire.Time(sale.Until)
			}
		}
	}
	return wire.Encode(represented)
}
