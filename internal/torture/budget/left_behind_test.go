package budget_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

//nolint:gochecknoglobals // flags
var (
	sent  = flag.Int("requests", 1500, "how many requests to check for leaks")
	table = flag.String("table", "", "the `file` with the table to add to")
)

// replay gives each call the response that the database gave to the first one of its kind, so the database is not
// the bottleneck.
type replay struct {
	behind http.Handler

	mu    sync.Mutex
	known map[string]*httptest.ResponseRecorder
}

func (p *replay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	kind, err := kindOf(r.Header.Get("X-Amz-Target"), body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	answer := p.known[kind]
	if answer == nil {
		answer = httptest.NewRecorder()
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.behind.ServeHTTP(answer, r)
		p.known[kind] = answer
	}
	p.mu.Unlock()
	for _, name := range []string{"Content-Type", "X-Amz-Crc32", "X-Amzn-Requestid"} {
		w.Header().Set(name, answer.Header().Get(name))
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client may have gone away
}

// kindOf returns a name for what a call does. The name leaves out the number at the end of the code in the call's first
// key.
func kindOf(operation string, body []byte) (string, error) {
	type target struct {
		TableName string
		Key       struct{ SK struct{ S string } }
	}
	var call struct {
		target
		ExclusiveStartKey any
		TransactItems     []struct{ Update, Get target }
		RequestItems      map[string]struct {
			Keys []struct{ SK struct{ S string } }
		}
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return "", err
	}
	at, keys := call.target, 1
	if len(call.TransactItems) > 0 {
		at, keys = call.TransactItems[0].Update, len(call.TransactItems)
		if at == (target{}) {
			at = call.TransactItems[0].Get
		}
	}
	for table, asked := range call.RequestItems {
		at, keys = target{TableName: table, Key: asked.Keys[0]}, len(asked.Keys)
	}
	code, rest, _ := strings.Cut(at.Key.SK.S, "#")
	infix, _, _ := strings.Cut(rest, "#")
	return fmt.Sprint(operation, at.TableName, keys, strings.TrimRight(code, "0123456789"), infix,
		call.ExclusiveStartKey != nil), nil
}

// crowd sends requests of many kinds to functions in this process.
type crowd struct {
	api      http.Handler
	shop     catalog.ShopID
	server   string // the key of the shop's server
	next     atomic.Int64
	statuses [600]atomic.Int64 // requests by status
	redeemed atomic.Int64      // redemptions with status 200
}

// crowdSize is the number of requests in flight. It is far below the 64 idle connections that a function's client
// keeps. A crowd above that number would open and close connections all the time, which a function with one request at
// a time does not do.
const crowdSize = 16

// send sends requests until the crowd has sent the given number of requests in total.
func (c *crowd) send(tb testing.TB, total int) {
	tb.Helper()
	var sending sync.WaitGroup
	for range crowdSize {
		sending.Go(func() {
			for {
				number := int(c.next.Add(1))
				if number > total {
					c.next.Add(-1)
					return
				}
				r := c.request(number)
				answer := r.Send(tb.Context(), c.api, c.shop)
				c.statuses[answer.Code].Add(1)
				if answer.Code == http.StatusOK && r.redeems() {
					c.redeemed.Add(1)
				}
				if answer.Code == http.StatusServiceUnavailable {
					r.wantTryAgain(tb, fmt.Sprint("request ", number), answer)
				} else if !slices.Contains(r.statuses, answer.Code) {
					tb.Errorf("request %d: %d %.300s; want one of %d", number, answer.Code, answer.Body, r.statuses)
				}
			}
		})
	}
	sending.Wait()
}

// The crowd appends a number to each of these codes. The responses to the first requests with each code are stored and
// replayed.
const (
	single = "GEMS"
	many   = "RANK"
	spent  = "SPENT"
	mute   = "MUTE" // the store never responds to calls for this code
)

func kept() map[string]voucher.Limit {
	return map[string]voucher.Limit{single + "11": 1, many + "13": 100, many + "14": 100, spent + "15": 2}
}

func (c *crowd) request(number int) request {
	kinds := requests(c.shop, c.server)
	redeem := func(code string, of int) request {
		r := kinds[map[bool]string{true: redeemUsedUp, false: redeemWithKey}[code == spent]]
		r.Body = testshop.Redemption(fmt.Sprint(code, 11+(number+of-11)%of), "Alder").Body
		return r
	}
	if number%1000 == 0 {
		return redeem(mute, 1)
	}
	const remembered = 12 // codes with many uses; the first requests are about all of them
	switch number % 11 {
	case 0, 1:
		return redeem(single, *sent)
	case 2, 3:
		return redeem(many, remembered)
	case 4:
		return redeem(spent, remembered)
	case 5:
		checking := kinds[check] // its responses contain the code
		checking.Body = testshop.Redemption(many+"14", "Alder").Body
		return checking
	case 6:
		return kinds[[]string{area, seePage}[number/11%2]]
	case 7:
		return kinds[checkOutOlder]
	case 8:
		return kinds[[]string{checkOut, checkOutWithKey, checkOutHeld}[number/11%3]]
	case 9:
		return kinds[[]string{placeOrder, payTwice, fulfilOrder, cancelOrder, placeHeld, cancelHeld, undo}[number/11%7]]
	default:
		return kinds[[]string{readCheckout, listOrders, showOrder, listRedemptions}[number/11%4]]
	}
}

// held lists what this process holds: the stacks of its goroutines by goroutine ID, which is never reused, and its open
// files and connections by descriptor and name.
type held struct {
	goroutines, descriptors map[string]string
}

// holds returns what this process holds now.
func holds(tb testing.TB) held {
	tb.Helper()
	now := held{goroutines: make(map[string]string), descriptors: make(map[string]string)}
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		number, _, _ := strings.Cut(stack, " [")
		now.goroutines[number] = stack
	}
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		tb.Fatal(err)
	}
	for _, descriptor := range open {
		name := filepath.Join("/dev/fd", descriptor.Name())
		what, err := os.Readlink(name)
		if errors.Is(err, os.ErrNotExist) { // the descriptor of the directory itself, which is closed by now
			continue
		}
		now.descriptors[name+" "+what] = name
	}
	return now
}

