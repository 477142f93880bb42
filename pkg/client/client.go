package client

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Defaults of a Client.
const (
	DefaultAttempts       = 4
	DefaultAttemptTimeout = 10 * time.Second // docs/reference/storefront.md asks storefronts to wait this long
)

// Errors about arguments. Nothing was sent.
var (
	// ErrMalformedID rejects an ID. The ID of a shop, product or variant has 1 to 64 characters of A-Z a-z 0-9 . _
	// - and starts with a letter or digit. The ID of a checkout, order or redemption has 1 to 64 characters of A-Z a-z
	// 0-9 _ -
	ErrMalformedID = errors.New("malformed ID")
	// ErrMalformedKey rejects an Idempotency-Key. A key has 1 to 255 visible ASCII characters without a comma.
	ErrMalformedKey = errors.New("malformed Idempotency-Key")
	// ErrNoServerKey rejects a call that only the shop's server may make, see WithServerKey.
	ErrNoServerKey = errors.New("this call needs a key of the shop's server: pass WithServerKey to New")
	// ErrMalformedServerKey rejects a key that is not exactly as `shopctl key create` printed it.
	ErrMalformedServerKey = errors.New("malformed key of the shop's server: send it as shopctl key create printed " +
		"it, from sf_ to the end")
)

// Client calls one shop. It is safe for concurrent use.
type Client struct {
	base     url.URL
	shop     string
	http     http.Client
	attempts int
	timeout  time.Duration
	poll     time.Duration       // the longest wait between polls
	jitter   func(n int64) int64 // a random number from 0 to n-1
	outage   func(cause error)
	// serverKey returns the key of the shop's server. Printing a Client cannot show the key, because serverKey is a
	// function.
	serverKey func() string
}

// Option configures a Client.
type Option func(*Client)

// WithHTTPClient sends requests with a copy of c. The copy does not follow redirects.
func WithHTTPClient(c *http.Client) Option { return func(to *Client) { to.http = *c } }

// WithAttempts makes a call send its request at most n times. n must be at least 1.
func WithAttempts(n int) Option { return func(to *Client) { to.attempts = n } }

// WithAttemptTimeout limits one attempt, from connecting to the end of the response. The context of a call limits the
// call as a whole. With less than DefaultAttemptTimeout, an attempt may end while the service is still working.
func WithAttemptTimeout(d time.Duration) Option { return func(to *Client) { to.timeout = d } }

// WithLongestPoll makes Events ask for new events at least this often, even if the service asks for a longer wait. The
// operator pays for every request.
func WithLongestPoll(d time.Duration) Option { return func(to *Client) { to.poll = d } }

// WithOutageReport makes Events call the given function: with the cause when Events begins to wait for the service, and
// with nil when the service is back.
func WithOutageReport(report func(cause error)) Option {
	return func(to *Client) { to.outage = report }
}

// WithServerKey makes calls as the shop's server, with a key that `shopctl key create` printed. The service then allows
// what the shop's policies reserve for its server, and says why it refuses a code (ProblemError.Reason). Calls about
// orders and events need the key. Listing and undoing redemptions need it, too. The key is secret. Never ship it to a
// shopper's device, and use an https base URL. New rejects a malformed key with ErrMalformedServerKey.
func WithServerKey(key string) Option {
	return func(to *Client) { to.serverKey = func() string { return key } }
}

// New returns a client for a shop. baseURL is the http or https URL of the deployment without a query, such as
// https://shop.example. shop is the shop's ID. New rejects a malformed ID with ErrMalformedID.
func New(baseURL, shop string, options ...Option) (*Client, error) {
	base, err := url.Parse(baseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("shopfront client: the base URL must look like https://shop.example")
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	if !isID(shop) {
		return nil, fmt.Errorf("shopfront client: shop: %w", ErrMalformedID)
	}
	c := &Client{
		base: *base, shop: shop,
		attempts: DefaultAttempts, timeout: DefaultAttemptTimeout, poll: longestPoll, jitter: mathrand.Int64N,
		outage: func(error) {},
	}
	for _, option := range options {
		option(c)
	}
	if c.attempts < 1 || c.timeout <= 0 || c.poll <= 0 {
		return nil, errors.New("shopfront client: attempts, attempt timeout and longest poll must be above zero")
	}
	if c.serverKey != nil && !isServerKey(c.serverKey()) {
		return nil, fmt.Errorf("shopfront client: %w", ErrMalformedServerKey)
	}
	// A redirect would send keys, codes and nicks elsewhere and turn a POST into a GET.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// NewKey returns a new Idempotency-Key: 26 characters with at least 128 random bits. Store it before the call.
func NewKey() string { return rand.Text() }

// CallOption configures one call.
type CallOption func(*request)

// WithKey sends the call with the caller's key, so that the caller can repeat it: calls with the same arguments and key
// are applied once. Use another key for the shopper's next attempt. Without WithKey each call makes its own key.
//
// An earlier call may have sent the key. The outcome therefore stays unknown until the service itself has accepted or
// rejected the request. It stays unknown even if nothing was sent, and after 401, 403 and 429, because the service can
// send these before it looks for the earlier call. There are two exceptions: errors about arguments, and
// ErrWrongBaseURL unless an attempt of this call may have been applied. Before you repeat a call, wait
// DefaultAttemptTimeout after the call ended or its process was killed: an attempt in flight may still be applied after
// a refusal.
func WithKey(key string) CallOption { return func(r *request) { r.key, r.isRepeated = key, true } }

// WithShopperAddress names the network address of the shopper for whom the shop's server calls, see WithServerKey. The
// service then limits refused codes and holds by this address, as if the shopper had called. Without it, nothing limits
// shoppers who have no nick. Take the address from the shopper's connection or from your own proxy, never from a header
// that the shopper can write.
func WithShopperAddress(address netip.Addr) CallOption {
	return func(r *request) { r.shopper = address }
}

// once returns the request with an Idempotency-Key. The service then applies the request once, however often it is
// sent.
func (r request) once(options []CallOption) request {
	r.key, r.isChange = NewKey(), true
	for _, option := range options {
		option(&r)
	}
	if len(r.key) < 1 || len(r.key) > 255 ||
		strings.ContainsFunc(r.key, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }) {
		r.argumentErr = ErrMalformedKey
	}
	return r
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func isServerKey(text string) bool {
	return len(text) == 63 && strings.HasPrefix(text, "sf_") && strings.Trim(text, alphanumeric+"_-") == ""
}

func isRandomID(text string) bool {
	return len(text) >= 1 && len(text) <= 64 && strings.Trim(text, alphanumeric+"_-") == ""
}

func isID(text string) bool {
	return len(text) >= 1 && len(text) <= 64 && strings.Contains(alphanumeric, text[:1]) &&
		strings.Trim(text, alphanumeric+"._-") == ""
}
