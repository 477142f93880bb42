// Package dynamolocal fetches Amazon DynamoDB Local with Maven and runs it as a child process, for the local run and
// for the tests. It needs Linux or macOS, Java 17 or later, and Maven until the library has been fetched.
//
// The package knows nothing about the shop, and imports no other package of this module. No Lambda function may link
// it.
//
// A server listens only on 127.0.0.1. Server.ContainerEndpoint makes it reachable from containers, too. A server ends
// with this process, even if this process is killed.
package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// region is the region that clients send. DynamoDB Local shows the same tables in every region.
const region = "eu-central-1"

// Options says how to run a server.
type Options struct {
	// LibDir is the directory that Fetch filled.
	LibDir string
	// DataDir is the directory that stores the tables between runs. It is created if necessary. Only one server at a
	// time may use it. If DataDir is empty, the server stores the tables in memory, and they are lost when it ends.
	DataDir string
}

// Server is a running DynamoDB Local. All regions and access keys see the same tables. An access key may contain only
// letters and digits. The methods of Server are safe for concurrent use.
type Server struct {
	endpoint string
	cmd      *exec.Cmd
	stdin    io.Closer // the server ends when this is closed
	output   *output
	stop     context.CancelFunc
	stopping atomic.Bool
	done     chan struct{}
	err      error // how the server died; written before done is closed
}

// Start runs a server on a free port and waits until it responds. If ctx ends first, Start stops the server and returns
// an error. Once the server is ready, ctx no longer matters: the server runs until Stop, or until this process ends.
//
// If Java is missing or too old, the error says what to do. If the server dies, the error contains the end of the
// server's output. After an error, nothing is left running.
func Start(ctx context.Context, options Options) (*Server, error) {
	if _, err := os.Stat(filepath.Join(options.LibDir, markName)); err != nil {
		return nil, fmt.Errorf("DynamoDB Local in %s is not complete: fetch it first: %w", options.LibDir, err)
	}
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	server, err := run(ctx, java, options)
	if err != nil {
		return nil, err
	}
	if err := server.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// NewClient returns a client for a DynamoDB Local at endpoint. The client retries as the SDK does by default.
func NewClient(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: region, BaseEndpoint: aws.String(endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// Endpoint returns the server's URL, such as http://127.0.0.1:8000.
func (s *Server) Endpoint() string { return s.endpoint }

// Done returns a channel that is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns how the server died. It is nil while the server runs, and if Stop has ended it.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop ends the server and returns when it is gone. It kills a server that takes longer than 3 s. Stop may be called
// again. It always returns nil.
func (s *Server) Stop() error {
	s.stopping.Store(true)
	s.stop()
	<-s.done
	return nil
}

// run starts the server's process, and a goroutine that waits for the end of the process and cleans up.
func run(ctx context.Context, java string, options Options) (*Server, error) {
	// The server unpacks a native library at each start. If the server is killed, it cannot remove that library itself.
	scratch, err := os.MkdirTemp("", "dynamodb-local-")
	if err != nil {
		return nil, err
	}
	// The process runs in the library's directory, because the class path cannot contain a directory with a colon in
	// its name. TieredStopAtLevel=1 turns off Java's second compiler, which would double the processor time of a test
	// run. By default, any web page could read the tables. The -cors option allows only one web origin, and no page has
	// that origin.
	args := []string{
		"-XX:TieredStopAtLevel=1", "-Djava.library.path=.", "-Djava.io.tmpdir=" + scratch, "-cp", ".:*", "Launcher",
		"-sharedDb", "-disableTelemetry", "-cors", "http://nobody.invalid",
	}
	if options.DataDir == "" {
		args = append(args, "-inMemory")
	} else {
		dataDir, err := filepath.Abs(options.DataDir)
		if err == nil {
			err = os.MkdirAll(dataDir, 0o750)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, "-dbPath", dataDir)
	}
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	server := &Server{output: newOutput(), stop: stop, done: make(chan struct{})}
	server.cmd = exec.CommandContext(alive, java, args...) //nolint:gosec // java, as found in PATH
	server.cmd.Dir = options.LibDir
	server.cmd.Stdout, server.cmd.Stderr = server.output, server.output
	ownGroup(server.cmd)
	server.stdin, err = server.cmd.StdinPipe()
	if err == nil {
		err = server.cmd.Start()
	}
	if err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("start DynamoDB Local: %w", err), os.RemoveAll(scratch))
	}
	go func() {
		defer close(server.done)
		defer stop()
		_ = wait(server.cmd)      // ProcessState has the result
		_ = os.RemoveAll(scratch) // the system clears its temporary directory anyway
		if !server.stopping.Load() {
			server.err = fmt.Errorf("DynamoDB Local ended on its own (%s). The end of its output:\n%s",
				server.cmd.ProcessState, server.output)
		}
	}()
	return server, nil
}

// awaitReady returns nil once the server responds.
func (s *Server) awaitReady(ctx context.Context) (err error) {
	select {
	case port := <-s.output.port:
		s.endpoint = "http://127.0.0.1:" + strconv.Itoa(port)
		client := dynamodb.New(NewClient(s.endpoint).Options(),
			func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		// This call makes the server load everything it needs.
		if _, err = client.ListTables(ctx, &dynamodb.ListTablesInput{}); err != nil {
			err = fmt.Errorf("DynamoDB Local does not serve its data: %w. The end of its output:\n%s", err, s.output)
		}
	case <-s.done:
		return s.err
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return fmt.Errorf("starting DynamoDB Local was interrupted: %w", context.Cause(ctx))
	}
	return err
}
