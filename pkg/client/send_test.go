package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

func TestRedeem_TransientFailure_IsRetriedWithTheSameKey(t *testing.T) {
	for name, test := range map[string]struct {
		failures []step
		replayed bool
		atLeast  time.Duration
	}{
		"no failure":                   {nil, false, 0},
		"the gateway throttles":        {[]step{message(429), message(429)}, false, 300 * time.Millisecond},
		"a function died":              {[]step{message(500)}, false, 0},
		"a function ran out of time":   {[]step{message(503)}, false, 0},
		"an internal error":            {[]step{problem("internal", 500)}, false, 0},
		"unavailable for some seconds": {[]step{unavailableFor("7")}, false, 7 * time.Second},
		"unavailable until a date": {
			[]step{unavailableFor("Sat, 01 Jan 2000 00:00:20 GMT")}, false, 20 * time.Second,
		},
		"unavailable until a past date":      {[]step{unavailableFor("Fri, 31 Dec 1999 00:00:00 GMT")}, false, 0},
		"unavailable for a negative time":    {[]step{unavailableFor("-5")}, false, 0},
		"unavailable until a malformed time": {[]step{unavailableFor("soon")}, false, 0},
		"unavailable, and cut short":         {[]step{cutsShort(unavailableFor("7"))}, false, 7 * time.Second},
		"a proxy's 502":                      {[]step{page(502)}, false, 0},
		"a proxy's 504":                      {[]step{page(504)}, false, 0},
		"the connection is lost":             {[]step{hangsUp}, false, 0},
		"three responses are lost":           {slices.Repeat([]step{loses(redeems)}, 3), true, 700 * time.Millisecond},
		"the response is cut short":          {[]step{cutsShort(redeems)}, true, 0},
		"no response comes":                  {[]step{silent}, false, client.DefaultAttemptTimeout},
		"the response comes byte by byte":    {[]step{trickles(redeems)}, true, client.DefaultAttemptTimeout},
		"too many refusals for a while": {
			[]step{problem("too-many-refusals", 429, "Retry-After", "7")}, false, 7 * time.Second,
		},
		"the response is lost, then 429 and 503": {
			[]step{loses(redeems), message(429), message(503)}, true, 700 * time.Millisecond,
		},
	} {
		inBubble(t, name, func(t *testing.T) { // a bubble begins at midnight of 2000-01-01
			s, c := serve(t, append(slices.Clone(test.failures), redeems)...)
			began := time.Now()
			redemption, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder", client.WithKey("till-1047"))
			if err != nil {
				t.Fatal(err)
			}
			if redemption.ID != redemptionID || redemption.Replayed != test.replayed {
				t.Errorf("redemption %+v", redemption)
			}
			if took := time.Since(began); took < test.atLeast || took > test.atLeast+time.Second {
				t.Errorf("it took %v, want %v and at most a second more", took, test.atLeast)
			}
			if want := slices.Repeat([]string{"till-1047"}, len(test.failures)+1); !slices.Equal(s.keys(), want) {
				t.Errorf("keys %q, want %q", s.keys(), want)
			}
		})
	}
}

func TestRedeem_OnlySomeStatusesProveThatNothingWasApplied(t *testing.T) {
	notApplied := []int{400, 401, 403, 404, 405, 410, 413, 414, 415, 422, 429, 431}
	for status := 400; status < 600; status++ {
		synctest.Test(t, func(t *testing.T) {
			s, _ := serve(t, message(status))
			c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithAttempts(1))
			_, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder")
			if unknown := wantFailure(t, err, s.keys()[0]); unknown == slices.Contains(notApplied, status) {
				t.Errorf("%v: outcome unknown %t, want %t", err, unknown, !unknown)
			}
		})
	}
}

// A failed dial sends nothing. The outcome is unknown only if the transport already sent the request on a connection
// that broke, or if an earlier call may have sent the key.
func TestCheckout_FailedDial_OutcomeIsUnknownOnlyIfTheRequestWasSentBefore(t *testing.T) {
	for name, test := range map[string]struct {
		steps   []step
		dials   int // how many succeed
		options []client.CallOption
		unknown bool
	}{
		"no such host":                   {nil, 0, nil, false},
		"no such host, the caller's key": {nil, 0, []client.CallOption{client.WithKey("till-1047")}, true},
		"no such host after it was sent": {[]step{message(429), hangsUp}, 1, nil, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, c := serve(t, test.steps...)
			transport, is := s.http.Transport.(*http.Transport)
			if !is {
				t.Fatal("the transport cannot dial")
			}
			connect, dials := transport.DialContext, 0
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				if dials++; dials > test.dials {
					return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("no such host")}
				}
				return connect(ctx, network, address)
			}
			_, err := c.Checkout(t.Context(), vipRank(), test.options...)
			if _, unknown := errors.AsType[*client.OutcomeUnknownError](err); unknown != test.unknown ||
				!strings.Contains(err.Error(), "no such host") {
				t.Errorf("%v: outcome unknown %t, want %t", err, unknown, test.unknown)
			}
			wantNoSecrets(t, err)
			if len(s.seen()) != len(test.steps) {
				t.Errorf("%d requests, want %d", len(s.seen()), len(test.steps))
			}
		})
	}
}

