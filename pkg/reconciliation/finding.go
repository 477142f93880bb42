// Package reconciliation holds the rules by which what is kept of a customer is found to add up, or not: the uses that
// counters say were taken are the redemptions on record, limits are what counters hold, nothing stands without its voucher.
//
// It reads from the item to the whole: finding.go (what can be wrong), account.go (all that is kept under one code, and
// its judgement), recheck.go (what looked wrong is read again, since the shop goes on), checkout.go, report.go.
//
// It is a noun: it imports the nouns catalog, checkout, money and voucher and may import neither AWS nor net/http nor a
// storage or HTTP package of Shopfront. Nothing in it reads: it judges what it is given. The kinds of finding are listed
// in docs/operations.md.
package reconciliation

import (
	"cmp"
	"fmt"

	"shopfront/pkg/voucher"
)

// Kind says what is wrong, for scripts. Kinds do not change.
type Kind string

// Every kind of finding. The first three are of one item, and what else is kept under its code is then not judged, since
// sums over it would only say the same again.
const (
	KindMalformed  Kind = "malformed"  // an item cannot be read, or holds what no rule allows
	KindMisplaced  Kind = "misplaced"  // an item does not stand where its content belongs: the shop does not find it
	KindIncomplete Kind = "incomplete" // the redemption of a single-use voucher lacks a part

	KindOrphaned     Kind = "orphaned"              // counters or redemptions without their voucher
	KindWrongKind    Kind = "wrong_kind"            // items that a voucher of this kind does not have
	KindCounters     Kind = "counters_differ"       // other counters than the voucher names
	KindUses         Kind = "uses_differ"           // uses taken are not the redemptions on record
	KindLimit        Kind = "limit_differs"         // uses left and taken are not the limit
	KindOverdrawn    Kind = "overdrawn"             // a counter gave more uses than it had
	KindEdits        Kind = "edits_differ"          // the counters are not of the voucher's last edit
	KindFull         Kind = "full_with_uses_left"   // marked as used up, and it is not
	KindNickUses     Kind = "nick_uses_differ"      // what a nick's item counts are not the redemptions in it
	KindNickLimit    Kind = "nick_limit_exceeded"   // a nick has more redemptions than it may
	KindDuplicate    Kind = "duplicate_redemption"  // two redemptions of a voucher have one ID
	KindTerms        Kind = "against_terms"         // redeemed though the voucher, never edited, forbids it
	KindFuture       Kind = "in_the_future"         // something was recorded at a time to come
	KindCurrency     Kind = "currency_differs"      // money in another currency than the customer's
	KindPrice        Kind = "price_differs"         // a checkout's total is not its price
	KindDeletionTime Kind = "deletion_time_differs" // a checkout is not deleted when it should be
	KindKeptTooLong  Kind = "kept_too_long"         // a checkout should have been deleted
)

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{
		KindMalformed, KindMisplaced, KindIncomplete, KindOrphaned, KindWrongKind, KindCounters, KindUses, KindLimit, KindOverdrawn,
		KindEdits, KindFull, KindNickUses, KindNickLimit, KindDuplicate, KindTerms, KindFuture, KindCurrency, KindPrice,
		KindDeletionTime, KindKeptTooLong,
	}
}

// Place is where an item stands in the store.
type Place struct {
	Table     string
	Partition string // the value of the partition key
	Sort      string // the value of the sort key
}

func (p Place) compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Table, other.Table), cmp.Compare(p.Sort, other.Sort), cmp.Compare(p.Partition, other.Partition))
}

// Finding is one thing that is wrong.
type Finding struct {
	Kind Kind
	Code voucher.Code // whose voucher it is about; empty for checkouts
	// Place is that of the item, or of the voucher where several items together are wrong.
	Place   Place
	Message string
}

func found(kind Kind, place Place, format string, args ...any) Finding {
	return Finding{Kind: kind, Place: place, Message: fmt.Sprintf(format, args...)}
}

func (f Finding) compare(other Finding) int {
	return cmp.Or(f.Place.compare(other.Place), cmp.Compare(f.Kind, other.Kind), cmp.Compare(f.Message, other.Message))
}

// MotionKind says why a voucher could not be judged whole.
type MotionKind string

// Every kind of motion.
const (
	MotionEdit       MotionKind = "edit"       // an edit of its limit goes on, or was cut off
	MotionChange     MotionKind = "change"     // it was created or edited meanwhile
	MotionRedemption MotionKind = "redemption" // it was redeemed meanwhile
)

// Motion is a voucher that changed while it was read, so that not all of it could be judged. It is not wrong.
type Motion struct {
	Kind MotionKind
	Code voucher.Code
	// MaxUses is the limit that an edit is on its way to; running that edit again completes it. Else it is voucher.NoLimit.
	MaxUses voucher.Limit
	Message string
}
