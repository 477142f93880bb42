package reconciliation

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// ClockSkew is how far apart the clocks of a function and of the verifying machine may be. AWS rejects requests signed more
// than five minutes off (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html), in either direction.
const ClockSkew = 10 * time.Minute

// Counter holds a part of the uses of a code with a limit above one.
type Counter struct {
	Number     int // from 0
	Left, Used int
	Edit       int64 // the version that the last edit of the limit gave the voucher; 0: the limit was never edited
}

// Glance is a look at a voucher and its counters, before or after the other items are read.
type Glance struct {
	Found   bool
	Version int64
	Used    int // the sum of the counters
}

// redemptionID is the ID of a redemption in binary. It must be small, because an account holds the IDs of all redemptions of a code.
type redemptionID [16]byte

// Account adds up what is stored under one code. Items can be added in any order. Each redemption takes 16 bytes. Create it
// with NewAccount.
type Account struct {
	Code  voucher.Code
	Items int // the number of items added

	home     Place
	faults   []Finding // of single items
	unread   bool      // an item could not be read, so sums mean nothing
	voucher  *voucher.Standing
	counters map[int]Counter

	nickItems, looseItems int    // items with the redemptions of a nick, and items with one redemption
	anyPart               string // the sort key of one item other than the voucher
	mostOfNick            int    // the most redemptions in the item of a nick

	redemptions []redemptionID
	first, last time.Time
	nick        string // of the first redemption added, as compared
	nicksDiffer bool

	isBracketed   bool
	before, after Glance
}

// NewAccount returns an account without items. home is the place where its voucher belongs.
func NewAccount(code voucher.Code, home Place) *Account {
	return &Account{Code: code, home: home, counters: make(map[int]Counter)}
}

// Redemptions returns the number of recorded redemptions.
func (a *Account) Redemptions() int { return len(a.redemptions) }

// HasVoucher reports whether the voucher itself was added.
func (a *Account) HasVoucher() bool { return a.voucher != nil }

// Fault adds an item that cannot be read. kind is KindMalformed, KindMisplaced or KindIncomplete.
func (a *Account) Fault(place Place, kind Kind, message string) {
	a.Items++
	a.fault(found(kind, place, "%s", message))
}

func (a *Account) fault(f Finding) {
	f.Code = a.Code
	a.faults = append(a.faults, f)
	a.unread = true
}

// AddVoucher adds the voucher. A single-use voucher includes its redemption.
func (a *Account) AddVoucher(v voucher.Standing) {
	a.Items++
	a.voucher = &v
	if v.Redeemed != nil {
		a.addRedemption(a.home, *v.Redeemed)
	}
}

// AddCounter adds a counter.
func (a *Account) AddCounter(place Place, c Counter) {
	a.addPart(place)
	if c.Used < 0 || c.Edit < 0 {
		a.fault(found(KindMalformed, place, "a counter cannot have %d uses taken, or be of edit %d", c.Used, c.Edit))
		return
	}
	if c.Left < 0 {
		a.faults = append(a.faults, Finding{KindOverdrawn, a.Code, place, "the counter has " + count(c.Left, "use") + " left"})
	}
	a.counters[c.Number] = c
}

// AddNick adds the item of a nick. taken is the number of redemptions that the item says it holds.
func (a *Account) AddNick(place Place, taken int, redemptions []voucher.Redemption) {
	a.addPart(place)
	a.nickItems++
	for _, redemption := range redemptions {
		a.addRedemption(place, redemption)
	}
	if taken != len(redemptions) {
		a.faults = append(a.faults, Finding{
			KindNickUses, a.Code, place, "the item counts " + count(taken, "redemption") + " but holds " + strconv.Itoa(len(redemptions)),
		})
	}
	a.mostOfNick = max(a.mostOfNick, len(redemptions))
}

