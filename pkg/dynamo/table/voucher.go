package table

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Attributes of the vouchers table. The names are short because a single-use voucher with its redemption must fit in 1
// KB, the size that one write unit covers. Only a reward of several goods with long IDs takes two or three units. Many
// names are reserved words of DynamoDB, so expressions use aliases.
const (
	AttrCode     = "code"     // as created; also in every item with redemptions
	AttrReward   = "reward"   // see decodeReward
	AttrCurrency = "currency" // of the reward, if it is an amount off
	AttrMaxUses  = "maxUses"  // missing: no limit
	AttrPerNick  = "perNick"  // missing: no limit
	AttrFrom     = "from"     // milliseconds; always present, so that a condition can compare it
	AttrUntil    = "until"    // milliseconds; always present
	AttrDisabled = "disabled"
	AttrNick     = "nick"     // the only nick that may redeem the voucher, as written
	AttrNickHash = "nickHash" // HashNick of that nick
	AttrBatch    = "batch"
	AttrNote     = "note"
	AttrCreated  = "created"  // milliseconds
	AttrVersion  = "version"  // of a voucher, a counter or an item of the catalogue; each edit raises the version
	AttrCounters = "counters" // the number of counters
	AttrEditing  = "editing"  // the limit that an unfinished edit is moving to
	AttrEditor   = "editor"   // a random number that identifies the last edit of the limit
	AttrLeft     = "left"     // uses left in a counter
	AttrUsed     = "used"     // uses taken from a counter; of a single-use voucher, 1 if it was redeemed
	AttrTaken    = "taken"    // the number of redemptions and holds in the item of a nick

	AttrHold      = "hold"      // the ID of the hold of a single-use voucher
	AttrHeldUntil = "heldUntil" // milliseconds; when that hold lapses
	AttrHeldBy    = "heldBy"    // the nick of that hold, as written
	// milliseconds; no use is free until then; valid while AttrFullVersion is the voucher's version
	AttrFullUntil   = "fullUntil"
	AttrFullVersion = "fullVersion" // see AttrFullUntil
	AttrOver        = "over"        // the number of uses taken beyond a lowered limit; missing: 0
	// how many uses were given back, including those that did not become free because AttrOver was above 0; missing: 0
	AttrReturns = "returns"
	// milliseconds; no hold of the counter lapses earlier; missing: the counter never had a hold
	AttrLapse = "lapse"
	// in a counted hold, if the voucher has a limit per nick: the NickID of the hold's nick
	AttrHolder = "holder"
	// AttrUndone, in a voucher or the item of a nick, is the number of redemptions that were undone. In the item of one
	// redemption, it is the time in milliseconds when the redemption was undone.
	AttrUndone = "undone"
	// AttrImported, in a voucher, is the number of uses that were made before the voucher was imported; missing: 0.
	AttrImported = "imported"
	AttrUndoneBy = "undoneBy" // in an undone redemption: who undid it; missing: unknown
	AttrLapses   = "lapses"   // in the refusals table: see EncodeLapses

	// RecordPrefix and a token form the name of an attribute with a redemption, see EncodeRecord.
	RecordPrefix = "b#"
	// HoldPrefix and the ID of a hold form the name of an attribute with a hold, in the item of a nick.
	HoldPrefix = "h#"
)

// FarFuture is the last millisecond of the year 9999. It is stored as the end of a voucher that does not expire.
const FarFuture = 253402300799999

// NoCounter is the Counter of a hold whose use was not taken from a counter.
const NoCounter = -1

// Voucher is a voucher as it is stored.
type Voucher struct {
	voucher.Voucher

	Editing voucher.Limit // the limit that an unfinished edit is moving to
	Editor  int64         // identifies the last edit of the limit
}

// EncodeVoucher returns the item of a new voucher. An imported voucher may already have a redemption.
func EncodeVoucher(shop catalog.ShopID, v voucher.Voucher) Item {
	it := VoucherKey(shop, v.Code).Attributes()
	it[AttrCode] = Str(v.Written)
	it.setNum(AttrMaxUses, int64(v.MaxUses))
	it.setNum(AttrCounters, int64(v.Counters))
	it.setNum(AttrImported, int64(v.Imported))
	it.setNum(AttrOver, int64(v.Over))
	if r := v.Redeemed; r != nil {
		it[AttrUsed], it[RecordPrefix+r.ID] = Num(1), EncodeRecord(*r)
	}
	it[AttrCreated] = Millis(v.Created)
	it[AttrVersion] = Num(v.Version)
	maps.Copy(it, EncodeEditable(v))
	return it
}

