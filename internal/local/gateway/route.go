package gateway

import (
	"errors"
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
	// Path consists of literal segments and {variables}. A variable matches one segment that is not empty. The last segment may be
	// a {greedy+} variable, which matches the rest of the path if that is not empty.
	Path     string
	Function string
}

const anyMethod = "ANY"

// segment matches one segment of a route's path: a literal, or a variable in braces, with a plus if the variable is greedy.
var segment = regexp.MustCompile(`^(?:([^{}+?#]+)|\{([^{}+?#]+)(\+?)\})$`)

type route struct {
	Route
	pattern *regexp.Regexp // matches a path that was percent-decoded once
	names   []string       // the names of the variables, in the order of the pattern's groups
	order   []string       // the sort key: more specific routes come first, and routes that match the same requests have equal keys
}

func newRoutes(declared []Route) ([]route, error) {
	if len(declared) == 0 {
		return nil, errors.New("a gateway needs routes")
	}
	var all []route
	for _, d := range declared {
		r, err := newRoute(d)
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", d.Method, d.Path, err)
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b route) int { return slices.Compare(a.order, b.order) })
	for i := range all[1:] {
		if a, b := all[i], all[i+1]; slices.Equal(a.order, b.order) {
			return nil, fmt.Errorf("routes %s %s and %s %s match the same requests", a.Method, a.Path, b.Method, b.Path)
		}
	}
	return all, nil
}

// newRoute checks a route and sets its order. AWS documents that a full match takes precedence over a greedy match. The rest of the
// order is this package's choice: at the first segment in which two routes differ, a literal comes before a variable. If no segment
// differs, a method comes before ANY.
func newRoute(d Route) (route, error) {
	switch {
	case d.Function == "":
		return route{}, errors.New("it has no function")
	case d.Method == "" || strings.Trim(d.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return route{}, errors.New("its method is not in upper case")
	case !strings.HasPrefix(d.Path, "/"):
		return route{}, errors.New("its path does not start with a slash")
	}
	r := route{Route: d}
	rank, pattern := "full", ""
	segments := strings.Split(d.Path[1:], "/")
	for i, text := range segments {
		parts := segment.FindStringSubmatch(text)
		if parts == nil && d.Path != "/" {
			return route{}, fmt.Errorf("%q is not a segment of a path", text)
		}
		if parts == nil || parts[1] != "" {
			r.order, pattern = append(r.order, "literal "+text), pattern+"/"+regexp.QuoteMeta(text)
			continue
		}
		if slices.Contains(r.names, parts[2]) {
			return route{}, fmt.Errorf("variable %s occurs twice", parts[2])
		}
		r.names = append(r.names, parts[2])
		switch {
		case parts[3] == "":
			r.order, pattern = append(r.order, "variable"), pattern+"/([^/]+)"
		case i < len(segments)-1:
			return route{}, fmt.Errorf("%s is not its last segment", text)
		default:
			r.order, pattern, rank = append(r.order, "variables"), pattern+"/(.+)", "greedy"
		}
	}
	method := d.Method
	if method == anyMethod {
		method = "any" // sorts after all methods, which are in upper case
	}
	r.order = append(append([]string{rank}, r.order...), method)
	var err error
	r.pattern, err = regexp.Compile("(?s)^" + pattern + "$")
	return r, err
}

// match returns the most specific route for the method and path, with the values of its variables, or nil if no route matches. A
// path with a trailing slash is a different path. The path must be decoded once, because users of API Gateway report that in an HTTP
// API %2F ends a segment and %252F does not.
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
		values := map[string]string{}
		for i, name := range r.names {
			values[name] = found[i+1]
		}
		return r, values
	}
	return nil, nil
}