// AddRedemption adds the item of one redemption.
func (a *Account) AddRedemption(place Place, redemption voucher.Redemption) {
	a.addPart(place)
	a.looseItems++
	a.addRedemption(place, redemption)
}

func (a *Account) addPart(place Place) {
	a.Items++
	if a.anyPart == "" {
		a.anyPart = place.Sort
	}
}

func (a *Account) addRedemption(place Place, redemption voucher.Redemption) {
	id, err := base64.RawURLEncoding.DecodeString(redemption.ID)
	if err != nil || len(id) != len(redemptionID{}) {
		a.fault(found(KindMalformed, place, "the redemption's ID is malformed"))
		return
	}
	nick, err := voucher.ParseNick(redemption.Nick)
	if err != nil {
		a.fault(found(KindMalformed, place, "the redemption's %v", err))
		return
	}
	if len(a.redemptions) == 0 {
		a.first, a.last, a.nick = redemption.At, redemption.At, nick.Compared
	}
	a.redemptions = append(a.redemptions, redemptionID(id))
	if redemption.At.Before(a.first) {
		a.first = redemption.At
	}
	if redemption.At.After(a.last) {
		a.last = redemption.At
	}
	a.nicksDiffer = a.nicksDiffer || nick.Compared != a.nick
}

// Between adds two glances: before the first item was read, and after the last. Counters only rise, and redemptions are never
// removed, so the number of redemptions read lies between the two sums of the counters.
func (a *Account) Between(before, after Glance) {
	a.before, a.after, a.isBracketed = before, after, true
}

// Judgement is the result of one reading of an account.
type Judgement struct {
	// Certain findings concern a single item, which DynamoDB always returns whole.
	Certain []Finding
	// Doubtful findings concern several items, which are not read at one moment. They count if further readings confirm them.
	Doubtful []Finding
	// Motion is set if the voucher changed meanwhile, so that not everything could be judged.
	Motion *Motion
}

// Judge returns what is wrong with the account at the time now. currency is the customer's.
func (a *Account) Judge(currency money.Currency, now time.Time) Judgement {
	j := Judgement{Certain: slices.Clone(a.faults)}
	if a.last.After(now.Add(ClockSkew)) {
		j.Certain = append(j.Certain, a.foundf(KindFuture, "redeemed at %s, but it is %s now", written(a.last), written(now)))
	}
	if a.unread {
		return j
	}
	if a.voucher == nil {
		if a.isBracketed && (a.before.Found || a.after.Found) {
			j.Motion = a.motion(MotionChange)
		} else {
			j.Doubtful = append(j.Doubtful, a.foundf(KindOrphaned, "%s without a voucher, for example %s", count(a.Items, "item"), a.anyPart))
		}
		return j
	}
	if wrong := a.judgeVoucher(currency); wrong != nil {
		j.Certain = append(j.Certain, wrong...)
		return j
	}
	j.Doubtful = a.judgeParts()
	j.Motion = a.judgeMotion()
	return j
}

func (a *Account) foundf(kind Kind, format string, args ...any) Finding {
	f := found(kind, a.home, format, args...)
	f.Code = a.Code
	return f
}

func (a *Account) motion(kind MotionKind) *Motion {
	m := &Motion{Kind: kind, Code: a.Code}
	switch kind {
	case MotionEdit:
		m.MaxUses = a.voucher.Editing
		m.Message = "an edit of the limit is in flight or was interrupted; run the edit again to complete it"
	case MotionChange:
		m.Message = "created or edited while it was read"
	case MotionRedemption:
		m.Message = "redeemed while it was read"
	}
	return m
}

