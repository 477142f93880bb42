package reconciliation

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"shopfront/pkg/checkout"
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
	Edit       int64     // the version that the last edit of the limit gave the voucher; 0: the limit was never edited
	Lapse      time.Time // no hold lapses earlier; zero: the counter never had one
}

// Voucher is a voucher as it is stored.
type Voucher struct {
	voucher.Standing

	LacksOver bool // the limit was last edited before vouchers stored Over, or never
}

// Nick is the item of a nick.
type Nick struct {
	Holder        string // the hash of the nick
	Compared      string // the nick as compared; empty if it never redeemed
	Taken, Undone int    // as the item says
	Redemptions   []voucher.Redemption
	Holds         []voucher.Hold
}

// Glance is a look at a voucher and its counters, before or after the other items are read.
type Glance struct {
	Found   bool
	Version int64
	Returns int64 // read before the counters
	Used    int   // the sum of the counters
}

// redemptionID is the ID of a redemption in binary. It must be small, because an account holds the IDs of all redemptions of a code.
type redemptionID [16]byte

// heldUse is a hold in compact form. It was read from an item of its own or from the item of a nick.
type heldUse struct {
	id, holder redemptionID // no holder: the code has no limit per nick
	until      int64        // milliseconds
	counter    int64
}

func (h heldUse) compare(other heldUse) int {
	return cmp.Or(
		bytes.Compare(h.id[:], other.id[:]), bytes.Compare(h.holder[:], other.holder[:]),
		cmp.Compare(h.until, other.until), cmp.Compare(h.counter, other.counter),
	)
}

// Account adds up what is stored under one code. Items can be added in any order. Each redemption takes 16 bytes, and each hold at most
// 96. Create it with NewAccount.
type Account struct {
	Code  voucher.Code
	Items int // the number of items added

	home     Place
	faults   []Finding // of single items
	unread   bool      // an item could not be read, so sums mean nothing
	voucher  *Voucher
	counters map[int]Counter

	nickItems, looseItems int    // items with the redemptions of a nick, and items with one redemption
	anyPart               string // the sort key of one item other than the voucher
	mostOfNick            int    // the most redemptions and holds in the item of a nick

	redemptions []redemptionID // not undone
	undone      []redemptionID
	holds       []heldUse // in items of their own
	holdsOfNick []heldUse // in the items of nicks
	// undoneOfNick is how many undone redemptions of a nick the nick's item counts, less those recorded.
	undoneOfNick map[string]int

	latest time.Time // of everything that was redeemed or undone

	madeHere    int // redemptions that were not imported; the next four fields are about them
	first, last time.Time
	nick        string // of the first one added, as compared
	nicksDiffer bool

	isBracketed   bool
	before, after Glance
	moved         int // how many redemptions and holds a further reading showed elsewhere, or not at all
}

// NewAccount returns an account without items. home is the place where its voucher belongs.
func NewAccount(code voucher.Code, home Place) *Account {
	return &Account{Code: code, home: home, counters: make(map[int]Counter), undoneOfNick: make(map[string]int)}
}

// Redemptions returns the number of recorded redemptions, undone ones included.
func (a *Account) Redemptions() int { return len(a.redemptions) + len(a.undone) }

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

