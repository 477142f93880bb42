// Package gateway behaves as an Amazon API Gateway HTTP API with a $default stage and Lambda proxy integrations of payload
// format 2.0 does: it turns a request into an event, gives that to the route's function, and turns its answer into a
// response. Where AWS's documentation is silent, comments say what was observed by whom, or that it is a choice.
//
// It knows nothing of processes, templates or the shop, and imports none of this module's packages. A function must not
// import it: it is for the local run only.
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
	// MaxIntegrationTimeout is the longest that a function is waited for.
	MaxIntegrationTimeout = 30 * time.Second
)

const (
	defaultAccountID  = "123456789012"
	defaultAPIID      = "local"
	defaultDomainName = "localhost"
)

// Invoker runs functions. The gateway calls Invoke once for each request that matches a route, concurrently.
//
// Invoke returns the function's answer as it is, or an error where there is none; Config.Classify tells the kinds of
// error apart. It should return soon after ctx ends.
type Invoker interface {
	Invoke(ctx context.Context, function string, event []byte) ([]byte, error)
}

// Failure is what an Invoker's error means to the client.
type Failure int

// The failures that a gateway tells apart.
const (
	// FunctionFailed says that the function died or reported an error: 500.
	FunctionFailed Failure = iota
	// FunctionUnavailable says that the function could not be run, or not to its end in time: 503.
	FunctionUnavailable
	// EventTooLarge says that the event exceeds what a function can be given: 413.
	EventTooLarge
)

// Config is what New needs. Routes and Invoker are required.
type Config struct {
	Routes  []Route
	Invoker Invoker
	// CORS is the API's CORS configuration, nil for none.
	CORS *CORS
	// Classify says what an Invoker's error means. Nil means FunctionFailed for all. It is not asked where the
	// integration timeout passed: that is 503.
	Classify func(error) Failure
	// IntegrationTimeout is how long a function is waited for; MaxIntegrationTimeout where 0, and at most that.
	IntegrationTimeout time.Duration

	// AccountID, APIID and DomainName are told to functions; placeholders where empty. The domain name is not the
	// request's Host: behind AWS, a request with another host does not reach the API.
	AccountID, APIID, DomainName string

	// Clock tells the time of a request; time.Now where nil.
	Clock func() time.Time
	// NewRequestID makes the ID of a request; random ones of AWS's form where nil.
	NewRequestID func() string
	// Log takes a record of each request, after its response was written, concurrently. May be nil.
	Log func(Record)
}

// Record is what is logged of a request: nothing of its query string, headers or body.
type Record struct {
	RequestID string
	Method    string
	// Path is the request's path, percent-encoded: it has no characters that could harm a terminal.
	Path   string
	Status int
	// Duration is the time from the request's arrival to the end of its response.
	Duration time.Duration
	// Function is the function that the route names, empty where no route matched.
	Function string
	// Err is why the gateway itself answered with an error, if it was not the client's fault: for the developer's eyes.
	Err error
}

// Gateway is an http.Handler. It must be a server's only handler: a ServeMux in front of it would tidy paths.
type Gateway struct {
	config Config
	routes routes
	cors   *cors
}

// New checks the configuration. Routes that conflict, or that an HTTP API would refuse, are an error.
func New(config Config) (*Gateway, error) {
	if config.Invoker == nil {
		return nil, errors.New("a gateway needs an invoker")
	}
	if config.IntegrationTimeout < 0 || config.IntegrationTimeout > MaxIntegrationTimeout {
		return nil, fmt.Errorf("integration timeout %s is not within 0 and %s", config.IntegrationTimeout, MaxIntegrationTimeout)
	}
	routes, err := newRoutes(config.Routes)
	if err != nil {
		return nil, err
	}
	cors, err := newCORS(config.CORS)
	if err != nil {
		return nil, err
	}
	config.setDefaults()
	return &Gateway{config: config, routes: routes, cors: cors}, nil
}

func (c *Config) setDefaults() {
	if c.Classify == nil {
		c.Classify = func(error) Failure { return FunctionFailed }
	}
	if c.IntegrationTimeout == 0 {
		c.IntegrationTimeout = MaxIntegrationTimeout
	}
	if c.AccountID == "" {
		c.AccountID = defaultAccountID
	}
	if c.APIID == "" {
		c.APIID = defaultAPIID
	}
	if c.DomainName == "" {
		c.DomainName = defaultDomainName
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewRequestID == nil {
		c.NewRequestID = newRequestID
	}
	if c.Log == nil {
		c.Log = func(Record) {}
	}
}

// newRequestID returns 11 random bytes in base64, which looks like an HTTP API's own request IDs.
func newRequestID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.URLEncoding.EncodeToString(b[:])
}

