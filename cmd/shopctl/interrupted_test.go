package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// unreliable is a network in front of DynamoDB Local on which something happens at certain requests of an operation.
type unreliable struct {
	store     *httputil.ReverseProxy
	operation string
	seen      atomic.Int32
	// happen is called for the nth request, from 1, before it is sent on and after. Where it says so, the connection is cut.
	happen func(n int, done bool) (cut bool)
}

func newUnreliable(t *testing.T, s *shopfront, operation string, happen func(n int, done bool) (cut bool)) *unreliable {
	t.Helper()
	endpoint, err := url.Parse(s.state.DynamoDBEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	store := httputil.NewSingleHostReverseProxy(endpoint)
	store.ErrorLog = log.New(io.Discard, "", 0) // of connections that are cut
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
	u.store.ServeHTTP(answer{w, func() bool { return u.happen(n, true) }}, r)
}

// answer is cut before its first byte, if it is cut.
type answer struct {
	http.ResponseWriter

	cut func() bool
}

// WriteHeader is called once the store has done what was asked.
func (a answer) WriteHeader(status int) {
	if a.cut() {
		panic(http.ErrAbortHandler)
	}
	a.ResponseWriter.WriteHeader(status)
}

// generated reads what generate printed, and wants each line to be a code that is printed once.
func generated(t *testing.T, stdout string) []string {
	t.Helper()
	codes := strings.Fields(stdout)
	slices.Sort(codes)
	if len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Error("a code was printed twice")
	}
	for _, code := range codes {
		if len(code) != len("B34P-DC52-WR9M-8FX3") {
			t.Errorf("printed %q, which is no whole code", code)
		}
	}
	return codes
}

// stored are the codes of the batch launch as they are listed.
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

// The process is the program itself, and the signal a real one.
func TestGenerateThatIsKilledIsCompletedByResume(t *testing.T) {
	const count = 600
	for name, test := range map[string]struct {
		signal syscall.Signal
		exit   int
	}{
		"Ctrl-C":  {syscall.SIGINT, exitInterrupted},
		"SIGTERM": {syscall.SIGTERM, exitInterrupted},
		"SIGKILL": {syscall.SIGKILL, -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShopfront(t)
			s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
			generate := []string{"--local", "voucher", "generate", "emberforge", "--count", strconv.Itoa(count), "--reward", "coins/500"}
			printed, stderr, exit := s.runAndSignal(t, test.signal, append(generate, "--batch", "launch")...)
			if exit != test.exit {
				t.Fatalf("exit %d, want %d: %s", exit, test.exit, stderr)
			}
			const next = " created\nerror: interrupted; what was done is stored; to complete the batch to 600 run the command with --resume launch\n"
			if exit == exitInterrupted && (!strings.HasPrefix(stderr, "batch launch: at least ") || !strings.HasSuffix(stderr, next)) {
				t.Errorf("does not say, once, how to go on: %s", stderr)
			}
			stored := s.stored(t)
			if len(printed) == 0 || len(stored) >= count {
				t.Fatalf("%d printed, %d stored; want an interruption in between", len(printed), len(stored))
			}
			wantSubset(t, "printed but not stored", printed, stored)
			all := generated(t, s.must(t, append(generate[1:], "--resume", "launch")...))
			if len(all) != count || !slices.Equal(all, s.stored(t)) {
				t.Errorf("after resume %d are printed, %d are stored; want %d", len(all), len(s.stored(t)), count)
			}
			wantSubset(t, "stored but not found by resume", stored, all)
		})
	}
}

// runAndSignal runs shopctl as a process and sends it a signal after some lines. However busy the machine is, it has not
// come much further by then: the store waits.
func (s *shopfront) runAndSignal(t *testing.T, signal syscall.Signal, args ...string) (printed []string, stderr string, exit int) {
	t.Helper()
	signalled := make(chan struct{})
	straight := s.state
	s.through(t, newUnreliable(t, s, "PutItem", func(n int, done bool) bool {
		if n > 100 && !done {
			<-signalled
		}
		return false
	}))
	goOn := sync.OnceFunc(func() { close(signalled) })
	t.Cleanup(goOn)
	process := exec.CommandContext(t.Context(), os.Args[0], args...)
	process.Env = append(os.Environ(), asProgram+"=1")
	process.Dir = s.dir
	var errors bytes.Buffer
	process.Stderr = &errors
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.Count(text.String(), "\n") == 30 {
			if err := process.Process.Signal(signal); err != nil {
				t.Error(err)
			}
			goOn()
		}
	}
	s.state = straight
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait() // the exit code tells
	return generated(t, text.String()), errors.String(), process.ProcessState.ExitCode()
}

func TestGenerateWhoseAnswersAreLostPrintsEachCodeOnce(t *testing.T) {
	const count = 60
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.through(t, newUnreliable(t, s, "PutItem", func(n int, done bool) bool { return n%4 == 0 && done || n%10 == 5 }))
	all := generated(t, s.must(t, "voucher", "generate", "emberforge", "--count", strconv.Itoa(count), "--reward", "20%", "--batch", "launch"))
	if stored := s.stored(t); len(all) != count || !slices.Equal(all, stored) {
		t.Errorf("%d printed, %d stored, want %d", len(all), len(stored), count)
	}
}

// fullDisk takes some writes.
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

