package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"shopfront/pkg/money"
)

// Bounds of a catalogue.
const (
	MaxNameBytes        = 128
	MaxDescriptionBytes = 1024
	MaxImageBytes       = 512
	MaxCategoryBytes    = 64
	// MaxPageBytes bounds all texts of a page together, so that reading a shop takes one read unit, 4 KB.
	MaxPageBytes       = 3 << 10
	MaxVariants        = 50
	MaxDataSchemaBytes = 8 << 10
	// MaxAmount bounds the amount of one checkout, whatever the variant.
	MaxAmount int64 = 1_000_000
	// MaxPosition bounds a product's position; the lowest is 1.
	MaxPosition int64 = 1_000_000
	// MaxProductBytes bounds a stored product with its variants: DynamoDB's limit of 400 KB per item, less a margin for
	// keys and attribute names.
	MaxProductBytes = 380 << 10
)

// FieldError says which field of a shop, product or variant is wrong. Field is a path such as variants[2].price.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

// FieldErrors lists all faults that Validate found, in the order of the fields.
type FieldErrors []*FieldError

func (f FieldErrors) Error() string { return errors.Join(f.Unwrap()...).Error() }

// Unwrap lets errors.Is and errors.As find each error.
func (f FieldErrors) Unwrap() []error {
	errs := make([]error, len(f))
	for i, err := range f {
		errs[i] = err
	}
	return errs
}

func (f *FieldErrors) add(field string, err error) {
	if err != nil {
		*f = append(*f, &FieldError{field, err})
	}
}

func (f FieldErrors) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Validate checks every bound, and returns all faults as FieldErrors.
func (c Profile) Validate() error {
	var found FieldErrors
	c.validate(found.add)
	return found.orNil()
}

func (c Profile) validate(add func(field string, err error)) {
	_, err := ParseID[ShopID](string(c.ID))
	add("id", err)
	add("name", checkLine(c.Name, MaxNameBytes))
	_, err = money.ParseCurrency(string(c.Currency))
	add("currency", err)
	_, err = c.Location()
	add(fieldTimeZone, err)
	c.Page.validate(add)
}

// Validate checks every bound of a product sold in the given currency, and returns all faults as FieldErrors. It checks
// only the size of a data schema; package dataschema validates the content.
func (p Product) Validate(currency money.Currency) error {
	var found FieldErrors
	p.validate(currency, found.add)
	return found.orNil()
}

func (p Product) validate(currency money.Currency, add func(field string, err error)) {
	_, err := ParseID[ProductID](string(p.ID))
	add("id", err)
	add("name", checkLine(p.Name, MaxNameBytes))
	add("description", checkText(p.Description, MaxDescriptionBytes))
	if p.Image != "" {
		add("image", checkURL(p.Image, "https://cdn.example/coins.png", isURL))
	}
	if p.Category != "" {
		add("category", checkLine(p.Category, MaxCategoryBytes))
	}
	if p.Position < 0 || p.Position > MaxPosition {
		add("position", fmt.Errorf("must be a whole number from 1 to %d", MaxPosition))
	}
	if len(p.Variants) < 1 || len(p.Variants) > MaxVariants {
		add("variants", fmt.Errorf("a product must have 1 to %d variants, not %d", MaxVariants, len(p.Variants)))
	}
	seen := make(map[VariantID]bool, len(p.Variants))
	bytes := len(p.Description) + len(p.Image) + len(p.Category) + len(p.NickFrom)
	for i, variant := range p.Variants {
		at := fmt.Sprintf("variants[%d].", i)
		variant.validate(currency, func(field string, err error) { add(at+field, err) })
		if p.NickFrom != "" && !variant.requiresString(p.NickFrom) {
			add(at+"data", fmt.Errorf("must require %.60q and declare it with type: string, because the product's "+
				"nick-from names it", p.NickFrom))
		}
		if seen[variant.ID] {
			add(at+"id", fmt.Errorf("variant %q appears twice", variant.ID))
		}
		seen[variant.ID] = true
		bytes += len(variant.Name) + len(variant.DataSchema) + 256
	}
	if bytes > MaxProductBytes {
		add("variants", fmt.Errorf("the product's variants and schemas have %d bytes together, and at most %d are "+
			"allowed", bytes, MaxProductBytes))
	}
}

