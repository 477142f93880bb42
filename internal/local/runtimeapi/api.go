package runtimeapi

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	apiVersion = "/2018-06-01"
	// maxErrorReport is how many bytes of a function's error report are read.
	maxErrorReport = 256 << 10

	errorTypeHeader = "Lambda-Runtime-Function-Error-Type"
)

// runtimeAPI returns the runtime API for this process alone. No other process knows its address.
func (p *Process) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiVersion+"/runtime/invocation/next", p.next)
	mux.HandleFunc("POST "+apiVersion+"/runtime/invocation/{id}/response", p.response)
	mux.HandleFunc("POST "+apiVersion+"/runtime/invocation/{id}/error", p.failure)
	mux.HandleFunc("POST "+apiVersion+"/runtime/init/error", p.initFailure)
	return mux
}

// next waits, for as long as it takes, for an event and delivers it.
func (p *Process) next(w http.ResponseWriter, r *http.Request) {
	if !p.ask() {
		return
	}
	select {
	case inv := <-p.offers:
		p.deliver(w, inv)
	case <-p.gone:
	case <-r.Context().Done():
	}
}

// ask records that the process asks for an event, and reports whether the process may get one.
func (p *Process) ask() bool {
	p.mu.Lock()
	inv, dying := p.current, p.cause != nil
	if p.readyAt.IsZero() {
		p.readyAt = time.Now()
	}
	if inv != nil {
		inv.timeout.Stop()
	}
	p.mu.Unlock()
	if dying {
		return false
	}
	if inv != nil && !inv.isFinished() {
		p.end(ErrNoAnswer)
		inv.finish(nil, ErrNoAnswer)
		return false
	}
	select {
	case p.asked <- struct{}{}:
	default:
	}
	return true
}

func (p *Process) deliver(w http.ResponseWriter, inv *invocation) {
	p.mu.Lock()
	p.current = inv
	deadline := time.Now().Add(p.Timeout)
	inv.timeout = time.AfterFunc(p.Timeout, func() {
		err := fmt.Errorf("%w after %s", ErrTimeout, p.Timeout)
		p.end(err)
		inv.finish(nil, err)
	})
	select {
	case <-p.gone: // the process ended before inv became its current invocation
		inv.finish(nil, p.cause)
	default:
	}
	p.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(inv.event)))
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", p.ARN)
	h.Set("Lambda-Runtime-Trace-Id", newTraceID())
	_, _ = w.Write(inv.event) // if this fails, the process is gone or will time out
}

// invocationOf returns the process's current invocation if the request names it. If the request names another invocation, or if the
// current one is already finished, invocationOf writes an error and returns nil.
func (p *Process) invocationOf(w http.ResponseWriter, r *http.Request) *invocation {
	p.mu.Lock()
	inv := p.current
	p.mu.Unlock()
	if inv == nil || inv.id != r.PathValue("id") || inv.isFinished() {
		http.Error(w, "no such invocation", http.StatusBadRequest)
		return nil
	}
	return inv
}

func (p *Process) response(w http.ResponseWriter, r *http.Request) {
	inv := p.invocationOf(w, r)
	if inv == nil {
		return
	}
	answer, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxAnswer))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		inv.finish(nil, ErrAnswerTooLarge)
		http.Error(w, ErrAnswerTooLarge.Error(), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the response is incomplete", http.StatusBadRequest)
		return
	}
	// A function that fails while it streams its response reports the failure in a trailer.
	if errorType := r.Trailer.Get(errorTypeHeader); errorType != "" {
		inv.finish(nil, reported(errorType))
	} else {
		inv.finish(answer, nil)
	}
	w.WriteHeader(http.StatusAccepted)
}

func (p *Process) failure(w http.ResponseWriter, r *http.Request) {
	inv := p.invocationOf(w, r)
	if inv == nil {
		return
	}
	inv.finish(nil, reportedError(w, r))
	w.WriteHeader(http.StatusAccepted)
}

func (p *Process) initFailure(w http.ResponseWriter, r *http.Request) {
	if p.isReady() {
		http.Error(w, "the process has started", http.StatusForbidden)
		return
	}
	err := fmt.Errorf("the process cannot start: %w", reportedError(w, r))
	p.mu.Lock()
	p.cause = cmp.Or(p.cause, err)
	p.mu.Unlock()
	time.AfterFunc(exitGrace, p.kill)
	w.WriteHeader(http.StatusAccepted)
}

// reportedError reads a function's error report. If the body has no error type, it takes the type from the header.
func reportedError(w http.ResponseWriter, r *http.Request) error {
	var report struct {
		Type string `json:"errorType"`
	}
	if body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxErrorReport)); err == nil {
		_ = json.Unmarshal(body, &report)
	}
	return reported(cmp.Or(report.Type, r.Header.Get(errorTypeHeader)))
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newTraceID returns an X-Ray tracing header for a new trace that is not sampled:
// https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader.
func newTraceID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", time.Now().Unix(), hex.EncodeToString(b[:12]), hex.EncodeToString(b[12:]))
}
