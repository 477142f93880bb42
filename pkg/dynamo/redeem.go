package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Redeemer redeems the vouchers of one table. It implements voucher.RedeemerStore. Create it with NewRedeemer.
type Redeemer struct {
	uses

	refusals string // the table
	many     *manyUseCodes
}

// NewRedeemer returns a redeemer of vouchers. It needs the table of refusals only for requests with a quota. random
// returns a random number from 0 to n-1. The numbers spread load and need not be secret.
func NewRedeemer(api UsesAPI, tables Tables, random func(n int64) int64) *Redeemer {
	return &Redeemer{uses{api, tables.Vouchers, random}, tables.Refusals, newManyUseCodes()}
}

// errManyUses and errUndoneBefore tell Redeem which step comes next. Redeem does not return them.
var (
	errManyUses     = errors.New("the code has many uses")
	errUndoneBefore = errors.New("a redemption of the code was undone before")
)

// errMayBeApplied replaces a refusal when an earlier attempt may still be applied.
var errMayBeApplied = errors.New("refused, but an earlier attempt that got no response may still be applied")

// Redeem takes one use of a voucher for the claim, or finds the redemption that is already recorded under the claim's
// token. If that redemption was undone, the error is voucher.ErrUndone. After a *voucher.RefusalError or a
// *voucher.TooManyRedemptionsError nothing was taken. After an *UnavailableError a use may or may not have been taken.
// Any other error comes from DynamoDB or means that an item is damaged.
//
// A single-use code usually takes one call. It takes more if a redemption of it was undone before, or if this process
// remembers the code as one with many uses. A code with many uses takes at least two: the first returns its rules, and
// a later one redeems it. Refusing a request with an idempotency key takes one more call, because the same request may
// have been redeemed before the voucher ended. The extra call is made for unknown codes too, so that response times do
// not reveal which codes exist. A refusal for the nick's limit takes the extra call only if redemptions of the nick
// were undone.
func (s *Redeemer) Redeem(ctx context.Context, claim voucher.Claim) (voucher.Redemption, error) {
	var lost lostAttempt
	redemption, v, err := s.redeemSingleUse(ctx, claim, &lost)
	if errors.Is(err, errManyUses) {
		redemption, err = s.redeemManyUses(ctx, claim, v, &lost)
	}
	if mayBeRedeemedBefore(claim, v, err) {
		redemption, err = s.redeemedBefore(ctx, claim, v, err)
	}
	if lost.mayContradict(err) {
		err = &UnavailableError{Err: errMayBeApplied}
	}
	return redemption, table.Outcome(err)
}

// redeemSingleUse redeems a single-use code. For a code with many uses it changes nothing and returns the voucher with
// errManyUses. If the code is known to have many uses, redeemSingleUse reads the voucher first, because a failed
// conditional write would use up the item's write capacity.
func (s *Redeemer) redeemSingleUse(
	ctx context.Context, claim voucher.Claim, lost *lostAttempt,
) (voucher.Redemption, voucher.Voucher, error) {
	if s.many.has(manyUseCode{claim.Shop, claim.Code}) {
		v, err := s.read(ctx, claim)
		if err == nil && !v.SingleUse() { // the memory may be outdated: the voucher itself decides
			err = errManyUses
		}
		if err != nil {
			return voucher.Redemption{}, v, err
		}
	}
	call := firstRedemption(claim)
	taken, err := s.api.UpdateItem(ctx, call.Input(s.vouchers, types.ReturnValueAllNew), lost.note)
	old, failed := table.OldItem(err)
	switch {
	case failed:
		redemption, v, err := s.judgeSingleUse(claim, old)
		if errors.Is(err, errUndoneBefore) {
			redemption, v, err = s.redeemAgain(ctx, claim, v, lost)
		}
		return redemption, v, err
	case err != nil:
		return voucher.Redemption{}, voucher.Voucher{}, err
	}
	v, err := table.DecodeVoucher(taken.Attributes)
	if err != nil {
		return voucher.Redemption{}, voucher.Voucher{}, err
	}
	return *v.Redeemed, v.Voucher, nil
}

