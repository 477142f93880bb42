package catalog

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"shopfront/pkg/money"
)

// Bounds of a catalogue.
const (
	MaxNameBytes        = 128
	MaxDescriptionBytes = 1024
	MaxVariants         = 50
	MaxDataSchemaBytes  = 8 << 10
	// MaxAmount bounds the amount of one checkout, whatever the variant.
	MaxAmount int64 = 1_000_000
	// MaxProductBytes bounds a stored product with its variants: DynamoDB's limit of 400 KB per item, less a margin for keys
	// and attribute names.
	MaxProductBytes = 380 << 10
)

// FieldError says which field of a customer, product or variant is wrong. Field is a path such as variants[2].price.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

// FieldErrors lists everything that Validate found wrong, in the order of the fields.
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

// Validate checks every bound and returns everything that is wrong as FieldErrors.
func (c Customer) Validate() error {
	var found FieldErrors
	c.validate(found.add)
	return found.orNil()
}

func (c Customer) validate(add func(field string, err error)) {
	_, err := ParseID[CustomerID](string(c.ID))
	add("id", err)
	add("name", checkName(c.Name))
	_, err = money.ParseCurrency(string(c.Currency))
	add("currency", err)
}

// Validate checks every bound of a product sold in the given currency and returns everything that is wrong as FieldErrors. Of a
// data schema it checks only the size; package dataschema validates the content.
func (p Product) Validate(currency money.Currency) error {
	var found FieldErrors
	p.validate(currency, found.add)
	return found.orNil()
}

func (p Product) validate(currency money.Currency, add func(field string, err error)) {
	_, err := ParseID[ProductID](string(p.ID))
	add("id", err)
	add("name", checkName(p.Name))
	add("description", checkText(p.Description, MaxDescriptionBytes))
	if len(p.Variants) < 1 || len(p.Variants) > MaxVariants {
		add("variants", fmt.Errorf("a product must have 1 to %d variants, not %d", MaxVariants, len(p.Variants)))
	}
	seen := make(map[VariantID]bool, len(p.Variants))
	bytes := len(p.Description)
	for i, variant := range p.Variants {
		at := fmt.Sprintf("variants[%d].", i)
		variant.validate(currency, func(field string, err error) { add(at+field, err) })
		if seen[variant.ID] {
			add(at+"id", fmt.Errorf("variant %q appears twice", variant.ID))
		}
		seen[variant.ID] = true
		bytes += len(variant.Name) + len(variant.DataSchema) + 256
	}
	if bytes > MaxProductBytes {
		add("variants", fmt.Errorf("the product's variants and schemas have %d bytes together, and at most %d are allowed", bytes, MaxProductBytes))
	}
}

func (v Variant) validate(currency money.Currency, add func(field string, err error)) {
	_, err := ParseID[VariantID](string(v.ID))
	add("id", err)
	add("name", checkName(v.Name))
	if v.Price.Currency != currency {
		add("price", fmt.Errorf("%w: %s, but the customer has %s", money.ErrMixedCurrencies, v.Price.Currency, currency))
	}
	if v.Price.Minor < 0 {
		add("price", money.ErrNegative)
	}
	if v.MinAmount < 1 || v.MaxAmount < v.MinAmount || v.MaxAmount > MaxAmount {
		add("amount", fmt.Errorf("bounds %d to %d: they must be whole numbers from 1 to %d, the lower not above the upper", v.MinAmount, v.MaxAmount, MaxAmount))
	} else if _, err := v.Price.Times(v.MaxAmount); err != nil {
		add("amount", fmt.Errorf("%d times the price: %w", v.MaxAmount, err))
	}
	if len(v.DataSchema) > MaxDataSchemaBytes {
		add("data", fmt.Errorf("the schema has %d bytes, and at most %d are allowed", len(v.DataSchema), MaxDataSchemaBytes))
	}
}

func checkName(name string) error {
	if strings.TrimSpace(name) == "" {
		return errors.New("is missing")
	}
	if strings.Contains(name, "\n") {
		return errors.New("must be one line")
	}
	return checkText(name, MaxNameBytes)
}

func checkText(text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("has %d bytes, and at most %d are allowed", len(text), most)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		return errors.New("has characters that cannot be displayed")
	}
	return nil
}
