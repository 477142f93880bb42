package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/pkg/client"
)

const webhookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// fakeFeed serves emberforge's feed of events over HTTP, in place of the local run. It admits only live keys.
type fakeFeed struct {
	id string

	mu     sync.Mutex
	events int               // the number of events; their sequences begin at 1
	oldest int               // the sequence of the oldest event that is kept
	atEnd  func(request int) // called when a request has reached the end of the feed, with the number of such requests
	ends   int               // how many requests have reached the end of the feed
}

// newEventsShop returns a Shopfront with the shop emberforge, and a feed with events.
func newEventsShop(t *testing.T, events int) (*shopfront, *fakeFeed) {
	t.Helper()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	return s, s.serveFeed(t, events)
}

func (s *shopfront) serveFeed(t *testing.T, events int) *fakeFeed {
	t.Helper()
	f := &fakeFeed{id: "Zk3p0c8Q", events: events, oldest: 1, atEnd: func(int) {}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(s, w, r) }))
	t.Cleanup(server.Close)
	s.state.BaseURL = server.URL
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	s.variables[webhookSecretVariable] = webhookSecret
	s.variables["HOME"] = s.dir
	return f
}

func (f *fakeFeed) serve(s *shopfront, w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, _, err := s.guard.Admit(r.Context(), "emberforge", r.Header.Values("Authorization"), s.clock); err != nil ||
		len(r.Header["Authorization"]) == 0 {
		respondProblem(w, `"type":"urn:problem:shopfront:unauthorized"`, http.StatusUnauthorized)
		return
	}
	query := r.URL.Query()
	after, err := strconv.Atoi(query.Get("after"))
	if !query.Has("after") {
		after, err = f.oldest-1, nil
	}
	switch {
	case r.URL.Path != "/shop/emberforge/events":
		http.NotFound(w, r)
	case err != nil:
		respondProblem(w, `"type":"urn:problem:shopfront:malformed-request"`, http.StatusBadRequest)
	case after < f.oldest-1 || query.Has("feed") && query.Get("feed") != f.id:
		respondProblem(w, fmt.Sprintf(`"type":"urn:problem:shopfront:cursor-expired","earliest":%d,"feed":%q`,
			f.oldest-1, f.id), http.StatusGone)
	case after > f.events:
		respondProblem(w, `"type":"urn:problem:shopfront:invalid"`, http.StatusUnprocessableEntity)
	default:
		f.page(w, after)
	}
}

// page serves up to two events after a sequence.
func (f *fakeFeed) page(w http.ResponseWriter, after int) {
	var events []string
	for len(events) < 2 && after < f.events {
		after++
		events = append(events, eventJSON(after))
	}
	feed, next, pollAfter := f.id, fmt.Sprintf("/shop/emberforge/events?after=%d&feed=%s", after, f.id), 0
	if f.events == 0 {
		feed, next = "", "/shop/emberforge/events?after=0"
	}
	if after == f.events {
		pollAfter = 15
		f.ends++
		f.atEnd(f.ends)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"feed":%q,"events":[%s],"next":%q,"pollAfterSeconds":%d}`, feed, strings.Join(events, ","),
		next, pollAfter)
}

func respondProblem(w http.ResponseWriter, members string, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{%s,"title":"A title","status":%d}`, members, status)
}

