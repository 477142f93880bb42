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

// ClockSkew is how far apart the clocks of a function and of the verifying machine may be. AWS rejects requests whose signature is more
// than five minutes early or late (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html).
const ClockSkew = 10 * time.Minute

// Counter has a part of the uses of a code with a limit above one.
type Counter struct {
	Number     int // from 0
	Left, Used int
	Edit       int64     // the version that the last edit of the limit gave the voucher; 0: the limit was never edited
	Lapse      time.Time // no hold of the counter lapses earlier; zero: the counter never had a hold
}

// Voucher is a voucher as it is stored.
type Voucher struct {
	voucher.Standing

	LacksOver bool // Over is not stored, because no edit of the limit has stored it yet
}

// Nick is the item of a nick.
type Nick struct {
	Holder        string // the hash of the nick
	Compared      string // the nick as compared; empty if the nick never redeemed
	Taken, Undone int    // the numbers that the item stores
	Redemptions   []voucher.Redemption
	Holds         []voucher.Hold
}

// Glance is a quick reading of a voucher and its counters, before or after the other items are read.
type Glance struct {
	Found   bool
	Version int64
	Returns int64 // how many uses came back; read before the counters
	Used    int   // the sum of the counters
}

// redemptionID is the ID of a redemption in binary. It must be small, because an account holds the IDs of all redemptions of a code.
type redemptionID [16]byte

func (id redemptionID) compare(other redemptionID) int { return bytes.Compare(id[:], other[:]) }

// heldUse is a hold in compact form. It was read from an item of its own or from the item of a nick.
type heldUse struct {
	id, holder redemptionID // a zero holder: the code has no limit per nick
	until      int64        // milliseconds
	counter    int64
}

func (h heldUse) compare(other heldUse) int {
	return cmp.Or(
		h.id.compare(other.id), h.holder.compare(other.holder), cmp.Compare(h.until, other.until), cmp.Compare(h.counter, other.counter),
	)
}

// Account adds up the items that are stored under one code. Items can be added in any order. Each redemption takes 16 bytes, and each hold
// at most 96. Create it with NewAccount.
type Account struct {
	Code  voucher.Code
	Items int // the number of items added

	home     Place
	faults   []Finding // about single items
	unread   bool      // an item could not be read, so sums would be wrong
	voucher  *Voucher
	counters map[int]Counter

	nickItems, looseItems int    // items of nicks, and items of a single redemption that was not undone
	anyPart               string // the sort key of one item other than the voucher
	mostOfNick            int    // the most redemptions and holds in the item of a nick

	redemptions []redemptionID // not undone
	undone      []redemptionID
	holds       []heldUse // in items of their own
	holdsOfNick []heldUse // in the items of nicks
	// undoneOfNick is, for each nick, how many undone redemptions the nick's item counts, minus how many are recorded.
	undoneOfNick map[string]int

	latest time.Time // the latest time of a redemption or an undoing

	madeHere    int // redemptions that were not imported; the next four fields are about them
	first, last time.Time
	nick        string // the nick of the first redemption that was added, as compared
	nicksDiffer bool

	isBracketed   bool
	before, after Glance
	moved         int // how many redemptions and holds differ between the first and the second reading
}

// NewAccount returns an account without items. home is the place where its voucher belongs.
func NewAccount(code voucher.Code, home Place) *Account {
	return &Account{Code: code, home: home, counters: make(map[int]Counter), undoneOfNick: make(map[string]int)}
}

// Redemptions returns the number of recorded redemptions, including undone ones.
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
		a.fault(found(KindMalformed, a.home, "the voucher cannot have %d imported uses: the number is below zero, or the redemption is missing", v.Imported))
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
		a.fault(found(KindMalformed, place, "a counter cannot have %d uses taken or name the edit %d", c.Used, c.Edit))
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
			KindNickUses, a.Code, place, "the item counts " + count(n.Taken, "use") + " but has " + strconv.Itoa(taken),
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

// AddHold adds the item of a hold. holder is the hash of the nick that has the hold, or empty.
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
	if redemption.Imported { // the terms at the time of an imported redemption are unknown
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

// Between adds two glances, one from before the first item was read, and one from after the last. The sum of the uses taken and the uses
// that came back never falls. So the two glances bound the number of redemptions and holds that were read.
func (a *Account) Between(before, after Glance) {
	a.before, a.after, a.isBracketed = before, after, true
}

// MayMove reports whether redemptions and holds may move between items. That happens when a hold becomes a redemption, when another
// checkout takes a hold over, and when a redemption is undone. A reading during such a move may find the redemption or hold in both places
// or in neither, and no counter shows that.
func (a *Account) MayMove() bool {
	for _, counter := range a.counters {
		if !counter.Lapse.IsZero() {
			return true
		}
	}
	return len(a.undone) > 0 || len(a.holdsOfNick) > 0
}

// Again adds a second reading of the account, and counts what differs from the first. Redemptions and holds that moved during the first
// reading are in another place in the second.
func (a *Account) Again(second *Account) {
	a.moved = differing(a.redemptions, second.redemptions, redemptionID.compare) + differing(a.undone, second.undone, redemptionID.compare) +
		differing(a.holds, second.holds, heldUse.compare) + differing(a.holdsOfNick, second.holdsOfNick, heldUse.compare)
}

// differing sorts two lists and returns how many elements are in only one of them.
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
	// Doubtful findings concern several items, which are not read at one moment. They count only if further readings confirm them.
	Doubtful []Finding
	// Motion is set if the voucher changed while it was read, so that not everything could be judged.
	Motion *Motion
}

