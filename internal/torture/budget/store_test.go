package budget_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a test waits at most. The machine may have only two cores, and both may be busy.
const patience = 3 * time.Minute

// store is a DynamoDB that misbehaves on demand. Otherwise it forwards to the real store.
type store struct {
	behind  http.Handler
	address string
	ended   chan struct{} // closed at the end of the test

	// chooses the response to a call; if nil, the real store responds
	draw     atomic.Pointer[func(body []byte) answerer]
	hijacked atomic.Int64 // connections that misbehave at this moment

	mu     sync.Mutex
	server *http.Server
	open   map[net.Conn]bool
}

// answerer responds to a request on its connection, in any way. The connection is closed afterwards.
type answerer func(exchange exchange)

// exchange is a request to a store that misbehaves.
type exchange struct {
	store *store
	net.Conn
	request *http.Request // with its body read
	body    []byte
}

func newStore(t *testing.T, behind http.Handler) *store {
	t.Helper()
	s := &store{behind: behind, address: "127.0.0.1:0", ended: make(chan struct{}), open: make(map[net.Conn]bool)}
	s.listen(t)
	t.Cleanup(func() {
		close(s.ended)
		s.refuse(t)
	})
	return s
}

func (s *store) url() string { return "http://" + s.address }

// listen accepts connections. After refuse it listens at the same address again.
func (s *store) listen(t *testing.T) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.address)
	// A client may have taken the port in the meantime.
	for begun := time.Now(); err != nil && time.Since(begun) < patience; time.Sleep(10 * time.Millisecond) {
		listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.address)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = listener.Addr().String()
	s.server = &http.Server{
		Handler: http.HandlerFunc(s.serve), ConnState: s.note, ReadHeaderTimeout: patience,
		ErrorLog: log.New(io.Discard, "", 0), // tests cut off connections
	}
	go func(server *http.Server) { _ = server.Serve(listener) }(s.server)
}

// refuse closes all connections and accepts no new ones.
func (s *store) refuse(t *testing.T) {
	t.Helper()
	if err := s.server.Close(); err != nil {
		t.Error(err)
	}
}

func (s *store) note(connection net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew, http.StateActive, http.StateIdle:
		s.open[connection] = true
	case http.StateHijacked, http.StateClosed:
		delete(s.open, connection)
	}
}

// connections counts the open connections.
func (s *store) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) + int(s.hijacked.Load())
}

// hangUp closes the connections that are idle.
func (s *store) hangUp() {
	s.server.SetKeepAlivesEnabled(false)
	s.server.SetKeepAlivesEnabled(true)
}

// misbehave makes the store misbehave in the given way at every call; nil makes it healthy again.
func (s *store) misbehave(how answerer) {
	s.misbehaveAt(func([]byte) answerer { return how })
}

// misbehaveAt makes the store respond to each call with the answerer that draw returns for the call's body.
func (s *store) misbehaveAt(draw func(body []byte) answerer) { s.draw.Store(&draw) }

func (s *store) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	draw := s.draw.Load()
	if draw == nil {
		s.behind.ServeHTTP(w, r)
		return
	}
	how := (*draw)(body)
	if how == nil {
		s.behind.ServeHTTP(w, r)
		return
	}
	s.hijacked.Add(1)
	defer s.hijacked.Add(-1)
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	how(exchange{store: s, Conn: connection, request: r, body: body})
}

// operation returns the operation of the request, such as GetItem.
func (e exchange) operation() string {
	_, operation, _ := strings.Cut(e.request.Header.Get("X-Amz-Target"), ".")
	return operation
}

// right forwards the request to the real store and returns the bytes of the response. The response tells the client
// that the connection closes.
func (e exchange) right() []byte {
	recorder := httptest.NewRecorder()
	again := e.request.Clone(context.WithoutCancel(e.request.Context()))
	again.Body = io.NopCloser(bytes.NewReader(e.body))
	e.store.behind.ServeHTTP(recorder, again)
	return page(recorder.Code, recorder.Header().Get("Content-Type"), recorder.Body.Bytes())
}

// pass sends the real store's response.
func (e exchange) pass() { e.send(e.right()) }

// page returns a whole response with a body, and with the request ID that DynamoDB sends.
func page(status int, contentType string, body []byte) []byte {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nX-Amzn-Requestid: 4KBNVRGD25RG1KEO9UT4V3FQ\r\nContent-Type: "+
		"%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		status, http.StatusText(status), contentType, len(body))
	return append([]byte(head), body...)
}

// send writes to a client that may have gone away.
func (e exchange) send(text []byte) { _, _ = e.Write(text) }

// drip sends bytes one by one until the client goes away.
func (e exchange) drip(text []byte, pause time.Duration) {
	for _, b := range text {
		if _, err := e.Write([]byte{b}); err != nil || !e.wait(pause) {
			return
		}
	}
}

// flood sends the text repeatedly until the client goes away.
func (e exchange) flood(text string) {
	chunk := bytes.Repeat([]byte(text), 1+(1<<20)/len(text))
	for {
		if _, err := e.Write(chunk); err != nil || !e.wait(0) {
			return
		}
	}
}

// wait pauses, and reports whether the test is still running afterwards.
func (e exchange) wait(pause time.Duration) bool {
	select {
	case <-e.store.ended:
		return false
	case <-time.After(pause):
		return true
	}
}

// silence sends nothing, and returns when the client goes away.
func (e exchange) silence() {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = e.Read(make([]byte, 1)) // returns when the client closes the connection
	}()
	select {
	case <-gone:
	case <-e.store.ended:
		_ = e.Close()
		<-gone
	}
}

// reset resets the connection instead of closing it.
func (e exchange) reset() {
	if connection, is := e.Conn.(*net.TCPConn); is {
		_ = connection.SetLinger(0)
	}
}
