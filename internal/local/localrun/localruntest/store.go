package localruntest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/runtimeapi"
)

// Store is a proxy in front of a run's DynamoDB. It forwards requests until a test makes it fail.
type Store struct {
	Endpoint string

	failure atomic.Int32
	target  *httputil.ReverseProxy
}

// Failure is how a store fails.
type Failure int32

// The failures of a store.
const (
	Works     Failure = iota // no failure
	HangsUp                  // closes the connection without forwarding the request
	Loses                    // forwards writes, then closes the connection without a response; reads work
	Throttles                // responds with throttling errors
	Breaks                   // responds with internal errors
)

// NewStore returns a store that runs until the test ends. At first it works.
func (r *Run) NewStore(tb testing.TB) *Store {
	tb.Helper()
	target, err := url.Parse(r.State.DynamoDBEndpoint)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Store{target: httputil.NewSingleHostReverseProxy(target)}
	s.target.ErrorLog = log.New(io.Discard, "", 0) // the tests hang up on purpose
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(server.Close)
	s.Endpoint = server.URL
	return s
}

// Fail makes the store fail in this way from now on. Fail(Works) repairs it.
func (s *Store) Fail(failure Failure) { s.failure.Store(int32(failure)) }

func (s *Store) serve(w http.ResponseWriter, r *http.Request) {
	switch Failure(s.failure.Load()) {
	case Works:
		s.target.ServeHTTP(w, r)
	case Loses:
		if isRead(r) {
			s.target.ServeHTTP(w, r)
			return
		}
		s.target.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case Throttles:
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"Rate ` +
			`exceeded"}`))
	case Breaks:
		w.WriteHeader(http.StatusInternalServerError)
	case HangsUp:
		panic(http.ErrAbortHandler)
	}
}

func isRead(r *http.Request) bool {
	operation := r.Header.Get("X-Amz-Target")
	return strings.Contains(operation, "GetItem") || strings.HasSuffix(operation, ".Query")
}

// Functions returns a runtime with its own processes of the run's functions. These processes use the DynamoDB at the
// endpoint, and allow no page of another site, as a deployment does by default. The runtime is closed when the test
// ends.
func (r *Run) Functions(tb testing.TB, endpoint string) *runtimeapi.Runtime {
	tb.Helper()
	template, err := localrun.LoadTemplate(r.Root(), endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range template.Functions {
		delete(f.Environment, "ALLOWED_ORIGINS")
	}
	runtime := localrun.NewRuntime(localrun.BinDir(r.Root()), template,
		func(function, line string) { tb.Log(function, line) })
	tb.Cleanup(func() { _ = runtime.Close() })
	return runtime
}

// Serve starts an HTTP API and returns its URL. The API invokes the functions that Functions returns for the endpoint.
// It ends with the test.
func (r *Run) Serve(tb testing.TB, endpoint string) string {
	tb.Helper()
	template, err := localrun.LoadTemplate(r.Root(), endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	api, err := localrun.NewGateway(template, r.Functions(tb, endpoint), time.Now, nil)
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(api)
	tb.Cleanup(server.Close)
	return server.URL
}
