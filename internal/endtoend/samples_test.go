package endtoend_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"shopfront/pkg/voucher"
)

// The docs page has a sample program that redeems a code, in several languages. Each program redeems once, even if
// responses are lost. It never reports a redemption that did not happen. The test takes the programs from the served
// page. It changes only the address, the shop, the code, the nick and the pauses.
func TestSamples_RedeemOnce_AndReportOnlyRealRedemptions(t *testing.T) {
	t.Parallel()
	page := send(t, baseURL(t), request{target: "/docs"}).body
	for extension, command := range languages() {
		file := fileOf("redeem", extension)
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			wantRuntime(t, command[0])
			runOutages(t, command, file, sampleOf(t, page, file))
		})
	}
}

// languages returns the command that runs the sample programs of each language, by the extension of the programs'
// files.
func languages() map[string][]string {
	return map[string][]string{
		".sh": {"sh"}, ".mjs": {"node"}, ".php": {"php"}, ".java": {"java"},
		".go": {"go", "run"},
	}
}

// fileOf returns the name of a sample's file. A Java file has the name of its class, which begins with a capital.
func fileOf(name, extension string) string {
	if extension == ".java" {
		name = map[string]string{
			"redeem": "Redeem", "checkout": "CheckOut", "order": "Order", "undo": "Undo",
			"events": "Events",
		}[name]
	}
	return name + extension
}

func wantRuntime(t *testing.T, program string) {
	t.Helper()
	for _, program := range []string{program, "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install the runtimes of the samples (Debian: apt-get install curl nodejs php-cli "+
				"openjdk-17-jdk-headless)", err)
		}
	}
}

// These sample programs check out with a code, place and cancel an order, and undo a redemption. Each change is made
// once, even if responses are lost.
func TestSamples_CheckOutOrderAndUndo_ApplyEachChangeOnce(t *testing.T) {
	t.Parallel()
	page := send(t, baseURL(t), request{target: "/docs"}).body
	for extension, command := range languages() {
		t.Run(extension, func(t *testing.T) {
			t.Parallel()
			wantRuntime(t, command[0])
			runSale(t, func(name string) (string, string) {
				file := fileOf(name, extension)
				return file, sampleOf(t, page, file)
			}, command)
		})
	}
}

// runSale runs the samples that check out, order and undo. The function sample returns the file name and the text of a
// sample.
func runSale(t *testing.T, sample func(name string) (file, text string), command []string) {
	t.Helper()
	s := newTill(t)
	code := s.create(t, "WELCOME-COINS", func(terms *voucher.Terms) {
		limits(uses, voucher.NoLimit)(terms)
		terms.Reward = voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	}).Code
	gateway := &failingGateway{to: baseURL(t)}
	address := gateway.serve(t)
	secret := "SHOP_KEY=" + strings.TrimPrefix(s.authorization, "Authorization: Bearer ")
	var id string // the ID of the checkout or redemption that the sample changes
	run := func(name string, failures ...failure) string {
		t.Helper()
		gateway.fail(failures)
		file, text := sample(name)
		text = strings.NewReplacer("YOUR-CHECKOUT", id, "YOUR-REDEMPTION", id, "YOUR-PAYMENT",
			"pi_3QNa7c2eZvKYlo2C0tLjPq9x").Replace(text)
		return runSample(t, command, writeSample(t, file, address, s.id, text), secret)
	}
	want := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(strings.ToLower(out), part) {
				t.Errorf("the output is %q, want %q", out, part)
			}
		}
	}
	const (
		refused      = `{"type":"urn:problem:shopfront:code-refused","title":"Code refused","status":409}`
		unauthorized = `{"type":"urn:problem:shopfront:unauthorized","title":"Unauthorized","status":401}`
	)
	throttled, unavailable := answersWith(429, `{"message":"Too Many Requests"}`),
		answersWith(503, `{"message":"Service Unavailable"}`)

	want(run("checkout", answersWith(409, refused)), "refused: ")
	want(run("checkout", answersWith(401, unauthorized)), "unauthorized")
	out := run("checkout", unavailable, throttled, losesResponse)
	want(out, "checked out: ", "4.00 eur")
	s.wantUses(t, code, 1, 1)
	if keys := slices.Compact(gateway.keys()); len(keys) != 1 || len(keys[0]) < 20 {
		t.Errorf("the keys are %q, want one in all requests", gateway.keys())
	}
	id = regexp.MustCompile(`[\w-]{44}`).FindString(out)
	want(run("order", losesResponse, unavailable, forwards, losesResponse), "ordered: ", "cancelled: ")
	s.wantUses(t, code, 0, 0)
	s.wantRedemptions(t, 0, 1)
	want(run("order"), "refused: ") // the order is cancelled

	id = decode[redemption](t, s.redeem(t, body("WELCOME-COINS", "Alder"))).ID
	want(run("undo", answersWith(401, unauthorized)), "outcome unknown: ", "unauthorized")
	want(run("undo", losesRequest, losesResponse, unavailable), "undone: ")
	s.wantUses(t, code, 0, 0)
	s.wantRedemptions(t, 0, 2)
	id = strings.Repeat("A", len(id))
	want(run("undo"), "refused: ")
}

