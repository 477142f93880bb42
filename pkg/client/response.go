package client

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	maxResponseBytes = 64 << 10  // for a redemption, checkout or order; the longest member of these is 2 KiB of data
	maxPageBytes     = 4_000_000 // for a page of a list, see api/openapi.yaml
)

// response is a response whose body was read.
type response struct {
	status int
	header http.Header
	body   []byte // one byte longer than the request's maxBytes if there was more
}

// judge returns nil if r can read the response, a *ProblemError for an error response, and a *ResponseError for
// anything else.
func (r request) judge(resp response) error {
	switch {
	case len(resp.body) > r.maxBytes:
		return resp.notUnderstood("it is too large")
	case resp.status == http.StatusOK || resp.status == http.StatusNotModified && r.etag != "":
		return r.read(resp)
	case resp.status >= http.StatusBadRequest:
		return resp.problem()
	default:
		return resp.notUnderstood("the status is unexpected")
	}
}

// problem reads an error response of the service or of the gateway.
func (resp response) problem() error {
	problem := ProblemError{RequestID: resp.requestID(), RetryAfter: resp.retryAfter()}
	var gateway struct {
		Message *string `json:"message"`
	}
	switch {
	case resp.decode("application/problem+json", &problem):
		name, isOurs := strings.CutPrefix(problem.Type, "urn:problem:shopfront:")
		known, isKnown := problemTypes()[name]
		if !isOurs || name == "" || problem.Status != resp.status || isKnown && known.status != resp.status {
			return resp.notUnderstood("it is not a problem document of this service")
		}
		problem.Type = name
		return &problem
	case resp.decode("application/json", &gateway) && gateway.Message != nil:
		return &ProblemError{
			Status: resp.status, Title: http.StatusText(resp.status), RequestID: resp.requestID(),
			RetryAfter: resp.retryAfter(),
		}
	default:
		return resp.notUnderstood("it is not a problem document")
	}
}

// decode reads the body, and reports whether it is one JSON value of the media type. It ignores unknown members,
// because responses may gain members.
func (resp response) decode(mediaType string, into any) bool {
	got, _, err := mime.ParseMediaType(resp.header.Get("Content-Type"))
	return err == nil && got == mediaType && utf8.Valid(resp.body) && json.Unmarshal(resp.body, into) == nil
}

func (resp response) isReplayed() bool { return resp.header.Get("Idempotency-Replayed") == "true" }

// requestID returns the request ID of the service. If the service sent none, it returns that of the gateway.
func (resp response) requestID() string {
	const maxBytes = 128
	id := cmp.Or(resp.header.Get("Request-Id"), resp.header.Get("Apigw-Requestid"))
	return id[:min(len(id), maxBytes)]
}

func (resp response) notUnderstood(why string) error {
	return &ResponseError{Status: resp.status, RequestID: resp.requestID(), Reason: why}
}