// A slow lost attempt, which arrived before the voucher ended, may be applied after a later attempt was refused.
func TestRedeem_RefusalIsNotFinalWhileALostAttemptIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s, c := serve(t, appliesLate(redeems), problem("voucher-not-found", 404), redeems)
		redemption, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder")
		if err != nil || !redemption.Replayed || len(s.seen()) != 3 {
			t.Errorf("%+v, %v after %d requests, want the redemption of the first request", redemption, err,
				len(s.seen()))
		}
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestRedeem_Refusal_IsFinalOnceNoLostAttemptCanBeApplied(t *testing.T) {
	refused := problem("voucher-not-found", 404)
	for name, test := range map[string]struct {
		steps    []step
		attempts int
		limit    time.Duration // of the context
		is       error         // nil: the outcome is unknown
		requests int
		took     time.Duration // at least, and at most a second more
	}{
		"at once": {[]step{refused}, 4, time.Hour, client.ErrVoucherNotFound, 1, 0},
		"after throttled attempts": {
			[]step{message(429), message(429), refused}, 4, time.Hour, client.ErrVoucherNotFound, 3, 0,
		},
		"some time after a lost attempt": {
			[]step{hangsUp, refused}, 4, time.Hour, client.ErrVoucherNotFound, 3, 10 * time.Second,
		},
		"some time after an attempt timed out": {
			[]step{silent, refused}, 4, time.Hour, client.ErrVoucherNotFound, 3, 20 * time.Second,
		},
		"some time after the last lost attempt": {
			[]step{hangsUp, unavailableFor("7"), refused}, 4, time.Hour, client.ErrVoucherNotFound, 4, 10 * time.Second,
		},
		"some time after net/http sent it twice": {
			[]step{message(429), hangsUp, refused}, 4, time.Hour, client.ErrVoucherNotFound, 4, 10 * time.Second,
		},
		"not if the context ends first": {[]step{hangsUp, refused}, 4, 5 * time.Second, nil, 2, 0},
		"not if no attempt is left":     {[]step{hangsUp, refused}, 2, time.Hour, nil, 2, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, _ := serve(t, test.steps...)
			c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithAttempts(test.attempts))
			ctx, cancel := context.WithTimeout(t.Context(), test.limit)
			defer cancel()
			began := time.Now()
			_, err := c.Redeem(ctx, "WELCOME-COINS", "Alder", client.WithKey("till-1047"))
			took := time.Since(began)
			_, isProblem := errors.AsType[*client.ProblemError](err)
			if unknown := wantFailure(t, err, "till-1047"); unknown != (test.is == nil) || isProblem == unknown ||
				!errors.Is(err, test.is) && test.is != nil {
				t.Errorf("%v, want %v", err, test.is)
			}
			if len(s.seen()) != test.requests || took < test.took || took > test.took+time.Second {
				t.Errorf("%d requests in %v, want %d in %v", len(s.seen()), took, test.requests, test.took)
			}
		})
	}
}

// An order keeps its payment, a cancelled order stays cancelled, and a redemption stays undone. So a refusal for such a
// reason is final at once, even if an attempt was lost and no attempt is left.
func TestRedeem_RefusalForAReasonThatNeverChanges_IsFinalAfterALostAttempt(t *testing.T) {
	lasting := []string{
		"payment-mismatch", "payment-insufficient", "order-cancelled", "checkout-replaced", "checkout-released",
		"checkout-ordered", "redemption-undone",
		"redemption-of-order",
	}
	for name, status := range client.ProblemTypes() {
		inBubble(t, name, func(t *testing.T) {
			s, _ := serve(t, hangsUp, problem(name, status))
			c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithAttempts(2))
			_, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder")
			if isFinal := !wantFailure(t, err, s.keys()[0]); isFinal != slices.Contains(lasting, name) {
				t.Errorf("%v: the refusal is final %t, want %t", err, isFinal, !isFinal)
			}
		})
	}
}

// wantFailure reports whether the error says that the outcome is unknown. It fails the test if there is no error, or if
// the error has another key or shows the key in its text. For a call without a key, the parameter key is empty.
func wantFailure(t *testing.T, err error, key string) (unknown bool) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	wantNoSecrets(t, err)
	outcome, unknown := errors.AsType[*client.OutcomeUnknownError](err)
	if unknown && (outcome.Key != key || key != "" && strings.Contains(fmt.Sprintf("%v %+v %q", err, err, err), key)) {
		t.Errorf("%v has the key %q; want %q, and not in the text", err, outcome.Key, key)
	}
	return unknown
}

