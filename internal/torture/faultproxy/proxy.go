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
	"strings"
	"sync"
	"time"
)

// Settings say what is in front of DynamoDB Local. The zero value of everything but Target is a plain proxy.
type Settings struct {
	// Target is the URL of DynamoDB Local.
	Target string
	// Seed repeats the faults.
	Seed uint64
	// Rates are the shares, from 0 to 1, of the calls that a fault can befall which it does befall. A call meets one at most.
	Rates map[Fault]float64
	// Burst is how many calls in a row a Throttle refuses; 1 where 0.
	Burst int
	// Delay is the longest wait of the slow and the late ones.
	Delay time.Duration
	// Hold is how long a transaction takes. Meanwhile no other write gets its items. Where 0, transactions do not conflict.
	Hold time.Duration
	// WriteUnits and ReadUnits are what one partition key value takes a second, Reserve the seconds of them that can be
	// saved up for a burst. Where the units are 0, any number is taken.
	WriteUnits, ReadUnits, Reserve float64
	// Watch is called with each call as it arrives and once DynamoDB Local has applied it, and waited for: a test can end a
	// process there. May be nil.
	Watch func(operation string, stage Stage)
}

// Stage is how far a call has come.
type Stage int

// The stages of a call that can be watched.
const (
	Arrived Stage = iota // and not applied
	Applied              // and not answered
)

// Proxy is a hostile DynamoDB. Make it with Start.
type Proxy struct {
	settings   Settings
	schedule   schedule
	holds      holds
	throughput throughput

	url      string
	server   *http.Server
	upstream *http.Client
	late     sync.WaitGroup

	mu    sync.Mutex
	calls map[string]int
}

// Start starts a proxy on a free port of this machine. It must be closed.
func Start(settings Settings) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		settings: settings,
		schedule: schedule{
			seed: settings.Seed, burst: max(settings.Burst, 1), rates: maps.Clone(settings.Rates),
			seen: make(map[string]uint64), injected: make(map[Fault]int),
		},
		holds: holds{transactions: make(map[itemKey]bool), writes: make(map[itemKey]int), tokens: make(map[string]bool)},
		throughput: throughput{
			writes: settings.WriteUnits, reads: settings.ReadUnits, reserve: settings.Reserve, now: time.Now,
			values: make(map[partition]*bucket),
		},
		url:      "http://" + listener.Addr().String(),
		upstream: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}},
		calls:    make(map[string]int),
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }() // until Close
	return p, nil
}

// URL is the endpoint that clients are given.
func (p *Proxy) URL() string { return p.url }

// SetRates replaces the rates of the settings; nil ends the faults that are drawn.
func (p *Proxy) SetRates(rates map[Fault]float64) { p.schedule.setRates(rates) }

// Injected counts how often each fault befell a call.
func (p *Proxy) Injected() map[Fault]int { return p.schedule.counts() }

// Calls counts the calls that arrived, by their operation.
func (p *Proxy) Calls() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Settle waits until nothing is left that is applied late.
func (p *Proxy) Settle() { p.late.Wait() }

// Close cuts what is under way, and waits for what is applied late.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.late.Wait()
	p.upstream.CloseIdleConnections()
	return err
}

// ServeHTTP does what a call meets.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut()
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c, err := readCall(operation, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.calls[operation]++
	p.mu.Unlock()
	p.watch(operation, Arrived)
	fault, random := p.schedule.draw(c)
	// What has arrived is applied, even if its client does not wait for it.
	p.meet(context.WithoutCancel(r.Context()), w, forwarded{proxy: p, header: r.Header, call: c}, fault, random)
}

func (p *Proxy) watch(operation string, stage Stage) {
	if p.settings.Watch != nil {
		p.settings.Watch(operation, stage)
	}
}

// meet lets the fault befall the call.
func (p *Proxy) meet(ctx context.Context, w http.ResponseWriter, f forwarded, fault Fault, random *rand.Rand) {
	delay := time.Duration(random.Float64() * float64(p.settings.Delay))
	switch fault {
	case Conflict:
		whole(w, f.call.anyConflict(random))
	case Throttle:
		whole(w, f.call.throttle(random))
	case ServerError:
		if random.IntN(2) == 0 {
			f.apply(ctx)
		}
		whole(w, serverError(random))
	case SlowRequest:
		time.Sleep(delay)
		whole(w, f.apply(ctx))
	case LateRequest:
		p.late.Go(func() {
			time.Sleep(delay)
			f.apply(ctx)
		})
		cut()
	case SlowAnswer:
		a := f.apply(ctx)
		time.Sleep(delay)
		whole(w, a)
	case LostRequest:
		cut()
	case LostAnswer:
		f.apply(ctx)
		cut()
	case CutAnswer:
		a := f.apply(ctx)
		a.send(w, len(a.body)/2)
		cut()
	case Unprocessed:
		whole(w, f.leaveUnprocessed(ctx, random))
	case ShortPage:
		f.call.body = withMember(f.call.body, "Limit", 1+random.IntN(3))
		whole(w, f.apply(ctx))
	case HeldItem, OverThroughput: // never drawn
		fallthrough
	default:
		whole(w, f.apply(ctx))
	}
}

func whole(w http.ResponseWriter, a answer) { a.send(w, len(a.body)) }

// forwarded is a call on its way to DynamoDB Local.
type forwarded struct {
	proxy  *Proxy
	header http.Header
	call   *call
}

// apply does the call, if the standing rules let it, and returns its answer.
func (f forwarded) apply(ctx context.Context) answer {
	p := f.proxy
	began := time.Now()
	release, refused := p.refuse(f.call)
	if refused != nil {
		return *refused
	}
	defer release()
	a, err := f.forward(ctx)
	if err != nil {
		return refusal(http.StatusInternalServerError, "InternalServerError", err.Error())
	}
	p.watch(f.call.operation, Applied)
	if f.call.isTransaction() {
		time.Sleep(time.Until(began.Add(p.settings.Hold)))
	}
	return a
}

func (f forwarded) forward(ctx context.Context) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.proxy.settings.Target, bytes.NewReader(f.call.body))
	if err != nil {
		return answer{}, err
	}
	request.Header = f.header.Clone()
	request.Header.Del("Accept-Encoding") // answers are read here
	response, err := f.proxy.upstream.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, body}, err
}

// leaveUnprocessed does a part of a BatchGetItem, maybe none, and hands the other keys back.
func (f forwarded) leaveUnprocessed(ctx context.Context, random *rand.Rand) answer {
	var request struct{ RequestItems map[string]map[string]any }
	if err := json.Unmarshal(f.call.body, &request); err != nil {
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
		f.call.body = withMember(f.call.body, "RequestItems", request.RequestItems)
		if a = f.apply(ctx); a.status != http.StatusOK {
			return a
		}
	}
	a.body = withMember(a.body, "UnprocessedKeys", unread)
	return a
}

// withMember sets a member of a JSON object that was read before.
func withMember(object []byte, name string, value any) []byte {
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(object, &members); err != nil {
		panic(fmt.Sprintf("not an object: %v", err))
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("no JSON: %v", err))
	}
	members[name] = text
	object, _ = json.Marshal(members) // of texts that are JSON
	return object
}
