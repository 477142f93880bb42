//go:build unix

package runtimeapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shopfront/internal/local/runtimeapi"
)

// patience bounds how long a test waits on a slow machine.
const patience = 2 * time.Minute

// report is the response of the test function.
type report struct {
	PID       int       `json:"pid"`
	RequestID string    `json:"requestId"`
	Deadline  time.Time `json:"deadline"`
	Env       []string  `json:"env"`
	Dir       string    `json:"dir"`
}

func TestMain(m *testing.M) {
	switch {
	case os.Getenv("AWS_LAMBDA_RUNTIME_API") != "":
		runFunction()
	case os.Getenv(hostVariable) != "":
		host()
	default:
		m.Run()
	}
}

// redeem returns the function of most tests.
func redeem() runtimeapi.Function {
	return runtimeapi.Function{Name: "redeem-voucher", Path: os.Args[0], Timeout: patience}
}

// newRuntime returns a Runtime for a function. It is closed at the end of the test.
func newRuntime(t *testing.T, f runtimeapi.Function, log func(function, line string)) *runtimeapi.Runtime {
	t.Helper()
	r := runtimeapi.New(runtimeapi.Config{
		Functions: []runtimeapi.Function{f}, Region: "eu-central-1", AccessKey: "local", Log: log,
	})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func invoke(t *testing.T, r *runtimeapi.Runtime, event string) report {
	t.Helper()
	response, err := r.Invoke(t.Context(), "redeem-voucher", []byte(event))
	if err != nil {
		t.Errorf("invoke %s: %v", event, err)
		return report{}
	}
	var got report
	if err := json.Unmarshal(response, &got); err != nil {
		t.Errorf("response %q: %v", response, err)
	}
	return got
}

// gate is a file for which functions wait.
type gate struct {
	path    string
	arrived chan struct{} // receives a value for each function that waits
}

func newGate(t *testing.T) gate {
	t.Helper()
	return gate{filepath.Join(t.TempDir(), "open"), make(chan struct{}, 100)}
}

// log is a runtime's Log.
func (g gate) log(_, line string) {
	if line == "working" {
		g.arrived <- struct{}{}
	}
}

// event returns the event of a function that waits.
func (g gate) event() string { return `{"until":"` + g.path + `"}` }

func (g gate) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(g.path, nil, 0o600); err != nil {
		t.Error(err)
	}
}

// alive reports whether a process exists. A process that has ended still exists until its parent has waited for it.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func await(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !isSo(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("after %s: not true that %s", patience, what)
		}
	}
}

