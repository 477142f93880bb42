package benchmark

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// handlersPackage is where the Go benchmarks of the handlers are.
const handlersPackage = "pkg/lambdahttp"

// Handler is what one request costs within a handler, its store answering in the same process, as a Go benchmark says.
type Handler struct {
	Request  string `json:"request"`
	Function string `json:"function"` // shopfront or bare
	// One of each for a round.
	CPU         []float64 `json:"cpu"` // in nanoseconds, all threads together: the garbage collector's among them
	Allocations []float64 `json:"allocations"`
	Bytes       []float64 `json:"bytes"`
}

func buildHandlers(ctx context.Context, root, dir string) (string, error) {
	binary := filepath.Join(dir, "handlers.test")
	command := exec.CommandContext(ctx, "go", "test", "-c", "-tags", "lambda.norpc", "-buildvcs=false", "-o", binary, "./"+handlersPackage) //nolint:gosec // the checkout's own tests
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the handlers' benchmarks: %w\n%s", err, output)
	}
	return binary, nil
}

// runHandlers runs each benchmark of the handlers once.
func runHandlers(ctx context.Context, root, binary string) ([]Handler, error) {
	command := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.bench=BenchmarkHandler", "-test.benchmem", "-test.benchtime=1000x")
	command.Dir = filepath.Join(root, filepath.FromSlash(handlersPackage))
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchmarks of the handlers: %w\n%s", err, output)
	}
	return parseBenchmarks(output)
}

// parseBenchmarks reads Go's benchmark format (https://go.dev/design/14313-benchmark-format).
func parseBenchmarks(output []byte) ([]Handler, error) {
	line := regexp.MustCompile(`^Benchmark\w+/request=(\S+)/function=(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	var found []Handler
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		matched := line.FindStringSubmatch(lines.Text())
		if matched == nil {
			continue
		}
		h := Handler{Request: matched[1], Function: matched[2]}
		fields := strings.Fields(matched[3])
		for i := 0; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("benchmark of %s: %w", h.Request, err)
			}
			switch fields[i+1] {
			case "cpu-ns/op":
				h.CPU = append(h.CPU, value)
			case "allocs/op":
				h.Allocations = append(h.Allocations, value)
			case "B/op":
				h.Bytes = append(h.Bytes, value)
			}
		}
		found = append(found, h)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no benchmarks in:\n%s", output)
	}
	return found, nil
}