// judgeVoucher checks the item of the voucher.
func (a *Account) judgeVoucher(currency money.Currency) []Finding {
	v := a.voucher
	if err := v.Reward.InCurrency(currency); err != nil {
		return []Finding{a.foundf(KindCurrency, "%v", err)}
	}
	if _, err := v.Edited(voucher.Edit{}); err != nil { // an empty edit validates the voucher
		return []Finding{a.foundf(KindMalformed, "%v", err)}
	}
	switch {
	case v.Version < 1:
		return []Finding{a.foundf(KindMalformed, "the voucher has the version %d", v.Version)}
	case v.Limited() && (v.Counters < 1 || v.Counters > voucher.MaxCounters):
		return []Finding{a.foundf(KindWrongKind, "the voucher has a limit of %d uses and names %s", v.MaxUses, count(v.Counters, "counter"))}
	case !v.Limited() && v.Counters != 0:
		return []Finding{a.foundf(KindWrongKind, "the voucher has no limit above one but names %s", count(v.Counters, "counter"))}
	case !v.Limited() && (!v.FullUntil.IsZero() || v.Editing != voucher.NoLimit):
		return []Finding{a.foundf(KindWrongKind, "the voucher has no limit above one but is marked as full or as being edited")}
	case !v.SingleUse() && v.Redeemed != nil:
		return []Finding{a.foundf(KindWrongKind, "the voucher has many uses, but its item holds a redemption")}
	default:
		return nil
	}
}

// judgeParts checks the voucher together with its other items.
func (a *Account) judgeParts() []Finding {
	v := a.voucher
	perNick := v.MaxUsesPerNick != voucher.NoLimit
	switch {
	case !v.Limited() && len(a.counters) > 0:
		return []Finding{a.foundf(KindWrongKind, "%s, but the voucher has no limit above one", count(len(a.counters), "counter"))}
	case a.nickItems > 0 && !perNick:
		return []Finding{a.foundf(KindWrongKind, "%s of nicks, but the voucher has no limit per nick", count(a.nickItems, "item"))}
	case a.looseItems > 0 && (perNick || v.SingleUse()):
		return []Finding{a.foundf(KindWrongKind, "%s with one redemption each, but such a voucher stores its redemptions elsewhere", count(a.looseItems, "item"))}
	}
	var wrong []Finding
	if v.Limited() {
		wrong = a.judgeCounters()
	}
	if n := a.duplicates(); n > 0 {
		wrong = append(wrong, a.foundf(KindDuplicate, "%s recorded more than once", count(n, "redemption ID")))
	}
	switch most := voucher.Limit(a.mostOfNick); {
	case most > voucher.MaxPerNick:
		wrong = append(wrong, a.foundf(KindNickLimit, "a nick has %s; no limit is above %d", count(a.mostOfNick, "redemption"), voucher.MaxPerNick))
	case perNick && most > v.MaxUsesPerNick && a.neverEdited():
		wrong = append(wrong, a.foundf(KindNickLimit, "a nick has %s; the limit is %d and was never edited", count(a.mostOfNick, "redemption"), v.MaxUsesPerNick))
	}
	return append(wrong, a.judgeTerms()...)
}

func (a *Account) judgeCounters() []Finding {
	v := a.voucher
	left, used := 0, 0
	for number := range v.Counters {
		counter, there := a.counters[number]
		if !there {
			return []Finding{a.foundf(KindCounters, "counter %d of %d is missing", number, v.Counters)}
		}
		left, used = left+counter.Left, used+counter.Used
	}
	if len(a.counters) != v.Counters {
		return []Finding{a.foundf(KindCounters, "there are %s, but the voucher names %d", count(len(a.counters), "counter"), v.Counters)}
	}
	var wrong []Finding
	least, most := used, used
	if a.isBracketed {
		least, most = a.before.Used, a.after.Used
	}
	if n := len(a.redemptions); n < least || n > most {
		wrong = append(wrong, a.foundf(KindUses, "the counters count %s, but the records show %s", count(used, "use"), count(n, "redemption")))
	}
	if !a.isSteady() {
		return wrong
	}
	if message := a.editsMessage(); message != "" {
		wrong = append(wrong, a.foundf(KindEdits, "%s", message))
	}
	if v.Editing != voucher.NoLimit {
		return wrong
	}
	// After a limit was lowered below the uses taken, no use is left, and more uses are taken than the limit allows.
	lowered := a.limitWasEdited() && left == 0 && used > int(v.MaxUses)
	if left+used != int(v.MaxUses) && !lowered {
		wrong = append(wrong, a.foundf(KindLimit, "the counters hold %d uses left and %d taken, but the limit is %d", left, used, v.MaxUses))
	}
	if !v.FullUntil.IsZero() && left > 0 {
		wrong = append(wrong, a.foundf(KindFull, "the voucher is marked as full but has %s left", count(left, "use")))
	}
	return wrong
}

