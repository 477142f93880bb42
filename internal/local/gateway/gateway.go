// Package gateway behaves like an Amazon API Gateway HTTP API with a $default stage and Lambda proxy integrations of
// payload format 2.0: it turns a request into an event, gives the event to the route's function, and turns the
// function's response into an HTTP response. Where AWS does not document a behaviour, a comment names who observed it,
// or says that this package chose it.
//
// The package knows nothing about processes, templates or the shop, and imports no other package of this module. It is
// only for the local run: no Lambda function may import it.
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
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Quotas of an HTTP API and of Lambda:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html and
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html.
const (
	// maxHead is the largest combined size of a request's target and header values, in bytes.
	maxHead = 10240
	// maxBody is the size of the largest request body, in bytes, and maxEvent that of the largest event.
	maxBody, maxEvent = 10 << 20, 6 << 20
	// integrationTimeout is how long the gateway waits for a function.
	integrationTimeout = 30 * time.Second
)

// Invoker runs functions. Calls for several requests are concurrent. Invoke returns the function's response unchanged,
// or an error. An error that wraps context.DeadlineExceeded becomes status 503, and any other becomes 500.
type Invoker interface {
	Invoke(ctx context.Context, function string, event []byte) ([]byte, error)
}

// Config configures a Gateway. Only CORS and Log may be nil.
type Config struct {
	Routes  []Route
	Invoker Invoker
	CORS    *CORS
	// Clock returns the current time.
	Clock func() time.Time
	// Log receives a record of each request after its response was written. It is called concurrently.
	Log func(Record)
}

// Record is the log entry of a request. It contains nothing from the query string, the headers or the body.
type Record struct {
	RequestID string
	Method    string
	Path      string // percent-encoded, so that no character in it can harm a terminal
	Status    int
	// Duration is the time from the request's arrival to the end of its response.
	Duration time.Duration
	// Err says why the gateway got no valid response from the function, and names the function. It is nil if the
	// response was valid, and if the gateway rejected the request without invoking the function.
	Err error
}

// Gateway is an http.Handler. A handler in front of it must not change the request. Do not use an http.ServeMux, which
// changes paths.
type Gateway struct {
	config Config
	routes []route // the most specific first
}

// New returns a Gateway. It returns an error if a path is malformed.
func New(config Config) (*Gateway, error) {
	routes, err := newRoutes(config.Routes)
	return &Gateway{config: config, routes: routes}, err
}

// call is one request in flight.
type call struct {
	id      string
	arrived time.Time
	request *http.Request
	body    []byte
	route   *route
	values  map[string]string // values of the route's variables
}

// ServeHTTP responds to a request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{id: newRequestID(), arrived: g.config.Clock(), request: r}
	response, err := g.respond(w, c) //nolint:contextcheck // the request in c has the context
	g.write(w, c, response)
	if g.config.Log != nil {
		g.config.Log(Record{
			RequestID: c.id, Method: r.Method, Path: r.URL.EscapedPath(), Status: response.StatusCode,
			Duration: g.config.Clock().Sub(c.arrived), Err: err,
		})
	}
}

// newRequestID returns 11 random bytes in base64, the form of an HTTP API's request IDs.
func newRequestID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.URLEncoding.EncodeToString(b[:])
}

// message returns a response of the gateway itself. The body contains the text of the status.
func message(status int) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status, Headers: map[string]string{"Content-Type": "application/json"},
		Body: `{"message":"` + http.StatusText(status) + `"}`,
	}
}

// respond returns the response. The error is for Record.Err.
func (g *Gateway) respond(w http.ResponseWriter, c *call) (events.APIGatewayV2HTTPResponse, error) {
	r := c.request
	if status := oversized(r); status != 0 {
		return message(status), nil
	}
	if c.route, c.values = g.match(r.Method, r.URL.Path); c.route == nil {
		// With CORS, every OPTIONS request without a route gets a 204. A preflight request from an allowed origin also
		// gets CORS headers: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
		if g.config.CORS != nil && r.Method == http.MethodOptions {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusNoContent}, nil
		}
		return message(http.StatusNotFound), nil
	}
	var err error
	c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
		return message(http.StatusRequestEntityTooLarge), nil
	}
	if err != nil {
		return message(http.StatusBadRequest), nil //nolint:nilerr // the client did not send the whole body
	}
	event, err := c.event()
	if err != nil {
		return message(http.StatusBadRequest), nil //nolint:nilerr // the client sent a bad path
	}
	return g.invoke(r.Context(), c.route.Function, event)
}

// oversized returns the error status for a request whose target or headers are too large. For any other request it
// returns 0. AWS documents the quota but not the status. This package chose 414 for the target and 431 for the headers.
func oversized(r *http.Request) int {
	size := len(r.RequestURI)
	if size > maxHead {
		return http.StatusRequestURITooLong
	}
	for _, values := range r.Header {
		for _, value := range values {
			size += len(value)
		}
	}
	if size > maxHead {
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return 0
}

func (g *Gateway) invoke(
	ctx context.Context, function string, event *events.APIGatewayV2HTTPRequest,
) (events.APIGatewayV2HTTPResponse, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return message(http.StatusInternalServerError), fmt.Errorf("event: %w", err)
	}
	if len(payload) > maxEvent {
		return message(http.StatusRequestEntityTooLarge), nil
	}
	ctx, cancel := context.WithTimeout(ctx, integrationTimeout)
	defer cancel()
	raw, err := g.config.Invoker.Invoke(ctx, function, payload)
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return message(http.StatusServiceUnavailable), err
	}
	if err != nil {
		return message(http.StatusInternalServerError), err
	}
	response, err := parse(raw)
	if err != nil {
		return message(http.StatusInternalServerError), fmt.Errorf("response of function %s: %w", function, err)
	}
	return response, nil
}

// parse reads a function's response in format 2.0:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html#http-api-develop-integrations-lambda.response.
// It decodes the body. Its errors do not show the response, which may be private.
func parse(raw []byte) (events.APIGatewayV2HTTPResponse, error) {
	var response events.APIGatewayV2HTTPResponse
	if json.Unmarshal(raw, &response) != nil {
		return response, errors.New("it does not have the form of an HTTP response")
	}
	// A status below 200 is informational and cannot complete a response.
	if response.StatusCode < http.StatusOK || response.StatusCode > 599 {
		return response, fmt.Errorf("statusCode %d is not the status of a response", response.StatusCode)
	}
	if response.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(response.Body)
		if err != nil {
			return response, errors.New("its body is not valid base64")
		}
		response.Body = string(body)
	}
	return response, nil
}

// write sends the response with the headers that the gateway adds.
func (g *Gateway) write(w http.ResponseWriter, c *call, response events.APIGatewayV2HTTPResponse) {
	h := w.Header()
	for name, value := range response.Headers {
		h.Set(name, value)
	}
	for _, cookie := range response.Cookies {
		h.Add("Set-Cookie", cookie)
	}
	if g.config.CORS != nil {
		g.config.CORS.apply(h, c.request)
	}
	h.Set("Apigw-Requestid", c.id)
	if response.Body != "" {
		h.Set("Content-Length", strconv.Itoa(len(response.Body))) // also if the body is not sent, in response to HEAD
		if h.Get("Content-Type") == "" {
			h.Set("Content-Type", "text/plain; charset=utf-8")
		}
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.WriteString(w, response.Body) // fails if the client has disconnected, or if there may be no body
}
