package runtimeapi

import "syscall"

// processAttributes puts a process into a group of its own, away from the terminal's Ctrl-C, and lets the kernel kill it
// when the thread that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
