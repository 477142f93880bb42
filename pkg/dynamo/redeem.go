package dynamo

import (
	"cmp"
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// RedeemAPI is what redeeming and checking call of DynamoDB.
type RedeemAPI interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Redemptions redeems the vouchers of one table; it is a voucher.Store. Make it with NewRedemptions.
type Redemptions struct {
	api    RedeemAPI
	table  string
	random func(n int64) int64
	many   *manyUseCodes
}

// NewRedemptions returns the redemptions of a vouchers table. random returns a random number from 0 up to, not including,
// n; it spreads load and need not be secret.
func NewRedemptions(api RedeemAPI, table string, random func(n int64) int64) *Redemptions {
	return &Redemptions{api: api, table: table, random: random, many: newManyUseCodes()}
}

// errManyUses and errCounterEmpty lead from one step of a redemption to the next; they do not leave this file.
var (
	errManyUses     = errors.New("the code is of many uses")
	errCounterEmpty = errors.New("the counter has no uses left")
)

// errMayBeApplied says why a refusal is none.
var errMayBeApplied = errors.New("refused, but an attempt whose answer was lost may still be applied")

// Redeem takes one use of a voucher for the claim, or finds the redemption that the claim's token has already. Errors are
// a *voucher.RefusalError, where nothing was taken; an *UnavailableError, where that is unknown; and DynamoDB's own.
//
// A single-use code takes one call, a code of many uses a second one, for the first only reads its rules. A refusal of a
// request with a key takes one more, unless it is for the nick's limit, since the request may have been redeemed before the
// voucher ended; an unknown code takes it too, or time would tell it apart.
func (s *Redemptions) Redeem(ctx context.Context, claim voucher.Claim) (voucher.Redemption, error) {
	var lost lostAttempt
	redemption, v, err := s.redeemSingleUse(ctx, claim, &lost)
	if errors.Is(err, errManyUses) {
		redemption, err = s.redeemManyUses(ctx, claim, v, &lost)
	}
	if mayBeRedeemedBefore(claim, v, err) {
		redemption, err = s.recall(ctx, claim, v, err)
	}
	if lost.mayContradict(err) {
		err = &UnavailableError{errMayBeApplied}
	}
	return redemption, outcome(err)
}

// redeemSingleUse redeems a single-use code; one of many uses comes back with errManyUses, as it is. A code known to be of
// many uses is read, for there the failing write would itself be what a busy code is bound by.
func (s *Redemptions) redeemSingleUse(ctx context.Context, claim voucher.Claim, lost *lostAttempt) (voucher.Redemption, voucher.Voucher, error) {
	if s.many.has(voucherKey{claim.Customer, claim.Code}) {
		v, err := s.read(ctx, voucherKey{claim.Customer, claim.Code})
		if err != nil || !v.SingleUse() { // what is remembered saves a write, and decides nothing
			return voucher.Redemption{}, v, cmp.Or(err, errManyUses)
		}
	}
	taken, err := s.api.UpdateItem(ctx, singleUse(claim).input(s.table, types.ReturnValueAllNew), lost.note)
	old, failed := oldItem(err)
	switch {
	case failed:
		return s.judgeSingleUse(claim, old)
	case err != nil:
		return voucher.Redemption{}, voucher.Voucher{}, err
	}
	v, err := decodeVoucher(taken.Attributes)
	if err != nil {
		return voucher.Redemption{}, voucher.Voucher{}, err
	}
	return *v.Redeemed, v.Voucher, nil
}

// singleUse redeems the voucher as if it were single-use, with the whole rule in the condition, so that this one call
// decides such a code. Only an item that exists has maxUses: the condition does not create one.
func singleUse(claim voucher.Claim) *update {
	call := &update{key: voucherKey{claim.Customer, claim.Code}.primary()}
	call.set(attrRedemption, str(claim.RedemptionID))
	call.set(attrToken, str(string(claim.Token)))
	call.set(attrRedeemed, millis(claim.At))
	if claim.Nick.Written != "" {
		call.set(attrRedeemedBy, str(claim.Nick.Written))
	}
	call.condition = "#maxUses = :one AND attribute_not_exists(#redemption)" +
		" AND #disabled = :false AND #from <= :at AND #until > :at AND (attribute_not_exists(#nickHash) OR #nickHash = :nick)"
	call.name(attrMaxUses, attrDisabled, attrFrom, attrUntil, attrNickHash)
	call.value(":one", num(1))
	call.value(":false", boolean(false))
	call.value(":at", millis(claim.At))
	call.value(":nick", str(nickCondition(claim.Nick)))
	return call
}

// judgeSingleUse decides on the voucher that a failed condition returned, and remembers which are of many uses.
func (s *Redemptions) judgeSingleUse(claim voucher.Claim, old item) (voucher.Redemption, voucher.Voucher, error) {
	if len(old) == 0 {
		return voucher.Redemption{}, voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	v, err := decodeVoucher(old)
	switch {
	case err != nil:
		return voucher.Redemption{}, voucher.Voucher{}, err
	case !v.SingleUse():
		s.many.add(voucherKey{claim.Customer, claim.Code})
		return voucher.Redemption{}, v.Voucher, errManyUses
	case v.Redeemed != nil && v.token == claim.Token: // this request's own write, or an earlier one's under the same key
		return *v.Redeemed, v.Voucher, nil
	}
	if err := v.Refuse(claim.Request); err != nil {
		return voucher.Redemption{}, v.Voucher, err
	}
	return voucher.Redemption{}, voucher.Voucher{}, errors.New("single-use voucher refused by its condition, but by no rule")
}

// nickCondition is what a bound voucher is compared with; no voucher is bound to the empty text.
func nickCondition(nick voucher.Nick) string {
	if nick == (voucher.Nick{}) {
		return ""
	}
	return hashNick(nick)
}

// redeemManyUses redeems a code of many uses by the rules that were just read.
func (s *Redemptions) redeemManyUses(ctx context.Context, claim voucher.Claim, v voucher.Voucher, lost *lostAttempt) (voucher.Redemption, error) {
	if err := v.Refuse(claim.Request); err != nil {
		return voucher.Redemption{}, err
	}
	if v.Limited() {
		return s.redeemCounted(ctx, claim, v, lost)
	}
	call := recording(claim, v)
	_, err := s.api.UpdateItem(ctx, call.input(s.table, types.ReturnValueNone))
	if old, failed := oldItem(err); failed {
		return judgeRecorded(claim, v, old)
	}
	if err != nil {
		return voucher.Redemption{}, err
	}
	return newRedemption(claim, v), nil
}

// redeemCounted redeems a code with a limit above one: it records the redemption and takes a use from one of the voucher's
// counters, together or not at all.
func (s *Redemptions) redeemCounted(ctx context.Context, claim voucher.Claim, v voucher.Voucher, lost *lostAttempt) (voucher.Redemption, error) {
	counter := int(s.random(int64(v.Counters)))
	for attempt := 0; ; attempt++ {
		redemption, err := s.takeFromCounter(ctx, claim, v, counter, lost)
		switch {
		case errors.Is(err, errCounterEmpty):
			counter, err = s.counterWithUsesLeft(ctx, claim, &v)
		case isConflict(err):
			counter = int(s.random(int64(v.Counters)))
			err = wait(ctx, backoff(attempt, s.random))
		default:
			return redemption, err
		}
		if err != nil {
			return voucher.Redemption{}, err
		}
	}
}

func (s *Redemptions) takeFromCounter(
	ctx context.Context, claim voucher.Claim, v voucher.Voucher, counter int, lost *lostAttempt,
) (voucher.Redemption, error) {
	record := recording(claim, v)
	take := update{key: counterKey{claim.Customer, v.Code, counter}.primary()}
	take.add(attrLeft, -1)
	take.add(attrUsed, 1)
	take.condition = "#left >= :least"
	take.value(":least", num(1))
	_, err := s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Update: record.action(s.table)}, {Update: take.action(s.table)}},
	}, lost.note)
	if err == nil {
		return newRedemption(claim, v), nil
	}
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is || len(canceled.CancellationReasons) != 2 {
		return voucher.Redemption{}, err
	}
	// The record is judged first: a repetition of a redeemed request must find it even where the counter is empty.
	reasons := canceled.CancellationReasons
	if aws.ToString(reasons[0].Code) == conditionFailed {
		return judgeRecorded(claim, v, reasons[0].Item)
	}
	if aws.ToString(reasons[1].Code) == conditionFailed {
		return voucher.Redemption{}, errCounterEmpty
	}
	return voucher.Redemption{}, err
}

