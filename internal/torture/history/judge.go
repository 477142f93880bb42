// Package history records the requests about one voucher with their responses, and decides by linearizability whether a
// voucher that keeps the promises of api/openapi.yaml could have given these responses. The files recorder.go and
// operation.go are the record, and terms.go finds the terms that may apply to a request. The model of a voucher and its
// checkouts is in voucher.go and checkout.go. The checker runs in judge.go.
//
// The package knows only the interface. It must not import any package of this module, so that it cannot share the
// mistakes of the tested code.
package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is the result of judging a history.
type Verdict string

// The verdicts.
const (
	Kept      Verdict = "kept"      // a voucher that keeps its promises could have responded like this
	Broken    Verdict = "broken"    // no voucher that keeps its promises could have
	Undecided Verdict = "undecided" // the time was up
)

// Judge judges the history, and gives up after the given time; 0 means no limit. Unless the promises were kept, it also
// returns the whole history as text. If a promise was broken, a ! precedes each operation that does not fit into the
// longest possible order.
func (h History) Judge(within time.Duration) (Verdict, string) {
	model, operations := h.model()
	switch porcupine.CheckOperationsTimeout(model, operations, within) {
	case porcupine.Ok:
		return Kept, ""
	case porcupine.Illegal:
		return Broken, h.explain(model, operations, within)
	default:
		return Undecided, h.text(nil)
	}
}

// text returns one line for each operation, with a ! before those that are marked.
func (h History) text(marked map[int]bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "voucher of maxUses=%d maxUsesPerNick=%d disabled=%t", h.Terms.MaxUses, h.Terms.MaxUsesPerNick,
		h.Terms.Disabled)
	for place, o := range h.Operations {
		sign := " "
		if marked[place] {
			sign = "!"
		}
		fmt.Fprintf(&b, "\n%s %s", sign, o)
	}
	return b.String()
}

func (h History) explain(model porcupine.Model, operations []porcupine.Operation, within time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(model, operations, within)
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() { // there is only one partition
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	unfit := make(map[int]bool)
	for _, o := range operations {
		if place, is := o.Metadata.(int); is && h.Operations[place].Outcome != Unknown {
			unfit[place] = true
		}
	}
	for _, o := range longest {
		if place, is := o.Metadata.(int); is {
			delete(unfit, place)
		}
	}
	return h.text(unfit)
}

// request identifies a request and its retries. A redemption without a key is never a retry, so its place identifies
// it.
type request struct {
	ask           Ask
	nick, key, of string
	place         int
}

func (o Operation) request(place int) request {
	if o.Key != "" || o.Ask == AskUndo {
		place = 0
	}
	return request{o.Ask, o.Nick, o.Key, o.Of, place}
}

// numbers gives each key a number, from 0 on.
type numbers[K comparable] map[K]int

func (n numbers[K]) of(key K) int {
	if _, known := n[key]; !known {
		n[key] = len(n)
	}
	return n[key]
}

// model returns a model of the voucher, and the history as events of that model.
func (h History) model() (porcupine.Model, []porcupine.Operation) {
	m := modelled{
		History: h,
		maxUses: h.timeline(func(e Edit) *int { return bound(e.MaxUses) }),
		perNick: h.timeline(func(e Edit) *int { return bound(e.MaxUsesPerNick) }),
		nicks:   make(numbers[string]), ids: make(numbers[string]), keys: make(numbers[string]),
		requests: make(numbers[request]),
	}
	disabled := h.timeline(func(e Edit) *int { return truth(e.Disabled) })
	for place, o := range h.Operations {
		m.nicks.of(o.Nick)
		switch o.Ask {
		case AskRedeem:
			if number := m.requests.of(o.request(place)); number == len(m.nickOf) {
				m.nickOf = append(m.nickOf, m.nicks.of(o.Nick))
			}
		case AskLapse:
			m.keys.of(o.Key)
			m.lapses = append(m.lapses, o)
		case AskHold, AskOrder, AskCancel:
			m.keys.of(o.Key)
		case AskCheck, AskEdit, AskList, AskUndo, AskDelete: // they neither redeem nor concern a checkout
		}
	}
	var operations []porcupine.Operation
	without := h.withoutEffect()
	for place, o := range h.Operations {
		if without[place] {
			continue
		}
		until := o.Returned
		if o.Outcome == Unknown {
			until = math.MaxInt64
		}
		low, high := m.perNick.during(o.Called, until)
		leastDisabled, mostDisabled := disabled.during(o.Called, until)
		judged := judged{
			m.nicks.of(o.Nick), o.Nick == "", leastDisabled == 0, mostDisabled == 1, low, high,
			m.staleAt(o.Called),
		}
		operations = append(operations, porcupine.Operation{
			ClientId: o.Client, Input: m.event(place, o, judged, until), Call: o.Called, Return: until, Metadata: place,
		})
	}
	for _, p := range m.maxUses[1:] {
		limit := event(func(v voucher) []voucher {
			v.low, v.high = p.low, p.high
			return []voucher{v}
		})
		operations = append(operations, porcupine.Operation{Input: limit, Call: p.from, Return: p.from})
	}
	created := voucher{
		low: m.maxUses[0].low, high: m.maxUses[0].high, used: h.Terms.Imported, byNick: make([]int, len(m.nicks)),
		redeemed: make([]redemption, len(m.requests)), undone: make([]bool, len(m.requests)),
		checkouts: make([]checkout, len(m.keys)),
	}
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{created} },
		Step: func(state, input, _ any) (after []any) {
			for _, v := range input.(event)(state.(voucher)) { //nolint:errcheck,forcetypeassert // what Init and Operations hold
				after = append(after, v)
			}
			return after
		},
		Equal: func(a, b any) bool { return a.(voucher).equal(b.(voucher)) }, //nolint:errcheck,forcetypeassert // what Init holds
	}
	return model.ToModel(), operations
}

