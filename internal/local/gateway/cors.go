package gateway

import (
	"net/http"
	"slices"
	"strings"
)

// CORS is an API's CORS configuration: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html.
type CORS struct {
	// AllowOrigins lists the allowed origins. The gateway knows only "*", which allows all.
	AllowOrigins []string
	// AllowMethods, AllowHeaders and ExposeHeaders are sent as they are.
	AllowMethods, AllowHeaders, ExposeHeaders []string
	// MaxAge is how many seconds a browser may cache the response to a preflight.
	MaxAge string
}

// apply adds the CORS headers to a response. The gateway's own errors get them too, so that a web page can read these
// errors. AWS documents CORS headers only for a function's responses.
func (c *CORS) apply(h http.Header, r *http.Request) {
	if r.Header.Get("Origin") == "" || !slices.Contains(c.AllowOrigins, "*") {
		return
	}
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodOptions {
		h.Set("Access-Control-Expose-Headers", strings.Join(c.ExposeHeaders, ","))
		return
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(c.AllowMethods, ","))
	h.Set("Access-Control-Allow-Headers", strings.Join(c.AllowHeaders, ","))
	h.Set("Access-Control-Max-Age", c.MaxAge)
}
