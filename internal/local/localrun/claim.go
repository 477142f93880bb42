package localrun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/gofrs/flock"

	"shopfront/internal/local/localstate"
)

// claim makes the checkout and the port this run's own, before anything that takes long. What connects to the port waits
// until the run serves.
func (r *run) claim(ctx context.Context) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("no go in PATH: install Go 1.26 or later from https://go.dev/dl")
	}
	if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return err
	}
	if err := r.lock(ctx); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use: stop what listens there, or choose another port with --port", r.Port)
	}
	if err != nil {
		return fmt.Errorf("choose another port with --port: %w", err)
	}
	r.listener = listener
	r.onStop(func() error {
		_ = listener.Close() // the server may have closed it
		return nil
	})
	return nil
}

// lock keeps a second run out of the checkout. The lock ends with the process; the file stays.
func (r *run) lock(ctx context.Context) error {
	lock := flock.New(filepath.Join(r.dir, "dev.lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock, err)
	}
	if !locked {
		if state, err := localstate.Live(ctx, r.Root); err == nil {
			return fmt.Errorf("a local run serves this checkout at %s already: use that, or stop it first", state.BaseURL)
		}
		return errors.New("another local run is starting or stopping in this checkout: wait for it, or stop it first")
	}
	r.onStop(lock.Unlock)
	return nil
}
