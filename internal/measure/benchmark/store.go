package benchmark

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/stubstore"
	"shopfront/pkg/voucher"
)

// The stores, by their names in reports.
const (
	stubSteady    = "stub, 5 ms"
	stubImmediate = "stub, at once"
	localStore    = "DynamoDB Local"

	steadyDelay = 5 * time.Millisecond
)

func storeNames() []string { return []string{stubSteady, stubImmediate, localStore} }

// store is a store that the measured functions use.
type store struct {
	name  string
	env   []string         // of the functions
	calls func() int64     // calls so far; always 0 if the store does not count them
	local *dynamodb.Client // nil for a stub
	stop  func() error
}

// startStub fills a stub and serves it over TLS. The stub responds after the delay.
func startStub(ctx context.Context, dir, name string, delay time.Duration, fill func(context.Context, *dynamodb.Client) error) (*store, error) {
	stub := stubstore.New(delay)
	if err := fill(ctx, fixture.Client("https://stub.invalid", func(o *dynamodb.Options) { o.HTTPClient = stub })); err != nil {
		return nil, err
	}
	stub.Seal()
	server, env, err := fixture.ServeTLS(stub, dir)
	if err != nil {
		return nil, err
	}
	return &store{name: name, env: env, calls: stub.Calls, stop: func() error {
		server.Close()
		return nil
	}}, nil
}

// startLocal runs DynamoDB Local in memory.
func startLocal(ctx context.Context, setup fixture.Setup) (*store, error) {
	server, err := setup.StartLocal(ctx)
	if err != nil {
		return nil, err
	}
	client := fixture.Client(server.Endpoint())
	if err := fixture.FillLocal(ctx, setup.Root, client); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &store{
		name: localStore, env: fixture.Environment(server.Endpoint()), calls: func() int64 { return 0 }, local: client, stop: server.Stop,
	}, nil
}

// startStores starts all stores. The caller must stop the returned stores, even after an error.
func startStores(ctx context.Context, setup fixture.Setup) ([]*store, error) {
	fill := func(ctx context.Context, client *dynamodb.Client) error { return fixture.Fill(ctx, client, setup.Root) }
	steady, steadyErr := startStub(ctx, setup.Dir, stubSteady, steadyDelay, fill)
	immediate, immediateErr := startStub(ctx, setup.Dir, stubImmediate, 0, fill)
	local, localErr := startLocal(ctx, setup)
	started := slices.DeleteFunc([]*store{steady, immediate, local}, func(s *store) bool { return s == nil })
	return started, errors.Join(steadyErr, immediateErr, localErr)
}

// topic is what a request is about: a code that nobody has redeemed, or a checkout, or an order.
type topic struct {
	// inStub is the code or the ID for a stub. A stub stores no changes, so all requests can be about the same code or order.
	inStub string
	create func(ctx context.Context, client *dynamodb.Client) (string, error)
}

// prepare returns the code or the ID that a request is about. It returns "" if the request has no topic.
func (s *store) prepare(ctx context.Context, about topic) (string, error) {
	if s.local == nil || about.create == nil {
		return about.inStub, nil
	}
	return about.create(ctx, s.local)
}

func createSingleUseCode(ctx context.Context, client *dynamodb.Client) (string, error) {
	code, err := fixture.NewCode()
	if err != nil {
		return "", err
	}
	return code, fixture.CreateVoucher(ctx, client, voucher.Terms{Written: code})
}
