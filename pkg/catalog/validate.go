package catalog

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"shopfront/pkg/money"
)

// Bounds of what a catalogue may hold.
const (
	MaxNameBytes        = 128
	MaxDescriptionBytes = 1024
	MaxVariants         = 50
	MaxDataSchemaBytes  = 8 << 10
	// MaxAmount bounds what one checkout takes of any variant.
	MaxAmount int64 = 1_000_000
	// MaxProductBytes bounds a product with its variants as it is stored: DynamoDB's 400 KB for one item, less a margin
	// for keys and attribute names.
	MaxProductBytes = 380 << 10
)

// FieldError says which field of a customer, product or variant is wrong. Field is a path such as variants[2].price.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

// Validate checks every bound and returns all *FieldError found, joined. Data schemas are judged by package dataschema;
// here only their size is.
func (c Customer) Validate() error {
	var errs []error
	if _, err := ParseID[CustomerID](string(c.ID)); err != nil {
		errs = append(errs, &FieldError{"id", err})
	}
	if err := checkText(c.Name, 1, MaxNameBytes); err != nil {
		errs = append(errs, &FieldError{"name", err})
	}
	if _, err := money.ParseCurrency(string(c.Currency)); err != nil {
		errs = append(errs, &FieldError{"currency", err})
	}
	return errors.Join(errs...)
}

// Validate checks every bound of a product sold in the given currency and returns all *FieldError found, joined.
func (p Product) Validate(currency money.Currency) error {
	var errs []error
	add := func(field string, err error) {
		if err != nil {
			errs = append(errs, &FieldError{field, err})
		}
	}
	_, err := ParseID[ProductID](string(p.ID))
	add("id", err)
	add("name", checkText(p.Name, 1, MaxNameBytes))
	add("description", checkText(p.Description, 0, MaxDescriptionBytes))
	if len(p.Variants) < 1 || len(p.Variants) > MaxVariants {
		add("variants", fmt.Errorf("a product has 1 to %d variants, not %d", MaxVariants, len(p.Variants)))
	}
	seen := make(map[VariantID]bool, len(p.Variants))
	bytes := len(p.Description)
	for i, variant := range p.Variants {
		at := fmt.Sprintf("variants[%d].", i)
		variant.validate(currency, func(field string, err error) { add(at+field, err) })
		if seen[variant.ID] {
			add(at+"id", fmt.Errorf("variant %q is there twice", variant.ID))
		}
		seen[variant.ID] = true
		bytes += len(variant.Name) + len(variant.DataSchema) + 256
	}
	if bytes > MaxProductBytes {
		add("variants", fmt.Errorf("the product's variants and schemas take %d bytes together, the most is %d", bytes, MaxProductBytes))
	}
	return errors.Join(errs...)
}

func (v Variant) validate(currency money.Currency, add func(field string, err error)) {
	_, err := ParseID[VariantID](string(v.ID))
	add("id", err)
	add("name", checkText(v.Name, 1, MaxNameBytes))
	if v.Price.Currency != currency {
		add("price", fmt.Errorf("%w: %s, but the customer's is %s", money.ErrMixedCurrencies, v.Price.Currency, currency))
	}
	if v.Price.Minor < 0 {
		add("price", money.ErrNegative)
	}
	if v.MinAmount < 1 || v.MaxAmount < v.MinAmount || v.MaxAmount > MaxAmount {
		add("amount", fmt.Errorf("bounds %d to %d: they must be whole, from 1 to %d, the least not above the most", v.MinAmount, v.MaxAmount, MaxAmount))
	} else if _, err := v.Price.Times(v.MaxAmount); err != nil {
		add("amount", fmt.Errorf("%d times the price: %w", v.MaxAmount, err))
	}
	if len(v.DataSchema) > MaxDataSchemaBytes {
		add("data", fmt.Errorf("the schema has %d bytes, the most is %d", len(v.DataSchema), MaxDataSchemaBytes))
	}
}

func checkText(text string, least, most int) error {
	if len(text) < least {
		return errors.New("is missing")
	}
	if len(text) > most {
		return fmt.Errorf("has %d bytes, the most is %d", len(text), most)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		return errors.New("has characters that cannot be shown")
	}
	return nil
}
