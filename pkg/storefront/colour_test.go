package storefront_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"shopfront/pkg/catalog"
)

// contrast returns the contrast ratio of two colours (WCAG 2.2), from 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(colour string) float64 {
		value, err := strconv.ParseUint(colour[1:], 16, 24)
		if err != nil {
			t.Fatal(err)
		}
		channel := func(shift int) float64 {
			c := float64(value>>shift&0xff) / 255
			if c <= 0.04045 {
				return c / 12.92
			}
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0) + 0.05
	}
	return max(light(a), light(b)) / min(light(a), light(b))
}

func TestHTML_EveryAccent_HasLegibleText(t *testing.T) {
	root := regexp.MustCompile(`<style>:root\{--accent:(#[0-9a-f]{6});--on-accent:(#[0-9a-f]{6})\}</style>`)
	seen := make(map[string]int)
	for red := 0; red < 256; red += 15 {
		for green := 0; green < 256; green += 15 {
			for blue := 0; blue < 256; blue += 51 {
				page := emberforge()
				page.Profile.Page.Accent = fmt.Sprintf("#%02x%02x%02x", red, green, blue)
				text, _ := show(t, page)
				found := root.FindStringSubmatch(text)
				if found == nil || found[1] != page.Profile.Page.Accent {
					t.Fatalf("%s: the style has the colours %q", page.Profile.Page.Accent, found)
				}
				if ratio := contrast(t, found[1], found[2]); ratio < 4.5 {
					t.Errorf("%s on %s has a contrast of %.2f", found[2], found[1], ratio)
				}
				seen[found[2]]++
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("the text colours are %v, want black and white", seen)
	}
}

func TestHTML_WithoutAccent_HasTheDefaultAccent(t *testing.T) {
	page := emberforge()
	page.Profile.Page = catalog.Page{}
	text, _ := show(t, page)
	if !regexp.MustCompile(`<style>:root\{--accent:#1f4fd8;--on-accent:#ffffff\}</style>`).MatchString(text) {
		t.Errorf("the default colours are not in %.600s", text)
	}
}
