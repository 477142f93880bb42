package dynamo

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Attributes of the vouchers table. They are short because a single-use voucher with its redemption must stay within 1 KB,
// the size that one write unit covers. Most are words that DynamoDB reserves, so expressions name them through names().
const (
	attrCode       = "code"
	attrReward     = "reward"   // as voucher.ParseReward reads it
	attrCurrency   = "currency" // of a reward that is an amount off
	attrMaxUses    = "maxUses"  // absent: no limit
	attrPerNick    = "perNick"  // absent: no limit
	attrFrom       = "from"     // milliseconds; always there, so that a condition can compare it
	attrUntil      = "until"    // milliseconds; always there
	attrDisabled   = "disabled"
	attrNick       = "nick"     // as written: whom the voucher is bound to; whose the redemption is
	attrNickHash   = "nickHash" // whom the voucher is bound to, as compared
	attrBatch      = "batch"
	attrNote       = "note"
	attrCreated    = "created"
	attrVersion    = "version"  // of a voucher or a counter: rises with each edit
	attrCounters   = "counters" // how many counters the voucher has
	attrFull       = "full"     // every use was seen taken
	attrEditing    = "editing"  // the limit that an edit is on its way to
	attrEditor     = "editor"   // a random number of the last edit of the limit
	attrRedemption = "redemption"
	attrToken      = "token"
	attrRedeemed   = "redeemed"   // milliseconds
	attrRedeemedBy = "redeemedBy" // nick as written
	attrLeft       = "left"       // a counter's uses left
	attrUsed       = "used"       // a counter's uses taken
	attrTaken      = "taken"      // how many redemptions a nick's item holds

	// redemptionAttrPrefix precedes the token in the name of an attribute of a nick's item that holds a redemption.
	redemptionAttrPrefix = "r#"
)

// farFuture, the last millisecond of the year 9999, stands for the end of a voucher that has none.
const farFuture = 253402300799999

// keptVoucher is a voucher as it stands in the store.
type keptVoucher struct {
	voucher.Voucher
	token   idempotency.Token // of a single-use voucher's redemption
	editing voucher.Limit     // the limit that an unfinished edit is on its way to
	editor  int64             // the last edit of the limit
}

func encodeVoucher(customer catalog.CustomerID, v voucher.Voucher) item {
	it := voucherKey{customer, v.Code}.primary().attributes()
	it[attrCode] = str(v.Written)
	it[attrReward] = str(v.Reward.String())
	if v.Reward.Kind == voucher.RewardAmountOff {
		it[attrCurrency] = str(string(v.Reward.AmountOff.Currency))
	}
	if v.MaxUses != voucher.NoLimit {
		it[attrMaxUses] = num(v.MaxUses)
	}
	if v.Counters > 0 {
		it[attrCounters] = num(v.Counters)
	}
	it[attrCreated] = millis(v.Created)
	it[attrVersion] = num(v.Version)
	maps.Copy(it, encodeEditable(v))
	return it
}

// encodeEditable holds the attributes that an edit writes, the limit on uses apart, which follows its counters.
func encodeEditable(v voucher.Voucher) item {
	it := item{attrFrom: num(0), attrUntil: num(int64(farFuture)), attrDisabled: boolean(v.Disabled)}
	if !v.ValidFrom.IsZero() {
		it[attrFrom] = millis(v.ValidFrom)
	}
	if !v.ValidUntil.IsZero() {
		it[attrUntil] = millis(v.ValidUntil)
	}
	if v.MaxUsesPerNick != voucher.NoLimit {
		it[attrPerNick] = num(v.MaxUsesPerNick)
	}
	if v.Nick != (voucher.Nick{}) {
		it[attrNick] = str(v.Nick.Written)
		it[attrNickHash] = str(hashNick(v.Nick))
	}
	it.setStr(attrBatch, v.Batch)
	it.setStr(attrNote, v.Note)
	return it
}

func decodeVoucher(it item) (keptVoucher, error) {
	reward, err := voucher.ParseReward(it.str(attrReward), money.Currency(it.str(attrCurrency)))
	if err != nil {
		return keptVoucher{}, fmt.Errorf("voucher item: %w", err)
	}
	nick, err := voucher.ParseNick(it.str(attrNick))
	if err != nil {
		return keptVoucher{}, fmt.Errorf("voucher item: %w", err)
	}
	v := keptVoucher{
		Voucher: voucher.Voucher{
			Code: codeOf(keyOf(it)), Written: it.str(attrCode), Reward: reward,
			MaxUses: voucher.Limit(it.num(attrMaxUses)), MaxUsesPerNick: voucher.Limit(it.num(attrPerNick)),
			Disabled: it.boolean(attrDisabled), Nick: nick, Batch: it.str(attrBatch), Note: it.str(attrNote),
			Created: it.time(attrCreated), Counters: int(it.num(attrCounters)), Full: it.boolean(attrFull),
			Version: it.num(attrVersion),
		},
		token:   idempotency.Token(it.str(attrToken)),
		editing: voucher.Limit(it.num(attrEditing)),
		editor:  it.num(attrEditor),
	}
	if it.num(attrFrom) != 0 {
		v.ValidFrom = it.time(attrFrom)
	}
	if it.num(attrUntil) != farFuture {
		v.ValidUntil = it.time(attrUntil)
	}
	if it.has(attrRedemption) {
		v.Redeemed = &voucher.Redemption{
			ID: it.str(attrRedemption), At: it.time(attrRedeemed), Nick: it.str(attrRedeemedBy),
			Code: v.Written, Reward: v.Reward,
		}
	}
	return v, nil
}

// Members of the map that records one redemption.
const (
	recordID   = "id"
	recordAt   = "at" // milliseconds
	recordNick = "nick"
)

// encodeRedemption holds what is recorded of one redemption; its code and reward are the voucher's, which never change.
func encodeRedemption(claim voucher.Claim) types.AttributeValue {
	record := item{recordID: str(claim.RedemptionID), recordAt: millis(claim.At)}
	record.setStr(recordNick, claim.Nick.Written)
	return &types.AttributeValueMemberM{Value: record}
}

func decodeRedemption(record item, v voucher.Voucher) voucher.Redemption {
	return voucher.Redemption{
		ID: record.str(recordID), At: record.time(recordAt), Nick: record.str(recordNick),
		Code: v.Written, Reward: v.Reward,
	}
}
