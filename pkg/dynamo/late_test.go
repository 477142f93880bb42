package dynamo_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// late is a network that holds back the first call of an operation until deliver is called. The caller sees a cut
// connection. A transaction is delivered without its token, because DynamoDB remembers tokens for ten minutes only.
type late struct {
	operation string
	once      sync.Once
	held      *http.Request
}

var token = regexp.MustCompile(`"ClientRequestToken":"[^"]*",?`)

func (l *late) Do(r *http.Request) (*http.Response, error) {
	var err error
	if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810."+l.operation {
		l.once.Do(func() {
			var body []byte
			if body, err = io.ReadAll(r.Body); err == nil {
				l.held = r.Clone(r.Context())
				body = token.ReplaceAll(body, nil)
				l.held.Body, l.held.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				err = &smithyhttp.RequestSendError{Err: errCut}
			}
		})
	}
	if err != nil {
		return nil, err
	}
	return dynamotest.Network().Do(r)
}

func (l *late) deliver(t *testing.T) {
	t.Helper()
	response, err := dynamotest.Network().Do(l.held.WithContext(t.Context()))
	must(t, err)
	body, err := io.ReadAll(response.Body)
	if err != nil || strings.Contains(string(body), "Serialization") {
		t.Errorf("DynamoDB Local could not read the late call: %s, %v", body, err)
	}
	_ = response.Body.Close()
}

// A refusal promises that nothing was taken and nothing will be. An attempt in flight could break that promise if an
// operator makes the code redeemable again. So a request is never refused while one of its attempts may be in flight,
// whatever the reason. The same applies to unknown codes, because they must look like all other codes.
func TestRedeem_LostAttemptStillInFlight_IsNotRefused(t *testing.T) {
	t.Parallel()
	none := new(voucher.NoLimit)
	for what, test := range map[string]lateAttempt{
		"single-use, disabled and enabled": {
			operation: "UpdateItem", terms: voucher.Terms{Disabled: true}, edit: voucher.Edit{Disabled: new(false)},
		},
		"used up and raised": {
			operation: "TransactWriteItems", terms: voucher.Terms{MaxUses: new(voucher.Limit(2)), MaxUsesPerNick: none},
			before: 2, edit: voucher.Edit{MaxUses: new(voucher.Limit(3))},
		},
		"single-use, redeemed, disabled and enabled": {
			operation: "UpdateItem", before: 1, edit: voucher.Edit{Disabled: new(false)},
		},
		"nick's limit reached and raised": {
			operation: "TransactWriteItems",
			terms:     voucher.Terms{MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(2))},
			before:    2, edit: voucher.Edit{MaxUsesPerNick: new(voucher.Limit(3))},
		},
		"many uses, disabled and enabled": {
			operation: "UpdateItem", terms: voucher.Terms{MaxUses: none, Disabled: true},
			edit: voucher.Edit{Disabled: new(false)},
		},
	} {
		for _, key := range []string{"", "order-1047"} {
			t.Run(fmt.Sprintf("%s, key %q", what, key), func(t *testing.T) { test.run(t, key) })
		}
	}
}

// lateAttempt is a request by Alder. Its first attempt arrives after an edit of the voucher.
type lateAttempt struct {
	operation string // its first call is late
	terms     voucher.Terms
	before    int // redemptions by Alder
	edit      voucher.Edit
}

func (l lateAttempt) run(t *testing.T, key string) {
	s := newShop(t)
	l.terms.Written = "SUMMER-20"
	v := s.create(l.terms)
	for range l.before {
		s.mustRedeem(request(t, "SUMMER-20", "Alder", ""))
	}
	network := &late{operation: l.operation}
	redeemer := s.over(network)
	_, _, err := redeemer.Redeem(within(t), request(t, "SUMMER-20", "Alder", key))
	wantUnavailable(t, err)
	s.mustEdit(v, l.edit)
	network.deliver(t)
}

// detour is a network that sends the first attempt to another address.
type detour struct {
	scheme, host string
	limit        time.Duration // of the first attempt
	once         sync.Once
}

func (d *detour) Do(r *http.Request) (*http.Response, error) {
	limit := patience
	d.once.Do(func() { r.URL.Scheme, r.URL.Host, limit = d.scheme, d.host, d.limit })
	return dynamo.NewTransport(limit).Do(r)
}

// If nothing of an attempt was sent, it cannot be applied later. So a mistyped code is refused as soon as the store
// responds. Once the store may have received the request, the outcome is unknown.
func TestRedeem_FailedAttempt_IsRefusedOnlyIfNothingWasSent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	strange := httptest.NewUnstartedServer(nil)
	strange.Config.ErrorLog = log.New(io.Discard, "", 0) // the test causes a failed handshake
	strange.StartTLS()
	t.Cleanup(strange.Close)
	silent := func(*net.TCPConn) { <-t.Context().Done() }
	hangUp := func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)) }
	for what, test := range map[string]struct {
		scheme, host string
		limit        time.Duration
		wantRefused  bool
	}{
		// port 1 is never lent, while a closed listener's port may be the next one of another test
		"nobody listens":                  {"http", "127.0.0.1:1", patience, true},
		"an unknown certificate":          {"https", strange.Listener.Addr().String(), patience, true},
		"reset during the TLS handshake":  {"https", listen(t, hangUp).Addr().String(), patience, true},
		"silence in the TLS handshake":    {"https", listen(t, silent).Addr().String(), 100 * time.Millisecond, true},
		"reset after the request arrived": {"http", listen(t, receive).Addr().String(), patience, false},
		// even a busy machine sends the request within the limit
		"silence after the request": {"http", listen(t, silent).Addr().String(), 5 * time.Second, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			redeemer := s.over(&detour{scheme: test.scheme, host: test.host, limit: test.limit})
			_, _, err := redeemer.Redeem(within(t), request(t, "MISTYPED", "Alder", "order-1047"))
			_, unavailable := errors.AsType[*dynamo.UnavailableError](err)
			if _, refused := voucher.IsRefusal(err); refused != test.wantRefused || unavailable == test.wantRefused {
				t.Errorf("Redeem = %v; want a refusal: %t", err, test.wantRefused)
			}
		})
	}
}

// receive reads a whole request.
func receive(connection *net.TCPConn) {
	if r, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// listen accepts connections, and resets each connection after serve has returned.
func listen(t *testing.T, serve func(*net.TCPConn)) net.Listener {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			go func() {
				serve(connection)
				_ = connection.SetLinger(0) // close with a reset
				_ = connection.Close()
			}()
		}
	}()
	return listener
}