// eventJSON returns an event of emberforge. The event with sequence N happened N minutes after 18:00.
func eventJSON(sequence int) string {
	at := fmt.Sprintf("2026-11-20T18:%02d:00.000Z", sequence)
	money := func(minor int, display string) string {
		return fmt.Sprintf(`{"minor":%d,"currency":"EUR","display":%q}`, minor, display)
	}
	redemption := `{"id":"cWJxYWRzZmFzZGZhc2RmYQ","status":"redeemed","code":"WELCOME-COINS","nick":"Alder\u0007",` +
		`"redeemedAt":"` + at + `","reward":%s}`
	order := `{"id":"ySBDAj4aT84YTR_U3sQzxwfPkI5GrohS55kPQs7VRFUw","number":"HCAXP-3GGED",` +
		`"status":"placed","product":"coins",` +
		`"variant":"500","amount":3,"data":"x",` +
		`"unitPrice":` + money(499, "4.99 EUR") + `,"subtotal":` + money(1497, "14.97 EUR") + `,"discount":` +
		money(0, "0.00 EUR") + `,"total":` +
		money(1497, "14.97 EUR") + `,"createdAt":"` + at +
		`","payment":{"provider":"stripe","reference":"pi_3Q0001"},"orderedAt":"` + at + `"}`
	kinds := []struct{ kind, data string }{
		{"gift.sent", `{ "to": "<Heron>" }`},
		{"redemption.created", fmt.Sprintf(redemption,
			`{"kind":"product","product":"coins","variant":"500","amount":1}`)},
		{"redemption.created", fmt.Sprintf(redemption, `{"kind":"percent_off","percentOff":20}`)},
		{"redemption.created", fmt.Sprintf(redemption, `{"kind":"amount_off","amountOff":`+money(500, "5.00 EUR")+`}`)},
		{"order.created", order},
	}
	kind := kinds[sequence%len(kinds)]
	return fmt.Sprintf(`{"id":"MTCXgwWFAhhCzmYLdegd%02d","type":%q,"timestamp":%q,"sequence":%d,`+
		`"customer":"emberforge","data":%s}`,
		sequence, kind.kind, at, sequence, kind.data)
}

// countingOutput is an output that calls stop once it has the given number of lines.
type countingOutput struct {
	bytes.Buffer

	lines int
	stop  func()
}

func (c *countingOutput) Write(text []byte) (int, error) {
	n, err := c.Buffer.Write(text)
	if bytes.Count(c.Bytes(), []byte("\n")) >= c.lines {
		c.stop()
	}
	return n, err
}

// interrupted runs shopctl until it has printed a number of lines, and then interrupts it like Ctrl-C.
func (s *shopfront) interrupted(t *testing.T, lines int, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout := &countingOutput{lines: lines, stop: cancel}
	var stderr bytes.Buffer
	exit := s.program(stdout, &stderr).run(ctx, args)
	got := result{stdout.String(), stderr.String(), exit}
	s.printed(args, got)
	return got
}

// keyStatuses lists the names and statuses of emberforge's keys.
func (s *shopfront) keyStatuses(t *testing.T) []string {
	t.Helper()
	var statuses []string
	for line := range strings.Lines(s.must(t, "key", "list", "emberforge", "--json")) {
		var key keyJSON
		if err := json.Unmarshal([]byte(line), &key); err != nil {
			t.Fatal(err)
		}
		statuses = append(statuses, key.Name+" "+key.Status)
	}
	return statuses
}

func TestTail_PrintsOnlyNewEvents(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 3)
	f.atEnd = func(request int) {
		if request == 1 {
			f.events = 6
		}
	}
	got := s.interrupted(t, 3, "--local", "events", "tail", "emberforge")
	want := result{`2026-11-20T18:04:00.000Z      4  order.created       3*coins/500  14.97 EUR  -  HCAXP-3GGED
2026-11-20T18:05:00.000Z      5  gift.sent           { "to": "<Heron>" }
2026-11-20T18:06:00.000Z      6  redemption.created  WELCOME-COINS  coins/500  "Alder\a"  cWJxYWRzZmFzZGZhc2RmYQ
`, "waiting for events of emberforge after 3; Ctrl-C ends\n", exitOK}
	if got != want {
		t.Errorf("got %v want %v", got, want)
	}
	if got := s.keyStatuses(t); !slices.Equal(got, []string{"shopctl events revoked"}) {
		t.Errorf("keys %q", got)
	}
}

