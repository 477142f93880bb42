// Package gateway behaves like an Amazon API Gateway HTTP API with a $default stage and Lambda proxy integrations of payload
// format 2.0: it turns a request into an event, gives the event to the route's function, and turns the function's response into
// an HTTP response. Where AWS does not document a behaviour, a comment names who observed it, or says that this package chose it.
//
// The package knows nothing about processes, templates or the shop, and imports no other package of this module. It is only for
// the local run: no Lambda function may import it.
package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Quotas of an HTTP API: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html.
const (
	// MaxBody is the size of the largest request body, in bytes.
	MaxBody = 10 << 20
	// MaxHead is the largest combined size of a request's request line and header values, in bytes.
	MaxHead = 10240
	// integrationTimeout is how long the gateway waits for a function.
	integrationTimeout = 30 * time.Second
)

// Invoker runs functions. If a request matches a route, the gateway calls Invoke once for it, unless the gateway rejects the request
// itself, for example because its body is too large. Calls for several requests are concurrent.
//
// Invoke returns the function's response unchanged, or an error. It should return soon after ctx ends.
type Invoker interface {
	Invoke(ctx context.Context, function string, event []byte) ([]byte, error)
}

// Config configures a Gateway. Only CORS and Log may be nil.
type Config struct {
	Routes  []Route
	Invoker Invoker
	// CORS is the API's CORS configuration; nil means none.
	CORS *CORS
	// Status returns the HTTP status for an Invoker's error. If the integration timeout has passed or the client has disconnected, the
	// status is 503 instead.
	Status func(error) int
	// Clock returns the current time.
	Clock func() time.Time
	// Log receives a record of each request after its response was written. It is called concurrently.
	Log func(Record)
}

// Record is the log entry of a request. It contains nothing from the query string, the headers or the body.
type Record struct {
	RequestID string
	Method    string
	// Path is the request's path, percent-encoded, so that no character in it can harm a terminal.
	Path   string
	Status int
	// Duration is the time from the request's arrival to the end of its response.
	Duration time.Duration
	// Function is the function that the route names. It is empty if no route matched.
	Function string
	// Err says why the gateway got no valid response from the function. It is nil if the response was valid, and if the gateway rejected
	// the request without invoking the function.
	Err error
}

// Gateway is an http.Handler. A handler in front of it must not change the request. Do not use an http.ServeMux, which changes paths.
type Gateway struct {
	config Config
	routes []route // the most specific first
}

// New checks the configuration and returns a Gateway. It returns an error if routes conflict, or if an HTTP API would reject the
// routes or the CORS configuration.
func New(config Config) (*Gateway, error) {
	routes, err := newRoutes(config.Routes)
	return &Gateway{config: config, routes: routes}, errors.Join(err, config.CORS.validate())
}

// newRequestID returns 11 random bytes in base64, the form of an HTTP API's request IDs.
func newRequestID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.URLEncoding.EncodeToString(b[:])
}

// call is one request in flight.
type call struct {
	id      string
	arrived time.Time
	request *http.Request
	// path and query are the parts of the request's target as they were sent.
	path, query string
	decoded     string            // the path, decoded once
	route       *route            // nil if no route matched
	values      map[string]string // values of the route's variables, decoded once
	body        []byte
}

// ServeHTTP responds to a request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{id: newRequestID(), arrived: g.config.Clock(), request: r}
	c.path, c.query = target(r)
	answer, err := g.answer(r.Context(), w, c)
	g.write(w, c, answer)
	if g.config.Log == nil {
		return
	}
	record := Record{
		RequestID: c.id, Method: r.Method, Path: printablePath(c.path), Status: answer.status,
		Duration: g.config.Clock().Sub(c.arrived), Err: err,
	}
	if c.route != nil {
		record.Function = c.route.Function
	}
	g.config.Log(record)
}

