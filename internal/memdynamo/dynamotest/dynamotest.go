// Package dynamotest gives the tests of a package one shared DynamoDB in memory. If the environment variable
// SHOPFRONT_DYNAMODB is local, it gives them DynamoDB Local instead. The package is for tests only. A test uses it like
// this:
//
//	func TestRedeem(t *testing.T) {
//		client, table := dynamotest.Client(t), dynamotest.Table(t, "VouchersTable")
//
// Each test creates its own table. A test that needs faults, metered calls or anything else that DynamoDB Local does
// not do uses package memdynamo:
//
//	endpoint := dynamotest.Memory().Endpoint(memdynamo.Dials{Metered: true})
//	url := dynamotest.Serve(t, endpoint) // for other processes
//
// Such a test begins with dynamotest.InMemory(t).
package dynamotest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/memdynamo"
)

// Region is the region that clients send. The same tables exist in every region.
const Region = localtest.Region

// Memory returns the store in memory that the tests of a package share. Reads and writes of tables that were not
// created fail.
//
//nolint:gochecknoglobals // all tests of a package share the store
var Memory = sync.OnceValue(func() *memdynamo.Store {
	store := memdynamo.New()
	store.OnlyCreated = true
	return store
})

//nolint:gochecknoglobals // all tests of a package share the server
var server = sync.OnceValue(func() *httptest.Server {
	return httptest.NewServer(memory())
})

//nolint:gochecknoglobals // names of tests that InMemory names
var inMemory sync.Map

// InMemory makes a test and its subtests use the DynamoDB in memory in any case, because DynamoDB Local cannot do what
// the test needs.
func InMemory(tb testing.TB) { inMemory.Store(nameOf(tb), true) }

// nameOf returns the name of the test to which a subtest belongs.
func nameOf(tb testing.TB) string {
	name, _, _ := strings.Cut(tb.Name(), "/")
	return name
}

func isLocal(tb testing.TB) bool {
	_, is := inMemory.Load(nameOf(tb))
	return !is && os.Getenv("SHOPFRONT_DYNAMODB") == "local"
}

// Endpoint returns the URL of the shared DynamoDB.
func Endpoint(tb testing.TB) string {
	tb.Helper()
	if isLocal(tb) {
		return localtest.Endpoint(tb)
	}
	return server().URL
}

// Serve serves a way to reach a store until the test ends, and returns its URL.
func Serve(tb testing.TB, endpoint http.Handler) string {
	tb.Helper()
	served := httptest.NewServer(endpoint)
	tb.Cleanup(served.Close)
	return served.URL
}

// Network returns the network of clients of the shared DynamoDB. It hands calls to the store in memory without a
// connection.
func Network() dynamodb.HTTPClient { return network{} }

type network struct{}

//nolint:gochecknoglobals // all tests of a package share the store
var memory = sync.OnceValue(func() *memdynamo.Endpoint { return Memory().Endpoint(memdynamo.Dials{}) })

func (network) Do(r *http.Request) (*http.Response, error) {
	if "http://"+r.URL.Host == server().URL {
		return memory().Do(r)
	}
	return http.DefaultClient.Do(r) //nolint:gosec // DynamoDB Local, or where the test leads the call
}

// Client returns a client of the shared DynamoDB. The client retries as the SDK does by default.
func Client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	return dynamodb.New(dynamolocal.NewClient(Endpoint(tb)).Options(), Over(Network()))
}

// Over makes a client use a network, which may be an endpoint of a store.
func Over(network dynamodb.HTTPClient) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) { o.HTTPClient = network }
}

// Table creates a table for one test and returns its name. The table is like the stack's table that the given output
// names, such as VouchersTable. It has no stream, because a stream makes writes slower.
func Table(tb testing.TB, output string) string {
	tb.Helper()
	return localtest.Create(tb, Client(tb), output, false)
}

// TableWithStream creates a table like Table, but with the stream.
func TableWithStream(tb testing.TB, output string) string {
	tb.Helper()
	return localtest.Create(tb, Client(tb), output, true)
}