func TestTail_FlagAfter_BeginsWithAnEarlierEvent(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 4)
	f.oldest = 2
	got := s.interrupted(t, 3, "--local", "events", "tail", "emberforge", "--after", "0")
	if rows := strings.Split(got.stdout, "\n"); got.exit != exitOK || len(rows) != 4 ||
		!strings.Contains(rows[0], "     2  redemption.created  WELCOME-COINS  20% off  ") ||
		!strings.Contains(rows[1], "     3  redemption.created  WELCOME-COINS  5.00 EUR off  ") {
		t.Errorf("got %v", got)
	}
	got = s.interrupted(t, 3, "--local", "events", "tail", "emberforge", "--after", "1", "--json")
	rows := strings.Split(got.stdout, "\n")
	if got.exit != exitOK || got.stderr != "" || len(rows) != 4 || rows[0] != eventJSON(2) || rows[2] != eventJSON(4) {
		t.Errorf("got %v", got)
	}
}

func TestTail_ByURLAndKey_NeedsNoDeployment(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 1)
	key := s.must(t, "key", "create", "emberforge", "--name", "web shop")
	tail := []string{"events", "tail", "emberforge", "--after", "0", "--url", s.state.BaseURL}
	file := filepath.Join(s.dir, "web-shop.key")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.interrupted(t, 1, append(tail, "--key-file", file)...); got.exit != exitOK ||
		!strings.Contains(got.stdout, "coins/500") {
		t.Errorf("with a file: %v", got)
	}
	s.variables[keyVariable] = strings.TrimSpace(key)
	s.variables[stackVariable] = "shopfront-prod" // --url overrides it
	if got := s.interrupted(t, 1, tail...); got.exit != exitOK || !strings.Contains(got.stdout, "coins/500") {
		t.Errorf("with the variable: %v", got)
	}
	if got := s.interrupted(t, 1, "--local", "events", "tail", "emberforge", "--after", "0"); got.exit != exitOK {
		t.Errorf("with --local: %v", got)
	}
	if got := s.keyStatuses(t); !slices.Equal(got, []string{"web shop live"}) {
		t.Errorf("a key was created: %q", got)
	}
}

func TestTail_FaultsAreReported(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 9)
	f.oldest = 5
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message":"Not Found"}`)
	}))
	t.Cleanup(foreign.Close)
	const unknownKey = "sf_0123456789_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdEabcdeF"
	for name, test := range map[string]struct {
		key  string
		args []string
		exit int
		want string
	}{
		"no target": {
			"", nil, exitUsage,
			"give --stack NAME (or set SHOPFRONT_STACK) for a deployed stack, or --local for the local run, or " +
				"--url URL with a key",
		},
		"no key": {"", []string{"--url", foreign.URL}, exitUsage, "no key: set SHOPFRONT_KEY"},
		"two targets": {
			unknownKey,
			[]string{"--local", "--url", foreign.URL},
			exitUsage,
			"--url is a target of its own",
		},
		"no https": {
			unknownKey,
			[]string{"--url", "http://shop.example"},
			exitUsage,
			"--url: must begin with https://",
		},
		"malformed key": {"sf_1", []string{"--url", foreign.URL}, exitUsage, "malformed key"},
		"no such key file": {
			"",
			[]string{"--local", "--key-file", "no-such.key"},
			exitUsage,
			"--key-file: open no-such.key",
		},
		"refused key": {
			unknownKey,
			[]string{"--local"},
			exitRefused,
			"refuses the key: give a live key of emberforge",
		},
		"events not kept": {
			"",
			[]string{"--local", "--after", "3"},
			exitRefused,
			"the oldest event that is kept is 5",
		},
		"beyond the newest": {
			"",
			[]string{"--local", "--after", "10"},
			exitRefused,
			"the feed has no event with that number yet",
		},
		"negative sequence": {
			"",
			[]string{"--local", "--after", "-1"},
			exitUsage,
			"must be a whole number of at least 0",
		},
		"URL without a feed": {
			unknownKey,
			[]string{"--url", foreign.URL},
			exitFailed,
			"has no feed of events: check the URL",
		},
		"no such shop": {
			"",
			[]string{"--local", "sakura-goods"},
			exitRefused,
			"shop sakura-goods does not exist",
		},
		"malformed shop": {"", []string{"--local", "../emberforge"}, exitUsage, "SHOP"},
		"two shops":      {"", []string{"--local", "emberforge", "emberforge"}, exitUsage, "unexpected argument"},
	} {
		t.Run(name, func(t *testing.T) {
			s.variables[keyVariable] = test.key
			args := []string{"events", "tail"}
			if !slices.ContainsFunc(test.args,
				func(arg string) bool { return strings.HasSuffix(arg, "emberforge") || arg == "sakura-goods" }) {
				args = append(args, "emberforge")
			}
			got := s.shopctl(t.Context(), append(args, test.args...)...)
			if got.exit != test.exit || !strings.Contains(got.stderr, test.want) || got.stdout != "" ||
				test.key != "" && strings.Contains(got.stderr, test.key) {
				t.Errorf("got %v want %s", got, test.want)
			}
		})
	}
	if got := s.keyStatuses(t); slices.Contains(got, "shopctl events live") {
		t.Errorf("a key outlives its run: %q", got)
	}
}

