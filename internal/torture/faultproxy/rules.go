package faultproxy

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// rules holds the state of the service's two rules: a transaction excludes other transactions and other writes of its items, and the
// throughput of a partition key value is limited.
type rules struct {
	settings Settings

	mu           sync.Mutex
	transactions map[itemKey]int    // how many transactions in flight write an item
	writes       map[itemKey]int    // how many other calls in flight write an item
	tokens       map[string]bool    // of the transactions in flight
	before       map[itemKey]answer // what GetItem still returns for an item while a transaction's change to it is hidden
	buckets      map[partition]*bucket
}

// partition identifies the read or the write capacity of a partition key value.
type partition struct {
	table, value string
	write        bool
}

type bucket struct {
	units float64
	at    time.Time
}

// refused is a call that a rule rejects.
type refused struct {
	answer

	rule Fault
	held map[int]bool // the items that other calls hold, see rules.held; if there are any, Proxy.conflict makes the response
}

// admit accepts a call or refuses it. The caller must release an accepted call at its end.
func (r *rules) admit(c *call) (release func(), rejected *refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if over := r.charge(c); len(over) > 0 {
		if c.isTransaction() {
			return nil, &refused{rule: OverThroughput, answer: canceled(c.uncanceled(), over, throttled())}
		}
		return nil, &refused{rule: OverThroughput, answer: refusal(http.StatusBadRequest, "ThrottlingException", overCapacity)}
	}
	if c.token != "" && r.tokens[c.token] {
		const again = "The transaction with the given request token is already in progress."
		return nil, &refused{rule: HeldItem, answer: refusal(http.StatusBadRequest, "TransactionInProgressException", again)}
	}
	if held := r.held(c); len(held) > 0 {
		return nil, &refused{rule: HeldItem, held: held}
	}
	if r.settings.Hold == 0 || len(c.writes) == 0 {
		return func() {}, nil
	}
	r.hold(c, 1)
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hold(c, -1)
	}), nil
}

// held returns the indexes of the call's items that other calls in flight hold. The indexes count the writes first, then the reads. Reads
// outside of transactions meet no conflicts.
func (r *rules) held(c *call) map[int]bool {
	held := make(map[int]bool)
	keys := c.writes
	if c.isTransaction() {
		keys = slices.Concat(c.writes, c.reads)
	}
	for place, key := range keys {
		_, hidden := r.before[key]
		if hidden || r.transactions[key] > 0 || c.isTransaction() && r.writes[key] > 0 {
			held[place] = true
		}
	}
	return held
}

// hide holds an item until show is called, and lets GetItem read it as it was before a transaction.
func (r *rules) hide(key itemKey, before answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before[key] = before
}

func (r *rules) show(key itemKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.before, key)
}

// hidden returns the response to a GetItem of a hidden item.
func (r *rules) hidden(c *call) (before answer, is bool) {
	if c.operation != "GetItem" {
		return answer{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, is = r.before[c.reads[0]]
	return before, is
}

// hold adds 1 or -1 to the number of calls in flight that write the items of a call.
func (r *rules) hold(c *call, delta int) {
	held := r.writes
	if c.isTransaction() {
		held = r.transactions
		r.tokens[c.token] = delta > 0
	}
	for _, key := range c.writes {
		held[key] += delta
	}
}

// charge takes a call's units, or returns the indexes of the items that are over the limit. An item costs one unit, whatever its size. In a
// transaction it costs two units. A Query is free.
func (r *rules) charge(c *call) (over map[int]bool) {
	over = make(map[int]bool)
	charged := make(map[*bucket]float64)
	charge := func(place int, at partition, rate, units float64) {
		if rate == 0 {
			return
		}
		b := r.bucket(at, rate)
		if b.units-charged[b] < units {
			over[place] = true
			return
		}
		charged[b] += units
	}
	each := 1.0
	if c.isTransaction() {
		each = 2
	}
	for place, key := range c.writes {
		charge(place, partition{key.table, key.partition, true}, r.settings.WriteUnits, each)
	}
	for i, key := range c.reads {
		charge(len(c.writes)+i, partition{key.table, key.partition, false}, r.settings.ReadUnits, each)
	}
	if len(over) > 0 {
		return over
	}
	for b, units := range charged {
		b.units -= units
	}
	return nil
}

// bucket refills a bucket for the time since its last use, and returns it. A bucket holds at most one second's units and the reserve.
func (r *rules) bucket(at partition, rate float64) *bucket {
	now, most := time.Now(), rate*(1+r.settings.Reserve)
	b := r.buckets[at]
	if b == nil {
		b = &bucket{units: most, at: now}
		r.buckets[at] = b
	}
	b.units = min(b.units+rate*now.Sub(b.at).Seconds(), most)
	b.at = now
	return b
}
