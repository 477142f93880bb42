//go:build browser

package browser_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// request is a request that the tab has sent over HTTP.
type request struct {
	Method string
	URL    string
	Type   network.ResourceType
	Header http.Header
	Body   string
	Status int  // 0: no response has come
	Cached bool // the response came from the browser's cache

	id network.RequestID
}

func (r *request) String() string { return fmt.Sprintf("%s %s %d", r.Method, r.URL, r.Status) }

// always is the number of requests for a fault that lasts until the test ends it.
const always = 1 << 30

// fault affects the next requests that match its pattern.
type fault struct {
	pattern *regexp.Regexp // of the method, a space, and the URL
	kind    int
	left    int           // how many more requests it affects
	ended   chan struct{} // closed when the fault ends
}

// The kinds of faults.
const (
	loses = iota
	cuts
	holds
)

// lose loses the responses to the next n requests that match: the service handles the requests, and the page gets a
// network error. The pattern is a regular expression such as `POST .*/voucher$`, for the method, a space, and the URL.
// The result is a function that ends the fault.
func (b *tab) lose(pattern string, n int) (end func()) {
	b.t.Helper()
	return b.inject(pattern, loses, n)
}

// cut makes the next n requests that match fail before they are sent.
func (b *tab) cut(pattern string, n int) {
	b.t.Helper()
	b.inject(pattern, cuts, n)
}

// hold delays each matching request before it is sent. The delay ends when the test calls the returned function.
func (b *tab) hold(pattern string) (end func()) {
	b.t.Helper()
	return b.inject(pattern, holds, always)
}

func (b *tab) inject(pattern string, kind, n int) (end func()) {
	b.t.Helper()
	f := &fault{regexp.MustCompile(pattern), kind, n, make(chan struct{})}
	b.mu.Lock()
	b.faults = append(b.faults, f)
	b.mu.Unlock()
	b.intercept()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if i := slices.Index(b.faults, f); i >= 0 {
			b.faults = slices.Delete(b.faults, i, i+1)
			close(f.ended)
		}
	}
}

// intercept pauses requests to other hosts. It pauses requests to this machine only while there are faults, because
// each pause takes time.
func (b *tab) intercept() {
	b.t.Helper()
	patterns := []*fetch.RequestPattern{{URLPattern: "https://*"}}
	b.mu.Lock()
	if len(b.faults) > 0 {
		patterns = append(patterns, &fetch.RequestPattern{URLPattern: "http://*"},
			&fetch.RequestPattern{URLPattern: "http://*", RequestStage: fetch.RequestStageResponse})
	}
	b.mu.Unlock()
	call(b, fetch.Enable, fetch.EnableParams{Patterns: patterns})
}

// requests returns the requests that match a pattern, in the order in which they were sent. For patterns, see the
// method lose.
func (b *tab) requests(pattern string) []request {
	b.t.Helper()
	matches := regexp.MustCompile(pattern)
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []request
	for _, r := range b.sent {
		if matches.MatchString(r.Method + " " + r.URL) {
			found = append(found, *r)
		}
	}
	return found
}

// waitRequest waits until the page has sent at least n requests that match.
func (b *tab) waitRequest(pattern string, n int) {
	b.t.Helper()
	b.poll(fmt.Sprintf("the page has sent %d requests %s", n, pattern),
		func() bool { return len(b.requests(pattern)) >= n })
}

// expect allows complaints that contain the text, and fails the test if no such complaint comes.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

func (b *tab) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
}

// observe handles the browser's events one after the other. It must not wait for a command, because the command may
// itself wait for a later event.
func (b *tab) observe(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.noteRequest(e)
	case *network.EventResponseReceived:
		b.noteResponse(e)
	case *fetch.EventRequestPaused:
		go b.decide(e)
	case *log.EventEntryAdded:
		b.noteEntry(e.Entry)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			text += " " + thrown.Description + string(thrown.Value)
		}
		b.complain("exception: %s", text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning ||
			e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words strings.Builder
			for _, value := range e.Args {
				words.WriteString(" " + value.Description + string(value.Value))
			}
			b.complain("console.%s:%s", e.Type, &words)
		}
	case *page.EventJavascriptDialogOpening:
		b.complain("%s: %s", e.Type, e.Message)
		go func() {
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	}
}

