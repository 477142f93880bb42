package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// unreliable is a proxy in front of DynamoDB Local. It lets a test act on each request of one operation.
type unreliable struct {
	store     *httputil.ReverseProxy
	operation string
	seen      atomic.Int32
	// happen is called twice for each request: with done false before the request is forwarded, and with done true
	// before the response is forwarded. n counts the requests from 1. If happen returns true, the connection is cut.
	happen func(n int, done bool) (cut bool)
}

func newUnreliable(t *testing.T, s *shopfront, operation string, happen func(n int, done bool) (cut bool)) *unreliable {
	t.Helper()
	endpoint, err := url.Parse(s.state.DynamoDBEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	store := httputil.NewSingleHostReverseProxy(endpoint)
	store.ErrorLog = log.New(io.Discard, "", 0) // otherwise the proxy logs each cut connection
	return &unreliable{store: store, operation: operation, happen: happen}
}

func (u *unreliable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810."+u.operation {
		u.store.ServeHTTP(w, r)
		return
	}
	n := int(u.seen.Add(1))
	if u.happen(n, false) {
		panic(http.ErrAbortHandler)
	}
	// Even if the client is gone, the request is in flight until the store has applied it.
	r = r.WithContext(context.WithoutCancel(r.Context()))
	u.store.ServeHTTP(answer{w, func() bool { return u.happen(n, true) }}, r)
}

// answer is a response whose connection can be cut before the first byte.
type answer struct {
	http.ResponseWriter

	cut func() bool
}

// WriteHeader is called after the store has applied the request.
func (a answer) WriteHeader(status int) {
	if a.cut() {
		panic(http.ErrAbortHandler)
	}
	a.ResponseWriter.WriteHeader(status)
}

// generated returns the codes that generate printed. Each line must be a whole code, printed once.
func generated(t *testing.T, stdout string) []string {
	t.Helper()
	codes := strings.Fields(stdout)
	slices.Sort(codes)
	if len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Error("a code was printed twice")
	}
	for _, code := range codes {
		if len(code) != len("B34P-DC52-WR9M-8FX3") {
			t.Errorf("printed %q, which is not a whole code", code)
		}
	}
	return codes
}

