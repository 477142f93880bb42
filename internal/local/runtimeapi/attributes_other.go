//go:build !linux

package runtimeapi

import "syscall"

// processAttributes puts a process into its own group, so that the terminal's Ctrl-C does not reach it. If this program
// is killed, its functions end when their connection to the runtime API breaks.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
