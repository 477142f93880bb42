package lambdahttp

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestUseMemory_Limit_IsThreeQuartersOfTheMemory(t *testing.T) {
	percent := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	for _, test := range []struct {
		megabytes string
		want      int64
	}{{"", math.MaxInt64}, {"much", math.MaxInt64}, {"256", 192 << 20}, {"10240", 7680 << 20}} {
		useMemory(test.megabytes)
		if got := debug.SetMemoryLimit(math.MaxInt64); got != test.want {
			t.Errorf("with %q MB the limit is %d bytes, want %d", test.megabytes, got, test.want)
		}
		if got := debug.SetGCPercent(100); got != 400 {
			t.Errorf("the garbage collector's percentage is %d, want 400", got)
		}
	}
}
