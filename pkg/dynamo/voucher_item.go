package dynamo

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Attributes of the vouchers table. They are short because a single-use voucher with its redemption must stay within 1 KB,
// the size that one write unit covers. Most are words that DynamoDB reserves, so expressions name them through aliases.
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

	// recordAttrPrefix precedes a token in the name of the attribute that holds a redemption.
	recordAttrPrefix = "r#"
	// spellingAttrPrefix precedes what spellingOf makes of a nick in the name of the attribute that holds it as written.
	spellingAttrPrefix = "n#"
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

// decodeVoucher wraps no error of the fields: those are for what a request or an operator got wrong, not the store.
func decodeVoucher(it item) (keptVoucher, error) {
	reward, err := voucher.ParseReward(it.str(attrReward), money.Currency(it.str(attrCurrency)))
	if err != nil {
		return keptVoucher{}, fmt.Errorf("voucher item: %v", err) //nolint:errorlint // see above
	}
	nick, err := voucher.ParseNick(it.str(attrNick))
	if err != nil {
		return keptVoucher{}, fmt.Errorf("voucher item: %v", err) //nolint:errorlint // see above
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

// record is how an item keeps one redemption: its ID, the time in base 36 milliseconds, and which of the item's spellings of
// the nick the request had, joined by dots. Its code and reward are the voucher's, which never change. It is this terse
// because the item of a nick, with ten of them, must stay within the 1 KB that one write unit covers.
type record struct {
	id       string
	at       time.Time
	spelling string // empty: the request had no nick
}

func newRecord(claim voucher.Claim) record {
	return record{id: claim.RedemptionID, at: claim.At, spelling: spellingOf(claim.Nick)}
}

// spellingOf is the name, behind spellingAttrPrefix, of the attribute that holds a nick as written: the same for the same
// spelling, so that an item holds each once.
func spellingOf(nick voucher.Nick) string {
	if nick.Written == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(nick.Written))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

func (r record) encode() types.AttributeValue {
	return str(r.id + "." + strconv.FormatInt(r.at.UnixMilli(), 36) + "." + r.spelling)
}

func decodeRecord(text string) (record, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return record{}, errors.New("malformed record of a redemption")
	}
	at, err := strconv.ParseInt(parts[1], 36, 64)
	if err != nil {
		return record{}, fmt.Errorf("malformed record of a redemption: %w", err)
	}
	return record{id: parts[0], at: time.UnixMilli(at).UTC(), spelling: parts[2]}, nil
}

// recorded reads the redemption that an item holds under a token, if it does.
func recorded(token idempotency.Token, v voucher.Voucher, it item) (redemption voucher.Redemption, found bool, err error) {
	text := it.str(recordAttrPrefix + string(token))
	if text == "" {
		return voucher.Redemption{}, false, nil
	}
	r, err := decodeRecord(text)
	if err != nil {
		return voucher.Redemption{}, false, err
	}
	return voucher.Redemption{
		ID: r.id, At: r.at, Nick: it.str(spellingAttrPrefix + r.spelling), Code: v.Written, Reward: v.Reward,
	}, true, nil
}
