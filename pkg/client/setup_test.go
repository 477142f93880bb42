package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

// step responds to one request.
type step func(s *service, w http.ResponseWriter, r *http.Request)

// service responds to the first request with its first step, and so on. The last step responds to all further requests.
// The service's client connects in memory, because a bubble of testing/synctest cannot wait for a socket. In a bubble,
// only waiting takes time.
type service struct {
	steps []step
	http  *http.Client // connects to the service

	mu       sync.Mutex
	requests []request
	made     map[string]bool // the Idempotency-Keys that keeps has responded to
}

// request is a request that the service received.
type request struct {
	method, uri string
	header      http.Header
	body        string
	at          time.Time
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client closed the connection
	}
	s.mu.Lock()
	next := s.steps[min(len(s.requests), len(s.steps)-1)]
	s.requests = append(s.requests, request{r.Method, r.RequestURI, r.Header, string(body), time.Now()})
	s.mu.Unlock()
	next(s, w, r)
}

// serve starts a service with steps and returns it with a client for the shop emberforge.
func serve(t *testing.T, steps ...step) (*service, *client.Client) {
	t.Helper()
	pipes := &pipeListener{connections: make(chan net.Conn), closed: make(chan struct{})}
	transport := &http.Transport{DialContext: pipes.dial}
	s := &service{steps: steps, http: &http.Client{Transport: transport}, made: map[string]bool{}}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(pipes) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return s, newClient(t, "http://shop.example/base", client.WithHTTPClient(s.http))
}

// serveTill is like serve, but the client has the key of the shop's server.
func serveTill(t *testing.T, steps ...step) (*service, *client.Client) {
	t.Helper()
	s, _ := serve(t, steps...)
	return s, newClient(t, "http://shop.example/base", client.WithHTTPClient(s.http), client.WithServerKey(serverKey))
}

// inBubble runs a subtest in a bubble of testing/synctest.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// collect returns the pages of a list and the error that ends it.
func collect[P any](t *testing.T, list iter.Seq2[P, error]) (pages []P, failure error) {
	t.Helper()
	for page, err := range list {
		if failure != nil || len(pages) > 100 {
			t.Fatalf("the list does not end after %d pages and the error %v", len(pages), failure)
		}
		if failure = err; err == nil {
			pages = append(pages, page)
		}
	}
	return pages, failure
}

// wantPages fails the test unless a list has n pages. If ok is true, the list must end without an error, otherwise with
// a *ResponseError.
func wantPages[P any](t *testing.T, list iter.Seq2[P, error], n int, ok bool) {
	t.Helper()
	pages, failure := collect(t, list)
	if _, is := errors.AsType[*client.ResponseError](failure); len(pages) != n || is == ok || (failure == nil) != ok {
		t.Errorf("%d pages, %v; want %d, and no error: %t", len(pages), failure, n, ok)
	}
}