// since returns what is held now and was not held before.
func (now held) since(before held) (goroutines, descriptors []string) {
	for number, stack := range now.goroutines {
		if before.goroutines[number] == "" {
			goroutines = append(goroutines, stack)
		}
	}
	for descriptor := range now.descriptors {
		if before.descriptors[descriptor] == "" {
			descriptors = append(descriptors, descriptor)
		}
	}
	return goroutines, descriptors
}

// wantNothingHeld fails the test if, with no request in flight, the process holds something that it did not hold
// before. The store closes idle connections first, because clients may keep them. A connection that a client does not
// release remains.
func wantNothingHeld(tb testing.TB, s *store, before held) {
	tb.Helper()
	var goroutines, descriptors []string
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(50 * time.Millisecond) {
		s.hangUp()
		goroutines, descriptors = holds(tb).since(before)
		if s.connections()+len(goroutines)+len(descriptors) == 0 {
			return
		}
	}
	tb.Errorf("%d connections, %d goroutines and %d descriptors are left behind: %v", s.connections(), len(goroutines),
		len(descriptors), descriptors)
	for _, stack := range goroutines[:min(len(goroutines), 5)] {
		tb.Log(stack)
	}
}

// heap counts the reachable objects on the heap, and their bytes.
type heap struct{ objects, bytes int64 }

