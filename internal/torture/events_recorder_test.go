package torture_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/lambdahttp/eventfunction"
)

// parks is the kind of call that parks a change whose events could not be recorded.
const parks = "UpdateItem parked"

// recordingCalls returns the kinds of calls that the function makes to record events. For each kind, the function must
// crash at least once before a call, and at least once after a call was applied.
func recordingCalls() []string {
	return []string{
		"BatchGetItem items", "Query last page", "Query pages", "PutItem event", "UpdateItem page",
		"TransactWriteItems page",
	}
}

// retryingCalls returns the kinds of calls that the function makes to park changes and to retry them. For each of these
// kinds, too, the function must crash at least once before a call, and at least once after a call was applied.
func retryingCalls() []string {
	return []string{"Query parked", "BatchGetItem items", "PutItem parked", "DeleteItem parked", parks}
}

// recorderCall returns the kind of a call.
func recorderCall(header http.Header, body []byte) string {
	_, operation, _ := strings.Cut(header.Get("X-Amz-Target"), ".")
	has := func(part string) bool { return bytes.Contains(body, []byte(part)) }
	switch {
	case operation == "BatchGetItem":
		return operation + " items"
	case has(`"#parked`):
		return operation + " parked"
	case has("ScanIndexForward"):
		return operation + " last page"
	case operation == "Query":
		return operation + " pages"
	case has(`"e#`):
		return operation + " event"
	default:
		return operation + " page"
	}
}

// recorderFate is what happens to an invocation at its nth call of a kind.
type recorderFate struct {
	call  string // if empty, calls of any kind count
	nth   int    // from 1; if 0, nothing happens
	after bool   // a crash comes after the call was applied
	stall bool   // the process is taken for dead, but keeps working; if false, it crashes
}

var errCrashed = errors.New("the process has crashed")

// invocation is one invocation of the function.
type invocation struct {
	fate recorderFate
	kill context.CancelFunc
	// reached is closed when the process has crashed or stalled. A stalled process continues when release is closed.
	reached, release chan struct{}

	mu    sync.Mutex
	calls map[string]int
	dead  bool
}

type invocationKey struct{}

// isDue counts a call. It reports whether the fate comes at this call, and whether the process has crashed already.
func (i *invocation) isDue(call string) (due, dead bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls[call]++
	i.calls[""]++
	return i.fate.nth > 0 && (i.fate.call == call || i.fate.call == "") && i.calls[i.fate.call] == i.fate.nth, i.dead
}

func (i *invocation) crash() (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.dead {
		i.dead = true
		close(i.reached)
		i.kill()
	}
	return nil, errCrashed
}

func (i *invocation) hasCrashed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.dead
}

// line is the connection of a process to the store.
type line struct {
	dynamodb.HTTPClient

	round *eventRound
}

func (l line) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	i, is := request.Context().Value(invocationKey{}).(*invocation)
	if !is {
		return l.HTTPClient.Do(request)
	}
	call := recorderCall(request.Header, body)
	due, dead := i.isDue(call)
	switch {
	case dead:
		return nil, errCrashed
	case due && i.fate.stall:
		close(i.reached)
		select {
		case <-i.release:
		case <-request.Context().Done():
		}
	case due && !i.fate.after:
		l.round.tally.crashed(call, "before")
		return i.crash()
	}
	if refused, is := l.round.refuse(request.Context(), call, body); is {
		return refused, request.Context().Err()
	}
	response, err := l.HTTPClient.Do(request)
	if due && !i.fate.stall && err == nil {
		l.round.tally.crashed(call, "after")
		_ = response.Body.Close()
		return i.crash()
	}
	return response, err
}

// trouble is a shop whose log refuses every call, or does not respond.
type trouble struct {
	shop   catalog.ShopID
	stalls bool
}

// refuse responds in place of the store if the call is for the log of the shop that has trouble. It reports whether
// it responds.
func (r *eventRound) refuse(ctx context.Context, call string, body []byte) (*http.Response, bool) {
	has := func(part string) bool { return bytes.Contains(body, []byte(`"`+part)) }
	t := r.trouble.Load()
	if t == nil || strings.HasSuffix(call, " parked") || !has(r.events+`"`) || !has(string(t.shop)+`"`) &&
		!has(string(t.shop)+"#") {
		return nil, false
	}
	if t.stalls {
		<-ctx.Done()
		return nil, true
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"X-Amzn-Requestid": {"4KBNRPFH35UQNJ6C"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazon.coral.service#AccessDeniedException",` +
			`"message":"the test denies access"}`)),
	}, true
}

