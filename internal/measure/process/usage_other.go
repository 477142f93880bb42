//go:build !linux

package process

import (
	"errors"
	"time"
)

var errNotLinux = errors.New("processor time and memory of a process are measured on Linux only")

// CPUTime fails on this system.
func CPUTime(int) (time.Duration, error) { return 0, errNotLinux }

func peakMemory(int) (int64, error) { return 0, errNotLinux }
