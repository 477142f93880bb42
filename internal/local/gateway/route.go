package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Route says which function answers a method and path, as in "GET /shop/{customer}/checkout":
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html.
type Route struct {
	// Method is an HTTP method in upper case, or ANY.
	Method string
	// Path has literal segments, {variables} that match one segment that is not empty, and perhaps as its last segment
	// a {greedy+} variable, which matches all that remains, and at least one character.
	Path     string
	Function string
}

const anyMethod = "ANY"

// routes are ordered by how specific they are.
type routes []route

type route struct {
	Route
	segments []segment
}

// segment is one segment of a route's path.
type segment struct {
	kind segmentKind
	text string // the literal, or the variable's name
}

// The kinds of segment, the most specific first.
type segmentKind int

const (
	literal segmentKind = iota
	variable
	greedy
)

// match is a route that matched, with the raw values of its variables. Its zero value is none.
type match struct {
	key      string
	function string
	values   []pathValue
}

type pathValue struct{ name, raw string }

func newRoutes(declared []Route) (routes, error) {
	if len(declared) == 0 {
		return nil, errors.New("a gateway needs routes")
	}
	all := make(routes, 0, len(declared))
	for _, d := range declared {
		segments, err := parsePath(d.Path)
		if err == nil {
			err = checkRoute(d)
		}
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", d.Method, d.Path, err)
		}
		all = append(all, route{d, segments})
	}
	slices.SortStableFunc(all, compareRoutes)
	for i := range all[1:] {
		if a, b := all[i], all[i+1]; compareRoutes(a, b) == 0 {
			return nil, fmt.Errorf("routes %s %s and %s %s match the same requests", a.Method, a.Path, b.Method, b.Path)
		}
	}
	return all, nil
}

func checkRoute(r Route) error {
	if r.Function == "" {
		return errors.New("it has no function")
	}
	if r.Method == "" || strings.Trim(r.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return errors.New("its method is not in upper case")
	}
	return nil
}

func parsePath(path string) ([]segment, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("its path does not start with a slash")
	}
	if path == "/" {
		return []segment{{literal, ""}}, nil
	}
	var segments []segment
	names := map[string]bool{}
	texts := strings.Split(path[1:], "/")
	for i, text := range texts {
		s, err := parseSegment(text)
		if err != nil {
			return nil, err
		}
		if s.kind == greedy && i < len(texts)-1 {
			return nil, fmt.Errorf("%s is not at its end", text)
		}
		if s.kind != literal {
			if names[s.text] {
				return nil, fmt.Errorf("variable %s occurs twice", s.text)
			}
			names[s.text] = true
		}
		segments = append(segments, s)
	}
	return segments, nil
}

func parseSegment(text string) (segment, error) {
	inner, isVariable := strings.CutPrefix(text, "{")
	if isVariable {
		inner, isVariable = strings.CutSuffix(inner, "}")
	}
	s := segment{literal, text}
	if isVariable {
		s = segment{variable, inner}
		if name, isGreedy := strings.CutSuffix(inner, "+"); isGreedy {
			s = segment{greedy, name}
		}
	}
	if s.text == "" || strings.ContainsAny(s.text, "{}+?#") {
		return segment{}, fmt.Errorf("%q is not a segment of a path", text)
	}
	return s, nil
}

// compareRoutes orders by specificity. AWS documents that a full match goes before a greedy one. That in other respects
// the first segment in which two routes differ decides, a literal before a variable, and then a method before ANY, is a
// choice. Routes that match the same requests are equal.
func compareRoutes(a, b route) int {
	return cmp.Or(
		compareBools(a.isGreedy(), b.isGreedy()),
		slices.CompareFunc(a.segments, b.segments, func(a, b segment) int {
			if a.kind != b.kind || a.kind != literal {
				return cmp.Compare(a.kind, b.kind)
			}
			return cmp.Compare(a.text, b.text)
		}),
		compareBools(a.Method == anyMethod, b.Method == anyMethod),
		cmp.Compare(a.Method, b.Method),
	)
}

func (r route) isGreedy() bool { return r.segments[len(r.segments)-1].kind == greedy }

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// match returns the most specific route for the method and the path as it was sent: an encoded slash does not end a
// segment, and a trailing slash makes another path.
func (all routes) match(method, path string) (match, bool) {
	rest, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return match{}, false
	}
	parts := strings.Split(rest, "/")
	for _, r := range all {
		if r.Method != method && r.Method != anyMethod {
			continue
		}
		if values, ok := r.matchPath(parts); ok {
			return match{key: r.Method + " " + r.Path, function: r.Function, values: values}, true
		}
	}
	return match{}, false
}

func (r route) matchPath(parts []string) ([]pathValue, bool) {
	var values []pathValue
	for i, s := range r.segments {
		if i >= len(parts) {
			return nil, false
		}
		switch s.kind {
		case literal:
			if parts[i] != s.text {
				return nil, false
			}
		case variable:
			if parts[i] == "" {
				return nil, false
			}
			values = append(values, pathValue{s.text, parts[i]})
		case greedy:
			rest := strings.Join(parts[i:], "/")
			return append(values, pathValue{s.text, rest}), rest != ""
		}
	}
	return values, len(parts) == len(r.segments)
}
