package cost

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

// StoreDelay is how long the store takes to answer while functions are timed.
const StoreDelay = 5 * time.Millisecond

// How often things are timed beside what is measured.
const (
	warmUp = 20 // requests of each operation
	starts = 5  // of each function
	firsts = 3  // requests of each operation that are the first ones of their processes
)

// Time is how long requests of an operation take, on a processor that the function has for itself.
type Time struct {
	// Warm is the median time from when an event is handed over until the answer has arrived, First that of processes' first
	// requests. WarmCPU and FirstCPU are processor time: the mean of warm requests, the median of first ones.
	Warm     time.Duration `json:"warm"`
	WarmCPU  time.Duration `json:"warmCPU"`
	First    time.Duration `json:"first"`
	FirstCPU time.Duration `json:"firstCPU"`
}

// Start is how long a function takes from its start until it asks for an event, as the median of several.
type Start struct {
	Ready    time.Duration `json:"ready"`
	ReadyCPU time.Duration `json:"readyCPU"`
}

// Times are those of all operations and functions.
type Times struct {
	Operations map[string]Time  `json:"operations"`
	Starts     map[string]Start `json:"starts"`
	// Calls is how many calls of the store were answered, and Late how many of those later than StoreDelay, since DynamoDB Local
	// took longer.
	Calls int64 `json:"calls"`
	Late  int64 `json:"late"`
}

// pace answers after a delay, counted from when a call has arrived.
type pace struct {
	delay       time.Duration
	calls, late atomic.Int64
}

// RoundTrip does a call.
func (p *pace) RoundTrip(r *http.Request) (*http.Response, error) {
	due := time.Now().Add(p.delay)
	response, err := http.DefaultTransport.RoundTrip(r)
	p.calls.Add(1)
	left := time.Until(due)
	if left < 0 {
		p.late.Add(1)
	}
	time.Sleep(left)
	return response, err
}

// TimeAll times every operation, with so many warm requests of each, and every function's start.
func (w *Workshop) TimeAll(ctx context.Context, requests int, progress io.Writer) (Times, error) {
	return w.time(ctx, operations(), requests, progress)
}

func (w *Workshop) time(ctx context.Context, timed []operation, requests int, progress io.Writer) (Times, error) {
	target, err := url.Parse(w.endpoint)
	if err != nil {
		return Times{}, err
	}
	paced := &pace{delay: StoreDelay}
	// Over TLS, as functions speak with DynamoDB.
	server := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: paced,
	})
	defer server.Close()
	certificate := filepath.Join(w.dir, "certificate.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(certificate, block, 0o600); err != nil {
		return Times{}, err
	}
	env := environment(server.URL, "SSL_CERT_FILE="+certificate, "SSL_CERT_DIR="+filepath.Join(w.dir, "no-others"))
	times := Times{Operations: make(map[string]Time), Starts: make(map[string]Start)}
	for _, function := range functions(timed) {
		if times.Starts[function], err = w.timeStarts(ctx, function, env); err != nil {
			return Times{}, fmt.Errorf("%s: %w", function, err)
		}
	}
	paced.calls.Store(0)
	paced.late.Store(0)
	for _, o := range timed {
		say(progress, "Timing: %s", o.name)
		if times.Operations[o.name], err = w.timeOperation(ctx, o, env, requests); err != nil {
			return Times{}, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	times.Calls, times.Late = paced.calls.Load(), paced.late.Load()
	return times, nil
}

func (w *Workshop) timeStarts(ctx context.Context, function string, env []string) (Start, error) {
	var ready, cpu []time.Duration
	for range starts {
		s, _, stop, err := w.start(ctx, function, env)
		if err != nil {
			return Start{}, err
		}
		ready, cpu = append(ready, s.running.Ready), append(cpu, s.running.StartCPU)
		if err := stop(); err != nil {
			return Start{}, err
		}
	}
	return Start{Ready: median(ready), ReadyCPU: median(cpu)}, nil
}

func (w *Workshop) timeOperation(ctx context.Context, o operation, env []string, requests int) (t Time, err error) {
	s, _, stop, err := w.start(ctx, o.function, env)
	if err != nil {
		return Time{}, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	// What leads up to requests may be the process's first one, so those are timed in processes of their own.
	var first, firstCPU []time.Duration
	for range firsts {
		took, cpu, err := w.timeFirst(ctx, o, env)
		if err != nil {
			return Time{}, err
		}
		first, firstCPU = append(first, took), append(firstCPU, cpu)
	}
	t.First, t.FirstCPU = median(first), median(firstCPU)
	events, err := o.requests(ctx, s, warmUp+requests)
	if err != nil {
		return Time{}, err
	}
	if _, err := o.send(ctx, s, events[:warmUp]); err != nil {
		return Time{}, err
	}
	began, err := s.running.CPU()
	if err != nil {
		return Time{}, err
	}
	warm, err := o.send(ctx, s, events[warmUp:])
	if err != nil {
		return Time{}, err
	}
	ended, err := s.running.CPU()
	if err != nil {
		return Time{}, err
	}
	t.Warm, t.WarmCPU = median(warm), (ended-began)/time.Duration(requests)
	return t, nil
}

// timeFirst times the first request of a process, which another one prepared.
func (w *Workshop) timeFirst(ctx context.Context, o operation, env []string) (first, cpu time.Duration, err error) {
	before, _, stopBefore, err := w.start(ctx, o.function, env)
	if err != nil {
		return 0, 0, err
	}
	events, err := o.requests(ctx, before, 1)
	if err := errors.Join(err, stopBefore()); err != nil {
		return 0, 0, err
	}
	s, _, stop, err := w.start(ctx, o.function, env)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	took, err := o.send(ctx, s, events)
	if err != nil {
		return 0, 0, err
	}
	used, err := s.running.CPU()
	if err != nil {
		return 0, 0, err
	}
	return took[0], used - s.running.StartCPU, nil
}

// send sends requests one after the other, and returns how long each took.
func (o operation) send(ctx context.Context, s *scene, events [][]byte) ([]time.Duration, error) {
	times, answers := make([]time.Duration, len(events)), make([][]byte, len(events))
	for i, event := range events {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var err error
		if answers[i], times[i], err = s.running.Invoke(event); err != nil {
			return nil, err
		}
	}
	for _, text := range answers {
		answer, err := readAnswer(text)
		if err != nil {
			return nil, err
		}
		if err := o.check(answer); err != nil {
			return nil, err
		}
	}
	return times, nil
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
