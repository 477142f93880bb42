package client

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// What a Client does where no Option says otherwise.
const (
	DefaultAttempts = 4
	// DefaultAttemptTimeout is as long as docs/interface.md asks storefronts to wait for an answer.
	DefaultAttemptTimeout = 10 * time.Second
)

// Errors of arguments. Nothing was sent.
var (
	// ErrMalformedID says that a text cannot be the ID of a customer, product or variant: 1 to 64 of A-Z a-z 0-9 . _ -,
	// beginning with a letter or digit.
	ErrMalformedID = errors.New("malformed ID")
	// ErrMalformedKey says that a text cannot be an Idempotency-Key: 1 to 255 visible ASCII characters without comma.
	ErrMalformedKey = errors.New("malformed Idempotency-Key")
)

// Client calls one customer's shop. It may be used concurrently.
type Client struct {
	base     url.URL
	customer string
	http     http.Client
	attempts int
	timeout  time.Duration
	jitter   func(n int64) int64 // a random number from 0 up to, not including, n
}

// Option changes what New makes.
type Option func(*Client)

// WithHTTPClient sends by a client of the caller's, of which a copy is taken. It does not follow redirects all the same.
func WithHTTPClient(c *http.Client) Option { return func(to *Client) { to.http = *c } }

// WithAttempts has a call send its request at most n times; n is at least 1.
func WithAttempts(n int) Option { return func(to *Client) { to.attempts = n } }

// WithAttemptTimeout bounds one attempt, from connecting to the end of the answer. The call as a whole is bounded by its
// context. Less than DefaultAttemptTimeout gives up on requests that are still being worked on.
func WithAttemptTimeout(d time.Duration) Option { return func(to *Client) { to.timeout = d } }

// New is a client of a customer's shop. baseURL is that of the deployment, such as https://shop.example, http or https,
// without query. A customer that cannot be one is ErrMalformedID.
func New(baseURL, customer string, options ...Option) (*Client, error) {
	base, err := url.Parse(baseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("shopfront client: the base URL must be like https://shop.example")
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	if !isID(customer) {
		return nil, fmt.Errorf("shopfront client: customer: %w", ErrMalformedID)
	}
	c := &Client{
		base: *base, customer: customer,
		attempts: DefaultAttempts, timeout: DefaultAttemptTimeout, jitter: mathrand.Int64N,
	}
	for _, option := range options {
		option(c)
	}
	if c.attempts < 1 || c.timeout <= 0 {
		return nil, errors.New("shopfront client: attempts and their timeout must be above zero")
	}
	// A redirect would take codes and nicks elsewhere, and turn a POST into a GET.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// NewKey is an Idempotency-Key that was never used: 26 characters with at least 128 random bits. Store it before the call
// that it is for.
func NewKey() string { return rand.Text() }

// CallOption changes one call.
type CallOption func(*request)

// WithKey marks the call by a key of the caller's, so that it can be repeated: with the same arguments and key it is applied
// once. A shopper's next attempt is another call, and needs another key. Without WithKey a call makes a key for itself.
//
// Since an earlier call may have sent the key, an outcome stays unknown until the service has judged the request: also after
// 429, or where nothing was sent. When that was a call cannot know: repeat one no sooner than DefaultAttemptTimeout after it
// ended, or after its process was killed. A refusal that comes sooner may be contradicted by what is still being worked on.
func WithKey(key string) CallOption { return func(r *request) { r.key, r.isRepeated = key, true } }

// keyed is a request that is applied once, however often it is sent.
func (r *request) keyed(options []CallOption) error {
	r.key = NewKey()
	for _, option := range options {
		option(r)
	}
	if !isKey(r.key) {
		return ErrMalformedKey
	}
	return nil
}

func isKey(text string) bool {
	return len(text) >= 1 && len(text) <= 255 && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' })
}

func isID(text string) bool {
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return len(text) >= 1 && len(text) <= 64 && strings.Contains(alphanumeric, text[:1]) && strings.Trim(text, alphanumeric+"._-") == ""
}
