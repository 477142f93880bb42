package dynamolocal

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a child may take to stop after SIGTERM before it is killed.
	stopGrace = 3 * time.Second
	// tailBytes is how much of a child's output an error shows.
	tailBytes = 4 << 10
)

// ownGroup puts a command into its own process group, so that a terminal's Ctrl-C does not reach the command. When the
// command's context ends, the whole group is stopped.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
}

// wait waits for a started command that ownGroup has prepared. Then it kills the rest of the command's process group.
func wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually nothing is left
	return err
}

// listening matches the line by which the launcher reports its port.
var listening = regexp.MustCompile(`listening on port (\d+)\n`)

// output stores the last part of a child's output, and finds the server's port in the output.
type output struct {
	port chan int // receives the port once

	mu    sync.Mutex
	end   []byte
	found bool
}

func newOutput() *output { return &output{port: make(chan int, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end = append(o.end, p...)
	if match := listening.FindSubmatch(o.end); match != nil && !o.found {
		port, _ := strconv.Atoi(string(match[1])) // digits
		o.found = true
		o.port <- port
	}
	o.end = o.end[max(0, len(o.end)-tailBytes):]
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	// Maven prints this code, which resets a terminal's colours, even if it is told not to use colours.
	return strings.TrimSpace(strings.ReplaceAll(string(o.end), "\x1b[0m", ""))
}
