package checkout_test

import (
	"errors"
	"testing"

	"shopfront/pkg/checkout"
)

// Stored keys begin with the first group, and people write numbers down, so the derivation never changes.
func TestNumber_NeverChanges(t *testing.T) {
	for id, want := range map[checkout.ID]checkout.Number{
		"ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA": "HCAXP-K92P9",
		"ySBDAj4aT84YTR_U3sQzxwfPkI5GrohS55kPQs7VRFUw": "HCAXP-3GGED", // made with the same key
		"q83vEjRWeJASNFZ4kBI0Vg5ZHo9V0Hk3RmKUL0dT2g_-": "G5A2H-MEMY0",
	} {
		if got := id.Number(); got != want || got.Group() != checkout.NumberGroup(id.Token()) {
			t.Errorf("%s has the number %s, want %s", id, got, want)
		}
	}
}

func TestParseNumber_AsPeopleTypeIt(t *testing.T) {
	for _, text := range []string{
		"NT0Q6-N51Y3", "nt0q6-n51y3", "NT0Q6N51Y3", " NT0Q6 N51Y3 ", "NT0Q6–N51Y3", "NTOQ6-N5IY3", "ntoq6-n5ly3",
	} {
		if number, err := checkout.ParseNumber(text); number != "NT0Q6-N51Y3" || err != nil {
			t.Errorf("ParseNumber(%q) = %s, %v", text, number, err)
		}
	}
	for _, text := range []string{
		"", "-", "NT0Q6", "NT0Q6-N51Y", "NT0Q6-N51Y34", "NT0Q6-N51YU", "NT0Q6-N51Y*", "NT0Q6_N51Y3",
		"NT0Q6-N51YÄ", "ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA",
	} {
		if number, err := checkout.ParseNumber(text); !errors.Is(err, checkout.ErrMalformedNumber) {
			t.Errorf("ParseNumber(%q) = %s, %v", text, number, err)
		}
	}
}
