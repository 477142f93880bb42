package benchmark

import (
	"time"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/memdynamo"
)

// storeDelay is how long the store takes for each call.
const storeDelay = 5 * time.Millisecond

// store is a store that the measured functions use. It stores none of their changes, so all requests can be about the
// same code or order.
type store struct {
	*memdynamo.Endpoint

	env  []string // of the functions
	stop func()
}

// serve serves a store over TLS. The store responds after the delay.
func serve(stored *memdynamo.Store, dir string, delay time.Duration) (*store, error) {
	endpoint := stored.Endpoint(memdynamo.Dials{Latency: delay, Sealed: true})
	server, env, err := fixture.ServeTLS(endpoint, dir)
	if err != nil {
		return nil, err
	}
	return &store{Endpoint: endpoint, env: env, stop: server.Close}, nil
}

// calls returns how many calls have arrived.
func (s *store) calls() (all int) {
	for _, n := range s.Calls() {
		all += n
	}
	return all
}