// EncodeEditable returns the attributes that an edit writes. The limit on uses is not among them, because changing it
// also changes the counters.
func EncodeEditable(v voucher.Voucher) Item {
	it := Item{
		AttrReward: Str(v.Reward.String()), AttrFrom: Num(0), AttrUntil: Num(int64(FarFuture)),
		AttrDisabled: Bool(v.Disabled),
	}
	if v.Reward.Kind == voucher.RewardAmountOff {
		it[AttrCurrency] = Str(v.Reward.AmountOff.Currency)
	}
	if !v.ValidFrom.IsZero() {
		it[AttrFrom] = Millis(v.ValidFrom)
	}
	if !v.ValidUntil.IsZero() {
		it[AttrUntil] = Millis(v.ValidUntil)
	}
	it.setNum(AttrPerNick, int64(v.MaxUsesPerNick))
	if v.Nick != (voucher.Nick{}) {
		it[AttrNick] = Str(v.Nick.Written)
		it[AttrNickHash] = Str(HashNick(v.Nick))
	}
	it.setStr(AttrBatch, v.Batch)
	it.setStr(AttrNote, v.Note)
	return it
}

// DecodeVoucher reads a voucher. Its errors do not wrap a *voucher.FieldError, because that would blame the request for
// a damaged item.
func DecodeVoucher(it Item) (Voucher, error) {
	reward, err := decodeReward(it.Str(AttrReward), money.Currency(it.Str(AttrCurrency)))
	if err != nil {
		return Voucher{}, fmt.Errorf("voucher item: reward: %v", err) //nolint:errorlint // a malformed ID here is not the request's fault
	}
	nick, err := voucher.ParseNick(it.Str(AttrNick))
	if err != nil {
		return Voucher{}, fmt.Errorf("voucher item: nick: %v", err) //nolint:errorlint // a malformed nick here is not the request's fault
	}
	v := Voucher{
		Voucher: voucher.Voucher{
			Code: KeyOf(it).Code(), Written: it.Str(AttrCode), Reward: reward,
			MaxUses: voucher.Limit(it.Num(AttrMaxUses)), MaxUsesPerNick: voucher.Limit(it.Num(AttrPerNick)),
			Disabled: it.Bool(AttrDisabled), Nick: nick, Batch: it.Str(AttrBatch), Note: it.Str(AttrNote),
			Created: it.Time(AttrCreated), Counters: int(it.Num(AttrCounters)),
			Version: it.Num(AttrVersion), Over: int(it.Num(AttrOver)), Returns: it.Num(AttrReturns),
			Undone:   int(it.Num(AttrUndone)),
			Imported: int(it.Num(AttrImported)),
		},
		Editing: voucher.Limit(it.Num(AttrEditing)),
		Editor:  it.Num(AttrEditor),
	}
	if it.Num(AttrFrom) != 0 {
		v.ValidFrom = it.Time(AttrFrom)
	}
	if it.Num(AttrUntil) != FarFuture {
		v.ValidUntil = it.Time(AttrUntil)
	}
	if it.Has(AttrFullUntil) && it.Num(AttrFullVersion) == v.Version {
		v.FullUntil = it.Time(AttrFullUntil)
	}
	if it.Has(AttrHold) {
		holder, err := voucher.ParseNick(it.Str(AttrHeldBy))
		if err != nil {
			return Voucher{}, fmt.Errorf("voucher item: holder: %v", err) //nolint:errorlint // a malformed nick here is not the request's fault
		}
		v.Held = &voucher.Hold{
			Kind: voucher.HoldSingleUse, ID: it.Str(AttrHold), Counter: NoCounter, Until: it.Time(AttrHeldUntil),
			Nick: holder,
		}
	}
	redemptions, err := Records(it)
	if len(redemptions) > 0 {
		v.Redeemed = &redemptions[0]
	}
	return v, err
}

// decodeReward reads a stored reward: product/variant, 2*product/variant, several goods joined by +, 20%, or an amount
// of the currency, such as 5.00. The reward was validated before it was stored, so a value outside the bounds means
// that the item is damaged.
func decodeReward(text string, currency money.Currency) (voucher.Reward, error) {
	if strings.Contains(text, "+") {
		return voucher.ParseReward(text, currency)
	}
	if percent, is := strings.CutSuffix(text, "%"); is {
		n, err := strconv.Atoi(percent)
		return voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: n}, within(err, int64(n), 100)
	}
	product, variant, is := strings.Cut(text, "/")
	if !is {
		off, err := money.Parse(text, currency)
		return voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: off}, within(err, off.Minor, money.MaxMinor)
	}
	reward := voucher.Reward{Kind: voucher.RewardProduct, Amount: 1}
	if amount, rest, is := strings.Cut(product, "*"); is {
		n, err := strconv.ParseInt(amount, 10, 64)
		if err := within(err, n, catalog.MaxAmount); err != nil {
			return voucher.Reward{}, err
		}
		reward.Amount, product = n, rest
	}
	var badProduct, badVariant error
	reward.Product, badProduct = catalog.ParseID[catalog.ProductID](product)
	reward.Variant, badVariant = catalog.ParseID[catalog.VariantID](variant)
	return reward, errors.Join(badProduct, badVariant)
}