// wantNoSecrets fails the test if the text of an error contains something that must not be logged.
func wantNoSecrets(t *testing.T, err error) {
	t.Helper()
	secrets := []string{
		"WELCOME", "COINS", "Alder", "player", "till-1047", checkoutID, redemptionID, stripe().Reference, serverKey,
		webhookSecret[6:],
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %q", err, err, err), fmt.Sprint(errors.Join(err))} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, text)
			}
		}
	}
}

func unavailableFor(seconds string) step { return problem("unavailable", 503, "Retry-After", seconds) }

func TestRetry_Delays_DoubleAndHaveARandomPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first []time.Duration
		for range 20 {
			s, c := serve(t, message(429))
			if _, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder"); !errors.Is(err, client.ErrThrottled) {
				t.Fatal(err)
			}
			requests := s.seen()
			for i := range 3 {
				waited, most := requests[i+1].at.Sub(requests[i].at), 200*time.Millisecond<<i
				if waited < most/2 || waited >= most {
					t.Errorf("%v before attempt %d, want %v to %v", waited, i+2, most/2, most)
				}
			}
			first = append(first, requests[1].at.Sub(requests[0].at))
		}
		if slices.Sort(first); len(slices.Compact(first)) < 10 {
			t.Errorf("delays before the second attempt %v, want at least 10 different ones", first)
		}
	})
}

func TestRetry_Delays_AreAtMostFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := serve(t, message(429))
		c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithAttempts(100))
		began := time.Now()
		if _, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder"); !errors.Is(err, client.ErrThrottled) {
			t.Fatal(err)
		}
		if took := time.Since(began); len(s.seen()) != 100 || took < 94*2500*time.Millisecond ||
			took > 99*5*time.Second {
			t.Errorf("%d requests in %v, want 100 with delays of 2.5s to 5s", len(s.seen()), took)
		}
	})
}

func TestRetry_WaitWouldBeTooLong_GivesUp(t *testing.T) {
	for name, test := range map[string]struct {
		step     step
		limit    time.Duration // of the context
		took     time.Duration
		requests int
		timeIsUp bool
	}{
		"the service asks for over half a minute":   {unavailableFor("31"), time.Hour, 0, 1, false},
		"more seconds than a number can hold":       {unavailableFor("99999999999999999999"), time.Hour, 0, 1, false},
		"the context ends first":                    {unavailableFor("5"), 3 * time.Second, 0, 1, false},
		"too little time for the delay":             {message(500), 50 * time.Millisecond, 0, 1, false},
		"the context ends during the first attempt": {silent, time.Second, time.Second, 1, true},
		"the context ends as the attempt times out": {silent, 10 * time.Second, 10 * time.Second, 1, true},
		"the context ends during an attempt":        {silent, 15 * time.Second, 15 * time.Second, 2, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, c := serve(t, test.step)
			ctx, cancel := context.WithTimeout(t.Context(), test.limit)
			defer cancel()
			began := time.Now()
			_, err := c.Redeem(ctx, "WELCOME-COINS", "Alder", client.WithKey("till-1047"))
			took := time.Since(began)
			if !wantFailure(t, err, "till-1047") || errors.Is(err, context.DeadlineExceeded) != test.timeIsUp {
				t.Errorf("error %v", err)
			}
			if took != test.took || len(s.seen()) != test.requests {
				t.Errorf("it took %v and %d requests, want %v and %d", took, len(s.seen()), test.took, test.requests)
			}
		})
	}
}

func TestRetry_Cancellation_EndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := serve(t, unavailableFor("5"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		began := time.Now()
		_, err := c.Redeem(ctx, "WELCOME-COINS", "Alder", client.WithKey("till-1047"))
		if !wantFailure(t, err, "till-1047") || !errors.Is(err, context.Canceled) ||
			!errors.Is(err, client.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != 2*time.Second || len(s.seen()) != 1 {
			t.Errorf("it took %v and %d requests", took, len(s.seen()))
		}
	})
}

func TestRedeem_ContextThatHasEnded_NothingIsSent(t *testing.T) {
	s, c := serve(t, redeems)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, fresh := c.Redeem(ended, "WELCOME-COINS", "Alder")
	_, repeated := c.Redeem(ended, "WELCOME-COINS", "Alder", client.WithKey("till-1047"))
	if wantFailure(t, fresh, "") || !wantFailure(t, repeated, "till-1047") || !errors.Is(fresh, context.Canceled) ||
		!errors.Is(repeated, context.Canceled) || len(s.seen()) > 0 {
		t.Errorf("%v, %v after %d requests", fresh, repeated, len(s.seen()))
	}
}

