// Package faultproxy is a reverse proxy that makes DynamoDB Local hostile: it adds the limits and errors of the real service, and the
// faults of networks. Only tests import it. It must not import any package of this module.
//
// Two rules of the service apply to all calls if the settings turn them on:
//
//   - A transaction excludes other transactions and other writes of its items. While a transaction writes items, the proxy refuses other
//     writes of these items, and transactions that read them. While a single write of an item is in flight, the proxy refuses transactions
//     with that item
//     (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling).
//     It also refuses a second transaction with the same client token.
//   - A partition key value has a limited number of units a second, with a reserve for bursts
//     (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html).
//
// In addition, faults hit a share of the calls. The draw depends on the seed, the operation, the kind of item, and the number of earlier
// calls of this kind. So the same seed repeats the faults of each kind of call. But if clients race, a fault may hit another client each
// time.
package faultproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Settings says what the proxy does. If only Target is set, the proxy just forwards.
type Settings struct {
	// Target is the URL of DynamoDB Local.
	Target string
	// Seed determines the faults: the same seed repeats them.
	Seed uint64
	// Rates holds a share from 0 to 1 for each fault: the fault hits this share of the calls that it can hit. At most one fault hits a call.
	Rates map[Fault]float64
	// Burst is how many calls in a row a Throttle refuses; 0 means 1.
	Burst int
	// Delay is the longest wait that a fault causes.
	Delay time.Duration
	// Hold is how long a transaction takes. Meanwhile, other writes of its items are refused. With 0, transactions do not conflict.
	Hold time.Duration
	// WriteUnits and ReadUnits are the units per second of one partition key value; 0 means unlimited. Unused units of up to
	// Reserve seconds are saved.
	WriteUnits, ReadUnits, Reserve float64
	// Watch, if set, is called when a call arrives, and when DynamoDB Local has applied it. The call continues when Watch returns, so
	// a test can end a process there.
	Watch func(operation string, stage Stage)
}

// Stage is how far a call has come.
type Stage int

// The stages of a call that can be watched.
const (
	Arrived Stage = iota // but not applied yet
	Applied              // but the response is not sent yet
)

// Proxy is a hostile DynamoDB. Start returns a running one.
type Proxy struct {
	schedule

	settings Settings
	rules    rules
	url      string
	server   *http.Server
	upstream *http.Client
	late     sync.WaitGroup
}

// Start starts a proxy on a free port of this machine. The caller must call Close.
func Start(settings Settings) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		settings: settings,
		schedule: schedule{
			seed: settings.Seed, burst: max(settings.Burst, 1), rates: maps.Clone(settings.Rates),
			calls: make(map[string]int), seen: make(map[string]uint64), injected: make(map[Fault]int),
		},
		rules: rules{
			settings: settings, transactions: make(map[itemKey]int), writes: make(map[itemKey]int), tokens: make(map[string]bool),
			before: make(map[itemKey]answer), buckets: make(map[partition]*bucket),
		},
		url:      "http://" + listener.Addr().String(),
		upstream: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}},
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }() // until Close
	return p, nil
}

// URL returns the endpoint for clients.
func (p *Proxy) URL() string { return p.url }

// Settle waits until all late calls are applied.
func (p *Proxy) Settle() { p.late.Wait() }

// Close cuts the connections of calls in flight, and waits for the late calls.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.late.Wait()
	p.upstream.CloseIdleConnections()
	return err
}

// ServeHTTP forwards a call, unless a fault or a rule prevents it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut()
	}
	c, err := readCall(r.Header, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.countCall(c.operation)
	p.watch(c.operation, Arrived)
	fault, random := p.draw(c)
	// A call that arrived is applied even if its client does not wait for it.
	a := p.suffer(context.WithoutCancel(r.Context()), w, c, fault, random)
	a.send(w, len(a.body))
}

func (p *Proxy) watch(operation string, stage Stage) {
	if p.settings.Watch != nil {
		p.settings.Watch(operation, stage)
	}
}