// stored lists the codes of the batch launch.
func (s *shopfront) stored(t *testing.T) []string {
	t.Helper()
	var codes []string
	for line := range strings.Lines(s.must(t, "voucher", "list", "emberforge", "--batch", "launch")) {
		if code := strings.Fields(line)[0]; code != "CODE" {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return codes
}

func wantSubset(t *testing.T, what string, subset, set []string) {
	t.Helper()
	for _, code := range subset {
		if _, found := slices.BinarySearch(set, code); !found {
			t.Errorf("%s is %s", code, what)
		}
	}
}

func TestGenerate_Interrupted_SaysHowToComplete(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	generate := []string{"--local", "voucher", "generate", "emberforge", "--count", "100", "--reward", "coins/500"}
	ctx, interrupt := context.WithCancel(t.Context())
	restore := s.through(t, newUnreliable(t, s, "PutItem", cutAt(40, interrupt)))
	got := s.shopctl(ctx, append(generate, "--batch", "launch")...)
	restore()
	const next = " created\nerror: interrupted; everything done so far is stored; to complete the batch of 100, run " +
		"the command with --resume launch\n"
	if got.exit != exitInterrupted || !strings.HasPrefix(got.stderr, "batch launch: at least ") ||
		!strings.HasSuffix(got.stderr, next) {
		t.Errorf("%v", got)
	}
	wantSubset(t, "printed but not stored", generated(t, got.stdout), s.stored(t))
	all := generated(t, s.must(t, append(generate[1:], "--resume", "launch")...))
	if len(all) != 100 || !slices.Equal(all, s.stored(t)) {
		t.Errorf("after resume %d are printed, %d are stored; want 100", len(all), len(s.stored(t)))
	}
}

func TestGenerate_LostResponses_EachCodeIsPrintedOnce(t *testing.T) {
	t.Parallel()
	const count = 60
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.through(t, newUnreliable(t, s, "PutItem", func(n int, done bool) bool { return n%4 == 0 && done || n%10 == 5 }))
	all := generated(t, s.must(t, "voucher", "generate", "emberforge", "--count", strconv.Itoa(count), "--reward",
		"20%", "--batch", "launch"))
	if stored := s.stored(t); len(all) != count || !slices.Equal(all, stored) {
		t.Errorf("%d printed, %d stored, want %d", len(all), len(stored), count)
	}
}

// fullDisk accepts as many writes as it has lines, and rejects the others.
type fullDisk struct {
	bytes.Buffer
	lines int
}

func (d *fullDisk) Write(text []byte) (int, error) {
	if d.lines--; d.lines < 0 {
		return 0, syscall.ENOSPC
	}
	return d.Buffer.Write(text)
}

func TestGenerate_DiskIsFull_StopsAndIsCompletedByResume(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	generate := []string{"--local", "voucher", "generate", "emberforge", "--count", "100", "--reward", "coins/500"}
	stdout, stderr := fullDisk{lines: 10}, bytes.Buffer{}
	exit := s.program(&stdout, &stderr).run(t.Context(), append(generate, "--batch", "launch"))
	if exit != exitFailed || !strings.Contains(stderr.String(), "no space left") ||
		!strings.Contains(stderr.String(), "--resume launch") {
		t.Fatalf("exit %d: %s", exit, stderr.String())
	}
	stored := s.stored(t)
	if len(stored) >= 100 {
		t.Errorf("all %d codes are stored, want fewer", len(stored))
	}
	wantSubset(t, "printed but not stored", generated(t, stdout.String()), stored)
	if all := generated(t, s.must(t, append(generate[1:], "--resume", "launch")...)); len(all) != 100 {
		t.Errorf("resume printed %d", len(all))
	}
}

// cutAt interrupts the operator's command after the store has applied the request with the given number.
func cutAt(number int, interrupt context.CancelFunc) func(n int, done bool) bool {
	return func(n int, done bool) bool {
		if n < number || !done {
			return false
		}
		interrupt()
		return true
	}
}

func TestDisableBatch_Interrupted_IsCompletedByDisable(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.must(t, "voucher", "generate", "emberforge", "--count", "80", "--reward", "coins/500", "--batch", "launch")
	ctx, interrupt := context.WithCancel(t.Context())
	restore := s.through(t, newUnreliable(t, s, "UpdateItem", cutAt(20, interrupt)))
	got := s.shopctl(ctx, "--local", "voucher", "disable", "emberforge", "--batch", "launch")
	if got.exit != exitInterrupted || !strings.Contains(got.stderr, "of 80 vouchers in batch launch, then stopped") {
		t.Fatal(got)
	}
	restore()
	again := s.must(t, "voucher", "disable", "emberforge", "--batch", "launch")
	if !strings.Contains(again, "already were") {
		t.Errorf("the second run disabled all again: %s", again)
	}
	if left := s.must(t, "voucher", "list", "emberforge", "--batch", "launch", "--status", "redeemable"); left != "" {
		t.Errorf("not all are disabled:\n%s", left)
	}
}

// orderChanges returns the commands that change an order, from first to last.
func orderChanges(id string) [][]string {
	return [][]string{
		{"order", "place", "emberforge", id, "--provider", "stripe", "--reference", "pi_3QK8ZbF2eZvKYlo1", "--json"},
		{"order", "fulfil", "emberforge", id, "--json"},
		{"order", "cancel", "emberforge", id, "--reason", "asked for a refund", "--json"},
	}
}

// When a response is lost, the command's own retry finds the change. The command must not report it as made by somebody
// else before.
func TestOrder_LostResponses_AreNotReportedAsDoneBefore(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.through(t, newUnreliable(t, s, "UpdateItem", func(n int, done bool) bool { return n%2 == 1 && done }))
	for _, change := range orderChanges(s.checkOut(t, "3")) {
		// without --json, because notes are for people
		change = slices.Concat([]string{"--local"}, change[:len(change)-1])
		if got := s.shopctl(t.Context(), change...); got.exit != exitOK || got.stderr != "" {
			t.Errorf("%s: %v", change[2], got)
		}
	}
}

func TestUndo_LostResponse_IsNotReportedAsAlreadyUndone(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	id := s.redeem(t, "emberforge", "WINTER-10", "Heron")
	s.through(t, newUnreliable(t, s, "TransactWriteItems", func(n int, done bool) bool { return n == 1 && done }))
	if got := s.shopctl(t.Context(), "--local", "redemption", "undo", "emberforge", "WINTER-10",
		id); got.exit != exitOK || got.stderr != "" {
		t.Error(got)
	}
}

// lateWrite is a proxy that interrupts the command at its first UpdateItem, and holds that request back until deliver
// is called.
type lateWrite struct {
	store     http.Handler
	interrupt context.CancelFunc
	held      *http.Request
	body      []byte
}

func (l *lateWrite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.UpdateItem" || l.held != nil {
		l.store.ServeHTTP(w, r)
		return
	}
	l.held = r.Clone(context.WithoutCancel(r.Context()))
	l.body, _ = io.ReadAll(r.Body)
	l.interrupt()
	panic(http.ErrAbortHandler)
}

func (l *lateWrite) deliver() {
	l.held.Body = io.NopCloser(bytes.NewReader(l.body))
	l.store.ServeHTTP(httptest.NewRecorder(), l.held)
}

func TestSwitchBatch_LateWriteOfAnInterruptedSwitch_IsNotApplied(t *testing.T) {
	t.Parallel()
	for interrupted, command := range map[string]string{"enable": "disable", "disable": "enable"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newShopfront(t)
			s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
			s.must(t, "voucher", "generate", "emberforge", "--count", "1", "--reward", "coins/500", "--batch", "launch")
			s.must(t, "voucher", command, "emberforge", "--batch", "launch")
			ctx, interrupt := context.WithCancel(t.Context())
			write := &lateWrite{store: newUnreliable(t, s, "", nil), interrupt: interrupt}
			restore := s.through(t, write)
			if got := s.shopctl(ctx, "--local", "voucher", interrupted, "emberforge", "--batch",
				"launch"); got.exit != exitInterrupted {
				t.Fatal(got)
			}
			restore()
			s.must(t, "voucher", command, "emberforge", "--batch", "launch")
			want := s.must(t, "voucher", "list", "emberforge", "--batch", "launch")
			write.deliver()
			if got := s.must(t, "voucher", "list", "emberforge", "--batch", "launch"); got != want {
				t.Errorf("after the late write\n%s\nwant\n%s", got, want)
			}
		})
	}
}