func within(err error, n, most int64) error {
	if err == nil && (n < 1 || n > most) {
		return fmt.Errorf("%d is not from 1 to %d", n, most)
	}
	return err
}

// Counter is a counter as it is stored.
type Counter struct {
	Number     int // from 0
	Left, Used int
	Version    int64
	Lapse      time.Time // no hold lapses earlier; zero: the counter never had a hold
}

// DecodeCounter reads the counter with the given number.
func DecodeCounter(number int, it Item) Counter {
	return Counter{
		Number: number, Left: int(it.Num(AttrLeft)), Used: int(it.Num(AttrUsed)), Version: it.Num(AttrVersion),
		Lapse: it.timeOrZero(AttrLapse),
	}
}

// EncodeRecord returns the value of the attribute that records a redemption: the time in milliseconds in base 36, the
// Attempt, flags (o: made by an order, i: imported), the reward with the currency of an amount off, and the nick as
// written. Bars separate them, because only the nick can contain one. The value is this terse so that ten of them, in
// the item of a nick of 16 letters, fit in 1 KB, the size that one write unit covers. In the item of a voucher the
// reward may be missing: then it is the voucher's.
func EncodeRecord(r voucher.Redemption) types.AttributeValue {
	flags, reward := "", r.Reward.String()
	if r.ByOrder {
		flags += "o"
	}
	if r.Imported {
		flags += "i"
	}
	if r.Reward.Kind == voucher.RewardAmountOff {
		reward = r.Reward.AmountOff.String()
	}
	return Str(strings.Join([]string{strconv.FormatInt(r.At.UnixMilli(), 36), r.Attempt, flags, reward, r.Nick}, "|"))
}

// Recorded reads the redemption that an item holds under a token, if there is one.
func Recorded(token idempotency.Token, it Item) (r voucher.Redemption, found bool, err error) {
	text := it.Str(RecordPrefix + string(token))
	if text == "" {
		return voucher.Redemption{}, false, nil
	}
	parts := strings.SplitN(text, "|", 5)
	if len(parts) != 5 {
		return voucher.Redemption{}, false, errors.New("malformed record of a redemption")
	}
	at, malformed := strconv.ParseInt(parts[0], 36, 64)
	reward, currency, _ := strings.Cut(parts[3], " ")
	if reward == "" {
		reward, currency = it.Str(AttrReward), it.Str(AttrCurrency)
	}
	r = voucher.Redemption{
		ID: string(token), Code: it.Str(AttrCode), Nick: parts[4], At: time.UnixMilli(at).UTC(), Attempt: parts[1],
		ByOrder: strings.Contains(parts[2], "o"), Imported: strings.Contains(parts[2], "i"),
	}
	r.Reward, err = decodeReward(reward, money.Currency(currency))
	if err = errors.Join(malformed, err); err != nil {
		return voucher.Redemption{}, false, fmt.Errorf("malformed record of a redemption: %v", err) //nolint:errorlint // a malformed ID here is not the request's fault
	}
	if strings.Contains(it.Str(SortKey), RedemptionInfix) && it.Has(AttrUndone) {
		r.Undone, r.UndoReason, r.UndoneBy = it.Time(AttrUndone), it.Str(AttrReason), it.Str(AttrUndoneBy)
	}
	return r, true, nil
}

// Records reads all redemptions that an item holds, in the order of their tokens.
func Records(it Item) (found []voucher.Redemption, err error) {
	for name := range it {
		token, is := strings.CutPrefix(name, RecordPrefix)
		if !is {
			continue
		}
		redemption, is, err := Recorded(idempotency.Token(token), it)
		if !is && err == nil {
			err = errors.New("empty record of a redemption")
		}
		if err != nil {
			return nil, err
		}
		found = append(found, redemption)
	}
	slices.SortFunc(found, func(a, b voucher.Redemption) int { return strings.Compare(a.ID, b.ID) })
	return found, nil
}

// NickCondition returns the value that a condition compares with AttrNickHash. Without a nick the value is empty, so it
// does not match any voucher that is bound to a nick.
func NickCondition(nick voucher.Nick) string {
	if nick == (voucher.Nick{}) {
		return ""
	}
	return HashNick(nick)
}
