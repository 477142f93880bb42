//go:build !linux

package benchmark

import (
	"errors"
	"time"
)

var errNotLinux = errors.New("the benchmark reads processor time and memory as Linux tells them: run it there")

// CPUTime is the processor time that a process has used so far, where that is known.
func CPUTime(int) (time.Duration, error) { return 0, errNotLinux }

func peakMemory(int) (int64, error) { return 0, errNotLinux }