func TestTail_KeyOfTheRunEnds_SaysToRunTheCommandAgain(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 1)
	f.atEnd = func(request int) {
		if request == 2 {
			s.clock = s.clock.Add(25 * time.Hour)
		}
	}
	got := s.shopctl(t.Context(), "--local", "events", "tail", "emberforge")
	if got.exit != exitRefused || !strings.Contains(got.stderr,
		"refuses the key of this run: the local run was started anew, or the key expired: run the command again\n") {
		t.Errorf("got %v", got)
	}
}

func TestReportOutage_WarnsOfTheCause_AndSaysWhenTheShopIsBack(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	s := &session{program: program{output: output{stderr: &stderr}}}
	s.reportOutage("https://shop.example", errors.New("no route to host"))
	s.reportOutage("https://shop.example", nil)
	if want := "warning: waiting for https://shop.example: no route to host\nhttps://shop.example is back\n"; stderr.String() != want {
		t.Errorf("got %q want %q", stderr.String(), want)
	}
}

// A command that is interrupted while it creates its key must revoke the key.
func TestTail_InterruptedWhileItCreatesItsKey_RevokesTheKey(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	restore := s.through(t, newUnreliable(t, s, "TransactWriteItems", func(_ int, done bool) (cut bool) {
		if done {
			cancel()
		}
		return done && ctx.Err() != nil
	}))
	got := s.shopctl(ctx, "--local", "events", "tail", "emberforge")
	restore()
	if keys := s.keyStatuses(t); got.exit != exitOK || got.stdout != "" ||
		!slices.Equal(keys, []string{"shopctl events revoked"}) {
		t.Errorf("got %v, keys %q", got, keys)
	}
}

func TestTail_OutOfReachFromTheStart_IsReported(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 1)
	s.state.BaseURL = "http://" + nobody
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	got := s.shopctl(t.Context(), "--local", "events", "tail", "emberforge")
	if got.exit != exitFailed || !strings.HasPrefix(got.stderr, "error: "+s.state.BaseURL+": ") ||
		!strings.Contains(got.stderr, "refused") {
		t.Errorf("got %v", got)
	}
}

// receiver is a web server that takes forwarded events. It verifies each request.
type receiver struct {
	t   *testing.T
	s   *shopfront
	url string

	mu       sync.Mutex
	requests int
	taken    []int64 // the sequences that got 204
	// answer may respond to a request. If it returns false, the receiver responds with 204.
	answer       func(request int, w http.ResponseWriter) bool
	disconnected <-chan struct{} // closed when the sender of the last request has disconnected
}

