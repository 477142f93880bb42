package lambdahttp

import (
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// routedPath returns the path that the gateway matched with the event's route. The event's rawPath can differ from it:
//   - Behind a custom domain, rawPath begins with the key of the API mapping.
//   - The gateway cuts rawPath at a question mark that was sent as %3F. What remains could be a valid path. But the
//     path parameter may still contain the question mark. Then routedPath returns the path with it, and the endpoint
//     rejects that path, because no ID contains a question mark.
//
// The parameters also show where an additional segment comes from: from a mapping key, or from a slash in a parameter,
// which was sent as %252F. If the parameters do not help, the end of rawPath must match the route.
func routedPath(event events.APIGatewayV2HTTPRequest) (string, error) {
	_, route, hasPath := strings.Cut(event.RouteKey, " ")
	if !hasPath || strings.HasSuffix(route, "+}") { // $default or a greedy variable, which match any path
		return event.RawPath, nil
	}
	path, complete := fill(route, event.PathParameters)
	if complete && (strings.HasSuffix(event.RawPath, path) || strings.Contains(path, "?")) {
		return path, nil
	}
	if end, matches := endLike(route, event.RawPath); matches {
		return end, nil
	}
	// an encoded parameter; the endpoint rejects path, because no ID has a percent sign
	if complete && strings.Contains(path, "%") {
		return path, nil
	}
	return event.RawPath, fmt.Errorf("the gateway matched the route %q, but the event's path does not have that "+
		"form: check how the custom domain maps the API", event.RouteKey)
}

// fill returns the route's path with the parameters in it, and whether every variable has a parameter.
func fill(route string, parameters map[string]string) (path string, complete bool) {
	segments := strings.Split(route, "/")
	for i, segment := range segments {
		if !isVariable(segment) {
			continue
		}
		segments[i] = parameters[strings.Trim(segment, "{}")]
		if segments[i] == "" {
			return "", false
		}
	}
	return strings.Join(segments, "/"), true
}

// endLike returns the last segments of the path, as many as the route has, and whether they match the route.
func endLike(route, path string) (end string, matches bool) {
	want, have := strings.Split(route, "/"), strings.Split(path, "/")
	if len(have) < len(want) {
		return "", false
	}
	have = have[len(have)-len(want):]
	for i := 1; i < len(want); i++ { // skips what precedes the route's first slash
		if have[i] != want[i] && (have[i] == "" || !isVariable(want[i])) {
			return "", false
		}
	}
	have[0] = ""
	return strings.Join(have, "/"), true
}

func isVariable(segment string) bool { return strings.HasPrefix(segment, "{") }
