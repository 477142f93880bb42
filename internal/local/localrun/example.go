package localrun

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/internal/local/gateway"
	"shopfront/internal/local/samtemplate"
)

const keyHeader = "idempotency-key"

// randomID matches the ID of a checkout, and the ID of a redemption in a path. IDs are random, so the IDs in an
// event.json exist in no run. Examples show a placeholder instead.
var randomID = regexp.MustCompile(`(/redemptions/)[\w-]{22}\b|[\w-]{44}`)

// examples returns a text with one or more command lines for each route that a newcomer would try. They are made from
// the function's event.json.
func examples(root string, template *samtemplate.Template, baseURL string) (string, error) {
	sample := make(map[string]events.APIGatewayV2HTTPRequest) // by function
	for _, f := range template.Functions {
		if !slices.ContainsFunc(template.Routes, func(route gateway.Route) bool { return route.Function == f.Name }) {
			continue // no route leads to this function, so its event.json is not an HTTP request
		}
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
	for _, route := range template.Routes {
		if route.Method == http.MethodHead || route.Path == "/assets/{name}" ||
			route.Function == "removed-payment" || route.Function == "release-checkout" {
			// HEAD is like GET, the names of assets are hashes, the removed paths only return 410, and a released
			// checkout could not be ordered by the next requests
			continue
		}
		request := exampleOf(route, sample[route.Function])
		fmt.Fprintf(&shown, "%s %s\n  %s\n", route.Method, route.Path, request.curl(baseURL))
		if request.key != "" && request.body != "" {
			request.key += "-2"
			fmt.Fprintf(&shown, "  If you send it again, the response is the same. "+
				"With another key it is a new request, and the code is already used:\n  %s\n", request.curl(baseURL))
		}
		if route.Function == "checkout" {
			request.key += "-2"
			request.target += "&code=SUMMER-20&nick=Alder"
			fmt.Fprintf(&shown, "  With a code that gives a discount:\n  %s\n", request.curl(baseURL))
		}
	}
	return shown.String(), nil
}

// example is a request to a route.
type example struct {
	method                 string
	target                 string // path and query, percent-encoded
	contentType, key, body string // may be empty
	authorization          string // may be empty
}

// exampleOf returns an example for a route. If the event has the route's path, the example is the event's request with
// the route's method, and with the event's body if both methods are the same. Otherwise exampleOf replaces each
// variable in the route's path with the event's value, or with the variable's name if the event has no value for it.
func exampleOf(route gateway.Route, event events.APIGatewayV2HTTPRequest) example {
	request := example{method: route.Method}
	if _, path, _ := strings.Cut(event.RouteKey, " "); path != route.Path {
		request.target = regexp.MustCompile(`{(\w+)}`).ReplaceAllStringFunc(route.Path,
			func(variable string) string {
				name := strings.Trim(variable, "{}")
				if value, known := event.PathParameters[name]; known {
					name = value
				}
				return url.PathEscape(name)
			})
		return request
	}
	target := url.URL{Path: event.RawPath, RawQuery: event.RawQueryString}
	request.target, request.key, request.authorization = target.String(), event.Headers[keyHeader],
		event.Headers["authorization"]
	if request.method == event.RequestContext.HTTP.Method {
		request.contentType, request.body = event.Headers["content-type"], event.Body
	}
	return request
}

// curl returns the request as a command line. In the line, KEY stands for a key of the shop's server, and ID stands for
// the ID of a checkout or redemption.
func (e example) curl(baseURL string) string {
	words := []string{"curl -i"}
	if e.method != http.MethodGet {
		words = append(words, "-X "+e.method)
	}
	words = append(words, quote(baseURL+randomID.ReplaceAllString(e.target, "${1}ID")))
	for _, header := range [][2]string{
		{"content-type", e.contentType},
		{"authorization", e.authorization},
		{keyHeader, e.key},
	} {
		if header[1] != "" {
			words = append(words, "-H "+quote(header[0]+": "+header[1]))
		}
	}
	if e.body != "" {
		words = append(words, "--data-raw "+quote(randomID.ReplaceAllString(e.body, "${1}ID")))
	}
	return strings.Join(words, " ")
}

// quote quotes text as one word for a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
