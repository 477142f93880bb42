package memdynamo

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/go-json-experiment/json"
)

// Dials say how an Endpoint differs from a DynamoDB that responds at once and never fails. Zero values change nothing.
type Dials struct {
	// Seed determines the faults: the same seed repeats them, if calls of the same kind arrive in the same order.
	Seed uint64
	// Rates are the shares of faults.
	Rates Rates
	// Burst is how many calls in a row a drawn Throttle refuses; 0 means 1.
	Burst int
	// Fault, if set, decides which fault hits a call, before the rates do. It returns "" for none. n is the number of
	// calls of this operation so far, beginning with 1.
	Fault func(operation string, n int) Fault
	// Delay is the longest wait that a fault causes.
	Delay time.Duration
	// Hold is how long a transaction takes. Meanwhile, other transactions with its items, and other writes of them, are
	// refused.
	Hold time.Duration
	// WriteUnits and ReadUnits are the units per second of one partition key value; 0 means unlimited. Unused units of
	// up to Reserve seconds are saved. An item costs one unit, whatever its size, and two in a transaction. A Query is
	// free.
	WriteUnits, ReadUnits, Reserve float64
	// Watch, if set, is called when a call arrives, and when it was applied. The call continues when Watch returns, so
	// a test can end a process there.
	Watch func(operation string, stage Stage)
	// Latency is how long after its arrival a call gets its response, at least.
	Latency time.Duration
	// Sealed writes succeed without being stored, so that every request finds the same items.
	Sealed bool
	// Metered calls are recorded with what AWS bills for them, see Endpoint.Take.
	Metered bool
}

// Stage is how far a call has come.
type Stage int

// The stages of a call that can be watched.
const (
	Arrived Stage = iota // but not applied yet
	Applied              // but the response is not sent yet
)

// Endpoint is a way to reach a Store over DynamoDB's JSON protocol. It is an http.Handler, and the HTTPClient of an SDK
// client without a network. Several endpoints of a Store may have different dials. It is safe for concurrent use.
type Endpoint struct {
	*Store

	dials   Dials
	exposed bool
	late    sync.WaitGroup

	counting  sync.Mutex // guards the fields below
	rates     Rates
	calls     map[string]int    // by operation
	seen      map[string]uint64 // calls of each kind
	throttled int               // calls that the current burst still throttles
	injected  map[Fault]int
	bills     []Call
	buckets   map[bucketKey]*bucket
}

// Endpoint returns a way to reach the store. An endpoint whose dials let nothing go wrong also sees every transaction
// as a whole, and never conflicts with one.
func (s *Store) Endpoint(dials Dials) *Endpoint {
	return &Endpoint{
		Store: s, dials: dials, exposed: dials.Rates != nil || dials.Fault != nil || dials.Hold > 0,
		rates: maps.Clone(dials.Rates), calls: make(map[string]int), seen: make(map[string]uint64),
		injected: make(map[Fault]int), buckets: make(map[bucketKey]*bucket),
	}
}

// SetRates replaces the rates. With nil, no more faults are drawn.
func (e *Endpoint) SetRates(rates Rates) {
	e.counting.Lock()
	defer e.counting.Unlock()
	e.rates, e.throttled = maps.Clone(rates), 0
}

// Injected returns how often each fault hit a call.
func (e *Endpoint) Injected() map[Fault]int {
	e.counting.Lock()
	defer e.counting.Unlock()
	return maps.Clone(e.injected)
}

// Calls returns how many calls arrived, by operation.
func (e *Endpoint) Calls() map[string]int {
	e.counting.Lock()
	defer e.counting.Unlock()
	return maps.Clone(e.calls)
}

// Take returns the metered calls since the last Take.
func (e *Endpoint) Take() []Call {
	e.counting.Lock()
	defer e.counting.Unlock()
	bills := e.bills
	e.bills = []Call{}
	return bills
}

// Settle waits until all late calls are applied.
func (e *Endpoint) Settle() { e.late.Wait() }

