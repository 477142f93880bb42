package history

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what is found of a history.
type Verdict string

// The verdicts.
const (
	Kept      Verdict = "kept"      // a voucher that keeps its promises can have answered so
	Broken    Verdict = "broken"    // none can
	Undecided Verdict = "undecided" // the time was up
)

// Judge judges the history within a time; 0 is any. Where a promise was not kept it tells the whole history, and which
// operations are left over when as many as can be are put in an order.
func (h History) Judge(within time.Duration) (Verdict, string) {
	model, operations := h.model()
	switch porcupine.CheckOperationsTimeout(model, operations, within) {
	case porcupine.Ok:
		return Kept, ""
	case porcupine.Illegal:
		return Broken, h.explain(model, operations, within)
	default:
		return Undecided, h.String()
	}
}

// String tells the history, an operation a line.
func (h History) String() string { return h.mark(nil) }

// mark tells the history with a ! before the operations at some places.
func (h History) mark(places map[int]bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "voucher of maxUses=%d maxUsesPerNick=%d disabled=%t", h.Terms.MaxUses, h.Terms.MaxUsesPerNick, h.Terms.Disabled)
	for place, o := range h.Operations {
		sign := " "
		if places[place] {
			sign = "!"
		}
		fmt.Fprintf(&b, "\n%s %s", sign, o)
	}
	return b.String()
}

func (h History) explain(model porcupine.Model, operations []porcupine.Operation, within time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(model, operations, within)
	left := make(map[int]bool)
	for _, o := range operations {
		if place, is := o.Metadata.(int); is && h.Operations[place].Outcome != Unknown {
			left[place] = true
		}
	}
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() { // there is one
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	for _, o := range longest {
		if place, is := o.Metadata.(int); is {
			delete(left, place)
		}
	}
	return h.mark(left)
}

// model is a voucher of these terms, and the history as events that it is to go through.
func (h History) model() (porcupine.Model, []porcupine.Operation) {
	t := translation{
		nicks: make(map[string]int), tokens: make(map[[2]string]int), ids: make(map[string]redemption),
		disabled: newTimeline(truth(h.Terms.Disabled), h.Operations, disabled),
		maxUses:  newTimeline(bound(h.Terms.MaxUses), h.Operations, maxUses),
		perNick:  newTimeline(bound(h.Terms.MaxUsesPerNick), h.Operations, maxUsesPerNick),
	}
	t.number(h.Operations)
	var operations []porcupine.Operation
	superfluous := superfluous(h.Operations)
	for place, o := range h.Operations {
		happening := t.event(o)
		if happening == nil || superfluous[place] {
			continue
		}
		returned := o.Returned
		if o.Outcome == Unknown {
			returned = math.MaxInt64
		}
		operations = append(operations, porcupine.Operation{ClientId: o.Client, Input: happening, Call: o.Called, Return: returned, Metadata: place})
	}
	for _, p := range t.maxUses[1:] {
		operations = append(operations, porcupine.Operation{Input: limiting{p.low, p.high}, Call: p.from, Return: p.from})
	}
	created := voucher{
		low: t.maxUses[0].low, high: t.maxUses[0].high,
		byNick: make([]int, len(t.nicks)), redeemed: make([]redemption, t.requests),
	}
	return porcupine.Model{
		Init: func() any { return created },
		Step: func(state, input, _ any) (bool, any) {
			after, can := input.(event).happen(state.(voucher)) //nolint:errcheck,forcetypeassert // what Init and Operations hold
			return can, after
		},
		Equal: func(a, b any) bool { return a.(voucher).equal(b.(voucher)) }, //nolint:errcheck,forcetypeassert // what Init holds
	}, operations
}

// superfluous finds the requests of unknown outcome that make no difference, and would only cost the checker time: the
// second and later ones under a key could do nothing that the first could not, and none did anything where the key's
// redemption is known to be another request's.
func superfluous(operations []Operation) map[int]bool {
	type request struct{ nick, key string }
	settled := make(map[request]bool)
	for _, o := range operations {
		if o.Outcome == Redeemed {
			settled[request{o.Nick, o.Key}] = true
		}
	}
	places := make(map[int]bool)
	for place, o := range operations {
		if o.Ask != AskRedeem || o.Outcome != Unknown || o.Key == "" {
			continue
		}
		places[place] = settled[request{o.Nick, o.Key}]
		settled[request{o.Nick, o.Key}] = true
	}
	return places
}

// translation gives the nicks, requests and IDs of a history numbers.
type translation struct {
	nicks                      map[string]int
	tokens                     map[[2]string]int // by nick and key
	requests                   int               // tokens, also those without a key
	ids                        map[string]redemption
	disabled, maxUses, perNick timeline
}

// number numbers what the operations name.
func (t *translation) number(operations []Operation) {
	for _, o := range operations {
		t.nick(o.Nick)
		for _, redemption := range o.Listed {
			t.nick(redemption.Nick)
		}
	}
}

// nick is the number of a nick, -1 of none.
func (t *translation) nick(nick string) int {
	if nick == "" {
		return -1
	}
	number, known := t.nicks[nick]
	if !known {
		number = len(t.nicks)
		t.nicks[nick] = number
	}
	return number
}

// token is the number of a request: a repetition under its key has the same.
func (t *translation) token(nick, key string) int {
	number, known := t.tokens[[2]string{nick, key}]
	if known && key != "" {
		return number
	}
	number = t.requests
	t.requests++
	t.tokens[[2]string{nick, key}] = number
	return number
}

func (t *translation) id(id string) redemption {
	number, known := t.ids[id]
	if !known {
		number = firstID + redemption(len(t.ids))
		t.ids[id] = number
	}
	return number
}

// event is what an operation does to the voucher, nil for what is nothing to it or told by the timelines.
func (t *translation) event(o Operation) event {
	switch o.Ask {
	case AskRedeem:
		return redeeming{
			judged: t.judged(o), token: t.token(o.Nick, o.Key), keyed: o.Key != "", outcome: o.Outcome, id: t.id(o.ID),
		}
	case AskCheck:
		if o.Outcome == Unknown {
			return nil
		}
		low, high := t.maxUses.during(o.Called, o.Returned)
		return checking{judged: t.judged(o), limitEdited: low != high, outcome: o.Outcome}
	case AskList:
		if o.Outcome == Done {
			return t.listing(o.Listed)
		}
	case AskEdit:
	}
	return nil
}

// judged are the terms that may hold for an operation.
func (t *translation) judged(o Operation) judged {
	until := o.Returned
	if o.Outcome == Unknown {
		until = math.MaxInt64
	}
	mayBeEnabled, mayBeDisabled := t.disabled.during(o.Called, until)
	low, high := t.perNick.during(o.Called, until)
	return judged{
		nick: t.nick(o.Nick), enabled: mayBeEnabled == 0, disabled: mayBeDisabled == 1, perNickLow: low, perNickHigh: high,
	}
}

func (t *translation) listing(listed []Redemption) event {
	l := listing{byNick: make([]int, len(t.nicks))}
	for _, redemption := range listed {
		if nick := t.nick(redemption.Nick); nick >= 0 {
			l.byNick[nick]++
		}
		l.ids = append(l.ids, t.id(redemption.ID))
	}
	return l
}