// These sample programs print each event once, even if responses are lost and the program is started again. They end
// when the service refuses the key, or when the gateway does not know the endpoint.
func TestSamples_FollowTheFeed_PrintEachEventOnce(t *testing.T) {
	t.Parallel()
	page := send(t, baseURL(t), request{target: "/docs"}).body
	for extension, command := range languages() {
		t.Run(extension, func(t *testing.T) {
			t.Parallel()
			wantRuntime(t, command[0])
			file := fileOf("events", extension)
			runFollowers(t, command, file, sampleOf(t, page, file))
		})
	}
}

// runFollowers runs a sample that follows the feed. It starts the sample twice; the second start must continue where
// the first one ended.
func runFollowers(t *testing.T, command []string, file, text string) {
	t.Helper()
	s := newTill(t)
	s.create(t, "WELCOME-COINS", limits(voucher.NoLimit, voucher.NoLimit))
	gateway := &failingGateway{to: baseURL(t)}
	// the file in which the program stores how far it got
	text = strings.ReplaceAll(text, "events-", filepath.Join(t.TempDir(), "events-"))
	path := writeSample(t, file, gateway.serve(t), s.id, text)
	secret := "SHOP_KEY=" + strings.TrimPrefix(s.authorization, "Authorization: Bearer ")
	for start, run := range []struct {
		failures []failure
		refuses  failure
		because  string // part of the output, in lower case
	}{
		{
			[]failure{
				answersWith(503, `{"message":"Service Unavailable"}`), losesResponse,
				answersWith(429, `{"message":"Too Many Requests"}`), forwardsWithoutPause,
			},
			answersWith(401, `{"type":"urn:problem:shopfront:unauthorized","title":"Unauthorized","status":401}`),
			"unauthorized",
		},
		{[]failure{losesRequest, forwardsWithoutPause}, answersWith(404, `{"message":"Not Found"}`), "404"},
	} {
		var made []string
		for range 3 {
			made = append(made, decode[redemption](t, s.redeem(t, body("WELCOME-COINS", "Alder"))).ID)
		}
		s.waitForEvents(t, 3*(start+1))
		gateway.fail(append(run.failures, run.refuses))
		out := runSample(t, command, path, secret)
		for _, id := range made {
			if strings.Count(out, id) != 1 {
				t.Errorf("start %d: redemption %s is not printed exactly once: %s", start+1, id, out)
			}
		}
		if strings.Count(out, "redemption.created") != len(made) ||
			!strings.Contains(strings.ToLower(out), run.because) || len(gateway.keys()) != len(run.failures)+1 {
			t.Errorf("start %d: %d requests, want %d; the output must contain %q: %s",
				start+1, len(gateway.keys()), len(run.failures)+1, run.because, out)
		}
	}
}

// waitForEvents waits until the shop's feed has n events.
func (s till) waitForEvents(t *testing.T, n int) {
	t.Helper()
	for until := time.Now().Add(patience); ; {
		feed := s.send(t, http.MethodGet, "/events", "")
		if got := strings.Count(feed.body, `"sequence":`); got == n {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the feed does not have %d events: %s", n, feed.body)
		}
	}
}