// eventTally counts what happened, by kind.
type eventTally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *eventTally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what] += n
}

func (t *eventTally) of(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

func (t *eventTally) crashed(call, when string) {
	t.add("crash", 1)
	t.add(crashed(call, when), 1)
}

func crashed(call, when string) string { return "crash " + when + " " + call }

// uncrashed lists the kinds of calls at which no crash happened.
func (t *eventTally) uncrashed() (missing []string) {
	for _, call := range append(recordingCalls(), retryingCalls()...) {
		for _, when := range []string{"before", "after"} {
			if t.of(crashed(call, when)) == 0 {
				missing = append(missing, when+" "+call)
			}
		}
	}
	return missing
}

// crash draws a crash at one of the calls. Every second time, on average, it picks the call with the fewest crashes so
// far.
func (t *eventTally) crash(random *mathrand.Rand, calls []string) recorderFate {
	fate := recorderFate{call: pickEvent(random, calls), nth: 1 + random.IntN(3), after: random.IntN(2) == 0}
	if random.IntN(2) == 0 {
		when := map[bool]string{false: "before", true: "after"}[fate.after]
		fate.call = slices.MinFunc(calls,
			func(a, b string) int { return cmp.Compare(t.of(crashed(a, when)), t.of(crashed(b, when))) })
		fate.nth = 1
	}
	return fate
}

// process is a process of the function that records events.
type process struct{ eventfunction.Function }

// newProcess starts a process. Some processes reach the store with faults.
func (r *eventRound) newProcess(random *mathrand.Rand) process {
	endpoint := r.endpoint
	if random.IntN(3) == 0 {
		endpoint = r.faulty
	}
	client := eventStore(endpoint, func(through dynamodb.HTTPClient) dynamodb.HTTPClient { return line{through, r} })
	source := dynamo.NewEventSource(client, r.tables, mathrand.Int64N)
	return process{eventfunction.Function{
		Source: source, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Recorder: event.Recorder{
			Log: r.log(client), Parking: dynamo.NewEventParking(client, r.events, source, time.Now),
			Now: time.Now,
		},
	}}
}

func (r *eventRound) log(client *dynamodb.Client) *dynamo.EventLog {
	const retention = 90 * 24 * time.Hour
	return dynamo.NewEventLog(client, r.events, retention, time.Now, mathrand.Int64N, rand.Reader)
}

// begin invokes the function with records. When the function has ended, the channel delivers how many records are done.
func (p process) begin(ctx context.Context, fate recorderFate, records []json.RawMessage) (*invocation, <-chan int) {
	i := &invocation{
		fate: fate, reached: make(chan struct{}), release: make(chan struct{}),
		calls: make(map[string]int),
	}
	ctx, i.kill = context.WithCancel(context.WithValue(ctx, invocationKey{}, i))
	ended := make(chan int, 1)
	go func() {
		defer i.kill()
		response, err := p.Handle(ctx, eventfunction.Batch{Records: records})
		done := len(records)
		for _, failure := range response.BatchItemFailures {
			done = min(done, slices.IndexFunc(records,
				func(record json.RawMessage) bool { return decodeRecord(record).sequence == failure.ItemIdentifier }))
		}
		if err != nil || i.hasCrashed() {
			done = 0
		}
		ended <- max(done, 0)
	}()
	return i, ended
}

// streamRecord has the parts of a record that a consumer needs.
type streamRecord struct{ sequence, key, sort string }

func decodeRecord(text json.RawMessage) streamRecord {
	var record struct {
		DynamoDB struct {
			SequenceNumber string
			Keys           struct{ Customer, SK struct{ S string } }
		} `json:"dynamodb"`
	}
	if err := json.Unmarshal(text, &record); err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	keys := record.DynamoDB.Keys
	return streamRecord{record.DynamoDB.SequenceNumber, keys.Customer.S + "/" + keys.SK.S, keys.SK.S}
}

// eventShard is a part of a table's stream, with its consumer's position.
type eventShard struct {
	held sync.RWMutex // while locked, the shard's records are held back

	mu       sync.Mutex
	records  []json.RawMessage
	position int // of the first record that is not done
	ended    bool
}

// shardOf returns the shard of a record.
func shardOf(record json.RawMessage, shards []*eventShard) *eventShard {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(decodeRecord(record).key)) // never fails, says hash.Hash
	return shards[int(hash.Sum32()%uint32(len(shards)))]
}

