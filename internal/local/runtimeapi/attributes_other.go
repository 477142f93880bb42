//go:build !linux

package runtimeapi

import "syscall"

// processAttributes puts a process into its own group, out of reach of the terminal's Ctrl-C. If this program is killed,
// its functions end when their connection to the runtime API breaks.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
