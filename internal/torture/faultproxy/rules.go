package faultproxy

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// holds knows what is under way: which items transactions and other writes have, and the tokens of the transactions.
type holds struct {
	mu           sync.Mutex
	transactions map[itemKey]bool
	writes       map[itemKey]int
	tokens       map[string]bool
}

// take takes the items of a write, and returns how they are given back; or it says which of them, by their place in the
// call, it may not have. again tells of a transaction that is under way already, under the same token.
func (h *holds) take(c *call) (release func(), conflicts map[int]bool, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.isTransaction() && c.token != "" && h.tokens[c.token] {
		return nil, nil, true
	}
	conflicts = make(map[int]bool)
	for place, key := range c.writes {
		if h.transactions[key] || c.isTransaction() && h.writes[key] > 0 {
			conflicts[place] = true
		}
	}
	if len(conflicts) > 0 {
		return nil, conflicts, false
	}
	h.mark(c, true)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.mark(c, false)
	}, nil, false
}

func (h *holds) mark(c *call, taken bool) {
	if c.isTransaction() {
		h.tokens[c.token] = taken
		maps.DeleteFunc(h.tokens, func(_ string, held bool) bool { return !held })
	}
	for _, key := range c.writes {
		switch {
		case c.isTransaction() && taken:
			h.transactions[key] = true
		case c.isTransaction():
			delete(h.transactions, key)
		case taken:
			h.writes[key]++
		default:
			if h.writes[key]--; h.writes[key] == 0 {
				delete(h.writes, key)
			}
		}
	}
}

// throughput is what each partition key value still takes. An item counts as one unit, whatever it holds: those of the
// vouchers table do. A write of a transaction counts twice; a Query is not counted.
type throughput struct {
	writes, reads, reserve float64
	now                    func() time.Time

	mu     sync.Mutex
	values map[partition]*bucket
}

type partition struct {
	table, value string
	write        bool
}

type bucket struct {
	units float64
	at    time.Time
}

// take charges a call, or tells the places in its writes that are over; a read has no place.
func (t *throughput) take(c *call) (over map[int]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	each := 1.0
	if c.isTransaction() {
		each = 2
	}
	over = make(map[int]bool)
	charged := make(map[*bucket]float64)
	charge := func(place int, key itemKey, write bool, rate, units float64) {
		if rate == 0 {
			return
		}
		b := t.bucket(partition{key.table, key.partition, write}, rate)
		if b.units-charged[b] < units {
			over[place] = true
			return
		}
		charged[b] += units
	}
	for place, key := range c.writes {
		charge(place, key, true, t.writes, each)
	}
	for _, key := range c.reads {
		charge(-1, key, false, t.reads, 1)
	}
	if len(over) > 0 {
		return over
	}
	for b, units := range charged {
		b.units -= units
	}
	return nil
}

// bucket is filled up to now: with a second's units, and the reserve at most.
func (t *throughput) bucket(at partition, rate float64) *bucket {
	now := t.now()
	b := t.values[at]
	if b == nil {
		b = &bucket{units: rate * (1 + t.reserve), at: now}
		t.values[at] = b
	}
	b.units = min(b.units+rate*now.Sub(b.at).Seconds(), rate*(1+t.reserve))
	b.at = now
	return b
}

// refuse applies the two standing rules. Where it returns no refusal, release must be called when the call is over.
func (p *Proxy) refuse(c *call) (release func(), refused *answer) {
	if over := p.throughput.take(c); len(over) > 0 {
		p.schedule.count(OverThroughput)
		if c.isTransaction() {
			a := canceled(c.reasonsFor(over, reason{"ThrottlingError", "Throughput exceeds the current capacity of your table or index."}))
			return nil, &a
		}
		a := refusal(http.StatusBadRequest, "ThrottlingException", "Throughput exceeds the current capacity of your table or index.")
		return nil, &a
	}
	if p.settings.Hold == 0 || len(c.writes) == 0 {
		return func() {}, nil
	}
	release, conflicts, again := p.holds.take(c)
	switch {
	case again:
		p.schedule.count(HeldItem)
		a := refusal(http.StatusBadRequest, "TransactionInProgressException", "The transaction with the given request token is already in progress.")
		return nil, &a
	case len(conflicts) > 0:
		p.schedule.count(HeldItem)
		a := c.conflict(conflicts)
		return nil, &a
	}
	return release, nil
}