// ServeHTTP handles one call.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	response, err := e.respond(r, body) //nolint:bodyclose // it has no connection
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	if _, err := io.Copy(w, response.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// Do handles a call without a network. It returns early if the request's context ends, but the call continues.
func (e *Endpoint) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	type end struct {
		response *http.Response
		err      error
	}
	ended := make(chan end, 1)
	go func() {
		response, err := e.respond(r, body) //nolint:bodyclose // the caller of Do closes it
		ended <- end{response, err}
	}()
	select {
	case end := <-ended:
		return end.response, end.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// respond handles a call. It returns errCut if the connection is cut.
func (e *Endpoint) respond(r *http.Request, body []byte) (*http.Response, error) {
	due := time.Now().Add(e.dials.Latency)
	out, cut, err := e.handle(r.Header.Get("X-Amz-Target"), body)
	if err == errCut { //nolint:errorlint // run returns it unwrapped
		return nil, err
	}
	code, value := http.StatusOK, out
	if err != nil {
		code, value = status(err), failure(err)
	}
	text, err := json.Marshal(value, wire)
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Until(due))
	return response(r, code, text, cut), nil
}

// handle handles a call. The target is the protocol's version and the operation, with a dot between them. A call that
// uses anything that is not simulated fails with an error that says so, and that the SDK does not retry.
func (e *Endpoint) handle(target string, body []byte) (out any, cut bool, err error) {
	defer func() {
		if unknown := recover(); unknown != nil {
			err = invalid(fmt.Sprint("memdynamo: ", unknown))
		}
	}()
	_, name, _ := strings.Cut(target, ".")
	o, err := e.parse(name, body)
	if err != nil {
		return nil, false, err
	}
	o.name = name
	return e.run(o)
}

// failure returns an error as DynamoDB sends it.
func failure(err error) map[string]any {
	named, _ := errors.AsType[smithy.APIError](err)
	value := map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#" + named.ErrorCode(), "message": named.ErrorMessage(),
	}
	if failed, is := errors.AsType[*types.ConditionalCheckFailedException](err); is && failed.Item != nil {
		value["Item"] = failed.Item
	}
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		value["CancellationReasons"] = canceled.CancellationReasons
	}
	return value
}

func response(r *http.Request, code int, text []byte, cut bool) *http.Response {
	body := io.Reader(bytes.NewReader(text))
	if cut {
		body = io.MultiReader(bytes.NewReader(text[:len(text)/2]), broken{})
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"}, "Content-Length": {strconv.Itoa(len(text))},
			"X-Amzn-Requestid": {"memdynamo"}, // every response of DynamoDB has one
			"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 10)},
		},
		ContentLength: int64(len(text)), Body: io.NopCloser(body),
	}
}

// broken is the rest of a response that is cut.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (e *Endpoint) parse(name string, body []byte) (operation, error) {
	switch name {
	case "GetItem":
		return decode(e, body, e.getItem)
	case "BatchGetItem":
		return decode(e, body, e.batchGetItem)
	case "TransactGetItems":
		return decode(e, body, e.transactGetItems)
	case "Query":
		return decode(e, body, e.query)
	case "Scan":
		return decode(e, body, e.scan)
	case "PutItem":
		return decode(e, body, e.putItem)
	case "UpdateItem":
		return decode(e, body, e.updateItem)
	case "DeleteItem":
		return decode(e, body, e.deleteItem)
	case "TransactWriteItems":
		return decode(e, body, e.transactWriteItems)
	case "CreateTable":
		return decode(e, body, simple(name, e.createTable))
	case "UpdateTable":
		return decode(e, body, simple(name, e.updateTable))
	case "DescribeTable":
		return decode(e, body, simple(name, e.describeTable))
	case "DeleteTable":
		return decode(e, body, simple(name, e.deleteTable))
	case "ListTables":
		return decode(e, body, simple(name, e.listTables))
	case "UpdateTimeToLive":
		return decode(e, body, simple(name, e.updateTimeToLive))
	case "DescribeTimeToLive":
		return decode(e, body, simple(name, e.describeTimeToLive))
	case "DescribeStream":
		return decode(e, body, simple(name, e.describeStream))
	case "GetShardIterator":
		return decode(e, body, simple(name, e.getShardIterator))
	case "GetRecords":
		return decode(e, body, simple(name, e.getRecords))
	}
	panic("the operation " + name + " is not simulated")
}