// Judge returns what is wrong with the account at the time now. currency is the customer's currency.
func (a *Account) Judge(currency money.Currency, now time.Time) Judgement {
	j := Judgement{Certain: slices.Clone(a.faults)}
	if a.latest.After(now.Add(ClockSkew)) {
		j.Certain = append(j.Certain, a.foundf(KindFuture, "redeemed or undone at %s, but it is %s now", written(a.latest), written(now)))
	}
	if a.unread || a.Items == 0 { // an account without items was deleted while it was read
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

// partsJudgement collects the findings about a voucher together with its other items.
type partsJudgement struct {
	*Account

	wrong []Finding
}

func (j *partsJudgement) add(kind Kind, format string, args ...any) {
	j.wrong = append(j.wrong, j.foundf(kind, format, args...))
}

// judgeParts checks the voucher together with its other items.
func (a *Account) judgeParts(now time.Time) []Finding {
	j := &partsJudgement{Account: a}
	if j.judgeKinds(); len(j.wrong) > 0 {
		return j.wrong
	}
	if a.voucher.Limited() {
		j.judgeCounters(now)
	}
	j.judgeHolds()
	j.judgeUndone()
	if n := a.duplicates(); n > a.moved {
		j.add(KindDuplicate, "%s recorded more than once", count(n, "ID"))
	}
	switch most, limit := voucher.Limit(a.mostOfNick), a.voucher.MaxUsesPerNick; {
	case most > voucher.MaxPerNick:
		j.add(KindNickLimit, "a nick has %s; no limit is above %d", count(a.mostOfNick, "use"), voucher.MaxPerNick)
	case limit != voucher.NoLimit && most > limit && a.neverEdited():
		j.add(KindNickLimit, "a nick has %s; the limit is %d and was never edited", count(a.mostOfNick, "use"), limit)
	}
	j.judgeTerms()
	return j.wrong
}

// judgeKinds checks that a voucher of this kind may have the items that were added.
func (j *partsJudgement) judgeKinds() {
	v := j.voucher
	perNick := v.MaxUsesPerNick != voucher.NoLimit
	switch {
	case !v.Limited() && len(j.counters) > 0:
		j.add(KindWrongKind, "%s, but the voucher has no limit above one", count(len(j.counters), "counter"))
	case j.nickItems > 0 && !perNick:
		j.add(KindWrongKind, "%s of nicks, but the voucher has no limit per nick", count(j.nickItems, "item"))
	case j.looseItems > 0 && (perNick || v.SingleUse()):
		j.add(KindWrongKind, "%s with one redemption each, but the voucher must store its redemptions in other items", count(j.looseItems, "item"))
	case len(j.holds) > 0 && !v.Limited():
		j.add(KindWrongKind, "%s, but the voucher has no limit above one", count(len(j.holds), "hold"))
	case slices.ContainsFunc(j.holds, func(h heldUse) bool { return (h.holder == redemptionID{}) == perNick }):
		j.add(KindWrongKind, "a hold names a nick although the voucher has no limit per nick, or names no nick although the voucher has such a limit")
	}
}

func (j *partsJudgement) judgeCounters(now time.Time) {
	v := j.voucher
	left, used, limitWasEdited := 0, 0, false
	for number := range v.Counters {
		counter, there := j.counters[number]
		if !there {
			j.add(KindCounters, "counter %d of %d is missing", number, v.Counters)
			return
		}
		left, used = left+counter.Left, used+counter.Used
		limitWasEdited = limitWasEdited || counter.Edit > 0
	}
	if len(j.counters) != v.Counters {
		j.add(KindCounters, "there are %s, but the voucher names %d", count(len(j.counters), "counter"), v.Counters)
		return
	}
	least, most := used, used
	if j.isBracketed {
		returned := int(j.after.Returns - j.before.Returns)
		least, most = j.before.Used-returned, j.after.Used+returned
	}
	if n := v.Imported + len(j.redemptions) + len(j.holds); n < least-j.moved || n > most+j.moved {
		imported := ""
		if v.Imported > 0 {
			imported = count(v.Imported, "imported use") + ", "
		}
		j.add(KindUses, "the counters count %s, but the records show %s%s and %s",
			count(used, "use"), imported, count(len(j.redemptions), "redemption"), count(len(j.holds), "hold"))
	}
	if !j.isSteady() || j.before.Returns != j.after.Returns {
		return
	}
	j.judgeEdits()
	if v.Editing != voucher.NoLimit {
		return
	}
	// After a limit was lowered below the number of uses taken, no use is left, and the uses taken exceed the limit. A voucher without Over
	// does not say by how many.
	lowered := v.LacksOver && limitWasEdited && left == 0 && used > int(v.MaxUses)
	if (left+used-v.Over != int(v.MaxUses) || v.Over > 0 && left > 0) && !lowered {
		j.add(KindLimit, "the counters have %d uses left and %d taken, but the limit is %d, and the voucher counts %d over it",
			left, used, v.MaxUses, v.Over)
	}
	if v.FullUntil.After(now) && left > 0 {
		j.add(KindFull, "the voucher is marked as full but has %s left", count(left, "use"))
	}
}

// judgeEdits checks the edits that the counters name. An edit of the limit takes a version of the voucher, writes that version to every
// counter, and finishes in a later version. While no edit runs, all counters name the same edit.
func (j *partsJudgement) judgeEdits() {
	v := j.voucher
	for _, counter := range j.counters {
		switch {
		case v.Editing != voucher.NoLimit && counter.Edit > v.Version, v.Editing == voucher.NoLimit && counter.Edit >= v.Version:
			j.add(KindEdits, "a counter names a later edit than the voucher")
			return
		case v.Editing == voucher.NoLimit && counter.Edit != j.counters[0].Edit:
			j.add(KindEdits, "the counters name different edits, and no edit is running")
			return
		}
	}
}

// judgeHolds checks the holds. If the voucher has a limit per nick, each hold is in the item of its nick. If a counter counts a hold, the
// hold also has an item of its own.
func (j *partsJudgement) judgeHolds() {
	if !j.voucher.Limited() {
		if slices.ContainsFunc(j.holdsOfNick, func(h heldUse) bool { return h.counter >= 0 }) {
			j.add(KindHolds, "the item of a nick has a hold of a counter, but the voucher has no counters")
		}
		return
	}
	for _, hold := range j.holds {
		if counter := j.counters[int(hold.counter)]; counter.Lapse.IsZero() || hold.until < counter.Lapse.UnixMilli() {
			j.add(KindHolds, "a hold lapses earlier than the first lapse that its counter records")
			return
		}
	}
	if j.voucher.MaxUsesPerNick == voucher.NoLimit {
		return
	}
	if n := differing(j.holds, j.holdsOfNick, heldUse.compare); n > j.moved {
		j.add(KindHolds, "%s only in the nick's item, or only in the hold's own item", count(n, "hold"))
	}
}

// judgeUndone checks the numbers of undone redemptions.
func (j *partsJudgement) judgeUndone() {
	v := j.voucher
	if v.SingleUse() && v.Undone != len(j.undone) {
		j.add(KindUndone, "the voucher counts %s, but the records show %d", count(v.Undone, "undone redemption"), len(j.undone))
		return
	}
	wrong := 0
	for _, difference := range j.undoneOfNick {
		wrong += max(difference, -difference)
	}
	if v.MaxUsesPerNick != voucher.NoLimit && wrong > j.moved {
		j.add(KindUndone, "the items of nicks do not count exactly the %s that the records show", count(len(j.undone), "undone redemption"))
	}
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
	slices.SortFunc(ids, redemptionID.compare)
	n := 0
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] && (i == 1 || ids[i] != ids[i-2]) {
			n++
		}
	}
	return n
}

