package runtimeapi

import "syscall"

// ownGroup puts a process into a group of its own, away from the terminal's Ctrl-C, and lets it die with the thread that
// started it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