// live measures the heap without garbage.
func live() heap {
	for range 3 { // emptying a pool takes two collections
		runtime.GC()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return heap{int64(memory.HeapObjects), int64(memory.HeapAlloc)}
}

// faults returns the faults that hit a share of the calls.
func faults() map[string]struct {
	share float64
	how   answerer
} {
	type fault = struct {
		share float64
		how   answerer
	}
	says := func(text []byte) answerer { return func(e exchange) { e.send(text) } }
	refusal := func(status int, name string) answerer {
		return says(page(status, "application/x-amz-json-1.0",
			[]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#`+name+`"}`)))
	}
	return map[string]fault{
		"silent":            {0.001, exchange.silence},
		"byte by byte":      {0.001, func(e exchange) { e.drip(e.right(), 20*time.Millisecond) }},
		"endless":           {0.0005, func(e exchange) { e.send([]byte("HTTP/1.1 200 OK\r\n\r\n")); e.flood("gems") }},
		"cut before":        {0.005, exchange.reset},
		"cut after":         {0.005, func(e exchange) { e.right() }},
		"cut in the middle": {0.005, func(e exchange) { answer := e.right(); e.send(answer[:len(answer)-1]) }},
		"wrong length": {0.005, func(e exchange) {
			e.send(append([]byte("HTTP/1.1 200 OK\r\nContent-Length: "+
				"1\r\n\r\n"), e.right()...))
		}},
		"nonsense":     {0.005, says([]byte("\x15\x03\x03\x00\x02\x02\x46"))},
		"server error": {0.005, refusal(http.StatusInternalServerError, "InternalServerError")},
		"throttle":     {0.005, refusal(http.StatusBadRequest, "ThrottlingException")},
		"conflict":     {0.005, refusal(http.StatusBadRequest, "TransactionConflictException")},
	}
}

// wantLittleMore fails the test if the requests left more than one object for every ten requests on the heap, or more
// than 100 bytes for each request. For few requests the bounds are higher, because the heap also grows by chance.
func (now heap) wantLittleMore(tb testing.TB, before heap, requests int) {
	tb.Helper()
	const objectsByChance, bytesByChance = 500, 384 << 10
	most := heap{max(int64(requests)/10, objectsByChance), max(int64(requests)*100, bytesByChance)}
	more := heap{now.objects - before.objects, now.bytes - before.bytes}
	tb.Logf("%d requests left %d objects and %d bytes; the heap has %d objects and %d bytes", requests, more.objects,
		more.bytes, now.objects, now.bytes)
	if more.objects > most.objects || more.bytes > most.bytes {
		tb.Errorf("%d requests left %d objects and %d bytes; want at most %d and %d", requests, more.objects,
			more.bytes, most.objects, most.bytes)
	}
}

// violations counts a test's failures.
type violations struct {
	testing.TB

	found atomic.Int64
}

// Error and Errorf implement testing.TB.
func (v *violations) Error(args ...any) {
	v.Helper()
	v.found.Add(1)
	v.TB.Error(args...)
}

func (v *violations) Errorf(format string, args ...any) {
	v.Helper()
	v.found.Add(1)
	v.TB.Errorf(format, args...)
}

// A function does not accumulate goroutines, connections or memory, however many requests it serves and whatever faults
// hit them.
//
// In the end there must be no goroutine or connection that did not exist before the first request, so even a single
// leak by the rarest fault is found. The heap must hardly grow after the first tenth of the requests. A leak in every
// request exceeds that bound; with very many requests, so does a leak in every tenth request.
func TestRequests_MisbehavingStore_LeaveNothingBehind(t *testing.T) {
	f := lay(t)
	s := f.open(t, misbehaviour{})
	create(t, f.calm.BackOffice(t, s.shop), kept())
	template := loadTemplate(t, s.store)
	s.serve(t, template, newFunctions(t, template, s.store.url()))
	s.requests[redeemUsedUp] = request{Request: testshop.Redemption("SPENT15", "Alder")}
	s.begin(t) // uses up the code
	s.store.behind = &replay{behind: s.memory, known: make(map[string]*httptest.ResponseRecorder)}
	s.serve(t, template, newFunctions(t, template, s.store.url())) // new functions, which have no codes in memory
	c := &crowd{api: s.api, shop: s.shop, server: s.server}
	// store the response to each kind of call; in the second pass, the functions know which codes have many uses
	for range 2 {
		for number := 11; number < 11+12*11; number++ {
			c.request(number).Send(t.Context(), s.api, s.shop)
		}
	}

	s.store.hangUp()
	before := holds(t)
	injected := s.misbehaveAtTimes()
	wrong := &violations{TB: t}
	c.send(wrong, *sent/10)
	wantNothingHeld(wrong, s.store, before)
	first := live()
	c.send(wrong, *sent)
	wantNothingHeld(wrong, s.store, before)
	live().wantLittleMore(wrong, first, *sent-*sent/10)
	for _, err := range s.failed {
		wrong.Error(err)
	}
	c.tell(t, injected, int(wrong.found.Load()))
}

// tell logs how often each fault hit a call, and the outcomes of the requests. Several faults may have hit one request.
func (c *crowd) tell(t *testing.T, injected func(fault string) int, violations int) {
	t.Helper()
	row := torture.Row{
		Fault:       fmt.Sprintf("any of %d faults, summed; %d requests", len(faults()), *sent),
		Redemptions: int(c.redeemed.Load()), Refusals: int(c.statuses[http.StatusNotFound].Load()),
		Unknown: int(c.statuses[http.StatusServiceUnavailable].Load()), Violations: violations,
	}
	for status := range c.statuses {
		if n := c.statuses[status].Load(); n > 0 {
			t.Logf("status %d: %d requests", status, n)
		}
	}
	if row.Redemptions < *sent/4 {
		t.Errorf("only %d redemptions of %d requests: the store fails too often for this test to say anything",
			row.Redemptions, *sent)
	}
	for name, fault := range faults() {
		t.Logf("%s: %d calls", name, injected(name))
		row.Injected += injected(name)
		if injected(name) == 0 && fault.share*float64(*sent) >= 10 {
			t.Errorf("the fault %q hit no call", name)
		}
	}
	torture.Tell(t, *table, []torture.Row{row})
}

// misbehaveAtTimes makes each fault hit its share of the calls, and counts the hits.
func (s *shop) misbehaveAtTimes() (injected func(fault string) int) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(*seed, 0))
	counts := make(map[string]int)
	known := faults()
	s.store.misbehaveAt(func(body []byte) answerer {
		if bytes.Contains(body, []byte(`"`+mute)) {
			return exchange.silence
		}
		mu.Lock()
		defer mu.Unlock()
		lot := random.Float64()
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if lot -= known[name].share; lot < 0 {
				counts[name]++
				return known[name].how
			}
		}
		return nil
	})
	return func(fault string) int {
		mu.Lock()
		defer mu.Unlock()
		return counts[fault]
	}
}