func decode[In any](e *Endpoint, body []byte, parse func(*In) operation) (operation, error) {
	in := new(In)
	if err := json.Unmarshal(body, in, wire); err != nil {
		return operation{}, refusal("SerializationException", err.Error())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return parse(in), nil
}

// simple returns the parser of an operation that has one moment.
func simple[In any](name string, f func(*In) (any, error)) func(*In) operation {
	return func(in *In) operation {
		return operation{name: name, apply: func(a *attempt) (out any, err error) {
			err = a.at(func() error {
				out, err = f(in)
				return err
			})
			return out, err
		}}
	}
}

// attempt counts a call, draws its faults, and charges its units.
func (e *Endpoint) attempt(o operation) (a *attempt, fault Fault, err error) {
	a = &attempt{
		exposed: e.exposed, sealed: e.dials.Sealed, holds: e.dials.Hold > 0,
		bill: bill{metered: e.dials.Metered},
	}
	e.counting.Lock()
	defer e.counting.Unlock()
	e.calls[o.name]++
	if !e.exposed && e.dials.WriteUnits == 0 && e.dials.ReadUnits == 0 {
		return a, "", nil
	}
	kind := o.kind()
	e.seen[kind]++
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kind))                                           // never fails, says hash.Hash
	a.random = rand.New(rand.NewPCG(e.dials.Seed^hash.Sum64(), e.seen[kind])) //nolint:gosec // must be repeatable, not secret
	a.rates = e.rates
	fault, decided := e.decided(o)
	switch {
	case decided && slices.Contains(Faults()[:arriving], fault):
		a.rates = nil
	case decided:
		a.rates, fault = Rates{fault: 1}, ""
	case e.throttled > 0:
		e.throttled--
		fault = Throttle
	default:
		if fault = a.draw(o); fault == Throttle {
			e.throttled = max(e.dials.Burst, 1) - 1
		}
	}
	if fault != "" {
		e.injected[fault]++
	} else if over := e.charge(o); len(over) > 0 {
		e.injected[OverThroughput]++
		err = refusal("ThrottlingException", overCapacity)
		if o.isTransaction() {
			err = canceled(len(o.keys), over)
		}
	}
	return a, fault, err
}

func (e *Endpoint) decided(o operation) (fault Fault, decided bool) {
	if e.dials.Fault == nil {
		return "", false
	}
	fault = e.dials.Fault(o.name, e.calls[o.name])
	return fault, fault != ""
}

// kind returns the operation and the first item's sort key up to its second #. The rest of the key may be random.
func (o operation) kind() string {
	if len(o.keys) == 0 {
		return o.name
	}
	parts := strings.SplitN(o.keys[0].Sort, "#", 3)
	return o.name + " " + strings.Join(parts[:min(len(parts), 2)], "#")
}

func (o operation) isTransaction() bool { return o.exclusive || o.name == "TransactWriteItems" }

// run makes one attempt of an operation. A call that arrived is applied even if its client does not wait for it. cut
// says whether only a part of the response is sent.
func (e *Endpoint) run(o operation) (out any, cut bool, err error) {
	e.watch(o, Arrived)
	a, fault, err := e.attempt(o)
	if err != nil {
		return nil, false, err
	}
	var delay time.Duration
	if a.random != nil {
		delay = time.Duration(a.random.Float64() * float64(e.dials.Delay))
	}
	if fault == SlowRequest {
		time.Sleep(delay)
	}
	if fault == CutResponse {
		fault, cut = "", true
	}
	applied := e.moments(a, o, fault, delay)
	began := time.Now()
	out, err = o.apply(a)
	if *applied {
		e.end(a, o, began, delay)
	}
	e.record(a, o, fault, err)
	if fault == SlowResponse {
		time.Sleep(delay)
	}
	return out, cut, err
}

