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
	// Method is an HTTP method in upper case, or ANY.
	Method string
	// Path consists of literal segments and {variables}. A variable matches one segment that is not empty. The last
	// segment may be a {greedy+} variable, which matches the rest of the path if that is not empty.
	Path     string
	Function string
}

const anyMethod = "ANY"

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

// newRoute sets a route's pattern and order. AWS documents that a full match takes precedence over a greedy match. The
// rest of the order is this package's choice: at the first segment in which two routes differ, a literal comes before a
// variable. If no segment differs, a method comes before ANY.
func newRoute(d Route) (route, error) {
	r := route{Route: d, order: []string{"full"}}
	pattern := "(?s)^"
	for segment := range strings.SplitSeq(strings.TrimPrefix(d.Path, "/"), "/") {
		name, isVariable := strings.CutPrefix(segment, "{")
		name = strings.TrimSuffix(name, "}")
		greedy, isGreedy := strings.CutSuffix(name, "+")
		switch {
		case isVariable && isGreedy:
			r.order[0] = "greedy"
			r.order, pattern = append(r.order, "variables"), pattern+"/(?P<"+greedy+">.+)"
		case isVariable:
			r.order, pattern = append(r.order, "variable"), pattern+"/(?P<"+name+">[^/]+)"
		default:
			r.order, pattern = append(r.order, "literal "+segment), pattern+"/"+regexp.QuoteMeta(segment)
		}
	}
	method := d.Method
	if method == anyMethod {
		method = "any" // sorts after all methods, which are in upper case
	}
	r.order = append(r.order, method)
	var err error
	r.pattern, err = regexp.Compile(pattern + "$")
	return r, err
}

// match returns the most specific route for the method and path, with the values of its variables, or nil if no route
// matches. A path with a trailing slash is a different path. The path must be decoded once, because users of API
// Gateway report that in an HTTP API %2F ends a segment and %252F does not.
func (g *Gateway) match(method, path string) (*route, map[string]string) {
	for i := range g.routes {
		r := &g.routes[i]
		if r.Method != method && r.Method != anyMethod {
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
