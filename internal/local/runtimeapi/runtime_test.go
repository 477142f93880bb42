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

// report is the response of the test function.
type report struct {
	PID       int       `json:"pid"`
	RequestID string    `json:"requestId"`
	ARN       string    `json:"arn"`
	TraceID   string    `json:"traceId"`
	Deadline  time.Time `json:"deadline"`
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended"`
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

// hostVariable makes the test binary run host until a test kills it.
const hostVariable = "RUNTIMEAPI_TEST_HOST"

// host prints the process ID of a function that is busy with an event, and then waits.
func host() {
	r, err := runtimeapi.New(only(runtimeapi.Function{Name: "redeem-voucher", Path: os.Args[0], Timeout: time.Minute}))
	if err != nil {
		panic(err)
	}
	answer, err := r.Invoke(context.Background(), "redeem-voucher", []byte(`{}`))
	if err != nil {
		panic(err)
	}
	var got report
	if err := json.Unmarshal(answer, &got); err != nil {
		panic(err)
	}
	go func() { _, _ = r.Invoke(context.Background(), "redeem-voucher", []byte(`{"millis":30000}`)) }()
	time.Sleep(100 * time.Millisecond)
	fmt.Println(got.PID)
	time.Sleep(time.Minute)
}

// redeem returns the function of most tests.
func redeem() runtimeapi.Function {
	return runtimeapi.Function{Name: "redeem-voucher", Path: os.Args[0], Timeout: 5 * time.Second}
}

// starting returns the function redeem with the variable START. runFunction lists the variable's values.
func starting(how string) runtimeapi.Function {
	f := redeem()
	f.Env = map[string]string{"START": how}
	return f
}

// newRuntime returns a Runtime that is closed at the end of the test.
func newRuntime(t *testing.T, config runtimeapi.Config) *runtimeapi.Runtime {
	t.Helper()
	r, err := runtimeapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func only(functions ...runtimeapi.Function) runtimeapi.Config {
	return runtimeapi.Config{Functions: functions}
}

func invoke(t *testing.T, r *runtimeapi.Runtime, event string) report {
	t.Helper()
	answer, err := r.Invoke(t.Context(), "redeem-voucher", []byte(event))
	if err != nil {
		t.Fatalf("invoke %s: %v", event, err)
	}
	var got report
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatalf("response %q: %v", answer, err)
	}
	return got
}

// alive reports whether a process exists. A process that has ended still exists until its parent has waited for it.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func awaitDeath(t *testing.T, pid int) {
	t.Helper()
	for range 200 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d still exists", pid)
}

func TestProcess_Environment_MatchesLambda(t *testing.T) {
	t.Setenv("SHOPFRONT_STACK", "not the function's business")
	f := redeem()
	f.Handler, f.MemorySize, f.Timeout = "bootstrap", 256, 7*time.Second
	f.Env = map[string]string{"VOUCHERS_TABLE": "vouchers", "TZ": "UTC"}
	config := only(f)
	config.Region, config.AccessKey = "eu-central-1", "local"
	r := newRuntime(t, config)

	before := time.Now()
	got := invoke(t, r, `{}`)

	env := map[string]string{}
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
		"VOUCHERS_TABLE": "vouchers", "TZ": "UTC", "LANG": "en_US.UTF-8", "PATH": "/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"_HANDLER": "bootstrap", "AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1",
		"AWS_LAMBDA_FUNCTION_NAME": "redeem-voucher", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
		"AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/redeem-voucher", "AWS_LAMBDA_LOG_STREAM_NAME": "local",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "LAMBDA_TASK_ROOT": filepath.Dir(f.Path),
	}
	if !maps.Equal(env, want) {
		t.Errorf("environment\n got %v\nwant %v", env, want)
	}
	if got.Dir != filepath.Dir(f.Path) {
		t.Errorf("working directory %s, want %s", got.Dir, filepath.Dir(f.Path))
	}
	if got.ARN != "arn:aws:lambda:eu-central-1:123456789012:function:redeem-voucher" {
		t.Errorf("unexpected ARN %s", got.ARN)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(got.RequestID) {
		t.Errorf("request ID %s is not a UUID", got.RequestID)
	}
	if !regexp.MustCompile(`^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0$`).MatchString(got.TraceID) {
		t.Errorf("unexpected trace ID %s", got.TraceID)
	}
	if left := got.Deadline.Sub(before); left < 6900*time.Millisecond || left > 12*time.Second {
		t.Errorf("deadline %s after the call, want about 7s", left)
	}
}

