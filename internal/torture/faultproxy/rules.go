package faultproxy

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// rules are the two rules of the service that always apply: transactions exclude each other, and the throughput of a partition key
// value is limited.
type rules struct {
	settings Settings

	mu           sync.Mutex
	transactions map[itemKey]bool // items that a transaction in flight writes
	writes       map[itemKey]int  // items that other calls in flight write
	tokens       map[string]bool  // of the transactions in flight
	buckets      map[partition]*bucket
}

// partition is the read or the write capacity of a partition key value.
type partition struct {
	table, value string
	write        bool
}

type bucket struct {
	units float64
	at    time.Time
}

// admit lets a call in, which must be released when it is over, or refuses it and names the rule.
func (r *rules) admit(c *call) (release func(), broken Fault, refused answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if over := r.charge(c); len(over) > 0 {
		if c.isTransaction() {
			return nil, OverThroughput, c.canceled(over, "ThrottlingError", overCapacity)
		}
		return nil, OverThroughput, refusal(http.StatusBadRequest, "ThrottlingException", overCapacity)
	}
	if r.settings.Hold == 0 || len(c.writes) == 0 {
		return func() {}, "", answer{}
	}
	if c.token != "" && r.tokens[c.token] {
		const again = "The transaction with the given request token is already in progress."
		return nil, HeldItem, refusal(http.StatusBadRequest, "TransactionInProgressException", again)
	}
	conflicts := make(map[int]bool)
	for place, key := range c.writes {
		if r.transactions[key] || c.isTransaction() && r.writes[key] > 0 {
			conflicts[place] = true
		}
	}
	if len(conflicts) > 0 {
		return nil, HeldItem, c.conflict(conflicts)
	}
	r.hold(c, true)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hold(c, false)
	}, "", answer{}
}

// hold marks the items of a write as held, or as free again.
func (r *rules) hold(c *call, held bool) {
	if !c.isTransaction() {
		change := 1
		if !held {
			change = -1
		}
		for _, key := range c.writes {
			r.writes[key] += change
		}
		maps.DeleteFunc(r.writes, func(_ itemKey, writes int) bool { return writes == 0 })
		return
	}
	if !held {
		delete(r.tokens, c.token)
		maps.DeleteFunc(r.transactions, func(key itemKey, _ bool) bool { return slices.Contains(c.writes, key) })
		return
	}
	r.tokens[c.token] = true
	for _, key := range c.writes {
		r.transactions[key] = true
	}
}

// charge takes a call's units, or returns the places in its writes that are over the limit. A read has the place -1. An item counts
// as one unit, because no item of the vouchers table is larger. A write of a transaction counts twice. A Query is free.
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
	for _, key := range c.reads {
		charge(-1, partition{key.table, key.partition, false}, r.settings.ReadUnits, 1)
	}
	if len(over) > 0 {
		return over
	}
	for b, units := range charged {
		b.units -= units
	}
	return nil
}

// bucket returns the bucket with the units of the time since its last use. It holds one second's units and the reserve at most.
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