// call is one request on its way through the gateway.
type call struct {
	id      string
	arrived time.Time
	request *http.Request
	// path and query are the parts of the request's target as they were sent.
	path, query string
	match       match
	body        []byte
}

// ServeHTTP answers a request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{id: g.config.NewRequestID(), arrived: g.config.Clock(), request: r}
	c.path, c.query = target(r)
	answer, err := g.answer(r.Context(), w, c)
	g.write(w, c, answer)
	g.config.Log(Record{
		RequestID: c.id,
		Method:    r.Method,
		Path:      printablePath(c.path),
		Status:    answer.status,
		Duration:  g.config.Clock().Sub(c.arrived),
		Function:  c.match.function,
		Err:       err,
	})
}

// target splits the target of the request line. The path is taken from there since net/http's forms of it may differ
// from what was sent. It is empty for a target without a path: "*", or CONNECT's.
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

// printablePath percent-encodes what is not visible ASCII. Control characters were refused by net/http before.
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

// answer decides the response. Its error is not the client's fault.
func (g *Gateway) answer(ctx context.Context, w http.ResponseWriter, c *call) (answer, error) {
	if status := oversized(c.request); status != 0 {
		return message(status), nil
	}
	found, matched := g.routes.match(c.request.Method, c.path)
	if !matched {
		// Any OPTIONS request, since without an Origin it just gets no CORS headers:
		// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
		if g.cors != nil && c.request.Method == http.MethodOptions {
			return answer{status: http.StatusNoContent}, nil
		}
		return message(http.StatusNotFound), nil
	}
	c.match = found
	body, status := readBody(w, c.request)
	if status != 0 {
		return message(status), nil
	}
	c.body = body
	return g.invoke(ctx, c)
}

// oversized returns the status of a request whose line or header is too large. AWS documents the quota, not the status.
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

// readBody returns the whole body, or the status of a request whose body is too large or does not arrive.
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
	event, err := g.event(c)
	if err != nil {
		return message(http.StatusBadRequest), nil // the client's fault
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return message(http.StatusInternalServerError), fmt.Errorf("event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, g.config.IntegrationTimeout)
	defer cancel()
	raw, err := g.config.Invoker.Invoke(ctx, c.match.function, payload)
	if err != nil {
		return message(g.failureStatus(ctx, err)), err
	}
	a, err := parseAnswer(raw)
	if err != nil {
		return message(http.StatusInternalServerError), fmt.Errorf("answer of function %s: %w", c.match.function, err)
	}
	return a, nil
}

func (g *Gateway) failureStatus(ctx context.Context, err error) int {
	if ctx.Err() != nil {
		return http.StatusServiceUnavailable
	}
	switch g.config.Classify(err) {
	case FunctionUnavailable:
		return http.StatusServiceUnavailable
	case EventTooLarge:
		return http.StatusRequestEntityTooLarge
	case FunctionFailed:
		return http.StatusInternalServerError
	default:
		return http.StatusInternalServerError
	}
}

// write sends the answer with what the gateway adds to each.
func (g *Gateway) write(w http.ResponseWriter, c *call, a answer) {
	h := w.Header()
	for name, value := range a.header {
		if g.cors == nil || !isCORSHeader(name) {
			h.Set(name, value)
		}
	}
	for _, cookie := range a.cookies {
		h.Add("Set-Cookie", cookie)
	}
	if g.cors != nil {
		g.cors.apply(h, c.request)
	}
	h.Set("Apigw-Requestid", c.id)

	hasBody := a.status != http.StatusNoContent && a.status != http.StatusNotModified
	isHead := c.request.Method == http.MethodHead
	// To HEAD the length is what GET would say, which an empty body does not tell.
	if hasBody && (len(a.body) > 0 || !isHead) {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	if hasBody && len(a.body) > 0 && h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(a.status)
	if hasBody && !isHead {
		_, _ = w.Write(a.body) // a client that is gone needs no answer
	}
}

// decodePath undoes percent-encoding.
func decodePath(path string) (string, error) {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return "", fmt.Errorf("path: %w", err)
	}
	return decoded, nil
}
