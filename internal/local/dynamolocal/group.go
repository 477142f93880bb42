package dynamolocal

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
)

// watchdogScript waits for the end of its input, which comes when the parent closes it or dies, even of SIGKILL. Then
// it removes the directory it was given and kills its own process group.
//
// The kernel's Pdeathsig would do on Linux alone, and is tied to the life of the thread that forked, not of the process.
const watchdogScript = `read -r _; [ -z "$1" ] || rm -rf -- "$1"; kill -KILL 0`

// group is a process group that ends with this process. Its leader is the watchdog.
type group struct {
	leader *exec.Cmd
}

// newGroup starts a group with nothing but its watchdog. The caller ends it. Should this process die first, scratch
// is removed, unless it is empty.
func newGroup(ctx context.Context, scratch string) (*group, error) {
	//nolint:gosec // the script is constant, scratch is only its argument
	leader := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", watchdogScript, "watchdog", scratch)
	leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Nothing is written; leader keeps the pipe open until it is waited for.
	if _, err := leader.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	if err := leader.Start(); err != nil {
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	return &group{leader: leader}, nil
}

// adopt makes cmd, which has not been started yet, a member of the group.
func (g *group) adopt(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.leader.Process.Pid}
}

// signal sends sig to every member, the watchdog too. The group's number is not used anew before end has returned.
func (g *group) signal(sig syscall.Signal) error {
	return syscall.Kill(-g.leader.Process.Pid, sig)
}

// end kills whatever is left of the group. It is called once.
func (g *group) end() {
	// Both fail only where nothing is left to kill; the watchdog's own exit status is always that of a kill.
	_ = g.signal(syscall.SIGKILL)
	_ = g.leader.Wait()
}