// counterWithUsesLeft picks one of the voucher's counters that have uses left. Where none has, the voucher is used up, and
// is marked so for the requests to come. The counters are not read in one instant: where an edit of the voucher ended
// meanwhile, a use may have come to a counter that was read before. The voucher is then read again, and judged anew.
func (s *Redemptions) counterWithUsesLeft(ctx context.Context, claim voucher.Claim, v *voucher.Voucher) (int, error) {
	for {
		counters, err := s.readCounters(ctx, claim.Customer, *v)
		if err != nil {
			return 0, err
		}
		var left []int
		for _, counter := range counters {
			if counter.left > 0 {
				left = append(left, counter.number)
			}
		}
		if len(left) > 0 {
			return left[s.random(int64(len(left)))], nil
		}
		edited, err := s.markFull(ctx, claim.Customer, *v)
		if err != nil {
			return 0, err
		}
		if !edited {
			return 0, &voucher.RefusalError{Reason: voucher.ReasonUsedUp}
		}
		if *v, err = s.read(ctx, voucherKey{claim.Customer, claim.Code}); err != nil {
			return 0, err
		}
		if err := v.Refuse(claim.Request); err != nil {
			return 0, err
		}
	}
}

// markFull saves later requests the look at the counters. Where the voucher was edited since it was read, it is not marked.
func (s *Redemptions) markFull(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) (edited bool, err error) {
	call := update{key: voucherKey{customer, v.Code}.primary()}
	call.set(attrFull, boolean(true))
	call.condition = "#version = :version"
	call.name(attrVersion)
	call.value(":version", num(v.Version))
	_, err = s.api.UpdateItem(ctx, call.input(s.table, types.ReturnValueNone))
	if _, failed := oldItem(err); failed {
		return true, nil
	}
	return false, err
}

