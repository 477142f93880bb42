package runtimeapi

import (
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
	// maxErrorReport bounds what is read of an error that a function reports, in bytes.
	maxErrorReport = 256 << 10

	errorTypeHeader = "Lambda-Runtime-Function-Error-Type"
)

// runtimeAPI is the API that the process, and it alone, is told of.
func (p *process) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiVersion+"/runtime/invocation/next", p.next)
	mux.HandleFunc("POST "+apiVersion+"/runtime/invocation/{id}/response", p.response)
	mux.HandleFunc("POST "+apiVersion+"/runtime/invocation/{id}/error", p.failure)
	mux.HandleFunc("POST "+apiVersion+"/runtime/init/error", p.initFailure)
	return mux
}

// next waits for an event, however long.
func (p *process) next(w http.ResponseWriter, r *http.Request) {
	select {
	case p.asks <- struct{}{}:
	case <-p.gone:
		return
	case <-r.Context().Done():
		return
	}
	select {
	case inv := <-p.offers:
		p.current.Store(inv)
		p.deliver(w, inv)
	case <-p.gone:
	case <-r.Context().Done():
	}
}

func (p *process) deliver(w http.ResponseWriter, inv *invocation) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(inv.event)))
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", p.function.arn)
	h.Set("Lambda-Runtime-Trace-Id", newTraceID())
	_, _ = w.Write(inv.event) // where it does not arrive, the process is gone or times out
}

// invocationOf returns the invocation that the request is about, nil where the process does not have it or already answered.
func (p *process) invocationOf(r *http.Request) *invocation {
	inv := p.current.Load()
	if inv == nil || inv.id != r.PathValue("id") || inv.finished.Load() {
		return nil
	}
	return inv
}

func (p *process) response(w http.ResponseWriter, r *http.Request) {
	inv := p.invocationOf(r)
	if inv == nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no such invocation")
		return
	}
	answer, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxAnswer))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		inv.finish(nil, ErrAnswerTooLarge)
		refuse(w, http.StatusRequestEntityTooLarge, "Function.ResponseSizeTooLarge", ErrAnswerTooLarge.Error())
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "InvalidRequest", "the answer is incomplete")
		return
	}
	// A function that streams its answer and then fails says so after the body.
	if errorType := r.Trailer.Get(errorTypeHeader); errorType != "" {
		inv.finish(nil, &FunctionError{Type: errorType})
	} else {
		inv.finish(answer, nil)
	}
	accept(w)
}

func (p *process) failure(w http.ResponseWriter, r *http.Request) {
	inv := p.invocationOf(r)
	if inv == nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no such invocation")
		return
	}
	inv.finish(nil, reportedError(w, r))
	accept(w)
}

func (p *process) initFailure(w http.ResponseWriter, r *http.Request) {
	if p.current.Load() != nil {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the process has started")
		return
	}
	reported := reportedError(w, r)
	reported.Init = true
	select {
	case p.initError <- reported:
	default:
	}
	accept(w)
}

// reportedError reads the report of an error. One that cannot be read is an error all the same.
func reportedError(w http.ResponseWriter, r *http.Request) *FunctionError {
	var report struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxErrorReport)); err == nil {
		_ = json.Unmarshal(body, &report)
	}
	if report.Type == "" {
		report.Type = r.Header.Get(errorTypeHeader)
	}
	return &FunctionError{Type: report.Type, Message: report.Message}
}

func accept(w http.ResponseWriter) {
	reply(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func refuse(w http.ResponseWriter, status int, errorType, message string) {
	reply(w, status, map[string]string{"errorType": errorType, "errorMessage": message})
}

func reply(w http.ResponseWriter, status int, body map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the process may be gone
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newTraceID returns an X-Ray tracing header of a trace that is not sampled:
// https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader.
func newTraceID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", time.Now().Unix(), hex.EncodeToString(b[:12]), hex.EncodeToString(b[12:]))
}
