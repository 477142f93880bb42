package benchmark

import (
	"os"
	"runtime"
	"strings"
)

// Machine is where it was measured.
type Machine struct {
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	System    string `json:"system"`
	Go        string `json:"go"`
}

func describeMachine() Machine {
	m := Machine{
		Processor: runtime.GOARCH, Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m // another system than Linux, or one that does not tell
	}
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			m.Processor = strings.TrimSpace(value)
			break
		}
	}
	return m
}
