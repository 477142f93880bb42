package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// How long is waited before a request is sent again.
const (
	firstDelay   = 200 * time.Millisecond // at most; then it doubles
	longestDelay = 5 * time.Second        // at most
	// longestRetryAfter is the longest Retry-After that a call waits for.
	longestRetryAfter = 30 * time.Second
	// settlingTime is how long a request may still be applied after its answer was lost, with room to spare: requests end
	// within about 5 seconds (docs/interface.md).
	settlingTime = DefaultAttemptTimeout
)

// request is what a call sends, the same at each attempt.
type request struct {
	method, path, query string // the path behind the base URL's; it needs no escaping
	body                []byte // of JSON
	key                 string // empty where the request changes nothing
	isRepeated          bool   // or may be: the key is the caller's
	etag                string // of the answer that is known already
	maxBytes            int    // bounds the answer's body
	// read takes a 200, or where there is an etag a 304. What it cannot understand is an *AnswerError.
	read func(answer) error
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte // one byte more than the request's maxBytes where there was more
}

// do sends a request until an answer is certain, the attempts are used up or the context ends.
func (c *Client) do(ctx context.Context, r request) error {
	perhapsApplied := r.isRepeated // never without a key
	var settled time.Time          // from then on no attempt so far can be applied any more
	if err := ctx.Err(); err != nil {
		return r.failure(err, perhapsApplied)
	}
	for attempt := 1; ; attempt++ {
		sent := time.Now()
		a, isResent, err := c.exchange(ctx, r)
		if r.key != "" && (isResent || err != nil && !isHeldBack(err)) {
			perhapsApplied, settled = true, time.Now().Add(settlingTime)
		}
		if err == nil || isJudged(err) && !sent.Before(settled) {
			return err
		}
		again, delay := isWorthRepeating(a.status), a.retryAfter()
		if isJudged(err) {
			err, again, delay = &unsettledError{err}, true, time.Until(settled)
		}
		if attempt < c.attempts && again {
			ended := c.wait(ctx, attempt, delay)
			if ended == nil {
				continue
			}
			err = fmt.Errorf("%w; %w", err, ended)
		}
		return r.failure(err, perhapsApplied)
	}
}

func (r request) failure(err error, perhapsApplied bool) error {
	if perhapsApplied {
		return &OutcomeUnknownError{Key: r.key, Err: err}
	}
	return err
}

// isWorthRepeating tells of the status of an answer, or 0 where there was none, whether another may come.
func isWorthRepeating(status int) bool {
	switch status {
	case 0, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// errTooLong says that a request would have to wait longer than it may.
var errTooLong = errors.New("no time for another attempt")

// wait waits before the next attempt, never less than the service asked for, and some of it random, so that not all who were
// turned away come back at once. It returns the context's error, or errTooLong without waiting.
func (c *Client) wait(ctx context.Context, attempt int, retryAfter time.Duration) error {
	bound := min(firstDelay<<min(attempt-1, 10), longestDelay)
	delay := retryAfter + bound/2 + time.Duration(c.jitter(int64(bound/2)))
	deadline, bounded := ctx.Deadline()
	if retryAfter > longestRetryAfter || bounded && time.Until(deadline) <= delay {
		return errTooLong
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exchange sends a request once, or more often where the transport does so by itself: net/http sends what has an
// Idempotency-Key again, at once, if a connection that was kept breaks. Its error is that of judge, or means that no whole answer came.
func (c *Client) exchange(ctx context.Context, r request) (a answer, isResent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var times atomic.Int32
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { times.Add(1) }})
	to := c.base
	to.Path += r.path
	to.RawQuery = r.query
	sent, err := http.NewRequestWithContext(ctx, r.method, to.String(), bytes.NewReader(r.body))
	if err != nil {
		return answer{}, false, withoutURL(err)
	}
	r.describe(sent.Header)
	response, err := c.http.Do(sent)
	isResent = times.Load() > 1
	if err != nil {
		return answer{}, isResent, withoutURL(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(r.maxBytes)+1))
	if err != nil {
		return answer{header: response.Header}, isResent, fmt.Errorf("lost answer: %w", err) // it may say how long to wait
	}
	a = answer{response.StatusCode, response.Header, body}
	return a, isResent, r.judge(a)
}

func (r request) describe(header http.Header) {
	if r.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		header.Set("Idempotency-Key", r.key)
	}
	if r.etag != "" {
		header.Set("If-None-Match", r.etag)
	}
}

// withoutURL is the cause of an error of net/http, whose text has the URL, and with it data.
func withoutURL(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err
	}
	return fmt.Errorf("no answer: %w", err)
}

// retryAfter is how long an answer asks to wait, in seconds or until a date (RFC 9110, section 10.2.3), or 0.
func (a answer) retryAfter() time.Duration {
	text := a.header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
