package runtimeapi

import "syscall"

// processAttributes puts a process into its own group, out of reach of the terminal's Ctrl-C, and lets the kernel kill it
// when the thread that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