func (s *eventShard) add(record json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, record)
}

// next returns at most limit records, and the position of the first. more is false if no records will follow.
func (s *eventShard) next(limit int) (batch []json.RawMessage, at int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := min(s.position+limit, len(s.records))
	return s.records[s.position:end], s.position, !s.ended || end > s.position
}

// done moves the position past processed records, unless the stream was restarted meanwhile.
func (s *eventShard) done(at, records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.position == at {
		s.position += records
	}
}

// end records that no more records follow.
func (s *eventShard) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// restart makes the consumer begin with the oldest record again.
func (s *eventShard) restart() (records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	records, s.position = s.position, 0
	return records
}

// unread returns the records that are not done.
func (s *eventShard) unread() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[s.position:]
}

const largestBatch = 100

// consumer invokes the function with a shard's records.
type consumer struct {
	*eventRound

	shard   *eventShard
	random  *mathrand.Rand
	process process
	stalled *invocation // taken for dead
}

// consume delivers records until it is stopped or all records are done. The size of each batch is random, so a batch
// that is delivered again mostly ends at another record.
func (c *consumer) consume(stop *atomic.Bool) {
	c.process = c.newProcess(c.random)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	defer c.workOn(nil)
	for !stop.Load() {
		batch, at, more := c.shard.next(1 + c.random.IntN(pickEvent(c.random, []int{10, largestBatch})))
		if !more {
			return
		}
		if len(batch) == 0 {
			<-ticker.C
			continue
		}
		c.pause.RLock()
		c.shard.held.RLock()
		done := c.deliver(batch)
		c.shard.done(at, done)
		c.shard.held.RUnlock()
		c.pause.RUnlock()
		if done < len(batch) {
			c.tally.add("again", len(batch)-done)
		}
	}
}

// deliver invokes the function with a batch, and returns how many of its records are done.
func (c *consumer) deliver(batch []json.RawMessage) (done int) {
	calls := recordingCalls()
	if c.trouble.Load() != nil {
		calls = append(calls, parks, parks, parks)
	}
	fate, isLost := recorderFate{}, false
	switch lot := c.random.IntN(100); {
	case lot < 45:
		fate = c.tally.crash(c.random, calls)
	case lot < 60:
		fate = recorderFate{nth: 1 + c.random.IntN(8), stall: true}
	case lot < 67:
		isLost = true
	}
	i, ended := c.process.begin(c.Context(), fate, batch)
	select {
	case done = <-ended:
	case <-i.reached:
		if fate.stall {
			c.process = c.newProcess(c.random)
			c.tally.add("overlap", 1)
			c.working.Go(func() { <-ended })
			c.workOn(i)
			return 0
		}
		done = <-ended
	}
	if i.hasCrashed() {
		c.process = c.newProcess(c.random)
	}
	if c.random.IntN(2) == 0 {
		c.workOn(nil)
	}
	if isLost { // the response is lost
		return 0
	}
	return done
}

// workOn lets the stalled invocation continue, if there is one. Then it remembers the given one, which may be nil, as
// stalled.
func (c *consumer) workOn(stalled *invocation) {
	if c.stalled != nil {
		close(c.stalled.release)
	}
	c.stalled = stalled
}

// schedule retries the parked changes until it is stopped.
func (r *eventRound) schedule(stop *atomic.Bool, random *mathrand.Rand) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for !stop.Load() {
		<-ticker.C
		fate := recorderFate{}
		switch random.IntN(8) {
		case 0:
		case 1, 2: // another process works before this one deletes the parked change
			fate = recorderFate{call: "DeleteItem parked", nth: 1 + random.IntN(3), stall: true}
		default:
			fate = r.tally.crash(random, retryingCalls())
		}
		i, ended := r.newProcess(random).begin(r.Context(), fate, nil)
		select {
		case <-ended:
			continue
		case <-i.reached:
		}
		if fate.stall {
			<-ticker.C
			<-ticker.C
			close(i.release)
		}
		<-ended
	}
}
