package dynamo

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/voucher"
)

// RedeemAPI is the part of DynamoDB that redeeming and checking need.
type RedeemAPI interface {
	table.Getter
	table.BatchGetter
	table.TransactGetter
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Redemptions redeems the vouchers of one table; it is a voucher.Store. Create it with NewRedemptions.
type Redemptions struct {
	api    RedeemAPI
	table  string
	random func(n int64) int64
	many   *manyUseCodes
}

// NewRedemptions returns the redemptions in a vouchers table. random returns a random number from 0 up to, not including, n.
// It spreads load and need not be secret.
func NewRedemptions(api RedeemAPI, table string, random func(n int64) int64) *Redemptions {
	return &Redemptions{api: api, table: table, random: random, many: newManyUseCodes()}
}

// errManyUses and errCounterEmpty tell Redeem which step comes next. They do not leave this file.
var (
	errManyUses     = errors.New("the code has many uses")
	errCounterEmpty = errors.New("the counter has no uses left")
)

// errMayBeApplied replaces a refusal when an earlier attempt may still be applied.
var errMayBeApplied = errors.New("refused, but an earlier attempt that got no response may still be applied")

// Redeem takes one use of a voucher for the claim, or finds the redemption that is already recorded under the claim's token.
// After a *voucher.RefusalError nothing was taken. After an *UnavailableError a use may or may not have been taken. Other
// errors come from DynamoDB.
//
// A single-use code takes one call. A code with many uses takes two, because the first one only reads its rules. Refusing a
// request with an idempotency key takes one more call: the same request may have been redeemed before the voucher ended. That
// holds for unknown codes too, so that response times do not reveal them. Only a refusal for the nick's limit takes no further
// call.
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
		err = &UnavailableError{Err: errMayBeApplied}
	}
	return redemption, table.Outcome(err)
}

// redeemSingleUse redeems a single-use code. For a code with many uses it changes nothing and returns the voucher with
// errManyUses. For a code known to have many uses, read first: a failed conditional write would use up the item's write
// capacity.
func (s *Redemptions) redeemSingleUse(ctx context.Context, claim voucher.Claim, lost *lostAttempt) (voucher.Redemption, voucher.Voucher, error) {
	if s.many.has(manyUseCode{claim.Customer, claim.Code}) {
		v, err := s.read(ctx, claim)
		if err != nil || !v.SingleUse() { // the memory saves a write but decides nothing
			return voucher.Redemption{}, v, cmp.Or(err, errManyUses)
		}
	}
	call := singleUse(claim)
	taken, err := s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueAllNew), lost.note)
	old, failed := table.OldItem(err)
	if failed && isBoundUnderFormerHash(old, claim.Nick) {
		call.Value(":nick", table.Str(old.Str(table.AttrNickHash)))
		taken, err = s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueAllNew), lost.note)
		old, failed = table.OldItem(err)
	}
	switch {
	case failed:
		return s.judgeSingleUse(claim, old)
	case err != nil:
		return voucher.Redemption{}, voucher.Voucher{}, err
	}
	v, err := table.DecodeVoucher(taken.Attributes)
	if err != nil {
		return voucher.Redemption{}, voucher.Voucher{}, err
	}
	return *v.Redeemed, v.Voucher, nil
}

// singleUse returns the update that redeems a single-use voucher. Its condition contains all rules, so one call decides. The
// update creates no item, because #maxUses exists only in existing items.
func singleUse(claim voucher.Claim) *table.Update {
	call := &table.Update{Key: table.VoucherKey(claim.Customer, claim.Code)}
	call.Set(table.AttrRedemption, table.Str(claim.RedemptionID))
	call.Set(table.AttrToken, table.Str(claim.Token))
	call.Set(table.AttrRedeemed, table.Millis(claim.At))
	if claim.Nick.Written != "" {
		call.Set(table.AttrRedeemedBy, table.Str(claim.Nick.Written))
	}
	call.Condition = "#maxUses = :one AND attribute_not_exists(#redemption)" +
		" AND #disabled = :false AND #from <= :at AND #until > :at AND (attribute_not_exists(#nickHash) OR #nickHash = :nick)"
	call.Name(table.AttrMaxUses, table.AttrDisabled, table.AttrFrom, table.AttrUntil, table.AttrNickHash)
	call.Value(":one", table.Num(1))
	call.Value(":false", table.Bool(false))
	call.Value(":at", table.Millis(claim.At))
	call.Value(":nick", table.Str(table.NickCondition(claim.Nick)))
	requireUnpaused(call, claim.Paused)
	return call
}

// requireUnpaused adds to the condition that the voucher is not paused. If all codes are paused, the condition never holds, and the
// refusal takes the same call as any other.
func requireUnpaused(call *table.Update, paused voucher.Pause) {
	if paused.All {
		call.Condition += " AND attribute_not_exists(#maxUses)"
		return
	}
	if len(paused.Batches) == 0 {
		return
	}
	placeholders := make([]string, len(paused.Batches))
	for i, batch := range paused.Batches {
		placeholders[i] = ":paused" + strconv.Itoa(i)
		call.Value(placeholders[i], table.Str(batch))
	}
	call.Condition += " AND (attribute_not_exists(#batch) OR NOT #batch IN (" + strings.Join(placeholders, ", ") + "))"
	call.Name(table.AttrBatch)
}

