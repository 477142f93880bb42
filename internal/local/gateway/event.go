package gateway

import (
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// The domain is a placeholder. It does not follow the request's Host header: on AWS, only requests for the API's own
// host reach the API.
const domainName = "localhost"

// event builds the event of payload format 2.0:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
// It leaves out what no function reads: cookies, decoded query parameters and IDs of the API. Bytes that are not UTF-8
// become U+FFFD when the event is encoded as JSON. A path that cannot be decoded is an error.
//
// An HTTP API decodes the path twice. In between, it cuts the path at a question mark. Live captures show this:
// github.com/hotsock/voker, vokerhttp/testdata/ingress-paths.json. The captures contain no path variables. Here,
// variables are decoded twice but not cut.
func (c *call) event() (*events.APIGatewayV2HTTPRequest, error) {
	r := c.request
	path, _, _ := strings.Cut(r.URL.Path, "?")
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, err
	}
	for name, value := range c.values {
		if c.values[name], err = url.PathUnescape(value); err != nil {
			return nil, err
		}
	}
	routeKey := c.route.Method + " " + c.route.Path
	event := &events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: routeKey, RawPath: path, RawQueryString: r.URL.RawQuery, Headers: headers(r),
		PathParameters: c.values,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: routeKey, Stage: "$default", RequestID: c.id, DomainName: domainName,
			TimeEpoch: c.arrived.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: path, Protocol: r.Proto, SourceIP: sourceIP(r), UserAgent: r.UserAgent(),
			},
		},
		Body: string(c.body),
	}
	if len(c.body) > 0 && !isText(r.Header.Get("Content-Type")) {
		event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(c.body), true
	}
	return event, nil
}

// headers returns the request's headers, with names in lower case. Values of a name that was sent more than once are
// joined with commas.
func headers(r *http.Request) map[string]string {
	h := make(map[string]string)
	for name, values := range r.Header {
		h[strings.ToLower(name)] = strings.Join(values, ",")
	}
	h["host"], h["x-forwarded-proto"], h["x-forwarded-for"] = r.Host, "http", sourceIP(r)
	return h
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// isText reports whether a body of this type is passed as text. All other bodies are passed in base64. AWS does not
// document which types are binary. Observed HTTP APIs (github.com/ministackorg/ministack, pull request 766) treat only
// text/*, application/json, application/xml and application/javascript as text. Everything else is binary, including
// form data and a body without a type. This package also treats types with the suffixes +json and +xml as text.
func isText(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	switch mediaType {
	case "application/json", "application/xml", "application/javascript":
		return true
	default:
		return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") ||
			strings.HasSuffix(mediaType, "+xml")
	}
}
