package catalog

import (
	"errors"
	"fmt"
)

// ErrMalformedID means that a string is not a valid ID of a shop, product or variant.
var ErrMalformedID = errors.New("malformed ID: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit")

// IDs of the catalogue. Each is 1 to 64 characters of A-Z a-z 0-9 . _ - and begins with a letter or digit, so that it
// needs no escaping in a path or a key.
type (
	// ShopID names a shop: the path segment after /shop.
	ShopID string
	// ProductID names a product within its shop.
	ProductID string
	// VariantID names a variant within its product.
	VariantID string
)

// ParseID converts text to an ID of the wanted kind, or returns ErrMalformedID.
func ParseID[ID ShopID | ProductID | VariantID](text string) (ID, error) {
	if len(text) == 0 || len(text) > 64 || !isLetterOrDigit(text[0]) {
		return "", fmt.Errorf("%.70q: %w", text, ErrMalformedID)
	}
	for i := range len(text) {
		if c := text[i]; !isLetterOrDigit(c) && c != '.' && c != '_' && c != '-' {
			return "", fmt.Errorf("%.70q: %w", text, ErrMalformedID)
		}
	}
	return ID(text), nil
}

func isLetterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