// isBoundUnderFormerHash reports whether a voucher is bound to a nick, but was stored while nicks like this one were compared
// differently (see voucher.Nick).
func isBoundUnderFormerHash(old table.Item, nick voucher.Nick) bool {
	bound, err := voucher.ParseNick(old.Str(table.AttrNick))
	return err == nil && bound.Compared == nick.Compared && old.Str(table.AttrNickHash) != table.NickCondition(nick)
}

// judgeSingleUse decides by the voucher that came with the failed condition, and remembers codes with many uses.
func (s *Redemptions) judgeSingleUse(claim voucher.Claim, old table.Item) (voucher.Redemption, voucher.Voucher, error) {
	if len(old) == 0 {
		return voucher.Redemption{}, voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	v, err := table.DecodeVoucher(old)
	switch {
	case err != nil:
		return voucher.Redemption{}, voucher.Voucher{}, err
	case !v.SingleUse():
		s.many.add(manyUseCode{claim.Customer, claim.Code})
		return voucher.Redemption{}, v.Voucher, errManyUses
	case v.Redeemed != nil && v.Token == claim.Token: // written by an earlier attempt, or by an earlier request with the same key
		return *v.Redeemed, v.Voucher, nil
	}
	if err := v.Refuse(claim.Request); err != nil {
		return voucher.Redemption{}, v.Voucher, err
	}
	return voucher.Redemption{}, voucher.Voucher{}, errors.New("the condition rejected a single-use voucher, but no rule does")
}

// redeemManyUses redeems a code with many uses by the rules in v, which were just read.
func (s *Redemptions) redeemManyUses(ctx context.Context, claim voucher.Claim, v voucher.Voucher, lost *lostAttempt) (voucher.Redemption, error) {
	if err := v.Refuse(claim.Request); err != nil {
		return voucher.Redemption{}, err
	}
	if v.Limited() {
		return s.redeemCounted(ctx, claim, v, lost)
	}
	call := recording(claim, v)
	_, err := s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueNone))
	if old, failed := table.OldItem(err); failed {
		return judgeRecorded(claim, v, old)
	}
	if err != nil {
		return voucher.Redemption{}, err
	}
	return newRedemption(claim, v), nil
}

// redeemCounted redeems a code with a limit above one. One transaction records the redemption and takes a use from one of the
// voucher's counters.
func (s *Redemptions) redeemCounted(ctx context.Context, claim voucher.Claim, v voucher.Voucher, lost *lostAttempt) (voucher.Redemption, error) {
	counter := int(s.random(int64(v.Counters)))
	for attempt := 0; ; attempt++ {
		redemption, err := s.takeFromCounter(ctx, claim, v, counter, lost)
		switch {
		case errors.Is(err, errCounterEmpty):
			counter, err = s.counterWithUsesLeft(ctx, claim, &v)
		case table.IsConflict(err):
			counter = int(s.random(int64(v.Counters)))
			err = table.Wait(ctx, table.Backoff(attempt, s.random))
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
	take := table.Update{Key: table.CounterKey(claim.Customer, v.Code, counter)}
	take.Add(table.AttrLeft, -1)
	take.Add(table.AttrUsed, 1)
	take.Condition = "#left >= :least"
	take.Value(":least", table.Num(1))
	_, err := s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{record.Action(s.table), take.Action(s.table)},
	}, lost.note)
	if err == nil {
		return newRedemption(claim, v), nil
	}
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is || len(canceled.CancellationReasons) != 2 || table.IsConflict(err) {
		return voucher.Redemption{}, err
	}
	// Check the record first: a retry of a redeemed request must find its record even if the counter is empty.
	reasons := canceled.CancellationReasons
	if aws.ToString(reasons[0].Code) == table.ConditionFailed {
		return judgeRecorded(claim, v, reasons[0].Item)
	}
	if aws.ToString(reasons[1].Code) == table.ConditionFailed {
		return voucher.Redemption{}, errCounterEmpty
	}
	return voucher.Redemption{}, err
}

// counterWithUsesLeft picks one of the voucher's counters that have uses left. If there is none, the voucher is used
// up, and counterWithUsesLeft marks it as full for later requests.
//
// The counters are not read at one instant. If an edit finishes in between, it may add a use to a counter that was already
// read. In that case the voucher is read and judged again.
func (s *Redemptions) counterWithUsesLeft(ctx context.Context, claim voucher.Claim, v *voucher.Voucher) (int, error) {
	for {
		counters, err := s.readCounters(ctx, claim.Customer, *v)
		if err != nil {
			return 0, err
		}
		var left []int
		for _, counter := range counters {
			if counter.Left > 0 {
				left = append(left, counter.Number)
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
		if *v, err = s.read(ctx, claim); err != nil {
			return 0, err
		}
		if err := v.Refuse(claim.Request); err != nil {
			return 0, err
		}
	}
}

// markFull marks a voucher as full, so that later requests need not read the counters. It marks nothing if the voucher was edited
// since it was read.
func (s *Redemptions) markFull(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) (edited bool, err error) {
	call := table.Update{Key: table.VoucherKey(customer, v.Code)}
	call.Set(table.AttrFull, table.Bool(true))
	call.Condition = "#version = :version"
	call.Name(table.AttrVersion)
	call.Value(":version", table.Num(v.Version))
	_, err = s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueNone))
	if _, failed := table.OldItem(err); failed {
		return true, nil
	}
	return false, err
}

