package gateway

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

const (
	payloadVersion = "2.0"
	stage          = "$default"
	// The account, the API and the domain are placeholders. The domain does not follow the request's Host header: on AWS, only
	// requests for the API's own host reach the API.
	accountID  = "123456789012"
	apiID      = "local"
	domainName = "localhost"
	// timeFormat is the format of requestContext.time, as in "12/Mar/2020:19:03:58 +0000".
	timeFormat = "02/Jan/2006:15:04:05 -0700"
)

// event builds the event of payload format 2.0:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
// Bytes that are not UTF-8 become U+FFFD when the event is encoded as JSON. A path that cannot be decoded is an error.
//
// An HTTP API decodes the path twice. In between, it cuts the path at a question mark. Live captures show this:
// github.com/hotsock/voker, vokerhttp/testdata/ingress-paths.json. The captures contain no path variables. Here, variables
// are decoded twice but not cut.
func (c *call) event() (*events.APIGatewayV2HTTPRequest, error) {
	path, _, _ := strings.Cut(c.decoded, "?")
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
	r := c.request
	body, isBase64 := eventBody(r.Header.Get("Content-Type"), c.body)
	return &events.APIGatewayV2HTTPRequest{
		Version:               payloadVersion,
		RouteKey:              routeKey,
		RawPath:               path,
		RawQueryString:        c.query,
		Cookies:               cookies(r.Header["Cookie"]),
		Headers:               c.headers(),
		QueryStringParameters: queryParameters(c.query),
		PathParameters:        c.values,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey:     routeKey,
			AccountID:    accountID,
			Stage:        stage,
			RequestID:    c.id,
			APIID:        apiID,
			DomainName:   domainName,
			DomainPrefix: domainName,
			Time:         c.arrived.UTC().Format(timeFormat),
			TimeEpoch:    c.arrived.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method:    r.Method,
				Path:      path,
				Protocol:  r.Proto,
				SourceIP:  sourceIP(r),
				UserAgent: r.UserAgent(),
			},
		},
		Body:            body,
		IsBase64Encoded: isBase64,
	}, nil
}

// headers returns the request's headers, with names in lower case, and the headers that API Gateway adds. Values of a name that was
// sent more than once are joined with commas. Cookies are left out, because the event has another field for them. Headers about the
// client's connection are dropped.
func (c *call) headers() map[string]string {
	r := c.request
	h := map[string]string{}
	for name, values := range r.Header {
		if name != "Cookie" && !isHopByHop(name) {
			h[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	if r.Host != "" {
		h["host"] = r.Host
	}
	h["content-length"] = strconv.Itoa(len(c.body)) // even if the client did not send it
	h["x-amzn-trace-id"] = newTraceID(c.arrived)
	h["x-forwarded-proto"] = "http"
	if r.TLS != nil {
		h["x-forwarded-proto"] = "https"
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, port, err := net.SplitHostPort(local.String()); err == nil {
			h["x-forwarded-port"] = port
		}
	}
	forwarded := sourceIP(r)
	if sent := h["x-forwarded-for"]; sent != "" {
		forwarded = sent + ", " + forwarded
	}
	h["x-forwarded-for"] = forwarded
	return h
}

// isHopByHop reports whether a header concerns only one connection (RFC 9110, section 7.6.1). The name must be canonical.
func isHopByHop(name string) bool {
	return slices.Contains([]string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	}, name)
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// newTraceID returns the header value of a new X-Ray trace. A trace that the client sent is ignored.
func newTraceID(now time.Time) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("Root=1-%08x-%s", now.Unix(), hex.EncodeToString(b[:]))
}

// cookies returns the cookies of all Cookie headers, or nil if there are none.
func cookies(headers []string) []string {
	var list []string
	for _, header := range headers {
		for cookie := range strings.SplitSeq(header, ";") {
			if cookie = strings.TrimSpace(cookie); cookie != "" {
				list = append(list, cookie)
			}
		}
	}
	return list
}

// queryParameters decodes the query string. Values of a name that occurs more than once are joined with commas. A name or
// value that cannot be decoded stays as it is. AWS does not document this case.
func queryParameters(query string) map[string]string {
	parameters := map[string]string{}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, value = decodeQuery(name), decodeQuery(value)
		if before, repeated := parameters[name]; repeated {
			value = before + "," + value
		}
		parameters[name] = value
	}
	return parameters
}

func decodeQuery(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// eventBody returns the event's body and whether it is in base64. AWS documents that a binary body is in base64, but not which
// content types are binary. Observed HTTP APIs (github.com/ministackorg/ministack, pull request 766) treat only text/*,
// application/json, application/xml and application/javascript as text. Everything else is binary, including form data and a body
// without a type. This package also treats types with the suffixes +json and +xml as text.
func eventBody(contentType string, body []byte) (text string, isBase64 bool) {
	if len(body) == 0 || isText(contentType) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

func isText(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	switch mediaType {
	case "application/json", "application/xml", "application/javascript":
		return true
	default:
		return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml")
	}
}
