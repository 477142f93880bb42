package dynamo_test

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/dynamo"
)

// patience limits a request. It is long enough for a busy machine.
const patience = time.Minute

// newTable creates a table for one test. The table can stand for any other table without an index, because all tables
// have the same keys. Only the table of the checkouts has an index.
func newTable(t testing.TB) (*dynamodb.Client, string) {
	t.Helper()
	return newClient(t), dynamotest.Table(t, "VouchersTable")
}

// newClient returns a client with the settings of a function's client, but with more patience.
func newClient(t testing.TB, options ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	client := dynamo.NewClient(dynamo.Settings{
		Region: dynamotest.Region, Endpoint: dynamotest.Endpoint(t), Jitter: mathrand.Int64N,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	options = append([]func(*dynamodb.Options){over(dynamotest.Network())}, options...)
	return dynamodb.New(client.Options(), options...)
}

// unreliable is a network that fails the first calls of an operation. If losesResponses is set, the store applies the
// call and the response is lost. Otherwise the request does not arrive.
type unreliable struct {
	operation      string
	losesResponses bool
	failures       atomic.Int32  // failures left; below 0 after a call of the operation succeeded
	calls          atomic.Int32  // of any operation
	failed         chan struct{} // receives after each failure, if somebody waits
}

var errCut = errors.New("connection cut by the test")

func (u *unreliable) Do(r *http.Request) (*http.Response, error) {
	u.calls.Add(1)
	if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810."+u.operation || u.failures.Add(-1) < 0 {
		return dynamotest.Network().Do(r)
	}
	if u.losesResponses {
		response, err := dynamotest.Network().Do(r)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close()
	}
	select {
	case u.failed <- struct{}{}:
	default:
	}
	return nil, &smithyhttp.RequestSendError{Err: errCut}
}

// untilItFails returns a context that ends when the network has failed twice.
func (u *unreliable) untilItFails(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	u.failed = make(chan struct{}, 2)
	go func() {
		defer cancel()
		for range 2 {
			select {
			case <-u.failed:
			case <-ctx.Done():
			}
		}
	}()
	return ctx
}

func over(network dynamodb.HTTPClient) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) { o.HTTPClient = network }
}

func losingRequests(operation string, failures int32) *unreliable {
	network := &unreliable{operation: operation}
	network.failures.Store(failures)
	return network
}

func losingResponses(operation string, failures int32) *unreliable {
	network := losingRequests(operation, failures)
	network.losesResponses = true
	return network
}

// counted returns a network that counts the calls of a client, and the option for it.
func counted() (*unreliable, func(*dynamodb.Options)) {
	network := &unreliable{}
	return network, over(network)
}

// within returns a context with a deadline. Only the deadline ends the retries of a call.
func within(t testing.TB) context.Context { return endingAfter(t, patience) }

func endingAfter(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cutOff returns a client for which every call of an operation fails.
func cutOff(t testing.TB, operation string) *dynamodb.Client {
	t.Helper()
	return newClient(t, over(losingRequests(operation, 1<<20)))
}

func wantEachUnavailable(t *testing.T, calls map[string]func(context.Context) error) {
	t.Helper()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantUnavailable(t, call(endingAfter(t, 200*time.Millisecond)))
		})
	}
}

func wantUnavailable(t testing.TB, err error) {
	t.Helper()
	if unavailable, is := errors.AsType[*dynamo.UnavailableError](err); !is || !unavailable.Unavailable() {
		t.Errorf("got %v; want an *UnavailableError", err)
	}
}
