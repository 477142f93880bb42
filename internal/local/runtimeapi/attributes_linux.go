package runtimeapi

import "syscall"

// processAttributes puts a process into its own group, so that the terminal's Ctrl-C does not reach it. The kernel
// kills the process when the thread that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