// limitWasEdited looks at the counters, because an edit of another field does not change them.
func (a *Account) limitWasEdited() bool {
	for _, counter := range a.counters {
		if counter.Edit > 0 {
			return true
		}
	}
	return false
}

// editsMessage returns what is wrong with the edits recorded in the counters, or "". An edit of the limit takes a version of
// the voucher, writes it to every counter, and finishes in a later version. While no edit runs, all counters name the same edit.
func (a *Account) editsMessage() string {
	v := a.voucher
	for _, counter := range a.counters {
		switch {
		case v.Editing != voucher.NoLimit && counter.Edit > v.Version, v.Editing == voucher.NoLimit && counter.Edit >= v.Version:
			return "a counter names a later edit than the voucher"
		case v.Editing == voucher.NoLimit && counter.Edit != a.counters[0].Edit:
			return "the counters name different edits, and no edit is running"
		}
	}
	return ""
}

// duplicates returns how many IDs are recorded more than once.
func (a *Account) duplicates() int {
	slices.SortFunc(a.redemptions, func(one, other redemptionID) int { return bytes.Compare(one[:], other[:]) })
	n := 0
	for i := 1; i < len(a.redemptions); i++ {
		if a.redemptions[i] == a.redemptions[i-1] && (i == 1 || a.redemptions[i] != a.redemptions[i-2]) {
			n++
		}
	}
	return n
}

// judgeTerms checks the redemptions against the terms of a voucher that was never edited.
func (a *Account) judgeTerms() []Finding {
	v := a.voucher
	if !a.neverEdited() || len(a.redemptions) == 0 {
		return nil
	}
	switch bound := v.Nick != (voucher.Nick{}); {
	case v.Disabled:
		return []Finding{a.foundf(KindTerms, "redeemed, although the voucher was always disabled")}
	case a.first.Before(v.ValidFrom):
		return []Finding{a.foundf(KindTerms, "redeemed at %s, before the voucher was valid", written(a.first))}
	case !v.ValidUntil.IsZero() && !a.last.Before(v.ValidUntil):
		return []Finding{a.foundf(KindTerms, "redeemed at %s, after the voucher had expired", written(a.last))}
	case bound && (a.nicksDiffer || a.nick != v.Nick.Compared):
		return []Finding{a.foundf(KindTerms, "redeemed by a nick other than the one that the voucher is bound to")}
	default:
		return nil
	}
}

// neverEdited reports whether the voucher's terms were the same at every redemption.
func (a *Account) neverEdited() bool { return a.voucher.Version == 1 && a.isSteady() }

// isSteady reports whether the voucher was not edited while the account was read. Without glances, it assumes
// so: if a fault is then found, the code is read again with glances.
func (a *Account) isSteady() bool {
	return !a.isBracketed || a.before.Found && a.after.Found && a.before.Version == a.voucher.Version && a.after.Version == a.voucher.Version
}

func (a *Account) judgeMotion() *Motion {
	switch {
	case a.voucher.Editing != voucher.NoLimit:
		return a.motion(MotionEdit)
	case !a.isSteady():
		return a.motion(MotionChange)
	case a.before.Used != a.after.Used:
		return a.motion(MotionRedemption)
	default:
		return nil
	}
}