// recording returns the write that records the claim's redemption. If the voucher has a limit per nick, the record goes into
// the item of the nick, which counts them. Otherwise it gets an item of its own.
func recording(claim voucher.Claim, v voucher.Voucher) *table.Update {
	record := table.RecordPrefix + string(claim.Token)
	call := &table.Update{Key: recordKey(claim, v)}
	call.Set(record, table.EncodeRecord(claim))
	if spelling := table.Spelling(claim.Nick); spelling != "" {
		call.Set(table.SpellingPrefix+spelling, table.Str(claim.Nick.Written))
	}
	call.Condition = "attribute_not_exists(" + call.Alias(record) + ")"
	if v.MaxUsesPerNick != voucher.NoLimit {
		call.Add(table.AttrTaken, 1)
		call.Condition += " AND (attribute_not_exists(#taken) OR #taken < :limit)"
		call.Value(":limit", table.Num(v.MaxUsesPerNick))
	}
	return call
}

func recordKey(claim voucher.Claim, v voucher.Voucher) table.Key {
	if v.MaxUsesPerNick != voucher.NoLimit {
		return table.NickKey(claim.Customer, claim.Code, table.HashNick(claim.Nick))
	}
	return table.RedemptionKey(claim.Customer, claim.Code, claim.Token)
}

// judgeRecorded decides by the item that came with the failed condition of recording.
func judgeRecorded(claim voucher.Claim, v voucher.Voucher, old table.Item) (voucher.Redemption, error) {
	redemption, found, err := table.Recorded(claim.Token, v, old)
	if found || err != nil {
		return redemption, err
	}
	if err := v.RefuseNick(int(old.Num(table.AttrTaken))); err != nil {
		return voucher.Redemption{}, err
	}
	return voucher.Redemption{}, errors.New("the condition rejected a redemption, but no rule does")
}

// mayBeRedeemedBefore reports whether a refusal must wait until the record under the claim's token was read. A request with a
// key may be a retry of one that was redeemed. And if the request tried to take a use, that attempt may have succeeded although
// its response was lost. A refusal for the nick's limit needs no such read: the record itself decided it.
func mayBeRedeemedBefore(claim voucher.Claim, v voucher.Voucher, err error) bool {
	reason, refused := voucher.IsRefusal(err)
	triedForUse := reason == voucher.ReasonUsedUp && v.Limited() && !v.Full
	return refused && reason != voucher.ReasonNickLimit && (claim.Key != "" || triedForUse)
}

// recall returns the redemption that is recorded under the claim's token, or else the refusal. It waits for a transaction in
// flight, whose use may be visible before its record.
func (s *Redemptions) recall(ctx context.Context, claim voucher.Claim, v voucher.Voucher, refusal error) (voucher.Redemption, error) {
	it, err := table.GetSettled(ctx, s.api, s.random, s.table, recordKey(claim, v))
	if err != nil {
		return voucher.Redemption{}, err
	}
	redemption, found, err := table.Recorded(claim.Token, v, it)
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

func (s *Redemptions) read(ctx context.Context, claim voucher.Claim) (voucher.Voucher, error) {
	v, err := table.ReadVoucher(ctx, s.api, s.table, claim.Customer, claim.Code)
	return v.Voucher, err
}

func (s *Redemptions) readCounters(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) ([]table.Counter, error) {
	return table.ReadCounters(ctx, s.api, s.random, s.table, customer, v.Code, v.Counters)
}

// Look reads a voucher and how many uses of it the request's nick has taken, in one call. An unknown code is a
// *voucher.RefusalError.
func (s *Redemptions) Look(ctx context.Context, request voucher.Request) (voucher.Voucher, int, error) {
	key := table.VoucherKey(request.Customer, request.Code)
	nick := table.NickKey(request.Customer, request.Code, table.HashNick(request.Nick))
	found, err := table.BatchGet(ctx, s.api, s.random, s.table, key, nick)
	if err != nil {
		return voucher.Voucher{}, 0, table.Outcome(err)
	}
	if found[key] == nil {
		return voucher.Voucher{}, 0, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	v, err := table.DecodeVoucher(found[key])
	return v.Voucher, int(found[nick].Num(table.AttrTaken)), err
}

// UsesLeft adds up the uses left in the counters of a voucher.
func (s *Redemptions) UsesLeft(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) (int, error) {
	counters, err := s.readCounters(ctx, customer, v)
	if err != nil {
		return 0, table.Outcome(err)
	}
	left := 0
	for _, counter := range counters {
		left += counter.Left
	}
	return left, nil
}
