package dynamolocal

import (
	"strings"
	"sync"
)

// tailBytes is how much of a child's output an error shows.
const tailBytes = 4 << 10

// tail remembers the end of what was written to it. The zero value is ready.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if excess := len(t.end) - tailBytes; excess > 0 {
		t.end = append(t.end[:0], t.end[excess:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Maven resets a terminal's colours even where it was told to use none.
	return strings.TrimSpace(strings.ReplaceAll(string(t.end), "\x1b[0m", ""))
}
