package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// FreePort returns a port of 127.0.0.1 that is free now.
func FreePort(ctx context.Context) (int, error) {
	listener, err := listen(ctx, 0)
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// checkPort spares the wait for a Java that will find the port taken. It also sees what Java does not see on macOS,
// where a server on all addresses may start beside one that listens on 127.0.0.1 only.
func checkPort(ctx context.Context, port int) error {
	listener, err := listen(ctx, port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d: %w", port, ErrPortInUse)
	}
	if err != nil {
		return err
	}
	return listener.Close()
}

func listen(ctx context.Context, port int) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