func (b *tab) noteRequest(e *network.EventRequestWillBeSent) {
	if !strings.HasPrefix(e.Request.URL, "http") {
		return
	}
	r := &request{
		Method: e.Request.Method, URL: e.Request.URL, Type: e.Type, Header: make(http.Header),
		id: e.RequestID,
	}
	for name, value := range e.Request.Headers {
		r.Header.Set(name, fmt.Sprint(value))
	}
	for _, part := range e.Request.PostDataEntries {
		r.Body += string(part.Bytes)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, r)
}

func (b *tab) noteResponse(e *network.EventResponseReceived) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.sent {
		if r.id == e.RequestID {
			r.Status = int(e.Response.Status)
			r.Cached = e.Response.FromDiskCache
		}
	}
}

// noteEntry records errors and warnings that the browser logs. It leaves out failed requests for documents, because the
// test checks their status, and failed requests of the page's script, because the script handles them.
func (b *tab) noteEntry(entry *log.Entry) {
	if entry.Level != log.EntryLevelError && entry.Level != log.EntryLevelWarning {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if entry.Source == log.EntrySourceNetwork {
		for _, r := range b.sent {
			if r.id == entry.NetworkRequestID &&
				slices.Contains([]network.ResourceType{
					network.ResourceTypeFetch, network.ResourceTypeXHR,
					network.ResourceTypeDocument,
				}, r.Type) {
				return
			}
		}
	}
	b.complaints = append(b.complaints, fmt.Sprintf("%s: %s %s", entry.Source, entry.Text, entry.URL))
}

// decide handles a request or response that is paused. If a fault affects it, decide applies the fault. A request to
// another host gets a placeholder as its response. Everything else continues.
func (b *tab) decide(e *fetch.EventRequestPaused) {
	isAnswered := e.ResponseStatusCode != 0 || e.ResponseErrorReason != ""
	f := b.faultFor(e, isAnswered)
	switch {
	case f != nil && f.kind == loses:
		b.fail(e, network.ErrorReasonConnectionReset)
		return
	case f != nil && f.kind == cuts:
		b.fail(e, network.ErrorReasonInternetDisconnected)
		return
	case f != nil:
		select {
		case <-f.ended:
		case <-b.ctx.Done():
		}
	}
	if isAnswered || strings.HasPrefix(e.Request.URL, "http://127.0.0.1:") {
		// the page may be gone
		_, _ = chromedp.Call(b.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
		return
	}
	b.answerForOtherHost(e)
}

func (b *tab) fail(e *fetch.EventRequestPaused, reason network.ErrorReason) {
	// the page may be gone
	_, _ = chromedp.Call(b.ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: reason})
}

// faultFor returns the fault that hits a request or its response, and counts the hit.
func (b *tab) faultFor(e *fetch.EventRequestPaused, isAnswered bool) *fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		if f.left > 0 && (f.kind == loses) == isAnswered && f.pattern.MatchString(e.Request.Method+" "+e.Request.URL) {
			f.left--
			return f
		}
	}
	return nil
}

// answerForOtherHost responds in place of another host.
func (b *tab) answerForOtherHost(e *fetch.EventRequestPaused) {
	answer := fetch.FulfillRequestParams{RequestID: e.RequestID, ResponseCode: http.StatusOK}
	switch e.ResourceType {
	case network.ResourceTypeImage:
		answer.ResponseHeaders = []*fetch.HeaderEntry{{Name: "Content-Type", Value: "image/svg+xml"}}
		answer.Body = []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"><rect width="400" ` +
			`height="300" fill="#888"/></svg>`)
	case network.ResourceTypeDocument:
		answer.ResponseHeaders = []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"}}
		answer.Body = []byte(`<!DOCTYPE html><html lang="en"><title>Another host</title><link rel="icon" ` +
			`href="data:,"><h1>Another host</h1></html>`)
	default:
		b.complain("request to another host: %s %s", e.Request.Method, e.Request.URL)
		b.fail(e, network.ErrorReasonBlockedByClient)
		return
	}
	_, _ = chromedp.Call(b.ctx, fetch.FulfillRequest, answer) // the page may be gone
}
