package history

import (
	"fmt"
	"strings"
	"time"
)

// None is the value of a limit that is not set.
const None = 0

// Terms are the terms with which a voucher was created.
type Terms struct {
	MaxUses        int // None, or at least 1; no edit changes it from or to None or 1
	MaxUsesPerNick int // None, or at least 1, which makes a nick required; no edit changes it from or to None
	Disabled       bool
	Imported       int // uses that were made before the history begins
}

// Edit changes terms. A nil field stays as it is.
type Edit struct {
	MaxUses        *int
	MaxUsesPerNick *int
	Disabled       *bool
}

// Ask is the kind of an operation.
type Ask string

// The kinds of operations.
const (
	AskRedeem Ask = "redeem"
	AskCheck  Ask = "check"
	AskEdit   Ask = "edit"
	AskList   Ask = "list"   // of all stored redemptions that are not undone, while nothing else is in flight
	AskHold   Ask = "hold"   // a checkout with the code
	AskOrder  Ask = "order"  // of a checkout
	AskCancel Ask = "cancel" // an order
	AskUndo   Ask = "undo"   // a redemption
	AskDelete Ask = "delete" // the voucher; Edit says whether the deletion may disable it
	AskLapse  Ask = "lapse"  // a checkout's time passes: from when it expires until a use that it holds must be free
)

// Outcome says what is known about the effect of an operation.
type Outcome string

// The outcomes.
const (
	// no response, or one that leaves open whether the operation is applied now, later or never
	Unknown    Outcome = "unknown"
	Redeemed   Outcome = "redeemed"   // 200
	Replayed   Outcome = "replayed"   // 200 with Idempotency-Replayed, of a redemption or a checkout
	Redeemable Outcome = "redeemable" // 200 to a check
	Refused    Outcome = "refused"    // 404, or 409 at a checkout
	Denied     Outcome = "denied"     // refused whatever the voucher's state, so the request has no effect
	Done       Outcome = "done"       // of an edit, a list or a lapse

	Held           Outcome = "held"            // 200 to a checkout
	KeyInUse       Outcome = "key in use"      // 422: the checkout with this key was ordered or replaced
	NotReplaceable Outcome = "not replaceable" // 400: the checkout to replace was ordered or replaced
	Ordered        Outcome = "ordered"         // 200, whether the checkout was ordered now or before
	Expired        Outcome = "expired"         // 409: the checkout has lost its use
	Replaced       Outcome = "replaced"        // 409: another checkout replaced this one
	Cancelled      Outcome = "cancelled"       // 200 to a cancellation, 409 to an order
	NotOrdered     Outcome = "not ordered"     // 404 to a cancellation
	Undone         Outcome = "undone"          // 200 to an undo, 409 to the redemption's request

	Deleted Outcome = "deleted"  // now, or by an earlier attempt
	WasUsed Outcome = "was used" // so the voucher was not deleted
)

// Operation is one request and its response.
type Operation struct {
	// Called and Returned are ticks of the recorder. If one operation is called after another one has returned, its
	// call has the higher tick. Returned is 0 if the outcome is unknown.
	Called, Returned int64
	Client           int
	Ask              Ask
	// Nick is the nick in the form that is compared, or empty. Key is the idempotency key, or empty; a check ignores
	// it. An order, a cancellation and a lapse have the key of their checkout.
	Nick, Key string
	// Of is the ID of the redemption to undo, or the key of the checkout that a new one replaces.
	Of   string
	Edit Edit
	Answer
}

// Answer is what the response of an operation says.
type Answer struct {
	Outcome Outcome
	ID      string       // of a redemption or a checkout
	Expires time.Time    // of a checkout
	Listed  []Redemption // of a list
}

// Redemption is a stored redemption.
type Redemption struct{ ID, Nick string }

// String describes the operation in one line, followed by a line for each listed redemption.
func (o Operation) String() string {
	var b strings.Builder
	returned := "…"
	if o.Returned > 0 {
		returned = fmt.Sprint(o.Returned)
	}
	fmt.Fprintf(&b, "%5d to %5s  client %2d  %s", o.Called, returned, o.Client, o.Ask)
	switch o.Ask {
	case AskRedeem, AskCheck:
		fmt.Fprintf(&b, " nick=%q key=%q", o.Nick, o.Key)
	case AskHold:
		fmt.Fprintf(&b, " nick=%q key=%q replaces=%q", o.Nick, o.Key, o.Of)
	case AskOrder, AskCancel, AskLapse:
		fmt.Fprintf(&b, " key=%q", o.Key)
	case AskUndo:
		fmt.Fprintf(&b, " of %s", o.Of)
	case AskEdit, AskDelete:
		b.WriteString(o.Edit.String())
	case AskList:
		fmt.Fprintf(&b, " of %d", len(o.Listed))
	}
	fmt.Fprintf(&b, ": %s", o.Outcome)
	if o.ID != "" {
		fmt.Fprintf(&b, " as %s", o.ID)
	}
	for _, redemption := range o.Listed {
		fmt.Fprintf(&b, "\n    %s for %q", redemption.ID, redemption.Nick)
	}
	return b.String()
}

// String lists the changed terms.
func (e Edit) String() string {
	var b strings.Builder
	if e.MaxUses != nil {
		fmt.Fprintf(&b, " maxUses=%d", *e.MaxUses)
	}
	if e.MaxUsesPerNick != nil {
		fmt.Fprintf(&b, " maxUsesPerNick=%d", *e.MaxUsesPerNick)
	}
	if e.Disabled != nil {
		fmt.Fprintf(&b, " disabled=%t", *e.Disabled)
	}
	return b.String()
}