// redeemAgain redeems a single-use code after an earlier redemption of the code was undone. If the claim's own
// redemption was undone, the error is voucher.ErrUndone. An undone redemption has an item of its own, so redeemAgain
// needs a transaction that also checks that item.
func (s *Redeemer) redeemAgain(
	ctx context.Context, claim voucher.Claim, v voucher.Voucher, lost *lostAttempt,
) (redemption voucher.Redemption, judged voucher.Voucher, err error) {
	for attempt := 0; ; attempt++ {
		call := takeSingleUse(claim, time.Time{})
		// the voucher must still be the one that the rules accepted
		call.RequireEqual(table.AttrVersion, table.Num(v.Version))
		call.RequireEqual(table.AttrUndone, table.Num(v.Undone))
		redemption = newRedemption(claim, v)
		err := transact(ctx, s.api, []action{
			updating(s.vouchers, call, func(old table.Item) (err error) {
				redemption, v, err = s.judgeSingleUse(claim, old)
				return err
			}),
			requiringAbsent(s.vouchers, table.RedemptionKey(claim.Shop, claim.Code, claim.Token), alreadyUndone),
		}, lost.note)
		if !errors.Is(err, errUndoneBefore) && !table.IsConflict(err) {
			return redemption, v, err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return voucher.Redemption{}, v, err
		}
	}
}

func alreadyUndone(table.Item) error { return voucher.ErrUndone }

// firstRedemption returns the update that redeems a single-use voucher, provided that no redemption of it was ever
// undone. The update's condition contains all rules, so one call decides. The update creates no item, because only
// existing items have #maxUses.
func firstRedemption(claim voucher.Claim) *table.Update {
	call := takeSingleUse(claim, time.Time{})
	call.RequireEqual(table.AttrUndone, nil)
	call.Require("#maxUses = :one AND #disabled = :false AND #from <= :at AND #until > :at" +
		" AND (attribute_not_exists(#nickHash) OR #nickHash = :nick)")
	call.Name(table.AttrMaxUses, table.AttrDisabled, table.AttrFrom, table.AttrUntil, table.AttrNickHash)
	call.Value(":one", table.Num(1))
	call.Value(":false", table.Bool(false))
	call.Value(":nick", table.Str(table.NickCondition(claim.Nick)))
	requireUnpaused(call, claim.Paused)
	return call
}

// takeSingleUse begins an update that takes the use of a single-use voucher, or takes it over from a hold that has
// lapsed. The parameter until is the time when the claim's own hold lapses. If until is zero, the update redeems.
func takeSingleUse(claim voucher.Claim, until time.Time) *table.Update {
	call := &table.Update{Key: table.VoucherKey(claim.Shop, claim.Code)}
	if until.IsZero() {
		redeemSingleUse(call, blindRedemption(claim))
	} else {
		holdSingleUse(call, claim.HoldID, claim.Nick, until)
	}
	call.RequireEqual(table.AttrUsed, nil)
	call.Require("(attribute_not_exists(#heldUntil) OR #heldUntil <= :at)")
	call.Name(table.AttrHeldUntil)
	call.Value(":at", table.Millis(claim.At))
	return call
}

// redeemSingleUse writes the redemption of a single-use voucher, in place of a hold.
func redeemSingleUse(call *table.Update, r voucher.Redemption) {
	call.Set(table.RecordPrefix+r.ID, table.EncodeRecord(r))
	call.Set(table.AttrUsed, table.Num(1))
	for _, attribute := range []string{table.AttrHold, table.AttrHeldUntil, table.AttrHeldBy} {
		call.Remove(attribute)
	}
}

// holdSingleUse writes a hold of a single-use voucher, which lapses at a time.
func holdSingleUse(call *table.Update, id string, nick voucher.Nick, until time.Time) {
	call.Set(table.AttrHold, table.Str(id))
	call.Set(table.AttrHeldUntil, table.Millis(until))
	if nick.Written != "" {
		call.Set(table.AttrHeldBy, table.Str(nick.Written))
	} else {
		call.Remove(table.AttrHeldBy)
	}
}

