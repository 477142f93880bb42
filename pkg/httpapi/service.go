package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"shopfront/pkg/catalog"
)

// Service is what all endpoints share. Each endpoint is an http.Handler made by a method of it.
type Service struct {
	Now       func() time.Time
	Log       *slog.Logger
	RequestID func(*http.Request) string // as the gateway numbered the request
	Stack     string                     // the name of the deployed stack, a dimension of every metric
}

// endpoint is one route: a path with its {parameters}, the methods it answers, and how it answers.
type endpoint struct {
	path    string
	methods []string
	// answer returns what to send, or an error that problemOf knows how to tell. It notes in the record what happened.
	answer func(*call) (answer, error)
	// headers, if not nil, go with every answer, errors included.
	headers func(*http.Request) http.Header
	// notFound is the problem of a path that holds a malformed ID or does not match.
	notFound func() *problemError
}

// call is a request on its way through an endpoint.
type call struct {
	*http.Request
	begun    time.Time
	received time.Time         // the same in UTC and whole milliseconds, in which times are compared
	path     map[string]string // the path's parameters
	record   *record
}

// answer is a whole answer, buffered: nothing is sent before it is known to be right.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// jsonAnswer is value as JSON.
func jsonAnswer(status int, value any) (answer, error) {
	body, err := encodeJSON(value)
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: body}, nil
}

func encodeJSON(value any) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), nil
}

func (s Service) handler(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := s.Now()
		c := &call{Request: r, begun: begun, received: begun.UTC().Truncate(time.Millisecond), record: &record{}}
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
			_, _ = w.Write(reply.body) // a client that went away is no concern of ours
		}
		s.log(r.Context(), c, requestID, reply.status)
	})
}

// reply answers, whatever happens on the way: an error becomes a problem, and so does a panic, which would end the
// function's process and make the next request wait for a new one.
func reply(e endpoint, c *call) (a answer) {
	defer func() {
		if cause := recover(); cause != nil {
			a = tell(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()), c)
		}
	}()
	a, err := e.respond(c)
	if err != nil {
		return tell(err, c)
	}
	return a
}

func tell(err error, c *call) answer {
	a, err := problemOf(err, c.record).answer()
	if err != nil { // a problem is text and numbers, which always encode
		return answer{status: http.StatusInternalServerError}
	}
	return a
}

func (e endpoint) respond(c *call) (answer, error) {
	values, matches := matchPath(e.path, c.URL.Path)
	if !matches {
		return answer{}, e.notFound()
	}
	c.path = values
	if customer, err := catalog.ParseID[catalog.CustomerID](values["customer"]); err == nil {
		c.record.customer = string(customer)
	}
	if !slices.Contains(e.methods, c.Method) {
		return answer{}, problemMethodNotAllowed.because("The path answers other methods.").with("Allow", strings.Join(e.methods, ", "))
	}
	return e.answer(c)
}

// matchPath compares a decoded path with a pattern segment by segment, without http.ServeMux, which redirects what it would
// rather have been asked.
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