// target returns the path and the query of the request line as they were sent. net/http's URL may differ from them. The path is
// empty if the target has no path: for "*", and for CONNECT.
func target(r *http.Request) (path, query string) {
	path, query, _ = strings.Cut(r.RequestURI, "?")
	if strings.HasPrefix(path, "/") {
		return path, query
	}
	if _, rest, absolute := strings.Cut(path, "://"); absolute {
		if slash := strings.IndexByte(rest, '/'); slash >= 0 {
			return rest[slash:], query
		}
		return "/", query
	}
	return "", query
}

// printablePath percent-encodes every byte that is not visible ASCII.
func printablePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// answer decides the response. The error is for Record.Err.
func (g *Gateway) answer(ctx context.Context, w http.ResponseWriter, c *call) (answer, error) {
	if status := oversized(c.request); status != 0 {
		return message(status), nil
	}
	var err error
	if c.decoded, err = url.PathUnescape(c.path); err != nil {
		return message(http.StatusBadRequest), nil //nolint:nilerr // the client sent a bad path
	}
	if c.route, c.values = g.match(c.request.Method, c.decoded); c.route == nil {
		// With CORS, every OPTIONS request without a route gets a 204. A preflight request from an allowed origin also gets CORS headers:
		// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
		if g.config.CORS != nil && c.request.Method == http.MethodOptions {
			return answer{status: http.StatusNoContent}, nil
		}
		return message(http.StatusNotFound), nil
	}
	var status int
	if c.body, status = readBody(w, c.request); status != 0 {
		return message(status), nil
	}
	return g.invoke(ctx, c)
}

// oversized returns the error status for a request whose request line or header is too large. For any other request it returns 0. AWS
// documents the quota but not the status. This package chose 414 for the request line and 431 for the header.
func oversized(r *http.Request) int {
	size := len(r.Method) + len(" ") + len(r.RequestURI) + len(" ") + len(r.Proto)
	if size > MaxHead {
		return http.StatusRequestURITooLong
	}
	size += len(r.Host)
	for _, values := range r.Header {
		for _, value := range values {
			size += len(value)
		}
	}
	if size > MaxHead {
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return 0
}

// readBody returns the whole body, or an error status if the body is too large or does not arrive.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, int) {
	if r.ContentLength > MaxBody {
		return nil, http.StatusRequestEntityTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	default:
		return body, 0
	}
}

func (g *Gateway) invoke(ctx context.Context, c *call) (answer, error) {
	event, err := c.event()
	if err != nil {
		return message(http.StatusBadRequest), nil // the client sent a bad path
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return message(http.StatusInternalServerError), fmt.Errorf("event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, integrationTimeout)
	defer cancel()
	raw, err := g.config.Invoker.Invoke(ctx, c.route.Function, payload)
	if err != nil {
		status := g.config.Status(err)
		if ctx.Err() != nil {
			status = http.StatusServiceUnavailable
		}
		return message(status), err
	}
	a, err := parseAnswer(raw)
	if err != nil {
		return message(http.StatusInternalServerError), fmt.Errorf("response of function %s: %w", c.route.Function, err)
	}
	return a, nil
}

// write sends the response with the headers that the gateway adds.
func (g *Gateway) write(w http.ResponseWriter, c *call, a answer) {
	h := w.Header()
	for name, value := range a.header {
		if g.config.CORS == nil || !isCORSHeader(name) {
			h.Set(name, value)
		}
	}
	for _, cookie := range a.cookies {
		h.Add("Set-Cookie", cookie)
	}
	if g.config.CORS != nil {
		g.config.CORS.apply(h, c.request)
	}
	h.Set("Apigw-Requestid", c.id)

	hasBody := a.status != http.StatusNoContent && a.status != http.StatusNotModified
	isHead := c.request.Method == http.MethodHead
	// A HEAD response has the Content-Length of the body that a GET would get. If the function returns no body for HEAD, that length
	// is unknown.
	if hasBody && (len(a.body) > 0 || !isHead) {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	if hasBody && len(a.body) > 0 && h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(a.status)
	if hasBody && !isHead {
		_, _ = w.Write(a.body) // fails only if the client has disconnected
	}
}