// AddVoucher adds the voucher. A single-use voucher includes its redemption or hold.
func (a *Account) AddVoucher(v Voucher) {
	a.Items++
	a.voucher = &v
	if v.Imported < 0 || v.SingleUse() && v.Imported > 0 && v.Redeemed == nil {
		a.fault(found(KindMalformed, a.home, "it cannot have %d imported uses: the number is below zero, or its redemption is missing", v.Imported))
	}
	if v.Over < 0 || v.Returns < 0 || v.Undone < 0 {
		a.fault(found(KindMalformed, a.home, "a voucher cannot have %d uses over its limit, %d that came back or %d undone", v.Over, v.Returns, v.Undone))
	}
	if v.Held != nil {
		a.decodeID(a.home, v.Held.ID)
	}
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

// AddNick adds the item of a nick.
func (a *Account) AddNick(place Place, n Nick) {
	a.addPart(place)
	a.nickItems++
	for _, redemption := range n.Redemptions {
		a.addRedemption(place, redemption)
	}
	for _, hold := range n.Holds {
		if use, ok := a.heldUse(place, hold, n.Holder); ok {
			a.holdsOfNick = append(a.holdsOfNick, use)
		}
	}
	taken := len(n.Redemptions) + len(n.Holds)
	if n.Taken != taken {
		a.faults = append(a.faults, Finding{
			KindNickUses, a.Code, place, "the item counts " + count(n.Taken, "use") + " but holds " + strconv.Itoa(taken),
		})
	}
	if n.Undone != 0 {
		a.undoneOfNick[n.Compared] += n.Undone
	}
	a.mostOfNick = max(a.mostOfNick, taken)
}

// AddRedemption adds the item of one redemption.
func (a *Account) AddRedemption(place Place, redemption voucher.Redemption) {
	a.addPart(place)
	if redemption.Undone.IsZero() {
		a.looseItems++
	}
	a.addRedemption(place, redemption)
}

// AddHold adds the item of a hold. holder is the hash of the nick that holds it, or empty.
func (a *Account) AddHold(place Place, hold voucher.Hold, holder string) {
	a.addPart(place)
	if use, ok := a.heldUse(place, hold, holder); ok {
		a.holds = append(a.holds, use)
	}
}

func (a *Account) heldUse(place Place, hold voucher.Hold, holder string) (use heldUse, ok bool) {
	use = heldUse{until: hold.Until.UnixMilli(), counter: int64(hold.Counter)}
	if use.id, ok = a.decodeID(place, hold.ID); ok && holder != "" {
		use.holder, ok = a.decodeID(place, holder)
	}
	return use, ok
}

// decodeID reads the ID of a redemption or hold, or the hash of a nick, which has the same form.
func (a *Account) decodeID(place Place, text string) (id redemptionID, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(decoded) != len(id) {
		a.fault(found(KindMalformed, place, "the ID of a redemption or hold, or the hash of a nick, is malformed"))
		return id, false
	}
	return redemptionID(decoded), true
}

func (a *Account) addPart(place Place) {
	a.Items++
	if a.anyPart == "" {
		a.anyPart = place.Sort
	}
}

func (a *Account) addRedemption(place Place, redemption voucher.Redemption) {
	id, ok := a.decodeID(place, redemption.ID)
	if !ok {
		return
	}
	nick, err := voucher.ParseNick(redemption.Nick)
	if err != nil {
		a.fault(found(KindMalformed, place, "the redemption's %v", err))
		return
	}
	if redemption.Undone.IsZero() {
		a.redemptions = append(a.redemptions, id)
	} else {
		a.undone = append(a.undone, id)
		a.undoneOfNick[nick.Compared]--
		a.latest = latest(a.latest, redemption.Undone)
		if redemption.Undone.Before(redemption.At.Add(-ClockSkew)) {
			a.fault(found(KindMalformed, place, "undone at %s, but redeemed at %s", written(redemption.Undone), written(redemption.At)))
		}
	}
	a.latest = latest(a.latest, redemption.At)
	if redemption.Imported { // under terms that are not known
		return
	}
	if a.madeHere == 0 {
		a.first, a.last, a.nick = redemption.At, redemption.At, nick.Compared
	}
	a.madeHere++
	if redemption.At.Before(a.first) {
		a.first = redemption.At
	}
	a.last = latest(a.last, redemption.At)
	a.nicksDiffer = a.nicksDiffer || nick.Compared != a.nick
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Between adds two glances: before the first item was read, and after the last. The uses taken, together with those that came back, only
// rise. So the number of redemptions and holds read lies between what the two glances allow.
func (a *Account) Between(before, after Glance) {
	a.before, a.after, a.isBracketed = before, after, true
}

// MayMove reports whether redemptions and holds may move between items: a hold becomes a redemption or passes on, and an undone
// redemption leaves its item. A reading during such a move may find both or neither, and no counter shows it.
func (a *Account) MayMove() bool {
	for _, counter := range a.counters {
		if !counter.Lapse.IsZero() {
			return true
		}
	}
	return len(a.undone) > 0 || len(a.holdsOfNick) > 0
}

// Again adds a second reading of the account. Whatever moved during the first one is elsewhere in the second.
func (a *Account) Again(second *Account) {
	byBytes := func(one, other redemptionID) int { return bytes.Compare(one[:], other[:]) }
	a.moved = differing(a.redemptions, second.redemptions, byBytes) + differing(a.undone, second.undone, byBytes) +
		differing(a.holds, second.holds, heldUse.compare) + differing(a.holdsOfNick, second.holdsOfNick, heldUse.compare)
}

// differing sorts two lists and returns how many elements only one of them has.
func differing[E any](one, other []E, compare func(E, E) int) int {
	slices.SortFunc(one, compare)
	slices.SortFunc(other, compare)
	n := 0
	for len(one) > 0 && len(other) > 0 {
		switch order := compare(one[0], other[0]); {
		case order == 0:
			one, other = one[1:], other[1:]
		case order < 0:
			one, n = one[1:], n+1
		default:
			other, n = other[1:], n+1
		}
	}
	return n + len(one) + len(other)
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
	if a.latest.After(now.Add(ClockSkew)) {
		j.Certain = append(j.Certain, a.foundf(KindFuture, "redeemed or undone at %s, but it is %s now", written(a.latest), written(now)))
	}
	if a.unread {
		return j
	}
	if a.Items == 0 { // deleted while it was read
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
	j.Doubtful = a.judgeParts(now)
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
		m.Message = "redeemed, held or undone while it was read"
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
	case !v.Limited() && (!v.FullUntil.IsZero() || v.Editing != voucher.NoLimit || v.Over != 0 || v.Returns != 0):
		return []Finding{a.foundf(KindWrongKind, "the voucher has no limit above one but is marked as full, as being edited or as over a limit")}
	case !v.SingleUse() && (v.Redeemed != nil || v.Held != nil || v.Undone != 0):
		return []Finding{a.foundf(KindWrongKind, "the voucher has many uses, but its item holds or counts a redemption")}
	default:
		return nil
	}
}

// judgeParts checks the voucher together with its other items.
func (a *Account) judgeParts(now time.Time) []Finding {
	v := a.voucher
	perNick := v.MaxUsesPerNick != voucher.NoLimit
	switch {
	case !v.Limited() && len(a.counters) > 0:
		return []Finding{a.foundf(KindWrongKind, "%s, but the voucher has no limit above one", count(len(a.counters), "counter"))}
	case a.nickItems > 0 && !perNick:
		return []Finding{a.foundf(KindWrongKind, "%s of nicks, but the voucher has no limit per nick", count(a.nickItems, "item"))}
	case a.looseItems > 0 && (perNick || v.SingleUse()):
		return []Finding{a.foundf(KindWrongKind, "%s with one redemption each, but such a voucher stores its redemptions elsewhere", count(a.looseItems, "item"))}
	case len(a.holds) > 0 && !v.Limited():
		return []Finding{a.foundf(KindWrongKind, "%s, but the voucher has no limit above one", count(len(a.holds), "hold"))}
	case slices.ContainsFunc(a.holds, func(h heldUse) bool { return (h.holder == redemptionID{}) == perNick }):
		return []Finding{a.foundf(KindWrongKind, "a hold names a nick, but the voucher has no limit per nick, or the other way round")}
	}
	var wrong []Finding
	if v.Limited() {
		wrong = a.judgeCounters(now)
	}
	if message := a.holdsMessage(); message != "" {
		wrong = append(wrong, a.foundf(KindHolds, "%s", message))
	}
	if message := a.undoneMessage(); message != "" {
		wrong = append(wrong, a.foundf(KindUndone, "%s", message))
	}
	if n := a.duplicates(); n > a.moved {
		wrong = append(wrong, a.foundf(KindDuplicate, "%s recorded more than once", count(n, "ID")))
	}
	switch most := voucher.Limit(a.mostOfNick); {
	case most > voucher.MaxPerNick:
		wrong = append(wrong, a.foundf(KindNickLimit, "a nick has %s; no limit is above %d", count(a.mostOfNick, "use"), voucher.MaxPerNick))
	case perNick && most > v.MaxUsesPerNick && a.neverEdited():
		wrong = append(wrong, a.foundf(KindNickLimit, "a nick has %s; the limit is %d and was never edited", count(a.mostOfNick, "use"), v.MaxUsesPerNick))
	}
	return append(wrong, a.judgeTerms()...)
}

func (a *Account) judgeCounters(now time.Time) []Finding {
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
		returned := int(a.after.Returns - a.before.Returns)
		least, most = a.before.Used-returned, a.after.Used+returned
	}
	if n := v.Imported + len(a.redemptions) + len(a.holds); n < least-a.moved || n > most+a.moved {
		imported := ""
		if v.Imported > 0 {
			imported = count(v.Imported, "imported use") + ", "
		}
		wrong = append(wrong, a.foundf(KindUses, "the counters count %s, but the records show %s%s and %s",
			count(used, "use"), imported, count(len(a.redemptions), "redemption"), count(len(a.holds), "hold")))
	}
	if !a.isSteady() || a.before.Returns != a.after.Returns {
		return wrong
	}
	if message := a.editsMessage(); message != "" {
		wrong = append(wrong, a.foundf(KindEdits, "%s", message))
	}
	if v.Editing != voucher.NoLimit {
		return wrong
	}
	// After a limit was lowered below the uses taken, no use is left, and more uses are taken than the limit allows. Vouchers without Over
	// do not say how many.
	lowered := v.LacksOver && a.limitWasEdited() && left == 0 && used > int(v.MaxUses)
	if (left+used-v.Over != int(v.MaxUses) || v.Over > 0 && left > 0) && !lowered {
		wrong = append(wrong, a.foundf(KindLimit, "the counters hold %d uses left and %d taken, but the limit is %d, and the voucher counts %d over it",
			left, used, v.MaxUses, v.Over))
	}
	if v.FullUntil.After(now) && left > 0 {
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

// holdsMessage returns what is wrong with the holds, or "". If nicks have a limit, each hold is in the item of its nick, and those that
// a counter counts are in an item of their own, too.
func (a *Account) holdsMessage() string {
	if !a.voucher.Limited() {
		if slices.ContainsFunc(a.holdsOfNick, func(h heldUse) bool { return h.counter >= 0 }) {
			return "the item of a nick has a hold of a counter, but the voucher has none"
		}
		return ""
	}
	for _, hold := range a.holds {
		if counter := a.counters[int(hold.counter)]; counter.Lapse.IsZero() || hold.until < counter.Lapse.UnixMilli() {
			return "a hold lapses before its counter says that the first one does"
		}
	}
	if a.voucher.MaxUsesPerNick == voucher.NoLimit {
		return ""
	}
	if n := differing(a.holds, a.holdsOfNick, heldUse.compare); n > a.moved {
		return count(n, "hold") + " only in the item of a nick, or only in an item of its own"
	}
	return ""
}

// undoneMessage returns where the number of undone redemptions is wrong, or "".
func (a *Account) undoneMessage() string {
	v := a.voucher
	if v.SingleUse() && v.Undone != len(a.undone) {
		return "the voucher counts " + count(v.Undone, "undone redemption") + ", but the records show " + strconv.Itoa(len(a.undone))
	}
	if v.MaxUsesPerNick == voucher.NoLimit {
		return ""
	}
	wrong := 0
	for _, difference := range a.undoneOfNick {
		wrong += max(difference, -difference)
	}
	if wrong > a.moved {
		return "the items of nicks do not count " + count(len(a.undone), "undone redemption")
	}
	return ""
}

// duplicates returns how many IDs are recorded more than once. A hold has the ID of the redemption that it may become.
func (a *Account) duplicates() int {
	ids := slices.Concat(a.redemptions, a.undone)
	held := a.holds
	if !a.voucher.Limited() {
		held = a.holdsOfNick
	}
	for _, hold := range held {
		ids = append(ids, hold.id)
	}
	if a.voucher.Held != nil {
		id, _ := a.decodeID(a.home, a.voucher.Held.ID)
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(one, other redemptionID) int { return bytes.Compare(one[:], other[:]) })
	n := 0
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] && (i == 1 || ids[i] != ids[i-2]) {
			n++
		}
	}
	return n
}

// judgeTerms checks the redemptions against the terms of a voucher that was never edited.
func (a *Account) judgeTerms() []Finding {
	v := a.voucher
	if !a.neverEdited() || a.madeHere == 0 {
		return nil
	}
	// An order turns a hold of a discount into a redemption, even after the voucher has expired.
	validUntil := v.ValidUntil
	if !validUntil.IsZero() && v.Reward.Goods() == nil {
		validUntil = validUntil.Add(checkout.Lifetime + checkout.LateOrders)
	}
	switch bound := v.Nick != (voucher.Nick{}); {
	case v.Disabled:
		return []Finding{a.foundf(KindTerms, "redeemed, although the voucher was always disabled")}
	case a.first.Before(v.ValidFrom):
		return []Finding{a.foundf(KindTerms, "redeemed at %s, before the voucher was valid", written(a.first))}
	case !validUntil.IsZero() && !a.last.Before(validUntil):
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
	case a.before.Used != a.after.Used || a.before.Returns != a.after.Returns || a.moved > 0:
		return a.motion(MotionRedemption)
	default:
		return nil
	}
}
