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
// It answers preflight requests, and replaces whatever CORS headers a function sends.
type CORS struct {
	// AllowOrigins lists origins, or is "*" for all; "https://*" and "http://*" stand for all of their scheme.
	AllowOrigins []string
	// AllowMethods, AllowHeaders and ExposeHeaders are said as they are.
	AllowMethods, AllowHeaders, ExposeHeaders []string
	// MaxAge is how long a browser may remember the answer to a preflight, up to 24 hours; 0 says nothing.
	MaxAge           time.Duration
	AllowCredentials bool
}

const (
	maxMaxAge = 24 * time.Hour
	anyOrigin = "*"
)

type cors struct {
	CORS
	allowAny bool
}

// newCORS returns nil for no configuration.
func newCORS(config *CORS) (*cors, error) {
	if config == nil {
		return nil, nil //nolint:nilnil // no configuration, no CORS
	}
	c := &cors{CORS: *config, allowAny: slices.Contains(config.AllowOrigins, anyOrigin)}
	if c.allowAny && c.AllowCredentials {
		return nil, errors.New("CORS cannot allow credentials from any origin")
	}
	if c.MaxAge < 0 || c.MaxAge > maxMaxAge {
		return nil, fmt.Errorf("CORS max age %s is not within 0 and %s", c.MaxAge, maxMaxAge)
	}
	return c, nil
}

// isCORSHeader says whether a response header is the gateway's where CORS is configured. The name is canonical.
func isCORSHeader(name string) bool { return strings.HasPrefix(name, "Access-Control-") }

// apply adds the CORS headers of a response. Headers are said only to an allowed origin, and to OPTIONS only in a
// preflight, that is with Access-Control-Request-Method. The gateway's own errors have them too, so that a browser lets
// its page see them; AWS documents it for a function's answers only.
func (c *cors) apply(h http.Header, r *http.Request) {
	if !c.allowAny {
		h.Add("Vary", "Origin") // beside what the function says
	}
	origin := r.Header.Get("Origin")
	isOptions := r.Method == http.MethodOptions
	isPreflight := isOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if !c.allows(origin) || isOptions && !isPreflight {
		return
	}
	if c.allowAny {
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

func (c *cors) allows(origin string) bool {
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
