package localrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/internal/local/samtemplate"
)

const keyHeader = "idempotency-key"

// examples has a command line for each route, made of the function's event.json.
func examples(root string, template *samtemplate.Template, baseURL string) (string, error) {
	sample := make(map[string]events.APIGatewayV2HTTPRequest) // by function
	for _, f := range template.Functions() {
		path := filepath.Join(root, filepath.FromSlash(f.Package), "event.json")
		text, err := os.ReadFile(path) //nolint:gosec // the developer's own file
		if err != nil {
			return "", err
		}
		var event events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(text, &event); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		sample[f.Name] = event
	}
	var shown strings.Builder
	for _, route := range template.Routes() {
		request := exampleOf(route, sample[route.Function])
		fmt.Fprintf(&shown, "%s %s\n  %s\n", route.Method, route.Path, request.curl(baseURL))
		if key := request.header[keyHeader]; key != "" && request.body != "" {
			request.header[keyHeader] = key + "-2"
			fmt.Fprintf(&shown, "  Sent again, that is the same request. With another key it is a new one, which is refused once the code is used up:\n  %s\n",
				request.curl(baseURL))
		}
	}
	return shown.String(), nil
}

// example is a request to a route.
type example struct {
	method string
	target string // path and query, percent-encoded
	header map[string]string
	body   string
}

// exampleOf is the event's own request where it is one for the path. Else its variables are the event's where it has them,
// and stand for themselves where it does not.
func exampleOf(route samtemplate.Route, event events.APIGatewayV2HTTPRequest) example {
	method := route.Method
	if method == "ANY" {
		method = event.RequestContext.HTTP.Method
	}
	if _, path, _ := strings.Cut(event.RouteKey, " "); path != route.Path {
		return example{method: method, target: fill(route.Path, event.PathParameters)}
	}
	request := example{method: method, target: (&url.URL{Path: event.RawPath}).EscapedPath(), header: make(map[string]string)}
	if event.RawQueryString != "" {
		request.target += "?" + event.RawQueryString
	}
	for name, value := range event.Headers {
		if !isClientsOwn(name) {
			request.header[name] = value
		}
	}
	if method == event.RequestContext.HTTP.Method {
		request.body = event.Body
	}
	return request
}

func fill(path string, values map[string]string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		name, isVariable := strings.CutPrefix(segment, "{")
		if !isVariable {
			continue
		}
		name = strings.TrimRight(name, "+}")
		value, known := values[name]
		if !known {
			value = name
		}
		segments[i] = url.PathEscape(value)
	}
	return strings.Join(segments, "/")
}

// isClientsOwn tells of a header in an event whether the client, or the gateway, sets it by itself.
func isClientsOwn(name string) bool {
	switch name {
	case "accept", "content-length", "host", "user-agent", "x-amzn-trace-id":
		return true
	default:
		return strings.HasPrefix(name, "x-forwarded-")
	}
}

// curl is the request as a command line.
func (e example) curl(baseURL string) string {
	var line strings.Builder
	line.WriteString("curl -i")
	switch {
	case e.method == http.MethodHead:
		line.WriteString(" --head")
	case e.method != http.MethodGet:
		line.WriteString(" -X " + e.method)
	}
	line.WriteString(" " + quote(baseURL+e.target))
	for _, name := range slices.Sorted(maps.Keys(e.header)) {
		line.WriteString(" -H " + quote(name+": "+e.header[name]))
	}
	if e.body != "" {
		line.WriteString(" --data-raw " + quote(e.body))
	}
	return line.String()
}

// quote makes text one word of a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