func TestInvoke_IdleProcess_IsUsedAgain(t *testing.T) {
	r := newRuntime(t, only(redeem()))
	first, second := invoke(t, r, `{}`), invoke(t, r, `{}`)
	if first.PID != second.PID {
		t.Errorf("processes %d and %d, want one", first.PID, second.PID)
	}
	if first.RequestID == second.RequestID {
		t.Errorf("both invocations have the request ID %s", first.RequestID)
	}
}

func TestInvoke_ManyAtOnce_EachOfEightProcessesServesOneEventAtATime(t *testing.T) {
	r := newRuntime(t, only(redeem()))
	reports := make([]report, 24)
	var wg sync.WaitGroup
	for i := range reports {
		wg.Go(func() { reports[i] = invoke(t, r, `{"millis":300}`) })
	}
	wg.Wait()

	byPID := map[int][]report{}
	for _, got := range reports {
		byPID[got.PID] = append(byPID[got.PID], got)
	}
	if len(byPID) != 8 {
		t.Errorf("%d processes, want 8", len(byPID))
	}
	for pid, served := range byPID {
		slices.SortFunc(served, func(a, b report) int { return a.Began.Compare(b.Began) })
		for i := range served[1:] {
			if served[i+1].Began.Before(served[i].Ended) {
				t.Errorf("process %d had two events at once", pid)
			}
		}
	}
	var atOnce int
	for _, at := range reports {
		n := 0
		for _, other := range reports {
			if !other.Began.After(at.Began) && other.Ended.After(at.Began) {
				n++
			}
		}
		atOnce = max(atOnce, n)
	}
	if atOnce != 8 {
		t.Errorf("%d events at once, want 8", atOnce)
	}
}

func TestInvoke_AllProcessesBusy_WaitsUntilItsContextEnds(t *testing.T) {
	config := only(redeem())
	config.MaxProcesses = 1
	r := newRuntime(t, config)
	invoke(t, r, `{}`)

	working := make(chan report)
	go func() {
		defer close(working)
		working <- invoke(t, r, `{"millis":600}`)
	}()
	time.Sleep(100 * time.Millisecond)

	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := r.Invoke(impatient, "redeem-voucher", []byte(`{"do":"exit"}`))
	if !errors.Is(err, runtimeapi.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	patient := invoke(t, r, `{}`)
	if first := <-working; patient.PID != first.PID || patient.Began.Before(first.Ended) {
		t.Errorf("process %d served the waiting event at %s, want process %d after %s", patient.PID, patient.Began, first.PID, first.Ended)
	}
}

func TestInvoke_CallerIsGone_FunctionContinues(t *testing.T) {
	config := only(redeem())
	config.MaxProcesses = 1
	r := newRuntime(t, config)
	before := invoke(t, r, `{}`)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := r.Invoke(ctx, "redeem-voucher", []byte(`{"millis":300}`))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, runtimeapi.ErrBusy) {
		t.Errorf("got %v, want the context's error", err)
	}
	if after := invoke(t, r, `{}`); after.PID != before.PID {
		t.Errorf("process %d was replaced by %d", before.PID, after.PID)
	}
}

func TestInvoke_FunctionFails_ErrorSaysHow(t *testing.T) {
	says := func(text string) func(error) bool {
		return func(err error) bool { return err != nil && err.Error() == "function redeem-voucher: "+text }
	}
	is := func(want error) func(error) bool {
		return func(err error) bool { return errors.Is(err, want) }
	}
	const cannotStart = `the process cannot start: the function reported an error of type "Settings"`
	missing := redeem()
	missing.Path = filepath.Join(t.TempDir(), "bootstrap")
	impatient := redeem()
	impatient.Timeout = 300 * time.Millisecond

	tests := []struct {
		name     string
		function runtimeapi.Function
		event    string
		want     func(error) bool
	}{
		{"exits", redeem(), `{"do":"exit"}`, says("the process ended before it responded: exit status 4")},
		{"returns an error", redeem(), `{"do":"error"}`, says(`the function reported an error of type "errorString"`)},
		{"panics", redeem(), `{"do":"panic"}`, says(`the function reported an error of type "string"`)},
		{"its response is too large", redeem(), `{"do":"huge","bytes":6291557}`, is(runtimeapi.ErrAnswerTooLarge)},
		{"fails while it streams its response", redeem(), `{"do":"broken-stream"}`, says(`the function reported an error of type "errorString"`)},
		{"takes too long", impatient, `{"millis":60000}`, is(runtimeapi.ErrTimeout)},
		{"crashes while it starts", starting("crash"), `{}`, says("the process ended while it started: exit status 3")},
		{"reports that it cannot start", starting("init-error"), `{}`, says(cannotStart)},
		{"reports that it cannot start and stays", starting("init-error-hang"), `{}`, says(cannotStart)},
		{"asks for another event before it responds", starting("never-answer"), `{}`, is(runtimeapi.ErrNoAnswer)},
		{"does not exist", missing, `{}`, is(runtimeapi.ErrStart)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, only(tc.function))
			for range 2 { // the second event fails in the same way
				if _, err := r.Invoke(t.Context(), "redeem-voucher", []byte(tc.event)); !tc.want(err) {
					t.Errorf("unexpected error %v", err)
				}
			}
		})
	}
}

