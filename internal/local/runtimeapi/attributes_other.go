//go:build !linux

package runtimeapi

import "syscall"

// processAttributes puts a process into a group of its own, away from the terminal's Ctrl-C. If this program is killed,
// its functions end when their connection to the runtime API breaks.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
