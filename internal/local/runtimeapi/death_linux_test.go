package runtimeapi_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

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
	pid, err := strconv.Atoi(string(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatalf("the busy process %d does not exist", pid)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait() // it was killed
	for range 200 {
		// A zombie counts as dead, because the process that inherits it may never wait for it.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d outlived the program", pid)
}

func TestRuntime_CallersThreadEnds_ProcessesStayAlive(t *testing.T) {
	r := newRuntime(t, only(redeem()))
	called := make(chan int)
	go func() {
		defer close(called)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		called <- invoke(t, r, `{}`).PID
	}()
	pid := <-called
	time.Sleep(100 * time.Millisecond)
	if again := invoke(t, r, `{}`); again.PID != pid {
		t.Errorf("process %d was replaced by %d", pid, again.PID)
	}
}
