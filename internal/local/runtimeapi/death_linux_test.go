package runtimeapi_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/runtimeapi"
)

// hostVariable makes the test binary run host until a test kills it.
const hostVariable = "RUNTIMEAPI_TEST_HOST"

// host prints what a function prints that never starts.
func host() {
	hanging := redeem()
	hanging.Env = map[string]string{"START": "hang"}
	r := runtimeapi.New(runtimeapi.Config{
		Functions: []runtimeapi.Function{hanging}, Log: func(_, line string) { fmt.Println(line) },
	})
	_, _ = r.Invoke(context.Background(), hanging.Name, []byte(`{}`))
}

func TestRuntime_ProgramIsKilled_ItsProcessesDie(t *testing.T) {
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), hostVariable+"=1")
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	line, _, err := bufio.NewReader(out).ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(string(line), "starting %d", &pid); err != nil || !alive(pid) {
		t.Fatalf("%s: the process does not exist: %v", line, err)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait() // it was killed
	await(t, "the process has ended", func() bool {
		// A zombie counts as dead, because the process that inherits it may never wait for it.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestRuntime_CallersThreadEnds_ProcessesStayAlive(t *testing.T) {
	r := newRuntime(t, redeem(), nil)
	called := make(chan int)
	go func() {
		defer close(called)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		called <- invoke(t, r, `{}`).PID
	}()
	pid := <-called
	time.Sleep(100 * time.Millisecond) // a process that dies with the thread is dead by then, at least usually
	if again := invoke(t, r, `{}`); again.PID != pid {
		t.Errorf("process %d was replaced by %d", pid, again.PID)
	}
}
