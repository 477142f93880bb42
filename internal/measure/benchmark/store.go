package benchmark

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/stubstore"
	orders "shopfront/pkg/checkout" // this package has a constant of that name
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
	calls func() int64     // so far; always 0 if the store does not count them
	local *dynamodb.Client // nil for a stub, where one code can be redeemed again and again
	stop  func() error
}

// startStub serves, over TLS, a stub that responds after the delay.
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

// startStores starts all stores. The caller must call stop, even after an error.
func startStores(ctx context.Context, setup fixture.Setup) (stores []*store, stop func() error, err error) {
	stop = func() (err error) {
		for _, s := range stores {
			err = errors.Join(err, s.stop())
		}
		return err
	}
	fill := func(ctx context.Context, client *dynamodb.Client) error { return fixture.Fill(ctx, client, setup.Root) }
	for _, start := range []func() (*store, error){
		func() (*store, error) { return startStub(ctx, setup.Dir, stubSteady, steadyDelay, fill) },
		func() (*store, error) { return startStub(ctx, setup.Dir, stubImmediate, 0, fill) },
		func() (*store, error) { return startLocal(ctx, setup) },
	} {
		s, err := start()
		if err != nil {
			return stores, stop, err
		}
		stores = append(stores, s)
	}
	return stores, stop, nil
}

// singleUseCodes returns codes that nobody has redeemed. It creates them before the clock starts.
func (s *store) singleUseCodes(ctx context.Context, count int) ([]string, error) {
	codes := make([]string, count)
	for i := range codes {
		codes[i] = fixture.SingleUse
	}
	if s.local == nil {
		return codes, nil
	}
	for i := range codes {
		var err error
		if codes[i], err = fixture.NewCode(); err != nil {
			return nil, err
		}
		if err := fixture.CreateVoucher(ctx, s.local, voucher.Terms{Written: codes[i]}); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

// checkouts returns the IDs of open checkouts.
func (s *store) checkouts(ctx context.Context, count int) ([]string, error) {
	return s.ids(ctx, count, fixture.NewCheckout)
}

// orders returns the IDs of orders that are neither fulfilled nor cancelled.
func (s *store) orders(ctx context.Context, count int) ([]string, error) {
	return s.ids(ctx, count, fixture.NewOrder)
}

// ids makes checkouts or orders. A stub stores nothing, so its one order can be placed, fulfilled and cancelled again and again.
func (s *store) ids(ctx context.Context, count int, create func(context.Context, *dynamodb.Client) (orders.ID, error)) ([]string, error) {
	ids := make([]string, count)
	for i := range ids {
		id := fixture.Order
		if s.local != nil {
			var err error
			if id, err = create(ctx, s.local); err != nil {
				return nil, err
			}
		}
		ids[i] = string(id)
	}
	return ids, nil
}