// modelled is a history, with numbers for its nicks, IDs, keys and requests, and with the timelines of its limits.
type modelled struct {
	History

	maxUses, perNick timeline
	nicks, ids, keys numbers[string]
	requests         numbers[request]
	nickOf           []int // by request
	lapses           []Operation
}

func (m *modelled) id(id string) redemption { return firstID + redemption(m.ids.of(id)) }

// staleAt marks, by key, the checkouts that may not have lapsed yet at a tick.
func (m *modelled) staleAt(tick int64) []bool {
	stale := make([]bool, len(m.keys))
	for _, lapse := range m.lapses {
		stale[m.keys.of(lapse.Key)] = lapse.Returned > tick
	}
	return stale
}

// event returns what happens in an operation.
func (m *modelled) event(place int, o Operation, judged judged, until int64) event {
	low, high := m.maxUses.during(o.Called, until)
	shared := m.Terms.MaxUses == 1 || m.Terms.MaxUsesPerNick != None
	checkout := m.keys[o.Key] // if the operation concerns one
	switch o.Ask {
	case AskRedeem:
		return redeeming{judged, m.requests.of(o.request(place)), o.Key != "", o.Outcome, m.id(o.ID)}.happen
	case AskCheck:
		return checking{judged, low != high, o.Outcome}.happen
	case AskUndo:
		return undoing{m.id(o.Of), m.nickOf, o.Outcome}.happen
	case AskHold:
		replaced := noCheckout
		if o.Of != "" {
			replaced = m.keys.of(o.Of)
		}
		return opening{judged, checkout, replaced, shared && o.Nick != "", o.Outcome, m.id(o.ID)}.happen
	case AskOrder:
		return ordering{judged, checkout, high, o.Outcome}.happen
	case AskCancel:
		return cancelling{checkout, o.Outcome}.happen
	case AskLapse:
		return lapsing{m.lapsesWith(place)}.happen
	case AskDelete:
		return deleting{o.Outcome}.happen
	case AskList:
		var l listing
		for _, redemption := range o.Listed {
			l.nicks, l.ids = append(l.nicks, m.nicks.of(redemption.Nick)), append(l.ids, m.id(redemption.ID))
		}
		return l.happen
	case AskEdit: // in the timelines
	}
	return nil
}

// lapsesWith returns the keys of the checkouts that lapse together with the one at a place.
func (m *modelled) lapsesWith(place int) []int {
	keys := []int{m.keys.of(m.Operations[place].Key)}
	for next := place + 1; next < len(m.Operations) && m.together(place, next); next++ {
		keys = append(keys, m.keys.of(m.Operations[next].Key))
	}
	return keys
}

// together reports whether two operations are lapses between the same two ticks, while no request with a known outcome
// is in flight. Nothing can tell their order then. Their number would double the checker's work with each lapse.
func (h History) together(place, next int) bool {
	a, b := h.Operations[place], h.Operations[next]
	return a.Ask == AskLapse && b.Ask == AskLapse && a.Called == b.Called && a.Returned == b.Returned &&
		a.Returned == a.Called+1 && !slices.ContainsFunc(h.Operations, func(o Operation) bool {
		return o.Ask != AskLapse && o.Outcome != Unknown && o.Called <= a.Called && o.Returned >= a.Returned
	})
}

// withoutEffect finds the operations that the checker does not need:
//   - edits, because the timelines hold them
//   - lapses together with an earlier one, which stands for all of them
//   - denied requests, and checks and lists without a response, because they say nothing
//   - attempts without a response, except for the first such attempt of each request, which stands for all of them
//   - attempts without a response if another attempt has the outcome Redeemed or Held: that attempt took the use
func (h History) withoutEffect() map[int]bool {
	settled := make(map[request]bool)
	for place, o := range h.Operations {
		if o.Outcome == Redeemed || o.Outcome == Held {
			settled[o.request(place)] = true
		}
	}
	places := make(map[int]bool)
	for place, o := range h.Operations {
		switch {
		case o.Ask == AskEdit, o.Outcome == Denied, place > 0 && h.together(place-1, place):
			places[place] = true
		case o.Outcome != Unknown:
		case o.Ask == AskCheck || o.Ask == AskList:
			places[place] = true
		default:
			places[place] = settled[o.request(place)]
			settled[o.request(place)] = true
		}
	}
	return places
}
