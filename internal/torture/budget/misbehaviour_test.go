package budget_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"shopfront/internal/memdynamo"
)

// misbehaviour is one way in which a store misbehaves at every call.
type misbehaviour struct {
	name string
	// answer writes the response. If it is nil, the real store responds.
	answer answerer
	// rates are the rates of the faults that hit calls to the real store. delay is the longest delay of slow and late
	// responses.
	rates memdynamo.Rates
	delay time.Duration
	// refusing makes the store refuse every connection.
	refusing bool
	// spares reports whether a request may get a healthy store's response. If it is nil, no request may.
	spares func(request string) bool
}

func everyRequest(string) bool { return true }

func only(requests ...string) func(string) bool {
	return func(request string) bool { return slices.Contains(requests, request) }
}

func allBut(requests ...string) func(string) bool {
	return func(request string) bool { return !slices.Contains(requests, request) }
}

// selected returns every third misbehaviour or, with -all, all of them.
func selected(ways []misbehaviour) []misbehaviour {
	if *all {
		return ways
	}
	var third []misbehaviour
	for i := 0; i < len(ways); i += 3 {
		third = append(third, ways[i])
	}
	return third
}

// drawn returns the faults of package memdynamo, each hitting every call that it can hit.
func drawn() []misbehaviour {
	always := func(fault memdynamo.Fault, spares func(string) bool) misbehaviour {
		return misbehaviour{
			name: string(fault), rates: memdynamo.Rates{fault: 1}, delay: 8 * time.Second,
			spares: spares,
		}
	}
	reads := only(check, area, seePage, readCheckout, listOrders, showOrder, listRedemptions, listEvents)
	return []misbehaviour{
		always(memdynamo.Conflict, reads),
		always(memdynamo.Throttle, nil),
		always(memdynamo.ServerError, nil),
		always(memdynamo.LostRequest, nil),
		always(memdynamo.LateRequest, reads),
		always(memdynamo.LostResponse, nil),
		always(memdynamo.CutResponse, nil),
		always(memdynamo.SlowRequest, everyRequest), // some calls are not slow enough to fail
		always(memdynamo.SlowResponse, everyRequest),
		always(memdynamo.Unprocessed, // the requests that are not listed here read no batches
			allBut(check, checkOut, checkOutWithKey, checkOutOlder, checkOutHeld, cancelHeld, undo,
				listEvents)),
		always(memdynamo.ShortPage, everyRequest), // the next pages are read, too
	}
}

