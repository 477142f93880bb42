package client

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	// maxAnswerBytes bounds an answer that is not a page: its longest part is 2 KiB of data.
	maxAnswerBytes = 64 << 10
	// maxPageBytes bounds a page of the checkout area, which ends below 4 MB (docs/interface.md).
	maxPageBytes = 4_000_000
)

// judge returns nil for an answer that r can read, a *ProblemError for one that says what is wrong, and an *AnswerError for
// one that cannot be understood.
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

// problem reads an error of the service, or one of the gateway in front.
func (a answer) problem() error {
	var service struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Status    int    `json:"status"`
		Detail    string `json:"detail"`
		Parameter string `json:"parameter"`
		Pointer   string `json:"pointer"`
	}
	var gateway struct {
		Message *string `json:"message"`
	}
	switch {
	case a.decode("application/problem+json", &service):
		name, isOurs := strings.CutPrefix(service.Type, "urn:problem:shopfront:")
		known, isKnown := findProblemType(name)
		if !isOurs || name == "" || service.Status != a.status || isKnown && known.status != a.status {
			return a.notUnderstood("it is no problem of this service")
		}
		return &ProblemError{
			Type: name, Status: a.status, Title: service.Title, RequestID: a.requestID(),
			Detail: service.Detail, Parameter: service.Parameter, Pointer: service.Pointer,
		}
	case a.decode("application/json", &gateway) && gateway.Message != nil:
		return &ProblemError{Status: a.status, Title: http.StatusText(a.status), RequestID: a.requestID()}
	default:
		return a.notUnderstood("it is no problem")
	}
}

// decode reads a body that is one JSON value, or returns false. Members that are not known are ignored: answers may gain
// some.
func (a answer) decode(mediaType string, into any) bool {
	got, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && got == mediaType && utf8.Valid(a.body) && json.Unmarshal(a.body, into) == nil
}

func (a answer) isReplayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }

// requestID is the number that the operator finds the request by: the service's, or the gateway's own.
func (a answer) requestID() string {
	const atMost = 128 // bytes
	id := a.header.Get("Request-Id")
	if id == "" {
		id = a.header.Get("Apigw-Requestid")
	}
	return id[:min(len(id), atMost)]
}

func (a answer) notUnderstood(why string) error {
	return &AnswerError{Status: a.status, RequestID: a.requestID(), Reason: why}
}