func newClient(t *testing.T, baseURL string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(baseURL, "emberforge", options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// seen returns the requests that the service has received.
func (s *service) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// keys returns the Idempotency-Keys of the requests that the service has received.
func (s *service) keys() []string {
	var keys []string
	for _, r := range s.seen() {
		keys = append(keys, r.header.Get("Idempotency-Key"))
	}
	return keys
}

// pipeListener accepts connections without a socket.
type pipeListener struct {
	connections chan net.Conn
	closing     sync.Once
	closed      chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

func (*pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	theirs, ours := net.Pipe()
	select {
	case l.connections <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answers responds with a JSON body and with headers, in pairs of name and value.
func answers(status int, body string, header ...string) step {
	return func(_ *service, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", "LdwzhT-lWeWxbXk=")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// problem responds with a problem of the service.
func problem(name string, status int, header ...string) step {
	body := fmt.Sprintf(`{"type":"urn:problem:shopfront:%s","title":"A title","status":%d,"detail":"About Alder."}`,
		name, status)
	return answers(status, body, append([]string{"Content-Type", "application/problem+json"}, header...)...)
}

// message responds with an error of the gateway.
func message(status int) step {
	return answers(status, fmt.Sprintf(`{"message":%q}`, http.StatusText(status)), "Request-Id", "", "Apigw-Requestid",
		"evD1rncej6jAXAQ=")
}

// page responds with an HTML page, like a proxy.
func page(status int) step {
	return answers(status, "<html>Bad gateway</html>", "Content-Type", "text/html")
}

// silent accepts a request and does not respond.
func silent(_ *service, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// appliesLate hangs up at once, and runs the step five seconds later.
func appliesLate(then step) step {
	return func(s *service, w http.ResponseWriter, r *http.Request) {
		time.AfterFunc(5*time.Second, func() { then(s, httptest.NewRecorder(), r) })
		hangsUp(s, w, r)
	}
}

// hangsUp accepts a request and closes the connection.
func hangsUp(*service, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// loses runs the step but hangs up instead of responding.
func loses(then step) step {
	return func(s *service, _ http.ResponseWriter, r *http.Request) {
		then(s, httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// cutsShort announces a longer response than it sends.
func cutsShort(then step) step {
	return func(s *service, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10000")
		then(s, w, r)
		_ = http.NewResponseController(w).Flush() // sends the header
		panic(http.ErrAbortHandler)
	}
}

// trickles sends one byte a second.
func trickles(then step) step {
	return func(s *service, w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		then(s, whole, r)
		maps.Copy(w.Header(), whole.Header())
		for _, b := range whole.Body.Bytes() {
			_, _ = w.Write([]byte{b})
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		}
	}
}

const (
	redemptionJSON = `{"id":"S90E4paHECWJc7i6kG6dOA","status":"redeemed","code":"WELCOME-COINS","nick":"Alder",` +
		`"redeemedAt":"2026-11-21T09:11:23.737Z","reward":{"kind":"product","product":"coins","variant":"500",` +
		`"amount":2},"since":"2027"}`
	checkoutJSON = `{"id":"ySBDAj4aT84YTR_U3sQzxwfPkI5GrohS55kPQs7VRFUw","number":"HCAXP-3GGED",` +
		`"status":"open",` + soldJSON + `"expiresAt":"2026-11-21T09:41:23.839Z"}`
	orderJSON = `{"id":"ySBDAj4aT84YTR_U3sQzxwfPkI5GrohS55kPQs7VRFUw","number":"HCAXP-3GGED",` +
		`"status":"placed",` + soldJSON + `"payment":{"provider":"stripe","reference":"pi_3Q0001"},` +
		`"orderedAt":"2026-11-21T09:12:04.118Z","since":"2027"}`
	// soldJSON has what a checkout and its order share.
	soldJSON = `"product":"vip-rank","variant":"30-days","amount":1,"data":{"player":"Alder"},` +
		`"unitPrice":{"minor":799,"currency":"EUR","display":"7.99 EUR"},` +
		`"subtotal":{"minor":799,"currency":"EUR","display":"7.99 EUR"},` +
		`"discount":{"minor":0,"currency":"EUR","display":"0.00 EUR"},` +
		`"total":{"minor":799,"currency":"EUR","display":"7.99 EUR"},"createdAt":"2026-11-21T09:11:23.839Z",`
)

// redeems redeems once for each key, and sends the same response again when a key is repeated.
func redeems(s *service, w http.ResponseWriter, r *http.Request) { keeps(redemptionJSON)(s, w, r) }

// keeps responds with a body, and marks the response as a replay when a key is repeated. Requests without a key count
// as having the same key.
func keeps(body string) step {
	return func(s *service, w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		replayed := ""
		if s.made[key] {
			replayed = "true"
		}
		s.made[key] = true
		answers(http.StatusOK, body, "Idempotency-Replayed", replayed)(s, w, r)
	}
}
