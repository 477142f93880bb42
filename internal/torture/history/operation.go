package history

import (
	"fmt"
	"strings"
)

// None is the value of a limit that does not limit.
const None = 0

// Terms are the terms with which a voucher was created.
type Terms struct {
	MaxUses        int // None, or at least 1; no edit changes it from or to None or 1
	MaxUsesPerNick int // None, or at least 1, which makes a nick required; no edit changes it from or to None
	Disabled       bool
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
	AskList   Ask = "list" // of all stored redemptions, while nothing else is in flight
)

// Outcome says what is known about the effect of an operation.
type Outcome string

// The outcomes.
const (
	Unknown    Outcome = "unknown"    // no response, or one that leaves open whether it is applied now, later or never
	Redeemed   Outcome = "redeemed"   // 200
	Replayed   Outcome = "replayed"   // 200 with Idempotency-Replayed
	Redeemable Outcome = "redeemable" // 200 to a check
	Refused    Outcome = "refused"    // 404
	Denied     Outcome = "denied"     // refused whatever the voucher's state, so the request has no effect
	Done       Outcome = "done"       // of an edit or a list
)

// Operation is one request and its response.
type Operation struct {
	// Called and Returned are ticks of the recorder: an operation that was called after another one returned has the higher tick.
	// Returned is 0 if the outcome is unknown.
	Called, Returned int64
	Client           int
	Ask              Ask
	// Nick is the nick as it is compared, or empty. Key is the idempotency key, or empty; a check ignores it.
	Nick, Key string
	Edit      Edit
	Answer
}

// Answer is what the response of an operation says.
type Answer struct {
	Outcome Outcome
	ID      string       // of a redemption
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
	case AskEdit:
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
