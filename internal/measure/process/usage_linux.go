package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the processor time that all threads of a process have used together so far (clock_getcpuclockid(3)).
func CPUTime(pid int) (time.Duration, error) {
	const cpuClock = 2 // CPUCLOCK_SCHED of a whole process, in the kernel's include/linux/posix-timers.h
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClock), &used); err != nil { //nolint:gosec // a PID has 22 bits
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}

// peakMemory returns the largest resident size of a process so far (proc_pid_status(5)), in bytes.
func peakMemory(pid int) (int64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	_, line, _ := bytes.Cut(status, []byte("VmHWM:"))
	line, _, _ = bytes.Cut(line, []byte(" kB"))
	kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("peak memory of process %d: %w", pid, err)
	}
	return kilobytes << 10, nil
}