// runOutages runs a sample program four times: with failures before a redemption, with a used-up voucher, with failures
// only, and with a 401. The program must report the 401 and must not retry after it.
func runOutages(t *testing.T, command []string, file, text string) {
	t.Helper()
	s := newShop(t)
	s.create(t, "WELCOME-COINS", nil)
	const redeemable = `{"status":"redeemable","code":"WELCOME-COINS","reward":{"kind":"product","product":"coins",` +
		`"variant":"500","amount":1}}`
	const unauthorized = `{"type":"urn:problem:shopfront:unauthorized","title":"Unauthorized","status":401}`
	gateway := &failingGateway{to: baseURL(t)}
	address := gateway.serve(t)
	path := writeSample(t, file, address, s.id, text)
	seen := map[string]bool{}
	for _, run := range []struct {
		failures []failure // one for each of the first requests
		want     string    // the beginning of the output
		requests int       // the number of requests; 0 means any number
		because  string    // part of the output, in lower case
	}{
		{[]failure{
			answersWith(503, `{"message":"Service Unavailable"}`),
			answersWith(429, `{"message":"Too Many Requests"}`), losesResponse,
		}, "redeemed: ", 0, ""},
		{nil, "refused: ", 0, ""},
		{
			[]failure{answersWith(200, redeemable), answersWith(502, "<html>"), losesRequest, answersWith(500, "")},
			"outcome unknown: ", 0, "",
		},
		{[]failure{losesRequest, answersWith(401, unauthorized)}, "outcome unknown: ", 2, "unauthorized"},
	} {
		gateway.fail(run.failures)
		out := runSample(t, command, path)
		if !strings.HasPrefix(out, run.want) || !strings.Contains(strings.ToLower(out), run.because) {
			t.Errorf("the output is %q, want it to begin with %q and contain %q", out, run.want, run.because)
		}
		if requests := len(gateway.keys()); run.requests != 0 && requests != run.requests {
			t.Errorf("the program printed %q and sent %d requests, want %d", run.want, requests, run.requests)
		}
		keys := slices.Compact(gateway.keys())
		if len(keys) != 1 || len(keys[0]) < 20 || seen[keys[0]] {
			t.Errorf("the keys of one run are %q, want one new key in all requests", gateway.keys())
		}
		seen[keys[0]] = true
	}
	if redemptions := s.redemptions(t); len(redemptions) != 1 {
		t.Errorf("redemptions %v, want 1", redemptions)
	}
}

// sampleOf returns the text of a sample program on a page.
func sampleOf(t *testing.T, page, file string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for node := range root.Descendants() {
		if slices.Contains(node.Attr, html.Attribute{Key: "data-sample", Val: file}) {
			return node.FirstChild.Data
		}
	}
	t.Fatalf("the page has no sample %s", file)
	return ""
}

// writeSample writes a sample program to a file. It fills in the address, the shop, the code and the nick, and removes
// the pauses.
func writeSample(t *testing.T, file, address, shop, text string) (path string) {
	t.Helper()
	text = strings.NewReplacer(
		"https://YOUR-DEPLOYMENT", address, "YOUR-SHOP", shop, "YOUR-CODE", "welcome coins", "YOUR-NICK", "Alder",
	).Replace(text)
	text = regexp.MustCompile(`(?i)\b(pause ?= ?)10\b`).ReplaceAllString(text, "${1}0")
	path = filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runSample runs a sample program and returns what it printed.
func runSample(t *testing.T, command []string, path string, env ...string) string {
	t.Helper()
	program := exec.CommandContext(t.Context(), command[0], append(slices.Clone(command[1:]), path)...)
	program.Env = append(os.Environ(), env...)
	out, err := program.Output()
	if failed, is := errors.AsType[*exec.ExitError](err); is {
		t.Logf("%v: %s", failed, failed.Stderr) // expected: the samples also report a failure with their exit code
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// failure handles a request instead of the service. It can pass the request to forward, which is the service.
type failure func(w http.ResponseWriter, r *http.Request, forward http.Handler)

func answersWith(status int, body string) failure {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(body, "urn:problem:") {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func forwards(w http.ResponseWriter, r *http.Request, forward http.Handler) { forward.ServeHTTP(w, r) }

// forwardsWithoutPause forwards a request for events, and changes the response so that the next request may follow at
// once.
func forwardsWithoutPause(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	whole := httptest.NewRecorder()
	forward.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(whole.Code)
	_, _ = w.Write(regexp.MustCompile(`"pollAfterSeconds":\d+`).ReplaceAll(whole.Body.Bytes(),
		[]byte(`"pollAfterSeconds":0`)))
}

func losesRequest(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

func losesResponse(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
	forward.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// failingGateway fails the first requests and forwards all others to the service. Only one program uses it, with one
// request at a time.
type failingGateway struct {
	to string

	mu       sync.Mutex
	failures []failure
	seen     []string
}

// fail forgets the requests so far. The next requests get these failures, in this order.
func (g *failingGateway) fail(failures []failure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures, g.seen = failures, nil
}

// keys returns the idempotency key of each request since fail was called.
func (g *failingGateway) keys() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}

// serve starts a server that runs until the test ends, and returns its URL.
func (g *failingGateway) serve(t *testing.T) string {
	t.Helper()
	to, err := url.Parse(g.to)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		answer := failure(forwards)
		if at := len(g.seen); at < len(g.failures) {
			answer = g.failures[at]
		}
		g.seen = append(g.seen, r.Header.Get("Idempotency-Key"))
		g.mu.Unlock()
		answer(w, r, forward)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
