package checkout_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/checkout"
)

func TestParseID(t *testing.T) {
	good := "q83vEjRWeJASNFZ4kBI0Vg" + "_-5ZHo9V0Hk3RmKUL0dT2g"
	if id, err := checkout.ParseID(good); string(id) != good || err != nil || id.Token() != "q83vEjRWeJASNFZ4kBI0Vg" {
		t.Errorf("ParseID = %q, %v", id, err)
	}
	for _, text := range []string{
		"", good[1:], good + "A", strings.Replace(good, "_", "/", 1),
		strings.Replace(good, "_", " ", 1), good[:42] + "é",
	} {
		if _, err := checkout.ParseID(text); !errors.Is(err, checkout.ErrMalformedID) {
			t.Errorf("ParseID(%q) = %v", text, err)
		}
	}
}

func TestFilter(t *testing.T) {
	coins := checkout.Checkout{Product: "coins", Created: noon, Expires: noon.Add(checkout.Lifetime)}
	tests := map[string]struct {
		filter checkout.Filter
		at     time.Time
		want   bool
	}{
		"all":              {checkout.Filter{}, noon, true},
		"its product":      {checkout.Filter{Product: "coins"}, noon, true},
		"another product":  {checkout.Filter{Product: "cup"}, noon, false},
		"open":             {checkout.Filter{Status: checkout.StatusOpen}, coins.Expires.Add(-1), true},
		"no longer open":   {checkout.Filter{Status: checkout.StatusOpen}, coins.Expires, false},
		"expired":          {checkout.Filter{Status: checkout.StatusExpired}, coins.Expires, true},
		"not yet expired":  {checkout.Filter{Status: checkout.StatusExpired}, noon, false},
		"from, inclusive":  {checkout.Filter{From: noon}, noon, true},
		"before from":      {checkout.Filter{From: noon.Add(1)}, noon, false},
		"until, exclusive": {checkout.Filter{Until: noon}, noon, false},
		"before until":     {checkout.Filter{Until: noon.Add(1)}, noon, true},
		"one of several differs": {
			checkout.Filter{Product: "coins", Status: checkout.StatusOpen, From: noon.Add(1)},
			noon, false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.filter.Picks(coins, test.at); got != test.want {
				t.Errorf("picked: %v, want %v", got, test.want)
			}
		})
	}
}
