package reconciliation

import (
	"bytes"
	"encoding/base64"
	"slices"
	"time"

	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// ClockSkew is how far the clocks of a function and of whoever verifies may be apart: AWS refuses requests that are signed
// more than five minutes off (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html), in either direction.
const ClockSkew = 10 * time.Minute

// Voucher is a voucher as it stands in the store.
type Voucher struct {
	voucher.Voucher

	Editing voucher.Limit // the limit that an unfinished edit is on its way to, or voucher.NoLimit
}

// Counter is a part of the uses of a code with a limit above one.
type Counter struct {
	Number     int // from 0
	Left, Used int
	Edit       int64 // the version that the voucher had in the last edit of its limit; 0: there was none
}

// Record is a redemption of a code of many uses.
type Record struct {
	ID   string
	At   time.Time
	Nick string // as written; empty: none
}

// Glance is a look at a voucher and its counters before or after the rest was read.
type Glance struct {
	Found   bool
	Version int64
	Used    int // the counters' sum
}

// redemptionID is a redemption's ID in as few bytes as can be: those of a code are held all at once.
type redemptionID [16]byte

// Account adds up what is kept under one code. It takes the items in any order; what it holds of each redemption is 16
// bytes. Make it with NewAccount.
type Account struct {
	Code  voucher.Code
	Items int // that were added

	home     Place
	faults   []Finding // of single items
	unread   bool      // an item could not be read where it stands: sums over the account mean nothing
	voucher  *Voucher
	counters map[int]Counter

	nickItems, looseItems int    // holding a nick's redemptions, or one
	anyPart               string // the sort key of one of the counters and those
	mostOfNick            int    // the most redemptions that a nick's item holds

	redemptions []redemptionID
	first, last time.Time
	nick        string // of one redemption, as compared
	nicksDiffer bool

	isBracketed   bool
	before, after Glance
}

// NewAccount is an account without items. home is where its voucher belongs.
func NewAccount(code voucher.Code, home Place) *Account {
	return &Account{Code: code, home: home, counters: make(map[int]Counter)}
}

// Redemptions is how many redemptions are on record.
func (a *Account) Redemptions() int { return len(a.redemptions) }

// HasVoucher tells whether the voucher itself was among the items.
func (a *Account) HasVoucher() bool { return a.voucher != nil }

// Fault adds an item that cannot be read as what it should be; kind is KindMalformed, KindMisplaced or KindIncomplete.
func (a *Account) Fault(place Place, kind Kind, message string) {
	a.Items++
	a.fault(found(kind, place, "%s", message))
}

func (a *Account) fault(f Finding) {
	f.Code = a.Code
	a.faults = append(a.faults, f)
	a.unread = true
}

// AddVoucher adds the voucher, with the redemption of a single-use one.
func (a *Account) AddVoucher(v Voucher) {
	a.Items++
	a.voucher = &v
	if v.Redeemed != nil {
		a.addRecord(a.home, Record{ID: v.Redeemed.ID, At: v.Redeemed.At, Nick: v.Redeemed.Nick})
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

// AddNick adds the item that holds the redemptions of one nick and counts them.
func (a *Account) AddNick(place Place, taken int, records []Record) {
	a.addPart(place)
	a.nickItems++
	for _, record := range records {
		a.addRecord(place, record)
	}
	if taken != len(records) {
		a.faults = append(a.faults, Finding{
			KindNickUses, a.Code, place, "the item counts " + count(taken, "redemption") + " of its nick and holds " + count(len(records), ""),
		})
	}
	a.mostOfNick = max(a.mostOfNick, len(records))
}

// AddRedemption adds the item of one redemption.
func (a *Account) AddRedemption(place Place, record Record) {
	a.addPart(place)
	a.looseItems++
	a.addRecord(place, record)
}

func (a *Account) addPart(place Place) {
	a.Items++
	if a.anyPart == "" {
		a.anyPart = place.Sort
	}
}

func (a *Account) addRecord(place Place, record Record) {
	id, err := base64.RawURLEncoding.DecodeString(record.ID)
	if err != nil || len(id) != len(redemptionID{}) {
		a.fault(found(KindMalformed, place, "the redemption's ID is malformed"))
		return
	}
	nick, err := voucher.ParseNick(record.Nick)
	if err != nil {
		a.fault(found(KindMalformed, place, "the redemption's %v", err))
		return
	}
	if len(a.redemptions) == 0 {
		a.first, a.last, a.nick = record.At, record.At, nick.Compared
	}
	a.redemptions = append(a.redemptions, redemptionID(id))
	if record.At.Before(a.first) {
		a.first = record.At
	}
	if record.At.After(a.last) {
		a.last = record.At
	}
	a.nicksDiffer = a.nicksDiffer || nick.Compared != a.nick
}

// Between says how the voucher and its counters stood before the first of the items was read and after the last. Counters
// count upwards only and a redemption stays, so what was on record in between lies between the two.
func (a *Account) Between(before, after Glance) {
	a.before, a.after, a.isBracketed = before, after, true
}

// Judgement is what one reading of an account says.
type Judgement struct {
	// Certain findings are of single items, which are read whole or not at all.
	Certain []Finding
	// Doubtful findings are of several items, which were not read at one moment: they hold if reading again finds them again.
	Doubtful []Finding
	// Motion tells that not all could be judged, for the voucher changed meanwhile; nil: all was.
	Motion *Motion
}

// Judge says what is wrong with the account, of a customer with a currency, as seen at a time.
func (a *Account) Judge(currency money.Currency, now time.Time) Judgement {
	j := Judgement{Certain: slices.Clone(a.faults)}
	if a.last.After(now.Add(ClockSkew)) {
		j.Certain = append(j.Certain, a.foundf(KindFuture, "redeemed at %s, and now is %s", written(a.last), written(now)))
	}
	if a.unread {
		return j
	}
	if a.voucher == nil {
		if a.isBracketed && (a.before.Found || a.after.Found) {
			j.Motion = a.motion(MotionChange)
		} else {
			j.Doubtful = append(j.Doubtful, a.foundf(KindOrphaned, "%s, such as %s, but no voucher", count(a.Items, "item"), a.anyPart))
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
		m.Message = "an edit of its limit goes on or was interrupted; run again, that edit completes it"
	case MotionChange:
		m.Message = "it was created or edited meanwhile"
	case MotionRedemption:
		m.Message = "it was redeemed meanwhile"
	}
	return m
}

// judgeVoucher judges the voucher's own item.
func (a *Account) judgeVoucher(currency money.Currency) []Finding {
	v := a.voucher
	if err := v.Reward.InCurrency(currency); err != nil {
		return []Finding{a.foundf(KindCurrency, "%v", err)}
	}
	if _, err := v.Edited(voucher.Edit{}); err != nil { // an edit that changes nothing judges what there is
		return []Finding{a.foundf(KindMalformed, "%v", err)}
	}
	switch {
	case v.Version < 1:
		return []Finding{a.foundf(KindMalformed, "the voucher has the version %d", v.Version)}
	case v.Limited() && (v.Counters < 1 || v.Counters > voucher.MaxCounters):
		return []Finding{a.foundf(KindWrongKind, "a voucher with a limit of %d uses names %s", v.MaxUses, count(v.Counters, "counter"))}
	case !v.Limited() && v.Counters != 0:
		return []Finding{a.foundf(KindWrongKind, "a voucher without a limit above one names %s", count(v.Counters, "counter"))}
	case !v.Limited() && (v.Full || v.Editing != voucher.NoLimit):
		return []Finding{a.foundf(KindWrongKind, "a voucher without a limit above one is marked as full or as being edited to another")}
	case !v.SingleUse() && v.Redeemed != nil:
		return []Finding{a.foundf(KindWrongKind, "a voucher of many uses holds a redemption of its own")}
	default:
		return nil
	}
}

// judgeParts judges what stands beside the voucher, and it with that.
func (a *Account) judgeParts() []Finding {
	v := a.voucher
	perNick := v.MaxUsesPerNick != voucher.NoLimit
	switch {
	case !v.Limited() && len(a.counters) > 0:
		return []Finding{a.foundf(KindWrongKind, "%s, but the voucher has no limit above one", count(len(a.counters), "counter"))}
	case a.nickItems > 0 && !perNick:
		return []Finding{a.foundf(KindWrongKind, "%s of nicks, but the voucher has no limit per nick", count(a.nickItems, "item"))}
	case a.looseItems > 0 && (perNick || v.SingleUse()):
		return []Finding{a.foundf(KindWrongKind, "%s of redemptions that such a voucher keeps elsewhere", count(a.looseItems, "item"))}
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
		return []Finding{a.foundf(KindCounters, "%s; the voucher names %d", count(len(a.counters), "counter"), v.Counters)}
	}
	var wrong []Finding
	least, most := used, used
	if a.isBracketed {
		least, most = a.before.Used, a.after.Used
	}
	if n := len(a.redemptions); n < least || n > most {
		wrong = append(wrong, a.foundf(KindUses, "the counters say %s taken, on record is %s", count(used, "use"), count(n, "redemption")))
	}
	if !a.isSteady() {
		return wrong
	}
	if message := v.judgeEdits(a.counters); message != "" {
		wrong = append(wrong, a.foundf(KindEdits, "%s", message))
	}
	if v.Editing != voucher.NoLimit {
		return wrong
	}
	// A limit that was lowered below what was used leaves nothing, and more taken than it allows.
	lowered := a.limitWasEdited() && left == 0 && used > int(v.MaxUses)
	if left+used != int(v.MaxUses) && !lowered {
		wrong = append(wrong, a.foundf(KindLimit, "the counters hold %d left and %d taken, the limit is %d", left, used, v.MaxUses))
	}
	if v.Full && left > 0 {
		wrong = append(wrong, a.foundf(KindFull, "the voucher is marked as full and has %s left", count(left, "use")))
	}
	return wrong
}

// limitWasEdited tells by the counters: an edit of another field leaves them as they are.
func (a *Account) limitWasEdited() bool {
	for _, counter := range a.counters {
		if counter.Edit > 0 {
			return true
		}
	}
	return false
}

// judgeEdits says what is wrong with the edits that the counters are of. An edit of the limit takes a version of the
// voucher's, leaves it at every counter, and ends in the version after it. While none goes on, all counters are of one.
func (v *Voucher) judgeEdits(counters map[int]Counter) string {
	for _, counter := range counters {
		switch {
		case v.Editing != voucher.NoLimit && counter.Edit > v.Version, v.Editing == voucher.NoLimit && counter.Edit >= v.Version:
			return "a counter is of a later edit than the voucher"
		case v.Editing == voucher.NoLimit && counter.Edit != counters[0].Edit:
			return "the counters are of different edits, and none goes on"
		}
	}
	return ""
}

// duplicates is how many IDs are recorded more than once.
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

// judgeTerms judges redemptions by a voucher that is known to have had the same terms always.
func (a *Account) judgeTerms() []Finding {
	v := a.voucher
	if !a.neverEdited() || len(a.redemptions) == 0 {
		return nil
	}
	switch bound := v.Nick != (voucher.Nick{}); {
	case v.Disabled:
		return []Finding{a.foundf(KindTerms, "redeemed, and it was disabled always")}
	case a.first.Before(v.ValidFrom):
		return []Finding{a.foundf(KindTerms, "redeemed at %s, before it began", written(a.first))}
	case !v.ValidUntil.IsZero() && !a.last.Before(v.ValidUntil):
		return []Finding{a.foundf(KindTerms, "redeemed at %s, when it had ended", written(a.last))}
	case bound && (a.nicksDiffer || a.nick != v.Nick.Compared):
		return []Finding{a.foundf(KindTerms, "redeemed by another nick than it was always bound to")}
	default:
		return nil
	}
}

// neverEdited tells that the voucher's terms were the same whenever it was redeemed.
func (a *Account) neverEdited() bool { return a.voucher.Version == 1 && a.isSteady() }

// isSteady tells that the voucher was not edited while the account was read. Whether it was is only known of one that was
// looked at before and after; others are judged as if it was not, and what is then found wrong is read again.
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