// moments sets the moments of an attempt, of which the first one may meet a fault. It returns whether the call has been
// applied.
func (e *Endpoint) moments(a *attempt, o operation, fault Fault, delay time.Duration) *bool {
	applied := new(bool)
	later := func(f func() string) {
		e.late.Go(func() {
			time.Sleep(delay)
			began := time.Now()
			e.mu.Lock()
			f()
			e.mu.Unlock()
			e.end(a, o, began, delay)
		})
	}
	a.later = func(_ string, f func() string) { a.ends = append(a.ends, f) }
	arrived := false
	a.at = func(f func() error) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if arrived {
			return f()
		}
		arrived = true
		_, err := e.meet(a, o, fault, func() error {
			err := f()
			if fault != LateRequest { // which ends after the caller has gone
				*applied = !isConflict(err)
			}
			return err
		}, later)
		return err
	}
	return applied
}

// end makes a transaction visible to all, after the time that it takes.
func (e *Endpoint) end(a *attempt, o operation, began time.Time, delay time.Duration) {
	e.watch(o, Applied)
	if len(a.ends) == 0 {
		return
	}
	if !slices.Contains(a.met, Halves) {
		delay = 0
	}
	time.Sleep(time.Until(began.Add(max(e.dials.Hold, delay))))
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, end := range a.ends {
		end()
	}
}

func (e *Endpoint) watch(o operation, stage Stage) {
	if e.dials.Watch != nil {
		e.dials.Watch(o.name, stage)
	}
}

// record counts the faults that an attempt met, and records what it costs.
func (e *Endpoint) record(a *attempt, o operation, fault Fault, err error) {
	e.counting.Lock()
	defer e.counting.Unlock()
	for _, fault := range a.met {
		e.injected[fault]++
	}
	_, failed := errors.AsType[*types.ConditionalCheckFailedException](err)
	_, canceled := errors.AsType[*types.TransactionCanceledException](err)
	if isConflict(err) && fault != Conflict {
		e.injected[HeldItem]++
	}
	if a.metered && (err == nil || failed || canceled) {
		e.bills = append(e.bills, Call{o.name, a.units, o.tables, a.grown})
	}
}

// bucketKey identifies the read or the write capacity of a partition key value.
type bucketKey struct {
	table, partition string
	write            bool
}

type bucket struct {
	units float64
	at    time.Time
}

// charge takes a call's units, or returns the indexes of the items that are over the limit.
func (e *Endpoint) charge(o operation) (over map[int]bool) {
	rate := e.dials.ReadUnits
	if o.write {
		rate = e.dials.WriteUnits
	}
	if rate == 0 {
		return nil
	}
	units := 1.0
	if o.isTransaction() {
		units = 2
	}
	over = make(map[int]bool)
	charged := make(map[*bucket]float64)
	for i, key := range o.keys {
		b := e.bucket(bucketKey{key.Table, key.Partition, o.write}, rate)
		if b.units-charged[b] < units {
			over[i] = true
			continue
		}
		charged[b] += units
	}
	if len(over) > 0 {
		return over
	}
	for b, units := range charged {
		b.units -= units
	}
	return nil
}

// bucket refills a bucket for the time since its last use, and returns it. A bucket holds at most one second's units
// and the reserve.
func (e *Endpoint) bucket(key bucketKey, rate float64) *bucket {
	now, most := time.Now(), rate*(1+e.dials.Reserve)
	b := e.buckets[key]
	if b == nil {
		b = &bucket{units: most, at: now}
		e.buckets[key] = b
	}
	b.units = min(b.units+rate*now.Sub(b.at).Seconds(), most)
	b.at = now
	return b
}
