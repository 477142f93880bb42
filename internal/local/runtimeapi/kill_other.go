//go:build !unix

package runtimeapi

import (
	"os"
	"syscall"
)

// ownGroup changes nothing where there are no process groups.
func ownGroup() *syscall.SysProcAttr { return nil }

// killGroup kills the process alone.
func killGroup(process *os.Process) error { return process.Kill() }
