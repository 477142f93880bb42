package httpapi

import (
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
	"shopfront/pkg/wire"
)

// Service makes the endpoints, which are http.Handlers, and holds what they share.
type Service struct {
	Now       func() time.Time
	Log       *slog.Logger
	RequestID func(*http.Request) string // the ID that the gateway assigned
	Stack     string                     // the name of the deployed stack, a dimension of every metric
	// PathError returns an error if the request's path does not have the form of the route that the gateway matched.
	// The response is then 500 and not 404, because a storefront would treat a 404 as final. If PathError is nil, every
	// path is accepted.
	PathError func(*http.Request) error
	Guard     Guard // of the endpoints under /shop

	// Only the endpoints that judge codes need SourceAddress and Refusals: RedeemVoucher, Checkout and CheckoutVariant.
	// SourceAddress returns the network address that connected to the gateway.
	SourceAddress func(*http.Request) string
	Refusals      RefusalLimiter
	// AllowedOrigins are the origins whose pages may make browsers send requests to these endpoints; * allows any page.
	AllowedOrigins []string
}

// endpoint is one route: a path with {parameters}, its methods, and how it responds.
type endpoint struct {
	path    string
	methods []string // GET and HEAD if nil
	// respond returns the response, or an error that problemOf converts to a problem. It notes the outcome in the
	// record.
	respond func(*call) (response, error)
	// revalidates lets clients store a successful response, if they revalidate it each time.
	revalidates bool
	// rejectsUnasked is set if strangers can make the endpoint hold, count or store something. Then a browser must not
	// send the request before the shopper asks for it, or because another site's page asks for it.
	rejectsUnasked bool
	// headers returns headers that are added to every response, also to errors. It may be nil.
	headers func(*http.Request) http.Header
	// notFound is the problem for a path that does not match or has a malformed ID; problemNotFound if nil.
	notFound func() *problemError
	// refusal is the problem for a refused code; empty for an endpoint that judges no code.
	refusal problemType
	// problemPage converts a problem to a page; nil: problems stay JSON.
	problemPage func(*call, response) (response, error)
}

// call is a request in an endpoint.
type call struct {
	*http.Request
	begun    time.Time
	received time.Time         // begun in UTC and whole milliseconds; the rules use it as the current time
	path     map[string]string // the path's parameters
	shop     catalog.ShopID    // of the path; empty if missing or malformed
	pathErr  error
	query    url.Values // set when the query is parsed
	guard    Guard
	origins  []string        // Service.AllowedOrigins
	caller   access.Caller   // set by admit
	settings access.Settings // of the shop; set by admit
	record   *record
}

// response is a whole response in memory. Nothing is sent before the endpoint has finished.
type response struct {
	status int
	header http.Header
	body   []byte
}

// jsonResponse makes a response whose body is value as JSON.
func jsonResponse(status int, value any) (response, error) {
	body, err := wire.Encode(value)
	if err != nil {
		return response{}, fmt.Errorf("encode response: %w", err)
	}
	return response{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: body}, nil
}

// replayable makes a response with status 200, and notes the outcome with its metrics. If the request is a retry,
// replayed is set: then the response has the header Idempotency-Replayed, and the outcome is "replayed", without
// metrics.
func (c *call) replayable(value any, replayed bool, outcome string, metrics ...string) (response, error) {
	resp, err := jsonResponse(http.StatusOK, value)
	if err != nil {
		return response{}, err
	}
	if replayed {
		c.record.note("replayed")
		resp.header.Set("Idempotency-Replayed", "true")
	} else {
		c.record.note(outcome, metrics...)
	}
	return resp, nil
}

func (s Service) handler(e endpoint) http.Handler {
	if e.methods == nil {
		e.methods = []string{http.MethodGet, http.MethodHead}
	}
	if e.notFound == nil {
		e.notFound = problemNotFound.new
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := s.Now()
		c := &call{
			Request: r, begun: begun, received: begun.UTC().Truncate(time.Millisecond), guard: s.Guard,
			origins: s.AllowedOrigins, record: &record{},
		}
		if s.PathError != nil {
			c.pathErr = s.PathError(r)
		}
		resp := reply(e, c)
		header := w.Header()
		maps.Copy(header, resp.header)
		if e.headers != nil {
			maps.Copy(header, e.headers(r))
		}
		if header.Get("Cache-Control") == "" {
			header.Set("Cache-Control", "no-store")
		}
		requestID := s.RequestID(r)
		header.Set("Request-Id", requestID)
		w.WriteHeader(resp.status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(resp.body) // fails only if the client has disconnected
		}
		s.log(r.Context(), c, requestID, resp.status)
	})
}

// reply always returns a response. It converts errors and panics to problems. An unrecovered panic would end the
// function's process, and the next request would wait for a cold start.
func reply(e endpoint, c *call) (resp response) {
	defer func() {
		if cause := recover(); cause != nil {
			resp = problemResponse(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()), e, c)
		}
	}()
	resp, err := e.route(c)
	if err != nil {
		return problemResponse(err, e, c)
	}
	if e.revalidates {
		resp.revalidate(c.Header.Values("If-None-Match"))
	}
	return resp
}

func problemResponse(err error, e endpoint, c *call) response {
	resp, err := problemOf(err, e.refusal, c).response()
	if err == nil && e.problemPage != nil {
		resp, err = e.problemPage(c, resp)
	}
	if err != nil { // cannot happen: a problem holds only strings and numbers, and its page is made from embedded texts
		return response{status: http.StatusInternalServerError}
	}
	return resp
}

func (e endpoint) route(c *call) (response, error) {
	if c.pathErr != nil {
		return response{}, c.pathErr
	}
	values, matches := matchPath(e.path, c.URL.Path)
	if !matches {
		return response{}, e.notFound()
	}
	c.path = values
	// before the method check, because the log names the shop
	c.shop, _ = catalog.ParseID[catalog.ShopID](values["customer"])
	if !slices.Contains(e.methods, c.Method) {
		return response{}, problemMethodNotAllowed.because("This path has other methods; see the Allow header.").with(
			"Allow", strings.Join(e.methods, ", "),
		)
	}
	if e.rejectsUnasked {
		if err := c.checkAsked(); err != nil {
			return response{}, err
		}
	}
	// The ID is malformed. An endpoint without {customer} passes, because both sides are empty.
	if values["customer"] != string(c.shop) {
		return response{}, e.notFound()
	}
	return e.respond(c)
}

// matchPath compares a decoded path with a pattern, segment by segment, and returns the values of the pattern's
// {parameters}. http.ServeMux does not fit, because it redirects paths that contain //, . or .. instead of rejecting
// them.
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