func TestGenerateOntoAFullDiskStopsAndIsCompletedByResume(t *testing.T) {
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	generate := []string{"--local", "voucher", "generate", "emberforge", "--count", "100", "--reward", "coins/500"}
	stdout, stderr := fullDisk{lines: 10}, bytes.Buffer{}
	exit := s.program(&stdout, &stderr).run(t.Context(), append(generate, "--batch", "launch"))
	if exit != exitFailed || !strings.Contains(stderr.String(), "no space left") || !strings.Contains(stderr.String(), "--resume launch") {
		t.Fatalf("exit %d: %s", exit, stderr.String())
	}
	stored := s.stored(t)
	if len(stored) >= 100 {
		t.Errorf("went on to %d", len(stored))
	}
	wantSubset(t, "printed but not stored", generated(t, stdout.String()), stored)
	if all := generated(t, s.must(t, append(generate[1:], "--resume", "launch")...)); len(all) != 100 {
		t.Errorf("resume printed %d", len(all))
	}
}

// cutAt interrupts the operator's command at the nth request, before or after the store has done what was asked.
func cutAt(at int, behind bool, interrupt context.CancelFunc) func(n int, done bool) bool {
	return func(n int, done bool) bool {
		if n < at || done != behind {
			return false
		}
		interrupt()
		return true
	}
}

func TestApplyThatIsInterruptedIsCompletedByApply(t *testing.T) {
	whole := newShopfront(t)
	whole.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	const puts = 6 // the customer closed, three products, the customer open, a voucher; the other is a transaction
	for at := 1; at <= puts; at++ {
		for _, behind := range []bool{false, true} {
			s := newShopfront(t)
			ctx, interrupt := context.WithCancel(t.Context())
			straight := s.state.DynamoDBEndpoint
			s.through(t, newUnreliable(t, s, "PutItem", cutAt(at, behind, interrupt)))
			got := s.shopctl(ctx, "--local", "catalog", "apply", "testdata/emberforge.yaml")
			if got.exit != exitInterrupted || got.stdout != "" || !strings.HasPrefix(got.stderr, "error: interrupted") {
				t.Fatalf("write %d, behind %t: %v", at, behind, got)
			}
			s.state.DynamoDBEndpoint = straight
			if err := s.state.Write(s.dir); err != nil {
				t.Fatal(err)
			}
			s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
			for _, look := range [][]string{{"catalog", "show", "emberforge"}, {"voucher", "list", "emberforge"}} {
				if got, want := s.must(t, look...), whole.must(t, look...); got != want {
					t.Errorf("write %d, behind %t: %v\n%s\nwant\n%s", at, behind, look, got, want)
				}
			}
			if again := s.shopctl(t.Context(), "--local", "catalog", "apply", "testdata/emberforge.yaml"); again.stderr != "nothing to change\n" {
				t.Errorf("write %d, behind %t: then apply says %v", at, behind, again)
			}
		}
	}
}

func TestEditThatIsInterruptedIsShownWithHowToCompleteIt(t *testing.T) {
	for at := 2; at <= 8; at++ {
		s := newShopfront(t)
		s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
		ctx, interrupt := context.WithCancel(t.Context())
		straight := s.state
		s.through(t, newUnreliable(t, s, "UpdateItem", cutAt(at, at%2 == 0, interrupt)))
		edit := []string{"--local", "voucher", "edit", "emberforge", "WINTER-10", "--max-uses", "250"}
		if got := s.shopctl(ctx, edit...); got.exit != exitInterrupted {
			t.Fatalf("request %d: %v", at, got)
		}
		if err := straight.Write(s.dir); err != nil {
			t.Fatal(err)
		}
		const hint = "warning: an edit to --max-uses 250 goes on or was interrupted; to complete it run: shopctl --local voucher edit emberforge WINTER-10 --max-uses 250\n"
		if shown := s.shopctl(t.Context(), "--local", "voucher", "show", "emberforge", "WINTER-10"); shown.stderr != hint {
			t.Errorf("request %d: %v", at, shown)
		}
		s.must(t, edit[1:]...)
		shown := s.shopctl(t.Context(), "--local", "voucher", "show", "emberforge", "WINTER-10")
		if shown.stderr != "" || !strings.Contains(shown.stdout, "0 used, 250 left") {
			t.Errorf("request %d: completed, but %v", at, shown)
		}
	}
}

func TestDisableThatIsInterruptedIsCompletedByDisable(t *testing.T) {
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.must(t, "voucher", "generate", "emberforge", "--count", "80", "--reward", "coins/500", "--batch", "launch")
	ctx, interrupt := context.WithCancel(t.Context())
	straight := s.state
	s.through(t, newUnreliable(t, s, "UpdateItem", cutAt(20, true, interrupt)))
	got := s.shopctl(ctx, "--local", "voucher", "disable", "emberforge", "--batch", "launch")
	if got.exit != exitInterrupted || !strings.Contains(got.stderr, "of 80 vouchers in batch launch, then stopped") {
		t.Fatal(got)
	}
	if err := straight.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	again := s.must(t, "voucher", "disable", "emberforge", "--batch", "launch")
	if !strings.Contains(again, "were so already") {
		t.Errorf("the second run began anew: %s", again)
	}
	if left := s.must(t, "voucher", "list", "emberforge", "--batch", "launch", "--status", "redeemable"); left != "" {
		t.Errorf("not all are disabled:\n%s", left)
	}
}
