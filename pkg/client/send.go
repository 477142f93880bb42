package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
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
	// settlingTime is how long a lost request may still be applied. The service responds within about 5 seconds
	// (docs/reference/storefront.md), so there is a margin.
	settlingTime = DefaultAttemptTimeout
)

// request is what a call sends in each of its attempts.
type request struct {
	call                string // what the call does, for its errors
	method, path, query string // the path is relative to the base URL and needs no escaping
	body                []byte // JSON; empty: no body
	argumentErr         error  // why an argument is not valid; the request is then not sent
	isServersOnly       bool   // only the shop's server may make the call
	isChange            bool   // the request may change something
	key                 string // empty if the request changes nothing, or is idempotent without a key
	// the caller chose the key, the order or the redemption, so an earlier call may have sent the request
	isRepeated bool
	shopper    netip.Addr // for whom the shop's server calls; the zero Addr if it does not say
	etag       string     // of the response that the caller already has
	maxBytes   int        // limit of the response's body
	// read reads a response with status 200, or 304 if etag is set. It returns a *ResponseError for a malformed
	// response.
	read func(response) error
}

// get returns a GET request. The path is relative to the shop.
func (c *Client) get(call, path string) request {
	return request{call: call, method: http.MethodGet, path: "/shop/" + c.shop + path, maxBytes: maxResponseBytes}
}

// getPage returns a GET request for a page of a list.
func (c *Client) getPage(call, path, query string) request {
	r := c.get(call, path)
	r.query, r.maxBytes = query, maxPageBytes
	return r
}

// post returns a POST request. The parameter body consists of strings. If it is nil, the request has no body.
func (c *Client) post(call, path string, body any) request {
	r := c.get(call, path)
	r.method = http.MethodPost
	if body != nil {
		r.body, _ = json.Marshal(body) // encoding strings cannot fail
	}
	return r
}

// change returns a POST request that changes the order or redemption with the given ID. Repeating the request changes
// nothing more.
func (c *Client) change(call, path, id string, body any) request {
	r := c.post(call, path, body).about(id)
	r.isServersOnly, r.isChange, r.isRepeated = true, true, true
	return r
}

// about checks the ID of the checkout, order or redemption that the request is about. If the ID is malformed, about
// sets argumentErr.
func (r request) about(id string) request {
	if !isRandomID(id) {
		r.argumentErr = ErrMalformedID
	}
	return r
}

// receive sends a request and reads the body of the response as a T. isWanted reports whether the T is what the request
// asked for, and may set fields that are not in the body. The parameter wanted names the T in errors.
func receive[T any](
	ctx context.Context, c *Client, r request, wanted string, isWanted func(*T, response) bool,
) (T, error) {
	var received, none T
	r.read = func(resp response) error {
		if !resp.decode("application/json", &received) || !isWanted(&received, resp) {
			return resp.notUnderstood("it is not " + wanted)
		}
		return nil
	}
	if err := c.do(ctx, r); err != nil {
		return none, fmt.Errorf("%s: %w", r.call, err)
	}
	return received, nil
}

// do sends a request if the call's arguments are valid.
func (c *Client) do(ctx context.Context, r request) error {
	switch {
	case r.isServersOnly && c.serverKey == nil:
		return ErrNoServerKey
	case r.argumentErr != nil:
		return r.argumentErr
	default:
		return c.send(ctx, r)
	}
}

// send sends a request until the outcome is certain, a retry would not help, no attempt is left or the context ends.
func (c *Client) send(ctx context.Context, r request) error {
	// whether an attempt of this call may have been applied; always false if the request changes nothing
	perhapsApplied := false
	var settled time.Time // from this time on, no earlier attempt can be applied any more
	if err := ctx.Err(); err != nil {
		return r.failure(err, perhapsApplied)
	}
	for attempt := 1; ; attempt++ {
		sent := time.Now()
		resp, isResent, err := c.exchange(ctx, r)
		isRejected, isJudged := classify(err)
		if r.isChange && (isResent || err != nil && !isRejected) {
			perhapsApplied, settled = true, time.Now().Add(settlingTime)
		}
		if err == nil || isJudged && (isLasting(err) || !sent.Before(settled)) {
			return err
		}
		again, delay := isTransient(resp.status), resp.retryAfter()
		if isJudged { // not wrapped: a caller would take the error for a final refusal
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

// failure returns the error of a call that ended before the service accepted or rejected it for good. The error is an
// *OutcomeUnknownError if this call (perhapsApplied) or an earlier call may have been applied.
func (r request) failure(err error, perhapsApplied bool) error {
	if perhapsApplied || r.isRepeated && !errors.Is(err, ErrWrongBaseURL) {
		return &OutcomeUnknownError{Key: r.key, Err: err}
	}
	return err
}

// isTransient reports whether a retry may get a better response. Status 0 means that there was no response.
func isTransient(status int) bool {
	return slices.Contains([]int{
		0, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
	}, status)
}

// wait waits before a retry. It adds a random time to the time that the service asked for, so that rejected clients do
// not all return at once. It returns an error if the context ends meanwhile. If the wait would be too long, it returns
// an error at once.
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

// exchange sends a request and judges the response. It returns the error of judge, or an error if no complete response
// arrived. isResent means that net/http sent the request twice. It may do so if a reused connection breaks and the
// request is a GET or has an Idempotency-Key.
func (c *Client) exchange(ctx context.Context, r request) (resp response, isResent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var times atomic.Int32
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { times.Add(1) }})
	to := c.base
	to.Path += r.path
	to.RawQuery = r.query
	sent, err := http.NewRequestWithContext(ctx, r.method, to.String(), bytes.NewReader(r.body))
	if err != nil {
		return response{}, false, withoutURL(err)
	}
	if len(r.body) > 0 {
		sent.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		sent.Header.Set("Idempotency-Key", r.key)
	}
	if r.shopper.IsValid() {
		sent.Header.Set("Shopper-Address", r.shopper.Unmap().WithZone("").String())
	}
	if r.etag != "" {
		sent.Header.Set("If-None-Match", r.etag)
	}
	if c.serverKey != nil {
		sent.Header.Set("Authorization", "Bearer "+c.serverKey())
	}
	received, err := c.http.Do(sent)
	isResent = times.Load() > 1
	if failure, is := errors.AsType[*net.OpError](err); is && failure.Op == "dial" && times.Load() == 0 {
		return response{}, false, unsentError{withoutURL(err)}
	}
	if err != nil {
		return response{}, isResent, withoutURL(err)
	}
	defer received.Body.Close()
	body, err := io.ReadAll(io.LimitReader(received.Body, int64(r.maxBytes)+1))
	if err != nil {
		// Retry-After may still apply
		return response{header: received.Header}, isResent, fmt.Errorf("lost response: %w", err)
	}
	resp = response{received.StatusCode, received.Header, body}
	return resp, isResent, r.judge(resp)
}

// withoutURL removes the URL, which may contain a checkout's data, from an error of net/http.
func withoutURL(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err
	}
	return fmt.Errorf("no response: %w", err)
}

// retryAfter reads Retry-After, which is in seconds or a date (RFC 9110, section 10.2.3). It returns 0 if the header is
// missing.
func (resp response) retryAfter() time.Duration {
	text := resp.header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