// endless returns misbehaviours whose response never comes or never ends.
func endless() []misbehaviour {
	return []misbehaviour{
		{name: "it refuses connections", refusing: true},
		{name: "it is silent", answer: exchange.silence},
		{name: "it responds byte by byte", answer: func(e exchange) { e.drip(e.right(), 20*time.Millisecond) }},
		{name: "it sends the body byte by byte", answer: func(e exchange) {
			head, body, _ := strings.Cut(string(e.right()), "\r\n\r\n")
			e.send([]byte(head + "\r\n\r\n"))
			if e.wait(700 * time.Millisecond) { // the shortest body, {}, takes longer than an attempt
				e.drip([]byte(body), 700*time.Millisecond)
			}
		}},
		{name: "it stops within the response", answer: func(e exchange) {
			answer := e.right()
			e.send(answer[:len(answer)-1])
			e.silence()
		}},
		{name: "it sends more than it says", answer: func(e exchange) {
			e.send(append([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"), e.right()...))
		}},
		{name: "it promises more than it sends", answer: func(e exchange) {
			e.send([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n{"))
			e.silence()
		}},
		{name: "its response is endless", answer: func(e exchange) {
			e.send([]byte("HTTP/1.1 200 OK\r\nX-Amzn-Requestid: 4KBNVRGD25RG1KEO9UT4V3FQ\r\nConnection: close\r\n\r\n" +
				`{"Item":{"sk":{"S":"`))
			e.flood("gems")
		}},
		{name: "its error is endless", answer: func(e exchange) {
			e.send([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" + `{"message":"`))
			e.flood("busy ")
		}},
		{name: "its header is endless", answer: func(e exchange) {
			e.send([]byte("HTTP/1.1 200 OK\r\n"))
			e.flood("X-Amz-Server: gems\r\n")
		}},
		{name: "it sends 100 Continue forever", answer: func(e exchange) { e.flood("HTTP/1.1 100 Continue\r\n\r\n") }},
		{name: "it redirects to itself forever", answer: func(e exchange) {
			e.send([]byte("HTTP/1.1 307 Temporary Redirect\r\nLocation: " + e.store.url() +
				"/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		}},
		{
			name:   "its pages are empty and endless",
			answer: emptyPages,
			spares: allBut(area, seePage),
		},
	}
}

// emptyPages responds to a Query of a table with an endless series of empty pages. DynamoDB may send empty pages, but
// not endlessly. A query of an index gets its real pages, because a later call must not continue it from a table's key.
func emptyPages(e exchange) {
	var query struct {
		IndexName                 string
		ExpressionAttributeValues map[string]json.RawMessage
	}
	if err := json.Unmarshal(e.body, &query); err != nil || e.operation() != "Query" || query.IndexName != "" {
		e.pass()
		return
	}
	e.send(page(http.StatusOK, "application/x-amz-json-1.0", fmt.Appendf(nil,
		`{"Items":[],"Count":0,"LastEvaluatedKey":{"customer":%s,"sk":{"S":"product#gems"}}}`,
		query.ExpressionAttributeValues[":customer"])))
}

// nonsense returns misbehaviours whose response comes at once but is not one of DynamoDB's.
func nonsense() []misbehaviour {
	const amzJSON, html = "application/x-amz-json-1.0", "text/html"
	says := func(name string, text []byte) misbehaviour {
		return misbehaviour{name: name, answer: func(e exchange) { e.send(text) }}
	}
	status := func(status int, contentType, body string) misbehaviour {
		return says(fmt.Sprintf("%d with %.24q", status, body), page(status, contentType, []byte(body)))
	}
	bytes := make([]byte, 4096)
	_, _ = rand.NewChaCha8([32]byte{'b', 'u', 'd', 'g', 'e', 't'}).Read(bytes) // never fails
	const depth = 1 << 20
	return []misbehaviour{
		says("it hangs up", nil),
		{name: "it resets the connection", answer: exchange.reset},
		says("random bytes", bytes),
		says("a TLS alert", []byte("\x15\x03\x03\x00\x02\x02\x46")),
		says("a page of HTTP/0.9", []byte("<html>busy</html>")),
		says("another protocol", []byte("SSH-2.0-OpenSSH_9.6\r\n")),
		says("a broken chunk", []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")),
		says("two lengths", []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}")),
		says("a wrong checksum", []byte("HTTP/1.1 200 OK\r\nX-Amzn-Requestid: "+
			"4KBNVRGD25RG1KEO9UT4V3FQ\r\nX-Amz-Crc32: 7\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")),
		says("no body and no length", []byte("HTTP/1.1 200 OK\r\nX-Amzn-Requestid: "+
			"4KBNVRGD25RG1KEO9UT4V3FQ\r\nConnection: close\r\n\r\n")),
		status(http.StatusOK, amzJSON, ""),
		status(http.StatusOK, html, "<html>welcome</html>"),
		status(http.StatusOK, amzJSON, `{"Item":{"sk":{"S":"GEMS`),
		says("another server's object", []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")),
		status(http.StatusOK, amzJSON,
			`{"Item":7,"Attributes":7,"Responses":7,"Items":7,"ItemCollectionMetrics":7}`+"{"),
		status(http.StatusOK, amzJSON, `[`),
		status(http.StatusOK, amzJSON, `"welcome`),
		says("200 nested deeply", page(http.StatusOK, amzJSON, []byte(strings.Repeat(`{"Item":{"sk":{"M":`, depth)))),
		says("200 with deep lists", page(http.StatusOK, amzJSON, []byte(`{"Item":`+strings.Repeat("[", depth)))),
		status(http.StatusNoContent, amzJSON, ""),
		status(http.StatusFound, html, ""),
		status(http.StatusNotModified, html, ""),
		status(http.StatusBadRequest, amzJSON, ""),
		status(http.StatusBadRequest, amzJSON, "{}"),
		status(http.StatusForbidden, html, "<html>sign in</html>"),
		status(http.StatusForbidden, html, ""),
		status(http.StatusNotFound, html, "<html>not found</html>"),
		status(http.StatusNotFound, html, ""),
		status(http.StatusProxyAuthRequired, html, ""),
		status(http.StatusRequestTimeout, html, ""),
		status(http.StatusTooManyRequests, html, ""),
		status(http.StatusBadGateway, html, "<html>bad gateway</html>"),
		status(http.StatusGatewayTimeout, html, ""),
		status(http.StatusInsufficientStorage, html, ""),
	}
}

// mixed makes the store misbehave at about every second call, in a random way.
func mixed(seed uint64, from []misbehaviour) misbehaviour {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	draw := func() int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(2 * len(from))
	}
	return misbehaviour{
		name: fmt.Sprint("mixed with seed ", seed), spares: everyRequest, delay: 4 * time.Second,
		rates: memdynamo.Rates{
			memdynamo.Conflict: 0.1, memdynamo.Throttle: 0.05, memdynamo.ServerError: 0.05,
			memdynamo.SlowRequest:  0.05,
			memdynamo.SlowResponse: 0.05, memdynamo.Unprocessed: 0.3, memdynamo.ShortPage: 0.3,
		},
		answer: func(e exchange) {
			if at := draw(); at < len(from) && from[at].answer != nil {
				from[at].answer(e)
				return
			}
			e.pass()
		},
	}
}
