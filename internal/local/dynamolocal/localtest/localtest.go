// Package localtest gives the tests of a package one shared DynamoDB Local, in memory and on a free port. It is for tests only,
// and imports only other packages of internal/local and the AWS SDK. The server starts when the first test needs it, and ends
// with the process:
//
//	func TestRedeem(t *testing.T) {
//		client := localtest.Client(t)
//
// Each test makes its own table. If Java or Maven is missing, the tests fail and say what to install.
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

// Region is the region that clients name. DynamoDB Local shows the same tables in every region.
const Region = "eu-central-1"

// shared starts the test binary's server. It does not retry after a failure, so that only the first test waits.
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

// Client returns a client of the shared server. It retries as the SDK does by default.
func Client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	return dynamolocal.NewClient(Endpoint(tb))
}
