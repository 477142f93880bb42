package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS is an API's CORS configuration: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html.
// The gateway responds to preflight requests, and replaces any CORS headers that a function sends.
type CORS struct {
	// AllowOrigins lists the allowed origins; "*" allows all.
	AllowOrigins []string
	// AllowMethods, AllowHeaders and ExposeHeaders are sent as they are.
	AllowMethods, AllowHeaders, ExposeHeaders []string
	// MaxAge is how long a browser may cache the response to a preflight.
	MaxAge time.Duration
}

// isCORSHeader reports whether only the gateway may set a response header when CORS is configured. The name must be
// canonical.
func isCORSHeader(name string) bool { return strings.HasPrefix(name, "Access-Control-") }

// apply adds the CORS headers to a response. Only an allowed origin gets them. An OPTIONS request gets them only if it
// is a preflight, that is, if it has Access-Control-Request-Method. The gateway's own errors get them too, so that a
// web page can read these errors. AWS documents CORS headers only for a function's responses.
func (c *CORS) apply(h http.Header, r *http.Request) {
	allowed := "*"
	if !slices.Contains(c.AllowOrigins, "*") {
		h.Add("Vary", "Origin") // in addition to the function's Vary
		allowed = r.Header.Get("Origin")
	}
	isPreflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if r.Header.Get("Origin") == "" || !slices.Contains(c.AllowOrigins, allowed) ||
		r.Method == http.MethodOptions && !isPreflight {
		return
	}
	h.Set("Access-Control-Allow-Origin", allowed)
	if !isPreflight {
		h.Set("Access-Control-Expose-Headers", strings.Join(c.ExposeHeaders, ","))
		return
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(c.AllowMethods, ","))
	h.Set("Access-Control-Allow-Headers", strings.Join(c.AllowHeaders, ","))
	h.Set("Access-Control-Max-Age", strconv.Itoa(int(c.MaxAge/time.Second)))
}
