// Package audit decides whether the stored items of a shop add up. In every allowance, left, held and used must be the
// limit together, and used must be what bookings have taken. Every live hold must have an open checkout. Every item
// under a code must belong to a voucher. Every checkout must have its price, and every order its payment and its
// redemption. The feed of events must report exactly what happened.
//
// Start with finding.go (what can be wrong). Then read allowance.go, account.go (everything under one code),
// judge.go (how it is judged), motion.go and recheck.go (the shop is in use, so a code that looks wrong is read
// again), and then checkout.go, feed.go and report.go. docs/operating/verify.md lists the kinds of findings.
//
// The package reads nothing itself. It imports checkout, event, money and voucher. It must not import AWS, net/http, or
// any package of Shopfront that stores or serves.
package audit

import (
	"cmp"
	"fmt"

	"shopfront/pkg/voucher"
)

// Kind says what is wrong. Scripts read kinds, so kinds never change.
type Kind string

// The kinds of findings. The first two concern one item. If an item of a code has one of them, the items of the code
// are not judged together, because their sums would only repeat the finding.
const (
	KindMalformed Kind = "malformed" // an item cannot be read, or breaks a rule
	KindMisplaced Kind = "misplaced" // an item is stored under a wrong key, so the shop does not find it

	KindOrphaned  Kind = "orphaned"   // parts or redemptions without their voucher
	KindWrongKind Kind = "wrong_kind" // items that belong to another kind of voucher
	// left, held and used are not the limit together, or what is used is not what bookings have taken
	KindAllowance     Kind = "allowance_differs"
	KindHoldUnfounded Kind = "hold_unfounded"       // a live hold has no open checkout
	KindHoldTooLong   Kind = "hold_too_long"        // a hold outlasts its checkouts
	KindUndone        Kind = "undone_differ"        // a voucher or nick does not state that a redemption was undone
	KindDuplicate     Kind = "duplicate_redemption" // two redemptions or holds of a voucher have the same ID
	KindTerms         Kind = "against_terms"        // redeemed against the terms of a voucher that was never edited
	KindFuture        Kind = "in_the_future"        // something was recorded at a future time
	KindCurrency      Kind = "currency_differs"     // money in a currency other than the shop's
	KindPrice         Kind = "price_differs"        // the prices in a checkout do not add up
	KindUnpaid        Kind = "unpaid_order"         // an order whose total is not zero has no payment
	// the redemptions of a checkout's code do not match the checkout's order
	KindOrderUse Kind = "order_use_differs"
	// a checkout has a wrong time to live, or an order has a time to live
	KindDeletionTime Kind = "deletion_time_differs"
	KindKeptTooLong  Kind = "kept_too_long" // a checkout should have been deleted

	KindEventMissing   Kind = "event_missing"   // a record shows a fact, but the feed has no event for it
	KindEventParked    Kind = "event_parked"    // as KindEventMissing, but the change is set aside and will be retried
	KindEventDiffers   Kind = "event_differs"   // an event does not report what the record shows
	KindEventTwice     Kind = "event_twice"     // an event is in the feed twice
	KindEventGap       Kind = "event_gap"       // an event in the middle of the feed cannot be read
	KindEventUnfounded Kind = "event_unfounded" // no record shows what an event reports
)

// Place is where an item is stored.
type Place struct {
	Table     string
	Partition string // the value of the partition key
	Sort      string // the value of the sort key
}

func (p Place) compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Table, other.Table), cmp.Compare(p.Sort, other.Sort),
		cmp.Compare(p.Partition, other.Partition))
}

// Finding is one thing that is wrong.
type Finding struct {
	Kind Kind
	Code voucher.Code // empty for checkouts, events, settings and keys
	// Place is the place of the item. If several items contradict each other, it is the place of the voucher.
	Place   Place
	Message string
}

func found(kind Kind, place Place, format string, args ...any) Finding {
	return Finding{Kind: kind, Place: place, Message: fmt.Sprintf(format, args...)}
}

func (f Finding) compare(other Finding) int {
	return cmp.Or(f.Place.compare(other.Place), cmp.Compare(f.Kind, other.Kind), cmp.Compare(f.Message, other.Message))
}

// MotionKind says why a voucher could not be judged completely.
type MotionKind string

// The kinds of motion.
const (
	MotionEdit       MotionKind = "edit"       // an edit of the limit is running or was interrupted
	MotionChange     MotionKind = "change"     // the voucher was created or edited while it was read
	MotionRedemption MotionKind = "redemption" // the voucher was redeemed, held or undone while it was read
)

// Motion is a voucher that changed while it was read and therefore could not be judged completely. That is not an
// error.
type Motion struct {
	Kind MotionKind
	Code voucher.Code
	// MaxUses is the limit that an edit is moving to, or voucher.NoLimit. Running the edit again completes the edit.
	MaxUses voucher.Limit
	Message string
}
