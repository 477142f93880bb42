package storefront

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
)

// defaultAccent is the accent colour of a shop that has chosen none.
const defaultAccent = "#1f4fd8"

// colours returns the page's inline style: the accent colour, and the colour of text on it. Text is black or white,
// whichever has the higher contrast. The contrast is always at least 4.5:1, as WCAG 2.2 demands of text (criterion
// 1.4.3).
func colours(accent string) string {
	text := "#ffffff"
	if luminance := relativeLuminance(accent); (luminance+0.05)/0.05 > 1.05/(luminance+0.05) {
		text = "#000000"
	}
	return fmt.Sprintf(":root{--accent:%s;--on-accent:%s}", accent, text)
}

// relativeLuminance returns the relative luminance of a colour #rrggbb, from 0 to 1, as WCAG 2.2 defines it.
func relativeLuminance(colour string) float64 {
	luminance := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		// cannot fail, because the catalogue has validated the colour
		value, _ := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		channel := float64(value) / 255
		if channel <= 0.04045 {
			channel /= 12.92
		} else {
			channel = math.Pow((channel+0.055)/1.055, 2.4)
		}
		luminance += weight * channel
	}
	return luminance
}

// contentSecurityPolicy allows a page its own script and stylesheet, one inline style, requests to its own host, https
// images, and the icon in the page itself. No site may frame the page, so no site can trick a shopper into clicking on
// it.
func contentSecurityPolicy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src https: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
