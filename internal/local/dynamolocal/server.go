package dynamolocal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

const (
	mainClass = "software.amazon.dynamodb.services.local.main.ServerRunner"

	// stopGrace is how long the server may take to stop after SIGTERM, and to be gone after SIGKILL.
	stopGrace = 3 * time.Second
	// drainTimeout is how long output is waited for after the server's end, should a child of its own hold it open.
	drainTimeout = time.Second
	// portAttempts is how many free ports are tried: another process may take one before the server does.
	portAttempts = 5
)

var (
	// ErrPortInUse says that something else listens on the port.
	ErrPortInUse = errors.New("port is in use: stop what listens there, or choose another port")
	// ErrDataDirInUse says that another server keeps its tables in the same directory.
	ErrDataDirInUse = errors.New("data directory is in use by another DynamoDB Local: stop that one first")
	// ErrDataUnreadable says that the server runs and cannot work, as with a data directory that is damaged.
	ErrDataUnreadable = errors.New("DynamoDB Local cannot read its data")
)

// Options says how to run a server.
type Options struct {
	// LibDir is the directory that Fetch filled.
	LibDir string
	// DataDir is where tables are kept from one run to the next; it is created if need be, and used by one server at a
	// time. Where it is empty, they are kept in memory and end with the server.
	DataDir string
	// Port is the TCP port, or 0 for a free one.
	Port int
	// Log receives what the server prints, which is little; nil is nowhere.
	Log io.Writer
}

// Server is a running DynamoDB Local. All regions and access keys see the same tables; an access key may have
// letters and digits only. Its methods may be called at the same time.
type Server struct {
	port int
	// origin is a name that only this server knows. It is the one web origin that the server lets in, so that no page
	// in a browser can read the tables, and tells the server from another one that answers on the port.
	origin   string
	cmd      *exec.Cmd
	output   *tail
	stopping atomic.Bool
	done     chan struct{}
	err      error // how it died; written before done is closed
}

// Start runs a server and waits until it answers, at most a minute. Ending ctx ends the wait, not a server that is up:
// that one runs until Stop, or until this process ends, however it ends.
//
// Errors: ErrJavaMissing, ErrJavaTooOld, ErrPortInUse, ErrDataDirInUse, ErrDataUnreadable, the context's; and for a server
// that dies or does not answer, the end of its output. After an error nothing is left running.
func Start(ctx context.Context, options Options) (*Server, error) {
	if options.Port < 0 || options.Port > 65535 {
		return nil, fmt.Errorf("port %d: must be 0 to 65535", options.Port)
	}
	if err := checkComplete(options.LibDir, ""); err != nil {
		return nil, fmt.Errorf("DynamoDB Local is not complete in %s, fetch it first: %w", options.LibDir, err)
	}
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	if options.Port != 0 {
		return launch(ctx, java, options)
	}
	for range portAttempts {
		options.Port, err = FreePort(ctx)
		if err != nil {
			return nil, err
		}
		var server *Server
		server, err = launch(ctx, java, options)
		if !errors.Is(err, ErrPortInUse) {
			return server, err
		}
	}
	return nil, fmt.Errorf("no free port after %d attempts: %w", portAttempts, err)
}

// Port returns the TCP port.
func (s *Server) Port() int { return s.port }

// Endpoint returns the server's URL, such as http://127.0.0.1:8000.
func (s *Server) Endpoint() string { return "http://127.0.0.1:" + strconv.Itoa(s.port) }

// Done is closed when the server has ended, asked to or not.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns nil while the server runs and after Stop, or else how it died.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop ends the server and returns when it is gone: asked to, or killed if it takes longer than 3 s. It may be called
// again. Its one error is that the server cannot be killed.
func (s *Server) Stop() error {
	s.stopping.Store(true)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		_ = s.cmd.Process.Signal(signal) // fails only where it has ended
		select {
		case <-s.done:
			return nil
		case <-time.After(stopGrace):
		}
	}
	return fmt.Errorf("DynamoDB Local (process %d) does not end", s.cmd.Process.Pid)
}

// launch starts a server on options.Port and waits until it answers.
func launch(ctx context.Context, java string, options Options) (*Server, error) {
	if err := checkPort(ctx, options.Port); err != nil {
		return nil, err
	}
	release, err := lockData(options.DataDir)
	if err != nil {
		return nil, err
	}
	server, err := run(ctx, java, options, release)
	if err != nil {
		release()
		return nil, err
	}
	if err := server.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// lockData makes sure that dir exists and no other server uses it. The caller releases it.
func lockData(dir string) (release func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !locked {
		return nil, fmt.Errorf("%s: %w", dir, ErrDataDirInUse)
	}
	return func() { _ = lock.Unlock() }, nil
}

// run starts the process, and a goroutine that waits for its end, cleans up after it and calls release.
func run(ctx context.Context, java string, options Options, release func()) (*Server, error) {
	// The server unpacks a native library at each start, and cannot remove it where it is killed.
	scratch, err := os.MkdirTemp("", "dynamodb-local-")
	if err != nil {
		return nil, err
	}
	server, group, err := execute(ctx, java, options, scratch)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	go func() {
		err := server.cmd.Wait()
		group.end()
		_ = os.RemoveAll(scratch) // what is left in the system's temporary directory is the system's to remove
		release()
		if !server.stopping.Load() {
			server.err = fmt.Errorf("DynamoDB Local ended on its own (%w). The end of its output:\n%s", exitError(err), server.output)
		}
		close(server.done)
	}()
	return server, nil
}

// execute starts the process in a group of its own.
func execute(ctx context.Context, java string, options Options, scratch string) (*Server, *group, error) {
	origin := "http://" + strings.ToLower(rand.Text()) + ".invalid"
	// The process runs in the library's directory, so that no path is in the class path: a path may hold its separator.
	// Without Java's second compiler a test run takes half the processor time, and what lasts longer is no slower.
	args := []string{
		"-XX:TieredStopAtLevel=1", "-Djava.library.path=.", "-Djava.io.tmpdir=" + scratch, "-cp", "*", mainClass,
		"-sharedDb", "-disableTelemetry", "-cors", origin, "-port", strconv.Itoa(options.Port),
	}
	if options.DataDir == "" {
		args = append(args, "-inMemory")
	} else {
		dataDir, err := filepath.Abs(options.DataDir)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, "-dbPath", dataDir)
	}
	group, err := newGroup(ctx, scratch)
	if err != nil {
		return nil, nil, err
	}
	server := &Server{port: options.Port, origin: origin, output: &tail{}, done: make(chan struct{})}
	//nolint:gosec // java, as found in PATH
	cmd := exec.CommandContext(context.WithoutCancel(ctx), java, args...)
	group.adopt(cmd)
	cmd.Dir = options.LibDir
	cmd.WaitDelay = drainTimeout
	cmd.Stdout = server.output
	if options.Log != nil {
		cmd.Stdout = io.MultiWriter(server.output, options.Log)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		group.end()
		return nil, nil, fmt.Errorf("start DynamoDB Local: %w", err)
	}
	server.cmd = cmd
	return server, group, nil
}

// exitError is for a process that ended on its own, for which success is an error too.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