// requireUnpaused adds the condition that the voucher is not paused. If all codes are paused, the condition can never
// hold. The call is made even then, so that the refusal takes as long as any other.
func requireUnpaused(call *table.Update, paused voucher.Pause) {
	if paused.All {
		call.Require("attribute_not_exists(#maxUses)")
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
	call.Require("(attribute_not_exists(#batch) OR NOT #batch IN (" + strings.Join(placeholders, ", ") + "))")
	call.Name(table.AttrBatch)
}

// judgeSingleUse decides by the voucher that DynamoDB returned with the failed condition, and remembers codes with many
// uses.
func (s *Redeemer) judgeSingleUse(claim voucher.Claim, old table.Item) (voucher.Redemption, voucher.Voucher, error) {
	if len(old) == 0 {
		return voucher.Redemption{}, voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	v, err := table.DecodeVoucher(old)
	switch {
	case err != nil:
		return voucher.Redemption{}, voucher.Voucher{}, err
	case !v.SingleUse():
		s.many.add(manyUseCode{claim.Shop, claim.Code})
		return voucher.Redemption{}, v.Voucher, errManyUses
	// written by an earlier attempt, or by an earlier request with the same key
	case v.Redeemed != nil && v.Redeemed.ID == string(claim.Token):
		return *v.Redeemed, v.Voucher, nil
	}
	if err := v.Refuse(claim.Request); err != nil {
		return voucher.Redemption{}, v.Voucher, err
	}
	if v.Undone > 0 {
		return voucher.Redemption{}, v.Voucher, errUndoneBefore
	}
	return voucher.Redemption{}, voucher.Voucher{},
		errors.New("the condition of the update refused the code, but no rule refuses it")
}

// redeemManyUses redeems a code with many uses by the rules in v, which were just read.
func (s *Redeemer) redeemManyUses(
	ctx context.Context, claim voucher.Claim, v voucher.Voucher, lost *lostAttempt,
) (voucher.Redemption, error) {
	r := &recording{claim: claim, v: v}
	try := func(free *freeUse) error {
		if err := r.v.Refuse(claim.Request); err != nil {
			return err
		}
		return s.redeemFrom(ctx, r, free, lost)
	}
	err := s.untilTaken(ctx, v, try, func() (err error) {
		r.v, r.uses, err = s.Look(ctx, claim.Request)
		return err
	})
	// The nick's item has no undone redemptions: they have items of their own.
	if reason, _ := voucher.IsRefusal(err); reason == voucher.ReasonNickLimit && r.uses.Undone > 0 && claim.Key != "" {
		err = s.undoneBefore(ctx, claim, err)
	}
	if err != nil {
		return voucher.Redemption{}, err
	}
	return r.redemption, nil
}

// redeemFrom tries once to redeem with a free use. If free is nil, redeemFrom looks for a free use.
func (s *Redeemer) redeemFrom(ctx context.Context, r *recording, free *freeUse, lost *lostAttempt) error {
	request := r.claim.Request
	if own := ownToSwap(r.v, r.uses, request); own != nil {
		free = own
	}
	if !r.v.Limited() {
		return transact(ctx, s.api, append(r.actions(s.vouchers, free), s.counting(request)...), lost.note)
	}
	free, err := s.secure(ctx, request, r.v, free)
	if err != nil {
		return err
	}
	actions := append(r.actions(s.vouchers, free), s.taking(request, *free, time.Time{})...)
	return transact(ctx, s.api, append(actions, s.counting(request)...), lost.note)
}

// counting returns the action that counts a redemption for its source, or none if the request has no quota. It is the
// last action of the transaction: a retry finds its record first, even if the source has reached its limit. Within the
// window no count falls, so an attempt in flight cannot be applied after this refusal.
func (s *Redeemer) counting(request voucher.Request) []action {
	quota := request.Quota
	if quota == (voucher.Quota{}) {
		return nil
	}
	call := &table.Update{Key: table.QuotaKey(request.Shop, quota)}
	if quota.Subnet == "" {
		call.AddBelow(table.AttrRedemptions, quota.Limit)
	} else {
		call.AddBelow(table.AttrRedemptions, quota.Network)
		call.AddBelow(quota.Subnet, quota.Limit)
	}
	call.Set(table.AttrExpiresAt, table.Num(quota.End.Add(refusalRetention).Unix()))
	return []action{updating(s.refusals, call, func(table.Item) error {
		return &voucher.TooManyRedemptionsError{Until: quota.End}
	})}
}

// recording is a redemption of a code with many uses that is being recorded. If the voucher has a limit per nick, the
// record goes into the item of the nick, which counts the nick's uses. Otherwise the record gets an item of its own.
type recording struct {
	claim voucher.Claim
	v     voucher.Voucher
	// uses are those of the nick as last read. They are empty before the first reading, because the write itself finds
	// out (see judge).
	uses       voucher.NickUses
	redemption voucher.Redemption // the result
}

// actions returns the writes that record the redemption.
func (r *recording) actions(tableName string, free *freeUse) []action {
	r.redemption = newRedemption(r.claim, r.v)
	call := recordingIn(r.claim, r.redemption, r.v.HoldKind())
	if r.v.MaxUsesPerNick == voucher.NoLimit {
		return []action{updating(tableName, call, r.judge)}
	}
	countForNick(call, r.v, r.uses, r.claim.Request, free)
	call.RequireCount(table.AttrUndone, int64(r.uses.Undone))
	if r.uses.Undone == 0 {
		return []action{updating(tableName, call, r.judge)}
	}
	undone := table.RedemptionKey(r.claim.Shop, r.claim.Code, r.claim.Token)
	return []action{updating(tableName, call, r.judge), requiringAbsent(tableName, undone, alreadyUndone)}
}

// recordingIn begins an update that records a redemption of a code with many uses.
func recordingIn(claim voucher.Claim, redemption voucher.Redemption, kind voucher.HoldKind) *table.Update {
	call := &table.Update{Key: table.RecordKey(claim.Shop, claim.Code, claim.Nick, claim.Token, kind)}
	record := table.RecordPrefix + redemption.ID
	call.Set(record, table.EncodeRecord(redemption))
	call.Set(table.AttrCode, table.Str(redemption.Code))
	call.RequireEqual(record, nil)
	return call
}

// countForNick adds a use to the item of the request's nick. If the use is a lapsed hold of the same nick, countForNick
// removes that hold instead.
func countForNick(
	call *table.Update, v voucher.Voucher, uses voucher.NickUses, request voucher.Request, free *freeUse,
) {
	if free == nil || free.lapsed == nil || free.holder != nickID(request) {
		call.AddBelow(table.AttrTaken, int(v.MaxUsesPerNick))
		return
	}
	call.Remove(table.HoldPrefix + free.lapsed.ID)
	call.RequireEqual(table.AttrTaken, table.Num(uses.Taken))
	// the rules counted these holds as free, so none of them may last longer by now
	for _, hold := range uses.Lapsed(request.At) {
		call.RequireEqual(table.HoldPrefix+hold.ID, table.EncodeHold(hold))
	}
}

// recallKey returns the key of the item that would record the claim's redemption: the nick's, if nicks have a limit;
// otherwise an item of its own. For a single-use code that can only be an undone redemption: the voucher itself was
// already read.
func recallKey(claim voucher.Claim, v voucher.Voucher) table.Key {
	if v.MaxUsesPerNick != voucher.NoLimit {
		return table.NickKey(claim.Shop, claim.Code, nickID(claim.Request))
	}
	return table.RedemptionKey(claim.Shop, claim.Code, claim.Token)
}

// judge decides by the item that DynamoDB returned with the failed condition. A retry of a redeemed request finds its
// record first, even if no use is left.
func (r *recording) judge(old table.Item) error {
	redemption, found, err := recorded(r.claim.Token, old)
	if found || err != nil {
		r.redemption = redemption
		return err
	}
	if r.v.MaxUsesPerNick == voucher.NoLimit {
		return errors.New("the condition of the update refused a redemption, but no rule refuses it")
	}
	if r.uses, err = table.DecodeNickUses(r.v.HoldKind(), old); err != nil {
		return err
	}
	if err := r.v.RefuseNick(r.uses, r.claim.At); err != nil {
		return err
	}
	return errLookAgain
}

// recorded reads the redemption that an item holds under a token, if there is one. If the redemption was undone, the
// error is voucher.ErrUndone.
func recorded(token idempotency.Token, it table.Item) (redemption voucher.Redemption, found bool, err error) {
	redemption, found, err = table.Recorded(token, it)
	if found && !redemption.Undone.IsZero() {
		err = voucher.ErrUndone
	}
	return redemption, found, err
}

// mayBeRedeemedBefore reports whether the record under the claim's token must be read before a refusal is returned. A
// request with a key may be a retry of a request that was redeemed. And if this request tried to take a use, an attempt
// may have succeeded although its response was lost. A refusal for the nick's limit needs no such read, because it was
// decided by the item that contains the records.
func mayBeRedeemedBefore(claim voucher.Claim, v voucher.Voucher, err error) bool {
	reason, refused := voucher.IsRefusal(err)
	// v is as first read. If it was marked as full, no attempt was made.
	triedForUse := reason == voucher.ReasonUsedUp && v.Limited() && !claim.At.Before(v.FullUntil)
	return refused && reason != voucher.ReasonNickLimit && (claim.Key != "" || triedForUse)
}

// redeemedBefore returns the redemption that is recorded under the claim's token. If there is none, it returns the
// refusal. It waits for a transaction in flight, because a use that the transaction takes may be visible before the
// record that it writes.
func (s *Redeemer) redeemedBefore(
	ctx context.Context, claim voucher.Claim, v voucher.Voucher, refusal error,
) (voucher.Redemption, error) {
	it, err := table.GetSettled(ctx, s.api, s.random, s.vouchers, recallKey(claim, v))
	if err != nil {
		return voucher.Redemption{}, err
	}
	redemption, found, err := recorded(claim.Token, it)
	if found || err != nil {
		return redemption, err
	}
	if v.MaxUsesPerNick != voucher.NoLimit && it.Num(table.AttrUndone) > 0 {
		refusal = s.undoneBefore(ctx, claim, refusal)
	}
	return voucher.Redemption{}, refusal
}

// undoneBefore returns voucher.ErrUndone if the claim's redemption was undone. Otherwise it returns the refusal.
func (s *Redeemer) undoneBefore(ctx context.Context, claim voucher.Claim, refusal error) error {
	it, err := table.GetSettled(ctx, s.api, s.random, s.vouchers,
		table.RedemptionKey(claim.Shop, claim.Code, claim.Token))
	if err == nil {
		_, _, err = recorded(claim.Token, it)
	}
	if err != nil {
		return err
	}
	return refusal
}

func newRedemption(claim voucher.Claim, v voucher.Voucher) voucher.Redemption {
	redemption := blindRedemption(claim)
	redemption.Code, redemption.Reward = v.Written, v.Reward
	return redemption
}

// blindRedemption returns the redemption of a claim whose voucher was not read: it has no Code and no Reward.
func blindRedemption(claim voucher.Claim) voucher.Redemption {
	return voucher.Redemption{
		ID: string(claim.Token), Nick: claim.Nick.Written, At: claim.At, Attempt: claim.Attempt,
	}
}

func (s *Redeemer) read(ctx context.Context, claim voucher.Claim) (voucher.Voucher, error) {
	v, err := table.ReadVoucher(ctx, s.api, s.vouchers, claim.Shop, claim.Code)
	return v.Voucher, err
}
