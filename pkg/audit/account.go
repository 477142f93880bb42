package audit

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"strconv"
	"time"

	"shopfront/pkg/voucher"
)

// ClockSkew is how far apart the clocks of a function and of the verifying machine may be. AWS rejects requests whose
// signature is more than five minutes early or late
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html).
const ClockSkew = 10 * time.Minute

// Counter has a part of the uses of a code with a limit above one.
type Counter struct {
	Number     int // from 0
	Left, Used int
	Edit       int64     // the version that the last edit of the limit gave the voucher; 0: the limit was never edited
	Lapse      time.Time // no hold of the counter lapses earlier; zero: the counter never had a hold
}

// Nick is the item of a nick.
type Nick struct {
	Holder        string // the NickID
	Taken, Undone int    // the numbers that the item stores
	Redemptions   []voucher.Redemption
	Holds         []voucher.Hold
}

// redemptionID is the ID of a redemption in binary. It must be small, because an account holds the IDs of all
// redemptions of a code.
type redemptionID [16]byte

func (id redemptionID) compare(other redemptionID) int { return bytes.Compare(id[:], other[:]) }

// heldUse is a hold in compact form. It was read from an item of its own or from the item of a nick.
type heldUse struct {
	id      redemptionID
	holder  string // the NickID; empty: the code has no limit per nick
	until   int64  // milliseconds
	counter int64
}

func (h heldUse) compare(other heldUse) int {
	return cmp.Or(
		h.id.compare(other.id), cmp.Compare(h.holder, other.holder), cmp.Compare(h.until, other.until),
		cmp.Compare(h.counter, other.counter),
	)
}

// Account adds up the items that are stored under one code. Items can be added in any order. Each redemption takes 16
// bytes, and each hold at most 96. Create it with NewAccount.
type Account struct {
	Code  voucher.Code
	Items int // the number of items added

	home     Place
	faults   []Finding // about single items
	unread   bool      // an item could not be read, so sums would be wrong
	voucher  *voucher.Standing
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
func (a *Account) AddVoucher(v voucher.Standing) {
	a.Items++
	a.voucher = &v
	if v.Imported < 0 || v.SingleUse() && v.Imported > 0 && v.Redeemed == nil {
		a.fault(found(KindMalformed, a.home,
			"the voucher cannot have %d imported uses: the number is below zero, or the redemption is missing",
			v.Imported))
	}
	if v.Over < 0 || v.Returns < 0 || v.Undone < 0 {
		a.fault(found(KindMalformed, a.home,
			"a voucher cannot have %d uses over its limit, %d that came back or %d undone", v.Over, v.Returns,
			v.Undone))
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
		a.faults = append(a.faults, Finding{
			KindOverdrawn, a.Code, place,
			"the counter has " + count(c.Left, "use") + " left",
		})
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
		a.undoneOfNick[n.Holder] += n.Undone
	}
	a.mostOfNick = max(a.mostOfNick, taken)
}

// AddRedemption adds the item of one redemption. nick is the NickID of its nick.
func (a *Account) AddRedemption(place Place, redemption voucher.Redemption, nick string) {
	a.addPart(place)
	if redemption.Undone.IsZero() {
		a.looseItems++
	} else {
		a.undoneOfNick[nick]--
	}
	a.addRedemption(place, redemption)
}

// AddHold adds the item of a hold. holder is the NickID of the nick that has the hold, or empty.
func (a *Account) AddHold(place Place, hold voucher.Hold, holder string) {
	a.addPart(place)
	if use, ok := a.heldUse(place, hold, holder); ok {
		a.holds = append(a.holds, use)
	}
}

func (a *Account) heldUse(place Place, hold voucher.Hold, holder string) (use heldUse, ok bool) {
	use = heldUse{holder: holder, until: hold.Until.UnixMilli(), counter: int64(hold.Counter)}
	use.id, ok = a.decodeID(place, hold.ID)
	return use, ok
}

// decodeID reads the ID of a redemption or hold.
func (a *Account) decodeID(place Place, text string) (id redemptionID, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(decoded) != len(id) {
		a.fault(found(KindMalformed, place, "the ID of a redemption or hold is malformed"))
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
		a.latest = latest(a.latest, redemption.Undone)
		if redemption.Undone.Before(redemption.At.Add(-ClockSkew)) {
			a.fault(found(KindMalformed, place, "undone at %s, but redeemed at %s", written(redemption.Undone),
				written(redemption.At)))
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
