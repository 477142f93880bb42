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
	maxAnswerBytes = 64 << 10  // for a redemption, checkout or order; the longest member of these is 2 KiB of data
	maxPageBytes   = 4_000_000 // for a page of a list, see docs/interface.md
)

// answer is a response whose body was read.
type answer struct {
	status int
	header http.Header
	body   []byte // one byte longer than the request's maxBytes if there was more
}

// judge returns nil if r can read the response, a *ProblemError for an error response, and an *AnswerError for anything else.
func (r request) judge(a answer) error {
	switch {
	case len(a.body) > r.maxBytes:
		return a.notUnderstood("it is too large")
	case a.status == http.StatusOK || a.status == http.StatusNotModified && r.etag != "":
		return r.read(a)
	case a.status >= http.StatusBadRequest:
		return a.problem()
	default:
		return a.notUnderstood("the status is unexpected")
	}
}

// problem reads an error response of the service or of the gateway.
func (a answer) problem() error {
	problem := ProblemError{RequestID: a.requestID(), RetryAfter: a.retryAfter()}
	var gateway struct {
		Message *string `json:"message"`
	}
	switch {
	case a.decode("application/problem+json", &problem):
		name, isOurs := strings.CutPrefix(problem.Type, "urn:problem:shopfront:")
		known, isKnown := problemTypes()[name]
		if !isOurs || name == "" || problem.Status != a.status || isKnown && known.status != a.status {
			return a.notUnderstood("it is not a problem document of this service")
		}
		problem.Type = name
		return &problem
	case a.decode("application/json", &gateway) && gateway.Message != nil:
		return &ProblemError{Status: a.status, Title: http.StatusText(a.status), RequestID: a.requestID(), RetryAfter: a.retryAfter()}
	default:
		return a.notUnderstood("it is not a problem document")
	}
}

// decode reads the body, and reports whether it is one JSON value of the media type. It ignores unknown members, because responses may
// gain members.
func (a answer) decode(mediaType string, into any) bool {
	got, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && got == mediaType && utf8.Valid(a.body) && json.Unmarshal(a.body, into) == nil
}

func (a answer) isReplayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }

// requestID returns the request ID of the service. If the service sent none, it returns that of the gateway.
func (a answer) requestID() string {
	const maxBytes = 128
	id := cmp.Or(a.header.Get("Request-Id"), a.header.Get("Apigw-Requestid"))
	return id[:min(len(id), maxBytes)]
}

func (a answer) notUnderstood(why string) error {
	return &AnswerError{Status: a.status, RequestID: a.requestID(), Reason: why}
}
