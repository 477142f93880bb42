package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS is an API's CORS configuration: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html.
// The gateway responds to preflight requests, and replaces any CORS headers that a function sends.
type CORS struct {
	// AllowOrigins lists the allowed origins. "*" allows all origins; "https://*" and "http://*" allow all origins of one scheme.
	AllowOrigins []string
	// AllowMethods, AllowHeaders and ExposeHeaders are sent as they are.
	AllowMethods, AllowHeaders, ExposeHeaders []string
	// MaxAge is how long a browser may cache the response to a preflight, up to 24 hours. If it is 0, the header is not sent.
	MaxAge           time.Duration
	AllowCredentials bool
}

const (
	maxMaxAge = 24 * time.Hour
	anyOrigin = "*"
)

// validate returns an error for a configuration that an HTTP API would reject. A nil configuration is valid.
func (c *CORS) validate() error {
	switch {
	case c == nil:
		return nil
	case c.allowsAny() && c.AllowCredentials:
		return errors.New("CORS cannot allow credentials from any origin")
	case c.MaxAge < 0 || c.MaxAge > maxMaxAge:
		return fmt.Errorf("CORS max age %s is not between 0 and %s", c.MaxAge, maxMaxAge)
	default:
		return nil
	}
}

func (c *CORS) allowsAny() bool { return slices.Contains(c.AllowOrigins, anyOrigin) }

// isCORSHeader reports whether only the gateway may set a response header when CORS is configured. The name must be canonical.
func isCORSHeader(name string) bool { return strings.HasPrefix(name, "Access-Control-") }

// apply adds the CORS headers to a response. Only an allowed origin gets them. An OPTIONS request gets them only if it is a
// preflight, that is, if it has Access-Control-Request-Method. The gateway's own errors get them too, so that a web page can
// read these errors. AWS documents CORS headers only for a function's responses.
func (c *CORS) apply(h http.Header, r *http.Request) {
	if !c.allowsAny() {
		h.Add("Vary", "Origin") // in addition to the function's Vary
	}
	origin := r.Header.Get("Origin")
	isOptions := r.Method == http.MethodOptions
	isPreflight := isOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if !c.allows(origin) || isOptions && !isPreflight {
		return
	}
	if c.allowsAny() {
		origin = anyOrigin
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if c.AllowCredentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if !isPreflight {
		setList(h, "Access-Control-Expose-Headers", c.ExposeHeaders)
		return
	}
	setList(h, "Access-Control-Allow-Methods", c.AllowMethods)
	setList(h, "Access-Control-Allow-Headers", c.AllowHeaders)
	if c.MaxAge > 0 {
		h.Set("Access-Control-Max-Age", strconv.Itoa(int(c.MaxAge/time.Second)))
	}
}

func (c *CORS) allows(origin string) bool {
	if origin == "" {
		return false
	}
	return slices.ContainsFunc(c.AllowOrigins, func(allowed string) bool {
		scheme, isWildcard := strings.CutSuffix(allowed, "://*")
		return allowed == origin || allowed == anyOrigin || isWildcard && strings.HasPrefix(origin, scheme+"://")
	})
}

func setList(h http.Header, name string, values []string) {
	if len(values) > 0 {
		h.Set(name, strings.Join(values, ","))
	}
}