func (v Variant) validate(currency money.Currency, add func(field string, err error)) {
	_, err := ParseID[VariantID](string(v.ID))
	add("id", err)
	add("name", checkLine(v.Name, MaxNameBytes))
	if v.Price.Currency != currency {
		add("price", fmt.Errorf("%w: %s, but the shop has %s", money.ErrMixedCurrencies, v.Price.Currency,
			currency))
	}
	if v.Price.Minor < 0 {
		add("price", money.ErrNegative)
	}
	v.validateSale(add)
	if v.MinAmount < 1 || v.MaxAmount < v.MinAmount || v.MaxAmount > MaxAmount {
		add("amount", fmt.Errorf("bounds %d to %d: they must be whole numbers from 1 to %d, and the lower must not "+
			"exceed the upper",
			v.MinAmount, v.MaxAmount, MaxAmount))
	} else if _, err := v.Price.Times(v.MaxAmount); err != nil {
		add("amount", fmt.Errorf("%d times the price: %w", v.MaxAmount, err))
	}
	if len(v.DataSchema) > MaxDataSchemaBytes {
		add("data", fmt.Errorf("the schema has %d bytes, and at most %d are allowed", len(v.DataSchema),
			MaxDataSchemaBytes))
	}
}

// requiresString reports whether the data schema requires a member, and declares it as a string.
func (v Variant) requiresString(name string) bool {
	var schema struct {
		Required   []string
		Properties map[string]struct{ Type any }
	}
	err := json.Unmarshal([]byte(v.DataSchema), &schema)
	return err == nil && slices.Contains(schema.Required, name) && schema.Properties[name].Type == "string"
}

func (v Variant) validateSale(add func(field string, err error)) {
	if v.Sale == (Sale{}) {
		return
	}
	if price := v.Sale.Price; price.Currency != v.Price.Currency {
		add("sale.price", fmt.Errorf("%w: %s, but the price has %s", money.ErrMixedCurrencies, price.Currency,
			v.Price.Currency))
	} else if price.Minor < 0 || price.Minor >= v.Price.Minor {
		add("sale.price", fmt.Errorf("the sale's price must be below the variant's, %s", v.Price))
	}
	add("sale.from", checkTime(v.Sale.From))
	add("sale.until", checkTime(v.Sale.Until))
	if from, until := v.Sale.From, v.Sale.Until; !from.IsZero() && !until.IsZero() && !from.Before(until) {
		add("sale.until", errors.New("must be after from"))
	}
}

// checkTime accepts times that the catalogue stores exactly, and the zero time, which means no time.
func checkTime(t time.Time) error {
	if !t.IsZero() && (t.Location() != time.UTC || t.Year() < 2000 || t.Year() > 9999 ||
		!t.Equal(t.Truncate(time.Millisecond))) {
		return errors.New("must be in the years 2000 to 9999, in UTC and whole milliseconds")
	}
	return nil
}

// checkURL accepts a URL that has at most MaxImageBytes and that isValid accepts. The error for any other text shows
// the example.
func checkURL(text, example string, isValid func(string) bool) error {
	if len(text) > MaxImageBytes {
		return fmt.Errorf("has %d bytes, and at most %d are allowed", len(text), MaxImageBytes)
	}
	if !isValid(text) {
		return fmt.Errorf("must be an https URL such as %s; percent-encode special characters", example)
	}
	return nil
}

// isURL accepts absolute https URLs without credentials (RFC 3986). An accepted URL cannot end a quoted HTML attribute.
func isURL(text string) bool {
	isForbidden := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\^`{|}", r) }
	parsed, err := url.Parse(text)
	return err == nil && parsed.Scheme == "https" && parsed.Hostname() != "" && parsed.User == nil &&
		!strings.ContainsFunc(text, isForbidden)
}

func checkLine(text string, most int) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is missing")
	}
	if strings.Contains(text, "\n") {
		return errors.New("must be one line")
	}
	return checkText(text, most)
}

func checkText(text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("has %d bytes, and at most %d are allowed", len(text), most)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text,
		func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		return errors.New("has characters that cannot be displayed")
	}
	return nil
}