func TestProcess_Environment_IsTheFunctionsOwn(t *testing.T) {
	t.Setenv("SHOPFRONT_STACK", "not the function's business")
	f := redeem()
	f.MemorySize, f.Env = 256, map[string]string{"VOUCHERS_TABLE": "vouchers"}
	before := time.Now()
	got := invoke(t, newRuntime(t, f, nil), `{}`)

	env := make(map[string]string)
	for _, variable := range got.Env {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	if api := env["AWS_LAMBDA_RUNTIME_API"]; !regexp.MustCompile(`^127\.0\.0\.1:[0-9]+$`).MatchString(api) {
		t.Errorf("AWS_LAMBDA_RUNTIME_API is %q, want a port of 127.0.0.1", api)
	}
	delete(env, "AWS_LAMBDA_RUNTIME_API")
	delete(env, "_X_AMZN_TRACE_ID") // the function's own library sets it
	want := map[string]string{
		"VOUCHERS_TABLE": "vouchers", "TZ": ":UTC", "AWS_REGION": "eu-central-1",
		"AWS_LAMBDA_FUNCTION_NAME": "redeem-voucher", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
	}
	if !maps.Equal(env, want) {
		t.Errorf("environment\n got %v\nwant %v", env, want)
	}
	if got.Dir != filepath.Dir(f.Path) {
		t.Errorf("working directory %s, want %s", got.Dir, filepath.Dir(f.Path))
	}
	if got.Deadline.Sub(before) < patience-time.Second || got.Deadline.After(time.Now().Add(patience)) {
		t.Errorf("deadline %s, want the function's timeout after the call at %s", got.Deadline, before)
	}
}

func TestInvoke_IdleProcess_IsUsedAgain(t *testing.T) {
	r := newRuntime(t, redeem(), nil)
	first, second := invoke(t, r, `{}`), invoke(t, r, `{}`)
	if first.PID != second.PID {
		t.Errorf("processes %d and %d, want one", first.PID, second.PID)
	}
	if first.RequestID == second.RequestID {
		t.Errorf("both invocations have the request ID %s", first.RequestID)
	}
}

func TestInvoke_EightProcessesBusy_NextEventWaits(t *testing.T) {
	g := newGate(t)
	r := newRuntime(t, redeem(), g.log)
	reports := make([]report, 8)
	var working sync.WaitGroup
	for i := range reports {
		working.Go(func() { reports[i] = invoke(t, r, g.event()) })
	}
	for range reports {
		<-g.arrived
	}
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Invoke(impatient, "redeem-voucher", []byte(`{}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	var late report
	working.Go(func() { late = invoke(t, r, `{}`) })
	g.open(t)
	working.Wait()
	pids := make(map[int]bool)
	for _, got := range reports {
		pids[got.PID] = true
	}
	if len(pids) != 8 || !pids[late.PID] {
		t.Errorf("processes %v served 8 events at once, and process %d the next one; want 8 processes, and one of "+
			"them for the next", pids, late.PID)
	}
}

func TestInvoke_CallerIsGone_FunctionContinues(t *testing.T) {
	g := newGate(t)
	r := newRuntime(t, redeem(), g.log)
	before := invoke(t, r, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-g.arrived
		cancel()
	}()
	if _, err := r.Invoke(ctx, "redeem-voucher", []byte(g.event())); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	g.open(t)
	await(t, "the process is idle again", func() bool { return invoke(t, r, `{}`).PID == before.PID })
}

func TestInvoke_FunctionFails_NextEventIsServed(t *testing.T) {
	r := newRuntime(t, redeem(), nil)
	// Lambda keeps a process that reports an error and does not exit.
	for event, wantSame := range map[string]bool{`{"do":"error"}`: true, `{"do":"exit"}`: false} {
		before := invoke(t, r, `{}`)
		if _, err := r.Invoke(t.Context(), "redeem-voucher", []byte(event)); err == nil ||
			!strings.HasPrefix(err.Error(), "function redeem-voucher: ") {
			t.Errorf("got %v, want an error that names the function", err)
		}
		if after := invoke(t, r, `{}`); wantSame != (before.PID == after.PID) {
			t.Errorf("%s: process %d served the event before the failure, process %d the next one; want the same "+
				"process: %t", event, before.PID, after.PID, wantSame)
		}
	}
}

func TestInvoke_FunctionCannotStart_ErrorSaysHow(t *testing.T) {
	crashes, missing := redeem(), redeem()
	crashes.Env = map[string]string{"START": "crash"}
	missing.Path = filepath.Join(t.TempDir(), "bootstrap")
	for want, f := range map[string]runtimeapi.Function{
		"the process ended while it started: exit status 3": crashes, "no such file": missing,
	} {
		r := newRuntime(t, f, nil)
		for range 2 { // the second event fails in the same way
			if _, err := r.Invoke(t.Context(), f.Name, []byte(`{}`)); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want: %s", err, want)
			}
		}
		if _, err := r.Invoke(t.Context(), "checkout", nil); err == nil ||
			!strings.Contains(err.Error(), `no function "checkout"`) {
			t.Errorf("unknown function: %v", err)
		}
	}
}

func TestInvoke_ProcessKilledWhileIdle_IsReplaced(t *testing.T) {
	r := newRuntime(t, redeem(), nil)
	pid := invoke(t, r, `{}`).PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "another process serves events", func() bool {
		response, err := r.Invoke(t.Context(), "redeem-voucher", []byte(`{}`)) // may fail until the runtime notices
		return err == nil && !strings.Contains(string(response), fmt.Sprintf(`"pid":%d,`, pid))
	})
}

func TestLog_Output_ArrivesLineByLine(t *testing.T) {
	var lines []string
	// needs no lock: calls do not overlap
	r := newRuntime(t, redeem(), func(function, line string) { lines = append(lines, function+": "+line) })
	invoke(t, r, `{"do":"lines"}`)
	_ = r.Close() // reads the rest of the output
	want := []string{
		"redeem-voucher: one", "redeem-voucher: two", "redeem-voucher: three", "redeem-voucher: no end of line",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

func TestClose_BusyAndIdleProcesses_AreGone(t *testing.T) {
	g := newGate(t)
	r := newRuntime(t, redeem(), g.log)
	failed := make(chan error)
	go func() {
		_, err := r.Invoke(t.Context(), "redeem-voucher", []byte(g.event()))
		failed <- err
	}()
	<-g.arrived
	idle := invoke(t, r, `{}`).PID
	_ = r.Close()
	if alive(idle) {
		t.Errorf("process %d still exists", idle)
	}
	if err := <-failed; !errors.Is(err, runtimeapi.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if _, err := r.Invoke(t.Context(), "redeem-voucher", []byte(`{}`)); !errors.Is(err, runtimeapi.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	_ = r.Close() // may be called again
}