func (s *shopfront) newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, s: s, answer: func(int, http.ResponseWriter) bool { return false }}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/events?token=t0psecret"
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was interrupted
	}
	event, err := client.VerifyWebhook([]string{webhookSecret}, request.Header, body, r.s.clock)
	if err != nil || event.ID != request.Header.Get("Webhook-Id") || string(body) != eventJSON(int(event.Sequence)) ||
		request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/json" ||
		request.URL.Path != "/events" {
		r.t.Errorf("%s %s: %v: %s", request.Method, request.URL, err, body)
	}
	r.requests++
	r.disconnected = request.Context().Done()
	if r.answer(r.requests, w) {
		return
	}
	r.taken = append(r.taken, event.Sequence)
	w.WriteHeader(http.StatusNoContent)
}

// status returns a function that responds with a status.
func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Location", "/events") // a client that follows a redirect sends GET, which the receiver reports
		w.WriteHeader(code)
	}
}

func hangUp(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// answers sets the responses to the next requests, in this order.
func (r *receiver) answers(answers ...func(http.ResponseWriter)) {
	r.requests = 0
	r.answer = func(request int, w http.ResponseWriter) bool {
		if request > len(answers) {
			return false
		}
		answers[request-1](w)
		return true
	}
}

func (r *receiver) wantTaken(t *testing.T, want ...int64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.taken, want) {
		t.Errorf("the receiver took %d, want %d", r.taken, want)
	}
}

// neverPause makes every delay take no time. It returns a list to which each delay is added.
func (s *shopfront) neverPause() *[]time.Duration {
	delays := new([]time.Duration)
	s.sleep = func(ctx context.Context, delay time.Duration) error {
		*delays = append(*delays, delay)
		return ctx.Err()
	}
	return delays
}

func wantNoSecret(t *testing.T, got result) {
	t.Helper()
	for _, secret := range []string{webhookSecret[6:], "t0psecret", "sf_", "WELCOME", "Alder"} {
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("%s is in %v", secret, got)
		}
	}
}

func TestForward_FailingReceiver_GetsEveryEventInOrder(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 5)
	delays := s.neverPause()
	r := s.newReceiver(t)
	r.answers(status(503), hangUp, status(302), status(400), status(200)) // the last response accepts event 1
	got := s.interrupted(t, 5, "--local", "events", "forward", "emberforge", r.url, "--after", "0")
	if got.exit != exitOK {
		t.Fatal(got)
	}
	r.wantTaken(t, 2, 3, 4, 5)
	if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}; !slices.Equal(*delays,
		want) {
		t.Errorf("delays %v, want %v", *delays, want)
	}
	wantNoSecret(t, got)
	for _, want := range []string{
		"warning: event 1 MTCXgwWFAhhCzmYLdegd01: the receiver responded with status 503: posting it again in 1s " +
			"(to skip it, press Ctrl-C and run " +
			"the command with --after 1)\n",
		"warning: event 1 MTCXgwWFAhhCzmYLdegd01: no response: ", "status 302", "status 400",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q: %s", want, got.stderr)
		}
	}
	if want := "2026-11-20T18:01:00.000Z      1  redemption.created  MTCXgwWFAhhCzmYLdegd01  200\n"; !strings.HasPrefix(got.stdout, want) {
		t.Errorf("got %s", got.stdout)
	}
}

func TestForward_DelaysGrowToFiveMinutes(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := s.newReceiver(t)
	r.answer = func(_ int, w http.ResponseWriter) bool { status(500)(w); return true }
	var delays []float64
	s.sleep = func(ctx context.Context, delay time.Duration) error {
		if delays = append(delays, delay.Seconds()); len(delays) == 11 {
			cancel()
		}
		return ctx.Err()
	}
	got := s.shopctl(ctx, "--local", "events", "forward", "emberforge", r.url, "--after", "0")
	if want := []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}; got.exit != exitOK ||
		!slices.Equal(delays, want) {
		t.Errorf("delays %v, want %v: %v", delays, want, got)
	}
}

