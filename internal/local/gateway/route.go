package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Route names the function for a method and path, such as GET /shop/{customer}/checkout:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html.
type Route struct {
	Method string // in upper case
	// Path consists of literal segments and {variables}. A variable matches one segment that is not empty. Greedy
	// variables and the method ANY are not supported, because the shop has no such routes.
	Path     string
	Function string
}

type route struct {
	Route
	pattern *regexp.Regexp // matches a path that was percent-decoded once; the groups have the variables' names
	order   []string       // the sort key: more specific routes come first
}

func newRoutes(declared []Route) ([]route, error) {
	var all []route
	for _, d := range declared {
		r, err := newRoute(d)
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", d.Method, d.Path, err)
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b route) int { return slices.Compare(a.order, b.order) })
	return all, nil
}

// newRoute sets a route's pattern and order. At the first segment in which two routes differ, a literal comes before a
// variable. AWS does not document this order.
func newRoute(d Route) (r route, err error) {
	r.Route = d
	pattern := "(?s)^"
	for segment := range strings.SplitSeq(strings.TrimPrefix(d.Path, "/"), "/") {
		if name, isVariable := strings.CutPrefix(segment, "{"); isVariable {
			r.order, pattern = append(r.order, "variable"), pattern+"/(?P<"+strings.TrimSuffix(name, "}")+">[^/]+)"
		} else {
			r.order, pattern = append(r.order, "literal "+segment), pattern+"/"+regexp.QuoteMeta(segment)
		}
	}
	r.pattern, err = regexp.Compile(pattern + "$")
	return r, err
}

// match returns the most specific route for the method and path, with the values of its variables, or nil if no route
// matches. A path with a trailing slash is a different path. The path must be decoded once, because users of API
// Gateway report that in an HTTP API %2F ends a segment and %252F does not.
func (g *Gateway) match(method, path string) (*route, map[string]string) {
	for i := range g.routes {
		r := &g.routes[i]
		if r.Method != method {
			continue
		}
		found := r.pattern.FindStringSubmatch(path)
		if found == nil {
			continue
		}
		values := make(map[string]string)
		for i, name := range r.pattern.SubexpNames()[1:] {
			values[name] = found[i+1]
		}
		return r, values
	}
	return nil, nil
}
