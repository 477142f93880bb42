package checkout_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
)

func TestParseAmount(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "10": 10, "64": 64, "1000000": catalog.MaxAmount} {
		if got, err := checkout.ParseAmount(text); got != want || err != nil {
			t.Errorf("ParseAmount(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "00", "01", "-1", "+1", "1.0", "1.5", "1e3", "0x10", "1_000", "1,000", " 1", "1 ", "1\n", "ten", "٣",
		"１", "1\x00",
		"1000001", "9223372036854775807", "9223372036854775808", "18446744073709551617", strings.Repeat("9", 10_000),
	} {
		got, err := checkout.ParseAmount(text)
		fault, is := errors.AsType[*checkout.ParameterError](err)
		if got != 0 || !is || fault.Parameter != checkout.ParameterAmount || fault.Reason == "" {
			t.Errorf("ParseAmount(%.20q) = %d, %v, want a *ParameterError of amount", text, got, err)
		}
	}
}

// The error names no bound, because the variant's own bound is not known yet and any other number would mislead.
func TestParseAmount_AboveEveryVariantsBound_IsTooLarge(t *testing.T) {
	for _, text := range []string{"1000001", "99999999999", "18446744073709551617"} {
		if _, err := checkout.ParseAmount(text); err == nil || err.Error() != "amount is too large" {
			t.Errorf("ParseAmount(%q) = %v, want: amount is too large", text, err)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"1", "0", "01", "1000001", "9223372036854775808", "-1", "1.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		amount, err := checkout.ParseAmount(text)
		if err == nil && (amount < 1 || amount > catalog.MaxAmount || strconv.FormatInt(amount, 10) != text) {
			t.Errorf("ParseAmount(%q) = %d", text, amount)
		}
	})
}

func TestParseData(t *testing.T) {
	tests := map[string]struct {
		text string
		ok   bool
	}{
		"empty":                 {"", true},
		"any text":              {"Engrave: für Ida\x00", true},
		"exactly 2 KiB":         {strings.Repeat("a", 2048), true},
		"2 KiB and a byte":      {strings.Repeat("a", 2049), false},
		"bytes, not characters": {strings.Repeat("ü", 1025), false},
		"U+FFFD itself":         {"\uFFFD", true},
		"not UTF-8":             {"Ida\xff", false},
		"half a surrogate":      {"\xed\xa0\x80", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := checkout.ParseData(test.text)
			fault, is := errors.AsType[*checkout.ParameterError](err)
			if test.ok != (err == nil) || !test.ok && (!is || fault.Parameter != checkout.ParameterData) {
				t.Errorf("ParseData = %v, want accepted: %v", err, test.ok)
			}
		})
	}
}
