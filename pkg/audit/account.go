package audit

import (
	"bytes"
	"encoding/base64"
	"time"

	"shopfront/pkg/voucher"
)

// ClockSkew is how far apart the clocks of a function and of the verifying machine may be. AWS rejects requests whose
// signature is more than five minutes early or late
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html).
const ClockSkew = 10 * time.Minute

// Nick is the item of a nick. A redemption of a code with a limit per nick is recorded in it.
type Nick struct {
	Item

	ID          string // the NickID
	Limit       int64
	Apart       bool // redemptions that were undone are recorded apart
	Redemptions []voucher.Redemption
}

// redemptionID is the ID of a redemption in binary. It must be small, because an account holds the IDs of all
// redemptions of a code.
type redemptionID [16]byte

func (id redemptionID) compare(other redemptionID) int { return bytes.Compare(id[:], other[:]) }

// Account adds up the items that are stored under one code. Items can be added in any order. Each redemption takes 16
// bytes. Create it with NewAccount.
type Account struct {
	Code  voucher.Code
	Items int    // the number of items added
	Held  []Held // all holds of the code and its nicks

	home    Place
	faults  []Finding // about single items
	unread  bool      // an item could not be read, so sums would be wrong
	voucher *voucher.Voucher
	head    Item
	apart   bool // redemptions of a single-use code that were undone are recorded apart
	parts   map[int]Item

	nickItems, looseItems int    // items of nicks, and items of a single redemption that was not undone
	anyPart               string // the sort key of one item other than the voucher
	nickLimits            map[int64]bool
	isNickInDebt          bool

	redemptions []redemptionID // not undone
	undone      []redemptionID
	// apartOfNick is true for a nick whose item states redemptions apart. undoneOfNick is true for a nick of one.
	apartOfNick, undoneOfNick map[string]bool

	latest time.Time // the latest time of a redemption or an undoing

	madeHere    int // redemptions that were not imported; the next four fields are about them
	first, last time.Time
	nick        string // the nick of the first redemption that was added, as compared
	nicksDiffer bool

	isBracketed   bool
	before, after Glance
}

// NewAccount returns an account without items. home is the place where its voucher belongs.
func NewAccount(code voucher.Code, home Place) *Account {
	return &Account{
		Code: code, home: home, parts: make(map[int]Item), nickLimits: make(map[int64]bool),
		apartOfNick: make(map[string]bool), undoneOfNick: make(map[string]bool),
	}
}

// Redemptions returns the number of recorded redemptions, including undone ones.
func (a *Account) Redemptions() int { return len(a.redemptions) + len(a.undone) }

// HasVoucher reports whether the voucher itself was added.
func (a *Account) HasVoucher() bool { return a.voucher != nil }

// Fault adds an item that cannot be read. kind is KindMalformed or KindMisplaced.
func (a *Account) Fault(place Place, kind Kind, message string) {
	a.Items++
	a.fault(found(kind, place, "%s", message))
}

func (a *Account) fault(f Finding) {
	f.Code = a.Code
	a.faults = append(a.faults, f)
	a.unread = true
}

// AddVoucher adds the voucher, which is the head of its allowance. A single-use voucher includes its redemption. apart
// means that redemptions of it that were undone are recorded apart.
func (a *Account) AddVoucher(v voucher.Voucher, head Item, redemptions []voucher.Redemption, apart bool) {
	a.Items++
	a.voucher, a.head, a.apart = &v, head, apart
	a.faults = append(a.faults, coded(a.Code, head.judge(a.home))...)
	a.hold(a.home, head, voucher.Take{Of: voucher.OfCode, Item: -1})
	if v.Imported < 0 || v.SingleUse() && v.Imported > 0 && v.Redeemed == nil {
		a.fault(found(KindMalformed, a.home,
			"the voucher cannot have %d imported uses: the number is below zero, or the redemption is missing",
			v.Imported))
	}
	for _, redemption := range redemptions {
		a.addRedemption(a.home, redemption)
	}
}

// AddPart adds a part of the allowance. number starts at 0.
func (a *Account) AddPart(place Place, number int, part Item) {
	a.addPart(place)
	a.parts[number] = part
	wrong := part.judge(place)
	if part.Left < 0 {
		wrong = append(wrong, found(KindAllowance, place, "a part cannot have %s left", count(int(part.Left), "use")))
	}
	a.faults = append(a.faults, coded(a.Code, wrong)...)
	a.hold(place, part, voucher.Take{Of: voucher.OfCode, Item: number})
}

// AddNick adds the item of a nick.
func (a *Account) AddNick(place Place, n Nick) {
	a.addPart(place)
	a.nickItems++
	for _, redemption := range n.Redemptions {
		a.addRedemption(place, redemption)
	}
	taken := int64(len(n.Redemptions))
	if wrong := JudgeItem(place, "the nick", n.Limit, n.Item, taken, taken); len(wrong) > 0 {
		a.faults = append(a.faults, coded(a.Code, wrong)...)
	} else {
		a.nickLimits[n.Limit] = true
		a.isNickInDebt = a.isNickInDebt || n.Left < 0
	}
	if n.Apart {
		a.apartOfNick[n.ID] = true
	}
	a.hold(place, n.Item, voucher.Take{Of: voucher.OfNick, Item: -1})
}

// AddRedemption adds the item of one redemption. nick is the NickID of its nick.
func (a *Account) AddRedemption(place Place, redemption voucher.Redemption, nick string) {
	a.addPart(place)
	if redemption.Undone.IsZero() {
		a.looseItems++
	} else {
		a.undoneOfNick[nick] = true
	}
	a.addRedemption(place, redemption)
}

func (a *Account) hold(place Place, item Item, take voucher.Take) {
	for _, hold := range item.Holds {
		a.Held = append(a.Held, Held{hold, place, a.Code, take})
	}
}

func coded(code voucher.Code, findings []Finding) []Finding {
	for i := range findings {
		findings[i].Code = code
	}
	return findings
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
