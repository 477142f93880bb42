package history

import (
	"fmt"
	"strings"
)

// None is the limit that nothing reaches.
const None = 0

// Terms are what a voucher was created with.
type Terms struct {
	MaxUses        int // None, or at least 1; never changes from or to None or 1
	MaxUsesPerNick int // None, or at least 1: then a nick is needed; never changes from or to None
	Disabled       bool
}

// Edit changes terms; nil fields stay as they are.
type Edit struct {
	MaxUses        *int
	MaxUsesPerNick *int
	Disabled       *bool
}

// Ask is what was asked for.
type Ask string

// What can be asked for.
const (
	AskRedeem Ask = "redeem"
	AskCheck  Ask = "check"
	AskEdit   Ask = "edit"
	AskList   Ask = "list" // all redemptions on record, while nothing else goes on
)

// Outcome is what is known of what became of it.
type Outcome string

// The outcomes.
const (
	Unknown    Outcome = "unknown"    // no answer, or one that leaves it open: applied now, at any later time, or never
	Redeemed   Outcome = "redeemed"   // 200
	Replayed   Outcome = "replayed"   // 200 with Idempotency-Replayed
	Redeemable Outcome = "redeemable" // 200 to a check
	Refused    Outcome = "refused"    // 404
	Done       Outcome = "done"       // of an edit or a list
)

// Operation is one request and its outcome.
type Operation struct {
	// Called and Returned are ticks of the recorder: an operation that was called after another had returned has the higher
	// tick. Returned is 0 where the outcome is unknown.
	Called, Returned int64
	Client           int
	Ask              Ask
	// Nick is the nick as it is compared; empty: none. Key is empty where there was none, and ignored by a check.
	Nick, Key string
	Edit      Edit
	Outcome   Outcome
	ID        string       // of a redemption
	Listed    []Redemption // of a list
}

// Redemption is one on record.
type Redemption struct{ ID, Nick string }

// String tells of the operation in one line.
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

// String tells what is changed.
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