// suffer applies the call as far as the fault allows. It returns the response, or cuts the connection.
func (p *Proxy) suffer(ctx context.Context, w http.ResponseWriter, c *call, fault Fault, random *rand.Rand) answer {
	delay := time.Duration(random.Float64() * float64(p.settings.Delay))
	switch fault {
	case Conflict:
		return p.conflict(ctx, c, c.anyPlace(random))
	case Halves:
		c.apart = max(delay, time.Nanosecond)
	case Throttle:
		return c.throttle(random)
	case ServerError:
		if random.IntN(2) == 0 {
			p.apply(ctx, c)
		}
		return serverError(random)
	case SlowRequest:
		time.Sleep(delay)
	case LateRequest:
		p.late.Go(func() {
			time.Sleep(delay)
			p.apply(ctx, c)
		})
		cut()
	case SlowAnswer:
		defer time.Sleep(delay)
	case LostRequest:
		cut()
	case LostAnswer:
		p.apply(ctx, c)
		cut()
	case CutAnswer:
		a := p.apply(ctx, c)
		a.send(w, len(a.body)/2)
		cut()
	case Unprocessed:
		return p.leaveUnprocessed(ctx, c, random)
	case ShortPage:
		c.body = withMember(c.body, "Limit", 1+random.IntN(3))
	case HeldItem, OverThroughput: // never drawn
	}
	return p.apply(ctx, c)
}

// apply forwards the call if the rules allow it, and returns the response.
func (p *Proxy) apply(ctx context.Context, c *call) answer {
	began := time.Now()
	release, rejected := p.rules.admit(c)
	if rejected != nil {
		p.countFault(rejected.rule)
		if len(rejected.held) > 0 {
			return p.conflict(ctx, c, rejected.held)
		}
		return rejected.answer
	}
	defer release()
	if c.apart > 0 {
		before, err := p.read(ctx, c, c.writes[0])
		if err != nil {
			return broken(err)
		}
		p.rules.hide(c.writes[0], before)
		defer p.rules.show(c.writes[0])
	}
	a, err := p.forward(ctx, c.header, c.body)
	if err != nil {
		return broken(err)
	}
	if c.apart > 0 && a.status == http.StatusOK {
		release() // but the first item stays hidden
	}
	if before, is := p.rules.hidden(c); is { // checked last, because a transaction may have hidden the item meanwhile
		a = before
	}
	p.watch(c.operation, Applied)
	if c.operation == "TransactWriteItems" {
		time.Sleep(time.Until(began.Add(max(p.settings.Hold, c.apart))))
	}
	return a
}

// broken returns the response to a call to which DynamoDB Local did not respond.
func broken(err error) answer {
	return refusal(http.StatusInternalServerError, "InternalServerError", err.Error())
}

// read sends a GetItem with the header of the call c, and returns the response.
func (p *Proxy) read(ctx context.Context, c *call, key itemKey) (answer, error) {
	body, _ := json.Marshal(map[string]any{ // strings always marshal
		"TableName": key.table, "Key": attributes{partitionKey: {S: key.partition}, sortKey: {S: key.sort}}, "ConsistentRead": true,
	})
	header := c.header.Clone()
	header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	return p.forward(ctx, header, body)
}

func (p *Proxy) forward(ctx context.Context, header http.Header, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.settings.Target, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header = header.Clone()
	request.Header.Del("Accept-Encoding")   // the proxy parses responses
	response, err := p.upstream.Do(request) //nolint:gosec // the settings name the target
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, read}, err
}

// leaveUnprocessed forwards some or none of the keys of a BatchGetItem, and returns the other keys as unprocessed.
func (p *Proxy) leaveUnprocessed(ctx context.Context, c *call, random *rand.Rand) answer {
	var request struct{ RequestItems map[string]map[string]any }
	if err := json.Unmarshal(c.body, &request); err != nil {
		return refusal(http.StatusBadRequest, "SerializationException", err.Error())
	}
	unread := make(map[string]map[string]any)
	for table, asked := range request.RequestItems {
		keys, _ := asked["Keys"].([]any)
		done := random.IntN(max(len(keys), 1))
		left := maps.Clone(asked)
		left["Keys"] = keys[done:]
		unread[table] = left
		asked["Keys"] = keys[:done]
		if done == 0 {
			delete(request.RequestItems, table)
		}
	}
	a := answer{http.StatusOK, []byte(`{"Responses":{}}`)}
	if len(request.RequestItems) > 0 {
		c.body = withMember(c.body, "RequestItems", request.RequestItems)
		if a = p.apply(ctx, c); a.status != http.StatusOK {
			return a
		}
	}
	a.body = withMember(a.body, "UnprocessedKeys", unread)
	return a
}

// withMember sets a member of a JSON object. It panics if the object is not valid.
func withMember(object []byte, name string, value any) []byte {
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(object, &members); err != nil {
		panic(fmt.Sprintf("not an object: %v", err))
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("invalid JSON: %v", err))
	}
	members[name] = text
	object, _ = json.Marshal(members) // JSON always marshals
	return object
}
