//go:build unix

package runtimeapi

import (
	"errors"
	"os"
	"syscall"
)

// killGroup kills the process and its children.
func killGroup(process *os.Process) error {
	err := syscall.Kill(-process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
