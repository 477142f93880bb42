// Package localtest gives a package's tests a DynamoDB Local to share, in memory and on a free port. It is for tests
// only, and imports only internal/local/dynamolocal, internal/local/samtemplate and the AWS SDK. The server starts when the first test asks for it:
//
//	func TestMain(m *testing.M) { localtest.Main(m) }
//
//	func TestRedeem(t *testing.T) {
//		client := localtest.Client(t)
//
// Each test makes a table of its own. Where Java or Maven is missing the tests fail, saying what to install.
package localtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/dynamolocal"
)

// Region is the region that clients name. DynamoDB Local shows the same tables in every region.
const Region = "eu-central-1"

// shared is the test binary's server. Tests of a package have nothing else in common that could hold it.
var shared server //nolint:gochecknoglobals // one process, one server: see above

type server struct {
	mu      sync.Mutex
	running *dynamolocal.Server
	err     error
}

// Main runs the tests of a package and then stops the server if one of them started it. It is called in TestMain,
// which then returns. (Without it the server ends with the process, but is killed.)
func Main(m *testing.M) {
	m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Endpoint returns the URL of the shared server, starting it if it is not running yet. It ends the test with a failure
// if there is no server.
func Endpoint(tb testing.TB) string {
	tb.Helper()
	endpoint, err := shared.endpoint(tb.Context(), tb.Output())
	if err != nil {
		tb.Fatal(err)
	}
	return endpoint
}

// Client returns a client of the shared server. It retries as the SDK does by default.
func Client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	return NewClient(Endpoint(tb))
}

// NewClient returns a client for a DynamoDB Local at endpoint.
func NewClient(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       Region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// Library returns the directory that holds DynamoDB Local, fetched first if need be, for tests that start servers of
// their own.
func Library(tb testing.TB) string {
	tb.Helper()
	libDir, err := fetch(tb.Context(), tb.Output())
	if err != nil {
		tb.Fatal(err)
	}
	return libDir
}

// endpoint starts the server once; a failure is final, so that it is not waited for in every test.
func (s *server) endpoint(ctx context.Context, progress io.Writer) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil && s.err == nil {
		s.running, s.err = start(ctx, progress)
	}
	if s.err != nil {
		return "", s.err
	}
	return s.running.Endpoint(), s.running.Err()
}

func (s *server) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return nil
	}
	return s.running.Stop()
}

func start(ctx context.Context, progress io.Writer) (*dynamolocal.Server, error) {
	libDir, err := fetch(ctx, progress)
	if err != nil {
		return nil, err
	}
	return dynamolocal.Start(ctx, dynamolocal.Options{LibDir: libDir})
}

func fetch(ctx context.Context, progress io.Writer) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	pomDir, libDir := dynamolocal.Dirs(root)
	return libDir, dynamolocal.Fetch(ctx, pomDir, libDir, progress)
}

// moduleRoot walks up from the working directory, which go test sets to the package's, to the directory with go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in the working directory or above it")
		}
		dir = parent
	}
}
