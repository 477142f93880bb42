package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
)

// Service makes the endpoints, which are http.Handlers, and holds what they share.
type Service struct {
	Now       func() time.Time
	Log       *slog.Logger
	RequestID func(*http.Request) string // the ID that the gateway assigned
	Stack     string                     // the name of the deployed stack, a dimension of every metric
	// PathError returns an error if the request's path does not have the form of the route that the gateway matched. The response is then
	// 500 and not 404, because a storefront would treat a 404 as final. If PathError is nil, every path is accepted.
	PathError func(*http.Request) error
	Guard     Guard // of the endpoints under /shop

	// Only the endpoints that judge codes need SourceAddress and Refusals: RedeemVoucher, Checkout and CheckoutVariant. SourceAddress
	// returns the network address that connected to the gateway.
	SourceAddress func(*http.Request) string
	Refusals      RefusalLimiter
}

// endpoint is one route: a path with {parameters}, its methods, and how it responds.
type endpoint struct {
	path    string
	methods []string
	// answer returns the response, or an error that problemOf converts to a problem. It notes the outcome in the record.
	answer func(*call) (answer, error)
	// revalidates lets clients store a successful response, if they revalidate it each time.
	revalidates bool
	// rejectsPrefetch is set if a GET stores something. Then a browser must not send it before the shopper asks for it.
	rejectsPrefetch bool
	// headers returns headers that are added to every response, also to errors. It may be nil.
	headers func(*http.Request) http.Header
	// notFound is the problem for a path that does not match or has a malformed ID.
	notFound func() *problemError
	// refusal is the problem for a refused code; empty for an endpoint that judges no code.
	refusal problemType
	// problemPage converts a problem to a page; nil: problems stay JSON.
	problemPage func(*call, answer) (answer, error)
}

// call is a request in an endpoint.
type call struct {
	*http.Request
	begun    time.Time
	received time.Time          // begun in UTC and whole milliseconds; the rules use it as the current time
	path     map[string]string  // the path's parameters
	customer catalog.CustomerID // of the path; empty if missing or malformed
	pathErr  error
	query    url.Values // set when the query is parsed
	guard    Guard
	caller   access.Caller   // set by admit
	settings access.Settings // of the customer; set by admit
	record   *record
}

// answer is a whole response in memory. Nothing is sent before the endpoint has finished.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// jsonAnswer makes a response whose body is value as JSON.
func jsonAnswer(status int, value any) (answer, error) {
	body, err := encodeJSON(value)
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: body}, nil
}

// replayable makes a response with status 200, and notes the outcome with its metrics. If the request is a retry, replayed is set: then the
// response has the header Idempotency-Replayed, and the outcome is "replayed", without metrics.
func (c *call) replayable(value any, replayed bool, outcome string, metrics ...string) (answer, error) {
	a, err := jsonAnswer(http.StatusOK, value)
	if err != nil {
		return answer{}, err
	}
	if replayed {
		c.record.note("replayed")
		a.header.Set("Idempotency-Replayed", "true")
	} else {
		c.record.note(outcome, metrics...)
	}
	return a, nil
}

func encodeJSON(value any) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), nil
}

func (s Service) handler(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := s.Now()
		c := &call{Request: r, begun: begun, received: begun.UTC().Truncate(time.Millisecond), guard: s.Guard, record: &record{}}
		if s.PathError != nil {
			c.pathErr = s.PathError(r)
		}
		reply := reply(e, c)
		header := w.Header()
		maps.Copy(header, reply.header)
		if e.headers != nil {
			maps.Copy(header, e.headers(r))
		}
		if header.Get("Cache-Control") == "" {
			header.Set("Cache-Control", "no-store")
		}
		requestID := s.RequestID(r)
		header.Set("Request-Id", requestID)
		w.WriteHeader(reply.status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(reply.body) // fails only if the client has disconnected
		}
		s.log(r.Context(), c, requestID, reply.status)
	})
}

// reply always returns a response. It converts errors and panics to problems. An unrecovered panic would end the function's process,
// and the next request would wait for a cold start.
func reply(e endpoint, c *call) (a answer) {
	defer func() {
		if cause := recover(); cause != nil {
			a = problemAnswer(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()), e, c)
		}
	}()
	a, err := e.respond(c)
	if err != nil {
		return problemAnswer(err, e, c)
	}
	if e.revalidates {
		a.revalidate(c.Header.Values("If-None-Match"))
	}
	return a
}

func problemAnswer(err error, e endpoint, c *call) answer {
	a, err := problemOf(err, e.refusal, c).answer()
	if err == nil && e.problemPage != nil {
		a, err = e.problemPage(c, a)
	}
	if err != nil { // cannot happen: a problem holds only strings and numbers, and its page is made from embedded texts
		return answer{status: http.StatusInternalServerError}
	}
	return a
}

func (e endpoint) respond(c *call) (answer, error) {
	if c.pathErr != nil {
		return answer{}, c.pathErr
	}
	values, matches := matchPath(e.path, c.URL.Path)
	if !matches {
		return answer{}, e.notFound()
	}
	c.path = values
	c.customer, _ = catalog.ParseID[catalog.CustomerID](values["customer"])
	if !slices.Contains(e.methods, c.Method) {
		return answer{}, problemMethodNotAllowed.because("This path has other methods; see the Allow header.").with("Allow", strings.Join(e.methods, ", "))
	}
	if e.rejectsPrefetch && isPrefetch(c.Request) {
		c.record.reason = "prefetch"
		return answer{}, problemUnavailable.because("A prefetch cannot create a checkout.").with("Retry-After", "1")
	}
	if values["customer"] != string(c.customer) { // the ID is malformed
		return answer{}, e.notFound()
	}
	return e.answer(c)
}

// matchPath compares a decoded path with a pattern, segment by segment, and returns the values of the pattern's {parameters}.
// http.ServeMux does not fit, because it redirects paths that contain //, . or .. instead of rejecting them.
func matchPath(pattern, path string) (values map[string]string, matches bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	values = make(map[string]string)
	for i, segment := range want {
		name, isParameter := strings.CutPrefix(segment, "{")
		switch {
		case isParameter && have[i] != "":
			values[strings.TrimSuffix(name, "}")] = have[i]
		case segment != have[i] || isParameter:
			return nil, false
		}
	}
	return values, true
}
