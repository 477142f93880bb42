package lambdahttp

import (
	"runtime/debug"
	"strconv"
)

// envMemory is how much memory the function has, in MB. Lambda sets it.
const envMemory = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"

// useMemory lets garbage pile up to four times of what is in use before it is collected, instead of Go's once: a function
// holds few MB, so that it would collect every few dozen requests, at up to a quarter of its processor time, beside most of
// its memory unused. Near the end of that it collects earlier, as for a page of 4 MB.
func useMemory(megabytes string) {
	const garbagePercent = 400
	debug.SetGCPercent(garbagePercent)
	if has, err := strconv.ParseInt(megabytes, 10, 32); err == nil {
		debug.SetMemoryLimit(has << 20 / 4 * 3)
	}
}