// A redirect would send the key of the shop's server, the code and the nick to another address.
func TestCall_RedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		inBubble(t, http.StatusText(status), func(t *testing.T) {
			for _, to := range []string{"/base/elsewhere", "http://elsewhere.example/"} {
				s, _ := serve(t, answers(status, "", "Location", to), redeems)
				c := newClient(t, "http://shop.example/base", client.WithHTTPClient(s.http),
					client.WithServerKey(serverKey))
				_, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder")
				if answer, is := errors.AsType[*client.ResponseError](err); !is || answer.Status != status ||
					len(s.seen()) != 1 {
					t.Errorf("to %s: %v after %d requests", to, err, len(s.seen()))
				}
			}
		})
	}
}

func TestClient_IsSafeForConcurrentUse(t *testing.T) {
	s := &service{steps: []step{redeems}, made: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := newClient(t, server.URL)
	var shoppers sync.WaitGroup
	for i := range 50 {
		shoppers.Go(func() {
			if _, err := c.Redeem(t.Context(), "ALWAYS", fmt.Sprintf("Racer_%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	shoppers.Wait()
	if len(s.made) != 50 || s.made[""] { // each call has its own key
		t.Errorf("%d were redeemed, want 50", len(s.made))
	}
}

func TestNew_Options_AreAppliedOrRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := serve(t, silent)
		c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithAttempts(1),
			client.WithAttemptTimeout(time.Minute))
		began := time.Now()
		if _, err := c.Redeem(t.Context(), "WELCOME-COINS", "Alder"); err == nil || time.Since(began) != time.Minute ||
			len(s.seen()) != 1 {
			t.Errorf("%v after %v and %d requests", err, time.Since(began), len(s.seen()))
		}
	})
	for name, option := range map[string]client.Option{
		"zero attempts": client.WithAttempts(0), "negative attempts": client.WithAttempts(-1),
		"no time":               client.WithAttemptTimeout(0),
		"no wait between polls": client.WithLongestPoll(0),
	} {
		if _, err := client.New("https://shop.example", "emberforge", option); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

const serverKey = "sf_0123456789_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdEabcdeF"

func TestServerKey_IsNeverPrinted(t *testing.T) {
	s, _ := serve(t, hangsUp)
	c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithServerKey(serverKey),
		client.WithAttempts(1))
	_, failed := c.Redeem(t.Context(), "WELCOME-COINS", "Alder")
	// Printing a client reads all of its fields. So print a client that has made no call: a connection in use would
	// race with that.
	c = newClient(t, "http://shop.example", client.WithHTTPClient(&http.Client{Transport: &http.Transport{}}),
		client.WithServerKey(serverKey))
	_, refused := client.New("http://shop.example", "emberforge", client.WithServerKey(serverKey+"\n"))
	holder := struct {
		shop  *client.Client
		inner client.Client
	}{c, *c}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("shop", "client", c, "failed", failed, "refused", refused)
	slog.New(slog.NewTextHandler(&log, nil)).Info("shop", "client", c, "failed", failed, "refused", refused)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&log, verb+verb+verb+verb+verb, c, *c, holder, failed, refused)
	}
	for _, form := range []string{
		serverKey[14:], fmt.Sprintf("%x", serverKey[14:]),
		fmt.Sprintf("%d", []byte(serverKey[14:20])),
	} {
		if strings.Contains(log.String(), strings.Trim(form, "[]")) {
			t.Errorf("%s is in %s", form, log.String())
		}
	}
}

func TestServerKey_Malformed_IsRejected(t *testing.T) {
	for _, key := range []string{
		"", "0123456789", serverKey[:62], serverKey + "F", serverKey[:62] + "\n",
		"Bearer " + serverKey[7:], "pk" + serverKey[2:],
	} {
		if _, err := client.New("https://shop.example", "emberforge", client.WithServerKey(key)); !errors.Is(err,
			client.ErrMalformedServerKey) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestNew_MalformedArgumentsAreRejected(t *testing.T) {
	for _, baseURL := range []string{
		"", "shop.example", "//shop.example", "/shop", "ftp://shop.example", "https://", "https://shop.example?stage=1",
		"https://shop.example#top",
		"https://till:secret@shop.example", "https://shop .example", ":",
	} {
		if _, err := client.New(baseURL, "emberforge"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", baseURL, err)
		}
	}
	for _, shop := range []string{
		"", ".", "..", "ember forge", "ember/forge", "ember?", "émber", "-ember",
		strings.Repeat("e", 65),
	} {
		if _, err := client.New("https://shop.example", shop); !errors.Is(err, client.ErrMalformedID) {
			t.Errorf("%q: %v", shop, err)
		}
	}
}
