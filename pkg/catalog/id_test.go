package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/catalog"
)

func TestParseID(t *testing.T) {
	for _, text := range []string{
		"coins", "500", "VIP-rank", "30-days", "a", "7", "T-shirt_2.0", "x--", "a.", strings.Repeat("a", 64),
	} {
		if id, err := catalog.ParseID[catalog.ProductID](text); err != nil || string(id) != text {
			t.Errorf("ParseID(%q) = %q, %v", text, id, err)
		}
	}
	for _, text := range []string{
		"", ".", "..", "-coins", "_coins", ".coins", "coins ", " coins", "coins/500", "a#b", "a%2Fb", "a?b", "a:b",
		"a\x00b", "a\nb",
		"münzen", "сoins", "coins\u200b", "coins\xff", strings.Repeat("a", 65), strings.Repeat("a", 1_000_000),
	} {
		id, err := catalog.ParseID[catalog.VariantID](text)
		if !errors.Is(err, catalog.ErrMalformedID) || id != "" {
			t.Errorf("ParseID(%.30q) = %.30q, %v, want ErrMalformedID", text, id, err)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("the message about %d bytes has %d bytes", len(text), len(err.Error()))
		}
	}
}

func TestParseID_AnyText_IsAcceptedOnlyIfItFollowsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}`), rapid.String()).Draw(t, "text")
		id, err := catalog.ParseID[catalog.ShopID](text)
		isID := len(text) >= 1 && len(text) <= 64 &&
			strings.Trim(text[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" &&
			strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
		if (err == nil) != isID || isID && string(id) != text {
			t.Fatalf("ParseID(%q) = %q, %v", text, id, err)
		}
	})
}
