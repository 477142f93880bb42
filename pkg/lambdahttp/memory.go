package lambdahttp

import (
	"runtime/debug"
	"strconv"
)

// envMemory names the variable in which Lambda gives the function's memory, in MB.
const envMemory = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"

// useMemory lets the heap grow to five times the memory in use before a collection, instead of Go's default of twice. A
// function uses only a few MB of the memory that it pays for. With Go's default, it would collect every few dozen
// requests and spend up to a quarter of its processor time on that. Above three quarters of the memory, the collector
// works as often as necessary.
func useMemory(megabytes string) {
	const garbagePercent = 400
	debug.SetGCPercent(garbagePercent)
	if has, err := strconv.ParseInt(megabytes, 10, 32); err == nil {
		debug.SetMemoryLimit(has << 20 / 4 * 3)
	}
}
