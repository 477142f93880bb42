package localrun

import (
	"fmt"
	"io"
	"sync"
	"time"

	"shopfront/internal/local/gateway"
)

// console is what the developer looks at. It takes one write at a time, and nobody minds if they are not read.
type console struct {
	mu  sync.Mutex
	w   io.Writer
	now func() time.Time
}

// Write never fails, so that a command that prints to it goes on.
func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.w.Write(b)
	return len(b), nil
}

func (c *console) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c, format+"\n", args...)
}

// longestPath is how much of a request's path is shown.
const longestPath = 100

// request shows a request in one line. Its ID finds it in the functions' log.
func (c *console) request(r gateway.Record) {
	path := r.Path
	if len(path) > longestPath {
		path = path[:longestPath] + "…"
	}
	line := fmt.Sprintf("%s %d %s %s %s %s", c.now().Format(time.TimeOnly), r.Status, r.Method, path,
		r.Duration.Round(100*time.Microsecond), r.RequestID)
	if r.Err != nil {
		line += ": " + r.Err.Error()
	}
	c.say("%s", line)
}
