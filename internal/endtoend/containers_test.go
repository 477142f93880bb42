package endtoend_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/internal/local/samtemplate"
)

// With -sam, the tests send their requests to `sam local start-api`. In containers, it runs the functions that `make
// start-api` has built for this machine. The functions use the tables of the local run. The SAM CLI has its own
// gateway. If that gateway responds without calling a function, its response differs from API Gateway's. `make
// start-api` skips the tests of such responses.
var (
	samCLI  = flag.String("sam", "", "send requests to the functions in Docker, with this SAM CLI") //nolint:gochecknoglobals // a flag
	samArgs = flag.String("sam-args", "", "more arguments for sam local start-api")                 //nolint:gochecknoglobals // a flag
)

// containers is a running `sam local start-api`.
type containers struct {
	baseURL string
	command *exec.Cmd
	ended   chan struct{}
	out     *localruntest.Output
}

// startContainers starts `sam local start-api` and returns when it accepts connections.
func startContainers(ctx context.Context, run *localruntest.Run) (*containers, error) {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		return nil, err
	}
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err = errors.Join(err, free.Close()); err != nil {
		return nil, err
	}
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	args := append([]string{
		"local", "start-api", "--template", filepath.Join(root, ".aws-sam", "local", "template.yaml"), "--port", port,
		"--env-vars", filepath.Join(run.Root(), ".shopfront", "env-vars.json"), "--parameter-overrides",
		"Architecture=" + architecture,
		"--warm-containers", "EAGER", "--add-host", "host.docker.internal:host-gateway",
	}, strings.Fields(*samArgs)...)
	c := &containers{baseURL: "http://" + address, ended: make(chan struct{}), out: &localruntest.Output{}}
	c.command = exec.Command(*samCLI, args...) //nolint:noctx // stop ends the process
	c.command.Stdout, c.command.Stderr = c.out, c.out
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.command.Wait() // ProcessState has the outcome
	}()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(c.baseURL, "http://"))
		if err == nil {
			return c, connection.Close()
		}
		select {
		case <-c.ended:
			return nil, fmt.Errorf("sam local start-api: %s\n%s", c.command.ProcessState, c.out)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), c.stop())
		case <-time.After(time.Second):
		}
	}
}

// dropGatewaysOwn removes the header that only the gateway of `sam local start-api` sends.
func dropGatewaysOwn(header http.Header) {
	if shared.containers != nil {
		header.Del("Server")
	}
}

// stop ends `sam local start-api` and waits at most a minute until it has removed its containers.
func (c *containers) stop() error {
	if err := c.command.Process.Signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("sam local start-api: %w\n%s", err, c.out)
	}
	select {
	case <-c.ended:
		return nil
	case <-time.After(time.Minute):
		return errors.Join(errors.New("sam local start-api did not end, and may have left containers"),
			c.command.Process.Kill())
	}
}