// recording records the claim's redemption in the item of its nick, which counts them, or where the voucher has no limit
// per nick in an item of its own.
func recording(claim voucher.Claim, v voucher.Voucher) *update {
	record := recordAttrPrefix + string(claim.Token)
	call := &update{key: recordKey(claim, v)}
	call.set(record, newRecord(claim).encode())
	if spelling := spellingOf(claim.Nick); spelling != "" {
		call.set(spellingAttrPrefix+spelling, str(claim.Nick.Written))
	}
	call.condition = "attribute_not_exists(" + call.alias(record) + ")"
	if v.MaxUsesPerNick != voucher.NoLimit {
		call.add(attrTaken, 1)
		call.condition += " AND (attribute_not_exists(#taken) OR #taken < :limit)"
		call.value(":limit", num(v.MaxUsesPerNick))
	}
	return call
}

func recordKey(claim voucher.Claim, v voucher.Voucher) primaryKey {
	if v.MaxUsesPerNick != voucher.NoLimit {
		return nickKey{claim.Customer, claim.Code, claim.Nick}.primary()
	}
	return redemptionKey{claim.Customer, claim.Code, claim.Token}.primary()
}

// judgeRecorded decides on the item that the recording's failed condition returned.
func judgeRecorded(claim voucher.Claim, v voucher.Voucher, old item) (voucher.Redemption, error) {
	redemption, found, err := recorded(claim.Token, v, old)
	if found || err != nil {
		return redemption, err
	}
	if err := v.RefuseNick(int(old.num(attrTaken))); err != nil {
		return voucher.Redemption{}, err
	}
	return voucher.Redemption{}, errors.New("redemption refused by its condition, but by no rule")
}