func TestForward_RetryAfter_LengthensTheDelay_UpToFiveMinutes(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 1)
	delays := s.neverPause()
	r := s.newReceiver(t)
	var answers []func(http.ResponseWriter)
	for _, after := range []string{"30", "1", "99999999999", "Fri, 20 Nov 2026 19:00:00 GMT"} {
		answers = append(answers, func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", after)
			status(503)(w)
		})
	}
	r.answers(answers...)
	got := s.interrupted(t, 1, "--local", "events", "forward", "emberforge", r.url, "--after", "0")
	if want := []time.Duration{
		30 * time.Second, 2 * time.Second, 5 * time.Minute,
		8 * time.Second,
	}; got.exit != exitOK || !slices.Equal(*delays, want) {
		t.Errorf("delays %v, want %v: %v", *delays, want, got)
	}
}

func TestForward_SecondRunWithTheSameState_IsRefused(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 1)
	r := s.newReceiver(t)
	state := filepath.Join(s.dir, "forward.json")
	forward := []string{"--local", "events", "forward", "emberforge", r.url, "--after", "0", "--state", state}
	r.answers(func(w http.ResponseWriter) {
		want := result{"", "error: another forward of this shop and URL is running: it stores its progress in " +
			state + "\n", exitFailed}
		if got := s.shopctl(t.Context(), forward...); got != want {
			t.Errorf("the second run: %v", got)
		}
		status(204)(w)
	})
	for range 2 { // each run releases its lock
		if got := s.interrupted(t, 1, forward...); got.exit != exitOK {
			t.Error(got)
		}
	}
	r.wantTaken(t, 1)
}

// However often and whenever forward is stopped, the receiver gets every event in order. It gets an event twice only if
// forward was stopped before it saw the response.
func TestForward_Interrupted_ContinuesWhereItStopped(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 2)
	r := s.newReceiver(t)
	forward := []string{"--local", "events", "forward", "emberforge", r.url}

	// The first run begins with new events. It is stopped before any event happens.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.atEnd = func(request int) {
		if request == 2 {
			cancel()
		}
	}
	if got := s.shopctl(ctx, forward...); got.exit != exitOK || got.stdout != "" {
		t.Fatal(got)
	}
	f.events = 9
	// A run is stopped after an event was taken.
	if got := s.interrupted(t, 2, forward...); got.exit != exitOK {
		t.Fatal(got)
	}
	r.wantTaken(t, 3, 4)
	// Two runs are stopped: one while the receiver responds, and one while the receiver hangs up.
	for _, answer := range []func(http.ResponseWriter){status(204), hangUp} {
		ctx, cancel := context.WithCancel(t.Context())
		r.answers(func(w http.ResponseWriter) {
			cancel()
			<-r.disconnected // otherwise forward could still see the response
			answer(w)
		})
		if got := s.shopctl(ctx, forward...); got.exit != exitOK {
			t.Fatal(got)
		}
	}
	if got := s.interrupted(t, 5, forward...); got.exit != exitOK ||
		!strings.Contains(got.stdout, "     5  gift.sent") {
		t.Fatal(got)
	}
	r.wantTaken(t, 3, 4, 5, 6, 7, 8, 9)
}

