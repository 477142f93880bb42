// Package localtest gives the tests of a package one shared DynamoDB Local. The server stores its data in memory and
// listens on a free port. It starts when the first test needs it, and ends with the process. The package is for tests
// only. It imports only other packages of internal/local and the AWS SDK. A test uses it like this:
//
//	func TestRedeem(t *testing.T) {
//		client := localtest.Client(t)
//
// Each test creates its own table. If Java or Maven is missing, the tests fail and say what to install.
package localtest

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/samtemplate"
)

// Region is the region that clients send. DynamoDB Local shows the same tables in every region.
const Region = "eu-central-1"

// shared returns the test binary's server. The first call starts it. Later calls do not retry after a failure, so that
// only the first test waits.
//
//nolint:gochecknoglobals // all tests of a package share the server
var shared = sync.OnceValues(func() (*dynamolocal.Server, error) {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		return nil, err
	}
	pomDir, libDir := dynamolocal.Dirs(root)
	if err := dynamolocal.Fetch(context.Background(), pomDir, libDir, os.Stderr); err != nil {
		return nil, err
	}
	return dynamolocal.Start(context.Background(), dynamolocal.Options{LibDir: libDir})
})

// Endpoint returns the URL of the shared server. It starts the server first if necessary.
func Endpoint(tb testing.TB) string {
	tb.Helper()
	server, err := shared()
	if err == nil {
		err = server.Err()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return server.Endpoint()
}

// Client returns a client of the shared server. The client retries as the SDK does by default.
func Client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	return dynamolocal.NewClient(Endpoint(tb))
}
