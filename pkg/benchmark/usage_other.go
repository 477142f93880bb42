//go:build !linux

package benchmark

import (
	"errors"
	"time"
)

var errNotLinux = errors.New("the benchmark reads processor time and memory as Linux tells them: run it there")

func cpuTime(int) (time.Duration, error) { return 0, errNotLinux }

func peakMemory(int) (int64, error) { return 0, errNotLinux }