// judgeTerms checks the redemptions against the terms of a voucher that was never edited.
func (j *partsJudgement) judgeTerms() {
	v := j.voucher
	if !j.neverEdited() || j.madeHere == 0 {
		return
	}
	// An order can turn a hold of a discount into a redemption even after the voucher has expired.
	validUntil := v.ValidUntil
	if !validUntil.IsZero() && v.Reward.Goods() == nil {
		validUntil = validUntil.Add(checkout.Lifetime + checkout.LateOrders)
	}
	switch bound := v.Nick != (voucher.Nick{}); {
	case v.Disabled:
		j.add(KindTerms, "redeemed, although the voucher was always disabled")
	case j.first.Before(v.ValidFrom):
		j.add(KindTerms, "redeemed at %s, before the voucher was valid", written(j.first))
	case !validUntil.IsZero() && !j.last.Before(validUntil):
		j.add(KindTerms, "redeemed at %s, after the voucher had expired", written(j.last))
	case bound && (j.nicksDiffer || j.nick != v.Nick.Compared):
		j.add(KindTerms, "redeemed by a nick other than the one that the voucher is bound to")
	}
}

// neverEdited reports whether the voucher's terms were the same at every redemption.
func (a *Account) neverEdited() bool { return a.voucher.Version == 1 && a.isSteady() }

// isSteady reports whether the voucher stayed the same while the account was read. Without glances, it returns true. If Judge then finds a
// fault, the code is read again with glances.
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
