package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// How long to wait before a retry.
const (
	firstDelay        = 200 * time.Millisecond // upper bound; doubles with each retry
	longestDelay      = 5 * time.Second        // upper bound
	longestRetryAfter = 30 * time.Second       // a call gives up if the service asks for more
	// settlingTime is how long a lost request may still be applied, with a margin: requests end within about 5 seconds
	// (docs/interface.md).
	settlingTime = DefaultAttemptTimeout
)

// request is what a call sends in each of its attempts.
type request struct {
	method, path, query string // the path is relative to the base URL and needs no escaping
	contentType         string // of the body
	body                []byte
	isChange            bool   // the request may change something
	key                 string // empty if the request changes nothing, or is idempotent without a key
	isRepeated          bool   // the caller chose the key or the order, so an earlier call may have sent the request
	etag                string // of the response that the caller has
	maxBytes            int    // limit of the response's body
	// read reads a response with status 200, or 304 if etag is set. It returns an *AnswerError for a malformed response.
	read func(answer) error
}

// do sends a request until the outcome is certain, no attempt is left or the context ends.
func (c *Client) do(ctx context.Context, r request) error {
	perhapsApplied := false // by this call; always false if the request changes nothing
	var settled time.Time   // when no attempt so far can be applied any more
	if err := ctx.Err(); err != nil {
		return r.failure(err, perhapsApplied)
	}
	for attempt := 1; ; attempt++ {
		sent := time.Now()
		a, isResent, err := c.exchange(ctx, r)
		isRejected, isJudged := classify(err)
		if r.isChange && (isResent || err != nil && !isRejected) {
			perhapsApplied, settled = true, time.Now().Add(settlingTime)
		}
		if err == nil || isJudged && (isLasting(err) || !sent.Before(settled)) {
			return err
		}
		again, delay := isTransient(a.status), a.retryAfter()
		if isJudged { // The error is not wrapped, or a caller would take it for a final refusal.
			err = errors.New("refused, but an earlier attempt may still be applied: " + err.Error())
			again, delay = true, time.Until(settled)
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

// failure returns the error of a call that ended without a judgement. perhapsApplied says whether this call may have been applied.
func (r request) failure(err error, perhapsApplied bool) error {
	if perhapsApplied || r.isRepeated && !errors.Is(err, ErrWrongBaseURL) {
		return &OutcomeUnknownError{Key: r.key, Err: err}
	}
	return err
}

// isTransient reports whether a retry may get another response. Status 0 means that there was no response.
func isTransient(status int) bool {
	return slices.Contains([]int{
		0, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
	}, status)
}

// wait waits before a retry, at least as long as the service asked for, plus a random time so that rejected clients do not all
// return at once. It returns an error when the context ends. If the wait would be too long, it returns the error
// immediately.
func (c *Client) wait(ctx context.Context, attempt int, retryAfter time.Duration) error {
	bound := min(firstDelay<<min(attempt-1, 10), longestDelay)
	delay := retryAfter + bound/2 + time.Duration(c.jitter(int64(bound/2)))
	deadline, bounded := ctx.Deadline()
	if retryAfter > longestRetryAfter || bounded && time.Until(deadline) <= delay {
		return errors.New("no time for another attempt")
	}
	return sleep(ctx, delay)
}

// sleep returns after the delay, or with an error when the context ends.
func sleep(ctx context.Context, delay time.Duration) error {
	pause, cancel := context.WithTimeout(ctx, delay)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}

// exchange sends a request and judges the response. The error is that of judge, or says that no complete response arrived. isResent
// means that net/http sent the request again by itself, as it does if a reused connection breaks and the request has an
// Idempotency-Key.
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
	for name, value := range map[string]string{"Content-Type": r.contentType, "Idempotency-Key": r.key, "If-None-Match": r.etag} {
		if value != "" {
			sent.Header.Set(name, value)
		}
	}
	if c.serverKey != nil {
		sent.Header.Set("Authorization", "Bearer "+c.serverKey())
	}
	response, err := c.http.Do(sent)
	isResent = times.Load() > 1
	if failure, is := errors.AsType[*net.OpError](err); is && failure.Op == "dial" && times.Load() == 0 {
		return answer{}, false, unsentError{withoutURL(err)}
	}
	if err != nil {
		return answer{}, isResent, withoutURL(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(r.maxBytes)+1))
	if err != nil {
		return answer{header: response.Header}, isResent, fmt.Errorf("lost response: %w", err) // Retry-After may still apply
	}
	a = answer{response.StatusCode, response.Header, body}
	return a, isResent, r.judge(a)
}

// withoutURL removes the URL, which may contain a checkout's data, from an error of net/http.
func withoutURL(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err
	}
	return fmt.Errorf("no response: %w", err)
}

// retryAfter reads Retry-After, which is in seconds or a date (RFC 9110, section 10.2.3). It returns 0 if the header is missing.
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