func TestForward_StateInADirectoryThatDoesNotExist_IsReported(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 1)
	r := s.newReceiver(t)
	dir := filepath.Join(s.dir, "states")
	got := s.shopctl(t.Context(), "--local", "events", "forward", "emberforge", r.url, "--state",
		filepath.Join(dir, "emberforge.json"))
	if _, err := os.Stat(dir); got.exit != exitFailed || !strings.Contains(got.stderr, "error: state file: ") ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestForward_Progress_IsStoredInTheStateFile(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 4)
	r, other := s.newReceiver(t), s.newReceiver(t)
	state := filepath.Join(s.dir, "emberforge.json")
	forward := []string{"--local", "events", "forward", "emberforge", r.url}
	stored := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	got := s.interrupted(t, 2, append(forward, "--after", "1", "--state", state, "--json")...)
	want := `{"sequence":2,"id":"MTCXgwWFAhhCzmYLdegd02","type":"redemption.created","status":204}` + "\n"
	if got.exit != exitOK || !strings.HasPrefix(got.stdout, want) || got.stderr != "" ||
		stored(state) != `{"after":3,"feed":"Zk3p0c8Q"}`+"\n" {
		t.Errorf("got %v, state %s", got, stored(state))
	}
	// Each URL has its own default file. XDG_STATE_HOME moves the default.
	for _, url := range []string{r.url, other.url} {
		s.interrupted(t, 1, "--local", "events", "forward", "emberforge", url, "--after", "3")
	}
	s.variables["XDG_STATE_HOME"] = filepath.Join(s.dir, "xdg")
	s.interrupted(t, 1, append(forward, "--after", "3")...)
	for pattern, want := range map[string]int{
		".local/state/shopfront/forward-emberforge-*.json": 2,
		"xdg/shopfront/forward-emberforge-*.json":          1,
	} {
		files, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil || len(files) != want || stored(files[0]) != `{"after":4,"feed":"Zk3p0c8Q"}`+"\n" {
			t.Errorf("%s: %q, %v, want %d", pattern, files, err, want)
		}
	}
	// In a feed that replaces a lost feed, the same sequences belong to other events.
	f.id = "p0c8QZk3"
	got = s.shopctl(t.Context(), append(forward, "--state", state)...)
	if got.exit != exitRefused || !strings.Contains(got.stderr,
		"the feed was lost and began again: the oldest event that is kept is 1; to continue, compare") ||
		!strings.Contains(got.stderr, "with --after 0, which begins the state file "+state+" anew\n") {
		t.Errorf("got %v", got)
	}
	if got := s.interrupted(t, 4, append(forward, "--state", state, "--after", "0")...); got.exit != exitOK ||
		!strings.Contains(stored(state), f.id) {
		t.Errorf("got %v, state %s", got, stored(state))
	}
	if err := os.WriteFile(state, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.shopctl(t.Context(), append(forward, "--state", state)...); got.exit != exitFailed ||
		!strings.Contains(got.stderr, "correct it, or give --after") {
		t.Errorf("got %v", got)
	}
	s.variables["XDG_STATE_HOME"], s.variables["HOME"] = "", ""
	if got := s.shopctl(t.Context(), forward...); got.exit != exitUsage ||
		!strings.Contains(got.stderr, "--state is missing") {
		t.Errorf("got %v", got)
	}
}

func TestForward_SlashAtTheEndOfTheBaseURL_ContinuesWhereItStopped(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 4)
	r := s.newReceiver(t)
	forward := []string{"--local", "events", "forward", "emberforge", r.url}
	s.interrupted(t, 1, append(forward, "--after", "1")...)
	s.state.BaseURL += "/"
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.ends, f.atEnd = 0, func(request int) {
		if request == 3 { // by now all events were posted
			cancel()
		}
	}
	if got := s.shopctl(ctx, forward...); got.exit != exitOK {
		t.Error(got)
	}
	r.wantTaken(t, 2, 3, 4)
}

func TestForward_Status410_EndsTheCommand(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 4)
	r := s.newReceiver(t)
	r.answers(status(204), status(410))
	forward := []string{"--local", "events", "forward", "emberforge", r.url}
	got := s.shopctl(t.Context(), append(forward, "--after", "0")...)
	if got.exit != exitFailed || !strings.Contains(got.stderr,
		"error: the receiver wants no more events: it responded to event 2 with 410\n") {
		t.Errorf("got %v", got)
	}
	if got := s.interrupted(t, 3, forward...); got.exit != exitOK {
		t.Errorf("got %v", got)
	}
	r.wantTaken(t, 2, 3, 4)
}

