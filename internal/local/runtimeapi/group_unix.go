//go:build unix && !linux

package runtimeapi

import "syscall"

// ownGroup puts a process into a group of its own, away from the terminal's Ctrl-C. Should this process be killed, the
// function's end when their connection to the runtime API breaks.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
