package benchmark

import (
	"context"
	"errors"
	"time"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/memdynamo"
)

// The stores, by their names in reports.
const (
	stubSteady    = "stub, 5 ms"
	stubImmediate = "stub, at once"

	steadyDelay = 5 * time.Millisecond
)

func storeNames() []string { return []string{stubSteady, stubImmediate} }

// store is a store that the measured functions use. It stores none of their changes, so all requests can be about the
// same code or order.
type store struct {
	*memdynamo.Endpoint

	name string
	env  []string // of the functions
	stop func()
}

// serve serves a store over TLS. The store responds after the delay.
func serve(stored *memdynamo.Store, dir, name string, delay time.Duration) (*store, error) {
	endpoint := stored.Endpoint(memdynamo.Dials{Latency: delay, Sealed: true})
	server, env, err := fixture.ServeTLS(endpoint, dir)
	if err != nil {
		return nil, err
	}
	return &store{Endpoint: endpoint, name: name, env: env, stop: server.Close}, nil
}

// startStores starts all stores. The caller must stop the returned stores, even after an error.
func startStores(ctx context.Context, setup fixture.Setup) (started []*store, err error) {
	stored, err := fixture.NewStore(ctx, setup.Root)
	if err != nil {
		return nil, err
	}
	for name, delay := range map[string]time.Duration{stubSteady: steadyDelay, stubImmediate: 0} {
		s, serveErr := serve(stored, setup.Dir, name, delay)
		if err = errors.Join(err, serveErr); serveErr == nil {
			started = append(started, s)
		}
	}
	return started, err
}

// calls returns how many calls have arrived.
func (s *store) calls() (all int) {
	for _, n := range s.Calls() {
		all += n
	}
	return all
}