func TestInvoke_AfterAFailure_NextEventIsServed(t *testing.T) {
	for _, event := range []string{
		`{"do":"exit"}`, `{"do":"panic"}`, `{"do":"error"}`, `{"do":"huge","bytes":7000000}`, `{"millis":60000}`,
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			f := redeem()
			f.Timeout = 500 * time.Millisecond
			r := newRuntime(t, only(f))
			before := invoke(t, r, `{}`)
			if answer, err := r.Invoke(t.Context(), f.Name, []byte(event)); err == nil {
				t.Errorf("got the response %.80s, want an error", answer)
			}
			after := invoke(t, r, `{}`)
			// Lambda keeps a process that reports an error and does not exit.
			if kept := event == `{"do":"error"}`; kept != (before.PID == after.PID) {
				t.Errorf("process %d served the event before the failure, process %d the next one; want the same process: %t", before.PID, after.PID, kept)
			}
		})
	}
}

func TestInvoke_Timeout_KillsTheProcess(t *testing.T) {
	f := redeem()
	f.Timeout = 300 * time.Millisecond
	r := newRuntime(t, only(f))
	pid := invoke(t, r, `{}`).PID
	began := time.Now()
	_, err := r.Invoke(t.Context(), f.Name, []byte(`{"millis":60000}`))
	if !errors.Is(err, runtimeapi.ErrTimeout) {
		t.Fatalf("got %v, want ErrTimeout", err)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 30*time.Second { // the function would sleep for a minute
		t.Errorf("timed out after %s, want 300ms", took)
	}
	awaitDeath(t, pid)
}

func TestInvoke_AnyResponse_IsReturnedUnchanged(t *testing.T) {
	r := newRuntime(t, only(redeem()))
	for event, want := range map[string]string{
		`{"do":"rubbish"}`:              "<html>",
		`{"do":"huge","bytes":0}`:       "",
		`{"do":"huge","bytes":6291556}`: strings.Repeat("a", 6291556),
	} {
		got, err := r.Invoke(t.Context(), "redeem-voucher", []byte(event))
		if err != nil || string(got) != want {
			t.Errorf("the response to %s has %d bytes (%v), want %d", event, len(got), err, len(want))
		}
	}
}

func TestInvoke_ProcessKilledWhileBusy_IsAnError(t *testing.T) {
	r := newRuntime(t, only(redeem()))
	pid := invoke(t, r, `{}`).PID
	failed := make(chan error)
	go func() {
		_, err := r.Invoke(t.Context(), "redeem-voucher", []byte(`{"millis":60000}`))
		failed <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "the process ended before it responded: signal: killed") {
		t.Errorf("got %v, want an error that says that the process was killed", err)
	}
	if again := invoke(t, r, `{}`); again.PID == pid {
		t.Errorf("process %d was killed but served the next event", pid)
	}
}

func TestInvoke_ProcessKilledWhileIdle_FailsNoRequest(t *testing.T) {
	r := newRuntime(t, only(redeem()))
	for range 10 {
		pid := invoke(t, r, `{}`).PID
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		awaitDeath(t, pid)
		time.Sleep(5 * time.Millisecond) // until the runtime has noticed
		if again := invoke(t, r, `{}`); again.PID == pid {
			t.Errorf("process %d was killed but served the next event", pid)
		}
	}
}

func TestInvoke_CrashLoop_PausesBetweenStarts(t *testing.T) {
	var mu sync.Mutex
	starts := 0
	config := only(starting("crash"))
	config.Log = func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		if line == "no configuration" {
			starts++
		}
	}
	r := newRuntime(t, config)
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := r.Invoke(ctx, "redeem-voucher", []byte(`{}`)); err == nil {
			t.Fatal("got a response, want an error")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if starts < 2 || starts > 5 { // expected at 0, 50, 150 and 350 ms
		t.Errorf("started %d times in 700ms, want about 4", starts)
	}
}

func TestRuntimeAPI_ResponseToUnknownInvocation_IsRefused(t *testing.T) {
	f := starting("wrong-id")
	f.Timeout = 500 * time.Millisecond
	lines := make(chan string, 100)
	config := only(f)
	config.Log = func(_, line string) { lines <- line }
	r := newRuntime(t, config)
	if _, err := r.Invoke(t.Context(), f.Name, []byte(`{}`)); !errors.Is(err, runtimeapi.ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	if got := <-lines; got != "status 400" {
		t.Errorf("the process saw %q, want status 400", got)
	}
}

func TestLog_Output_ArrivesLineByLine(t *testing.T) {
	var lines []string
	config := only(redeem())
	config.Log = func(function, line string) { lines = append(lines, function+": "+line) } // needs no lock: calls do not overlap
	r := newRuntime(t, config)
	invoke(t, r, `{"do":"lines"}`)
	_ = r.Close() // reads the rest of the output
	want := []string{
		"redeem-voucher: started", "redeem-voucher: one", "redeem-voucher: two", "redeem-voucher: three",
		"redeem-voucher: no end of line",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

func TestClose_BusyAndIdleProcesses_AreGone(t *testing.T) {
	lines := make(chan string, 100)
	config := only(redeem(), runtimeapi.Function{
		Name: "checkout", Path: os.Args[0], Timeout: time.Minute, Env: map[string]string{"START": "slow"},
	})
	config.Log = func(_, line string) { lines <- line }
	r := newRuntime(t, config)
	idle := make([]report, 8)
	var wg sync.WaitGroup
	for i := range idle {
		wg.Go(func() { idle[i] = invoke(t, r, `{"millis":100}`) })
	}
	wg.Wait()
	failed := make(chan error, 2)
	for _, name := range []string{"redeem-voucher", "checkout"} { // the first is busy, the second is starting
		go func() {
			_, err := r.Invoke(t.Context(), name, []byte(`{"millis":60000}`))
			failed <- err
		}()
	}
	pids := map[int]bool{}
	for line := range lines {
		var pid int
		if _, err := fmt.Sscanf(line, "starting %d", &pid); err == nil {
			pids[pid] = true
			break
		}
	}
	for _, got := range idle {
		pids[got.PID] = true
	}
	if len(pids) != 9 {
		t.Errorf("%d processes, want 9", len(pids))
	}

	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for pid := range pids {
		if alive(pid) {
			t.Errorf("process %d still exists", pid)
		}
	}
	for range 2 {
		if err := <-failed; !errors.Is(err, runtimeapi.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	if _, err := r.Invoke(t.Context(), "checkout", []byte(`{}`)); !errors.Is(err, runtimeapi.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("the second Close returns %v", err)
	}
}

func TestInvoke_EventThatReachesNoFunction_IsAnError(t *testing.T) {
	r := newRuntime(t, only(redeem()))
	if _, err := r.Invoke(t.Context(), "checkout", nil); !errors.Is(err, runtimeapi.ErrUnknownFunction) {
		t.Errorf("unknown function: %v, want ErrUnknownFunction", err)
	}
	if _, err := r.Invoke(t.Context(), "redeem-voucher", make([]byte, runtimeapi.MaxEvent+1)); !errors.Is(err, runtimeapi.ErrEventTooLarge) {
		t.Errorf("large event: %v, want ErrEventTooLarge", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Invoke(cancelled, "redeem-voucher", []byte(`{}`)); !errors.Is(err, runtimeapi.ErrBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled context: %v, want ErrBusy and context.Canceled", err)
	}
}

func TestNew_DeclarationThatLambdaRefuses_IsAnError(t *testing.T) {
	for _, test := range []struct {
		change func(*runtimeapi.Function)
		want   string
	}{
		{func(f *runtimeapi.Function) { f.Env = map[string]string{"AWS_REGION": "eu-central-1"} }, "reserved"},
		{func(f *runtimeapi.Function) { f.Env = map[string]string{"A=B": "1"} }, "cannot be set"},
		{func(f *runtimeapi.Function) { f.Timeout = time.Hour }, "timeout 1h"},
		{func(f *runtimeapi.Function) { f.Timeout = 0 }, "timeout 0"},
		{func(f *runtimeapi.Function) { f.Path = "" }, "needs a name and the path"},
		{func(f *runtimeapi.Function) { f.Name = "" }, "needs a name and the path"},
	} {
		f := redeem()
		test.change(&f)
		if _, err := runtimeapi.New(only(f)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error that says %q", err, test.want)
		}
	}
	f := redeem()
	if _, err := runtimeapi.New(only(f, f)); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v, want an error that says twice", err)
	}
}
