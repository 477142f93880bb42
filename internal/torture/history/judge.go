// Package history records the requests about one voucher with their responses, and decides by linearizability whether a voucher that
// keeps the promises of docs/interface.md could have given these responses: recorder.go and operation.go are the record, terms.go
// says which terms may apply to a request, voucher.go is the model of a voucher, and judge.go runs the checker.
//
// It knows only the interface. It must not import any package of this module, so that it cannot share the mistakes of the tested code.
package history

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is the result of judging a history.
type Verdict string

// The verdicts.
const (
	Kept      Verdict = "kept"      // a voucher that keeps its promises could have responded like this
	Broken    Verdict = "broken"    // no such voucher can
	Undecided Verdict = "undecided" // the time was up
)

// Judge judges the history within a time; 0 means without a limit. If a promise was broken, it also returns the whole history as text,
// with a ! before each operation that does not fit into the longest possible order.
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
	fmt.Fprintf(&b, "voucher of maxUses=%d maxUsesPerNick=%d disabled=%t", h.Terms.MaxUses, h.Terms.MaxUsesPerNick, h.Terms.Disabled)
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

// request identifies a redemption and its retries. A request without a key is never a retry, so its place identifies it.
type request struct {
	nick, key string
	place     int
}

func (o Operation) request(place int) request {
	if o.Key != "" {
		place = 0
	}
	return request{o.Nick, o.Key, place}
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
	maxUses := h.timeline(func(e Edit) *int { return bound(e.MaxUses) })
	perNick := h.timeline(func(e Edit) *int { return bound(e.MaxUsesPerNick) })
	disabled := h.timeline(func(e Edit) *int { return truth(e.Disabled) })
	nicks, ids, requests := make(numbers[string]), make(numbers[string]), make(numbers[request])
	id := func(id string) redemption { return firstID + redemption(ids.of(id)) }
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
		low, high := perNick.during(o.Called, until)
		mayBeEnabled, mayBeDisabled := disabled.during(o.Called, until)
		judged := judged{nicks.of(o.Nick), o.Nick == "", mayBeEnabled == 0, mayBeDisabled == 1, low, high}
		var happens event
		switch o.Ask {
		case AskRedeem:
			happens = redeeming{judged, requests.of(o.request(place)), o.Key != "", o.Outcome, id(o.ID)}.happen
		case AskCheck:
			low, high := maxUses.during(o.Called, until)
			happens = checking{judged, low != high, o.Outcome}.happen
		case AskList:
			var l listing
			for _, redemption := range o.Listed {
				l.nicks, l.ids = append(l.nicks, nicks.of(redemption.Nick)), append(l.ids, id(redemption.ID))
			}
			happens = l.happen
		case AskEdit:
		}
		operations = append(operations, porcupine.Operation{ClientId: o.Client, Input: happens, Call: o.Called, Return: until, Metadata: place})
	}
	for _, p := range maxUses[1:] {
		limit := event(func(v voucher) (voucher, bool) {
			v.low, v.high = p.low, p.high
			return v, true
		})
		operations = append(operations, porcupine.Operation{Input: limit, Call: p.from, Return: p.from})
	}
	created := voucher{
		low: maxUses[0].low, high: maxUses[0].high, byNick: make([]int, len(nicks)), redeemed: make([]redemption, len(requests)),
	}
	return porcupine.Model{
		Init: func() any { return created },
		Step: func(state, input, _ any) (bool, any) {
			after, can := input.(event)(state.(voucher)) //nolint:errcheck,forcetypeassert // what Init and Operations hold
			return can, after
		},
		Equal: func(a, b any) bool { return a.(voucher).equal(b.(voucher)) }, //nolint:errcheck,forcetypeassert // what Init holds
	}, operations
}

// withoutEffect finds the operations that the checker does not need. The timelines hold the edits already. A denied request says
// nothing, nor does a check or list without a response. If several requests with the same key got no response, the first stands for
// all of them. If another request with that key has the outcome Redeemed (not Replayed), that request took the use, and those without a
// response took none.
func (h History) withoutEffect() map[int]bool {
	settled := make(map[request]bool)
	for place, o := range h.Operations {
		if o.Outcome == Redeemed {
			settled[o.request(place)] = true
		}
	}
	places := make(map[int]bool)
	for place, o := range h.Operations {
		switch {
		case o.Ask == AskEdit || o.Outcome == Denied:
			places[place] = true
		case o.Outcome != Unknown:
		case o.Ask != AskRedeem:
			places[place] = true
		default:
			places[place] = settled[o.request(place)]
			settled[o.request(place)] = true
		}
	}
	return places
}
