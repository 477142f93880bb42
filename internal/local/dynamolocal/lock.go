package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked says that another process, or another part of this one, holds the lock.
var errLocked = errors.New("locked")

// lockInterval is how often a waiter looks again.
const lockInterval = 100 * time.Millisecond

// tryLock takes the lock that the file at path stands for, or answers errLocked. Closing the file releases it, as does
// the end of the process. The file itself stays: removing it would let two processes hold locks on two files of one name.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller's own path
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// waitLock is tryLock that waits for its turn until ctx ends. It calls waiting once if it has to.
func waitLock(ctx context.Context, path string, waiting func()) (*os.File, error) {
	file, err := tryLock(path)
	if !errors.Is(err, errLocked) {
		return file, err
	}
	waiting()
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for errors.Is(err, errLocked) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-ticker.C:
			file, err = tryLock(path)
		}
	}
	return file, err
}
