package lambdahttp_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"shopfront/internal/memdynamo"
)

// replayer repeats a store's first response to each kind of call. It does nothing else, so a benchmark measures only
// the caller. It can be the HTTPClient of an SDK client.
type replayer struct {
	store *memdynamo.Endpoint

	mu sync.Mutex
	// by X-Amz-Target and size; the size distinguishes a read of the settings from a read of a voucher
	answers map[string]recorded
	calls   int
}

type recorded struct {
	http.Response

	body []byte
}

func (p *replayer) Do(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	target := r.Header.Get("X-Amz-Target") + strconv.FormatInt(r.ContentLength, 10)
	known, found := p.answers[target]
	if !found {
		first, err := p.store.Do(r)
		if err != nil {
			return nil, err
		}
		defer first.Body.Close()
		body, err := io.ReadAll(first.Body)
		if err != nil {
			return nil, err
		}
		known = recorded{*first, body}
		p.answers[target] = known
	}
	answer := known.Response
	answer.Request = r
	answer.Header = known.Header.Clone()
	answer.Body = io.NopCloser(bytes.NewReader(known.body))
	return &answer, nil
}