func TestForward_Receiver_Has15Seconds_AndRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := &session{program: program{lookupEnv: func(string) (string, bool) { return webhookSecret, true }}}
	p, err := s.newPoster("https://shop.example/events")
	if err != nil || p.http.Timeout != 15*time.Second ||
		!errors.Is(p.http.CheckRedirect(nil, nil), http.ErrUseLastResponse) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestReplay_PostsEventsAgain_AndLeavesTheStateAlone(t *testing.T) {
	t.Parallel()
	s, f := newEventsShop(t, 7)
	r := s.newReceiver(t)
	if got := s.interrupted(t, 1, "--local", "events", "forward", "emberforge", r.url, "--after",
		"5"); got.exit != exitOK {
		t.Fatal(got)
	}
	for name, test := range map[string]struct {
		args []string
		want []int64
	}{
		"all":           {[]string{"--from", "1"}, []int64{1, 2, 3, 4, 5, 6, 7}},
		"some":          {[]string{"--from", "2", "--to", "5"}, []int64{2, 3, 4, 5}},
		"one":           {[]string{"--from", "7", "--to", "7"}, []int64{7}},
		"since":         {[]string{"--since", "2026-11-20T18:03:00Z"}, []int64{3, 4, 5, 6, 7}},
		"since, up to":  {[]string{"--since", "2026-11-20T18:03:00Z", "--to", "4"}, []int64{3, 4}},
		"next event":    {[]string{"--from", "8"}, nil},
		"since hours":   {[]string{"--since", "2h", "--to", "2"}, []int64{1, 2}},
		"since nothing": {[]string{"--since", "2026-11-21"}, nil},
	} {
		r.taken = nil
		got := s.shopctl(t.Context(), append([]string{"--local", "events", "replay", "emberforge", r.url},
			test.args...)...)
		if got.exit != exitOK || got.stderr != "posted "+countOf(len(test.want), "event")+"\n" ||
			!slices.Equal(r.taken, test.want) {
			t.Errorf("%s: %d, want %d: %v", name, r.taken, test.want, got)
		}
		wantNoSecret(t, got)
	}
	r.taken = nil
	if got := s.interrupted(t, 1, "--local", "events", "forward", "emberforge", r.url); got.exit != exitOK ||
		!slices.Equal(r.taken, []int64{7}) {
		t.Errorf("forward continues with %d, want 7: %v", r.taken, got)
	}
	f.oldest = 3
	got := s.shopctl(t.Context(), "--local", "events", "replay", "emberforge", r.url, "--from", "1")
	if got.exit != exitRefused || !strings.Contains(got.stderr,
		"event 1 is no longer kept: the oldest event that is kept is 3") {
		t.Errorf("got %v", got)
	}
	if got := s.shopctl(t.Context(), "--local", "events", "replay", "emberforge", r.url, "--from",
		"2"); got.exit != exitRefused {
		t.Errorf("got %v", got)
	}
}

func TestReplay_Interrupted_SaysHowToContinue(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 5)
	r := s.newReceiver(t)
	replay := []string{"--local", "events", "replay", "emberforge", r.url}
	got := s.interrupted(t, 2, append(replay, "--from", "1")...)
	if want := "error: interrupted; to continue, run the command with --from 3\n"; got.exit != exitInterrupted ||
		got.stderr != want {
		t.Errorf("got %v want %s", got, want)
	}
	if got := s.shopctl(t.Context(), append(replay, "--from", "3")...); got.exit != exitOK {
		t.Error(got)
	}
	r.wantTaken(t, 1, 2, 3, 4, 5)
}