// mayBeRedeemedBefore tells whether a refusal must wait for a look at what is recorded under the claim's token: where a
// key may repeat an earlier request, and where a use was tried for, since the lost answer of that may have been a yes. A
// nick's limit was judged on the record itself.
func mayBeRedeemedBefore(claim voucher.Claim, v voucher.Voucher, err error) bool {
	reason, refused := voucher.IsRefusal(err)
	triedForUse := reason == voucher.ReasonUsedUp && v.Limited() && !v.Full
	return refused && reason != voucher.ReasonNickLimit && (claim.Key != "" || triedForUse)
}

// recall finds the redemption recorded under the claim's token, or returns the refusal.
func (s *Redemptions) recall(ctx context.Context, claim voucher.Claim, v voucher.Voucher, refusal error) (voucher.Redemption, error) {
	out, err := s.api.GetItem(ctx, consistentGet(s.table, recordKey(claim, v)))
	if err != nil {
		return voucher.Redemption{}, err
	}
	redemption, found, err := recorded(claim.Token, v, out.Item)
	if found || err != nil {
		return redemption, err
	}
	return voucher.Redemption{}, refusal
}

func newRedemption(claim voucher.Claim, v voucher.Voucher) voucher.Redemption {
	return voucher.Redemption{
		ID: claim.RedemptionID, Code: v.Written, Nick: claim.Nick.Written, At: claim.At, Reward: v.Reward,
	}
}

func (s *Redemptions) read(ctx context.Context, key voucherKey) (voucher.Voucher, error) {
	kept, err := s.readKept(ctx, key)
	return kept.Voucher, err
}

func (s *Redemptions) readKept(ctx context.Context, key voucherKey) (keptVoucher, error) {
	out, err := s.api.GetItem(ctx, consistentGet(s.table, key.primary()))
	if err != nil {
		return keptVoucher{}, err
	}
	if len(out.Item) == 0 {
		return keptVoucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	return decodeVoucher(out.Item)
}

// Look reads a voucher, and how many uses of it the request's nick has taken, in one call. An unknown code is a
// *voucher.RefusalError.
func (s *Redemptions) Look(ctx context.Context, request voucher.Request) (voucher.Voucher, int, error) {
	key := voucherKey{request.Customer, request.Code}.primary()
	nick := nickKey{request.Customer, request.Code, request.Nick}.primary()
	found, err := batchGet(ctx, s.api, s.random, s.table, key, nick)
	if err != nil {
		return voucher.Voucher{}, 0, outcome(err)
	}
	if found[key] == nil {
		return voucher.Voucher{}, 0, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	v, err := decodeVoucher(found[key])
	return v.Voucher, int(found[nick].num(attrTaken)), err
}

// UsesLeft adds up the uses left of a voucher's counters.
func (s *Redemptions) UsesLeft(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) (int, error) {
	counters, err := s.readCounters(ctx, customer, v)
	if err != nil {
		return 0, outcome(err)
	}
	left := 0
	for _, counter := range counters {
		left += counter.left
	}
	return left, nil
}

// keptCounter is a counter as it stands in the store.
type keptCounter struct {
	number     int
	left, used int
	version    int64
}

func decodeCounter(number int, it item) keptCounter {
	return keptCounter{
		number: number, left: int(it.num(attrLeft)), used: int(it.num(attrUsed)), version: it.num(attrVersion),
	}
}

func (s *Redemptions) readCounters(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) ([]keptCounter, error) {
	keys := make([]primaryKey, v.Counters)
	for number := range keys {
		keys[number] = counterKey{customer, v.Code, number}.primary()
	}
	found, err := batchGet(ctx, s.api, s.random, s.table, keys...)
	if err != nil {
		return nil, err
	}
	counters := make([]keptCounter, v.Counters)
	for number, key := range keys {
		counters[number] = decodeCounter(number, found[key])
	}
	return counters, nil
}
