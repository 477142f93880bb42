package dynamo

import (
	"cmp"
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
	codes

	refusals string // the table
}

// NewRedeemer returns a redeemer of vouchers. It needs the table of refusals only for requests with a quota. random
// returns a random number from 0 to n-1. The numbers spread load and need not be secret.
func NewRedeemer(api UsesAPI, tables Tables, random func(n int64) int64) *Redeemer {
	return &Redeemer{newCodes(api, tables.Vouchers, random), tables.Refusals}
}

// errApart means that a redemption was undone before, so that the claim's record may be in an item of its own.
var errApart = errors.New("a redemption was undone before, and is recorded apart")

// errMayBeApplied replaces a refusal when an earlier attempt may still be applied.
var errMayBeApplied = errors.New("refused, but an earlier attempt that got no response may still be applied")

// Redeem takes one use of a voucher for the claim, or finds the redemption that is already recorded under the claim's
// token. If that redemption was undone, the error is voucher.ErrUndone. After a *voucher.RefusalError or a
// *voucher.TooManyRedemptionsError nothing was taken. After an *UnavailableError a use may or may not have been taken.
// Any other error comes from DynamoDB or means that an item is damaged.
//
// It takes one call for a single-use code, and for any other code whose rules this process remembers. A code takes
// another call if its rules must be read, if lapsed holds must be taken over, or if a redemption of it, or of the nick,
// was undone before. A refusal takes one call too, two if it is for uses and the rules or parts must be read, and one
// more if the request has an idempotency key, because the same request may have been redeemed before. The extra call is
// made for unknown codes too, so that response times do not reveal which codes exist.
func (s *Redeemer) Redeem(ctx context.Context, claim voucher.Claim) (voucher.Redemption, error) {
	var lost lostAttempt
	r := &redeeming{claim: claim}
	err := s.redeem(ctx, r, &lost)
	if _, refused := voucher.IsRefusal(err); refused && (claim.Key != "" || bool(lost)) {
		err = s.redeemedBefore(ctx, r, err)
	}
	return r.redemption, lost.outcome(err)
}

// redeeming is a redemption that is being recorded.
type redeeming struct {
	claim      voucher.Claim
	v          voucher.Voucher
	seen       *table.Allowance   // of a single-use code that was just read; nil: nothing was read
	apart      bool               // a redemption of the code, or of the nick, was undone before
	redemption voucher.Redemption // the result
}

func (s *Redeemer) redeem(ctx context.Context, r *redeeming, lost *lostAttempt) (err error) {
	switch request := r.claim.Request; {
	case !s.rules.hasManyUses(request):
		if err = s.redeemUnread(ctx, r, lost); errors.Is(err, errLookAgain) {
			break
		}
		return err
	case s.rules.isSoldOut(request):
		if r.v, err = s.read(ctx, request); err == nil { // read, so that this refusal takes as many calls as any
			err = &voucher.RefusalError{Reason: voucher.ReasonUsedUp}
		}
		return err
	default:
		if r.v, err = s.Rules(ctx, request); err != nil {
			return err
		}
	}
	return s.again(ctx, func() error {
		if err := r.v.Refuse(r.claim.Request); err != nil {
			return err
		}
		err := s.post(ctx, s.posting(r), lost)
		if errors.Is(err, errApart) {
			r.apart = true
			err = s.post(ctx, s.posting(r), lost)
		}
		if errors.Is(err, errRulesChanged) {
			return cmp.Or(s.reload(ctx, r), errLookAgain)
		}
		if short, isShort := errors.AsType[*shortError](err); isShort {
			return s.refuse(ctx, r, short.taking)
		}
		return err
	})
}

// refuse returns the refusal of a redemption because the taking has too little. It returns errLookAgain if that was for
// the nick's limit, which is a rule, and the rule has been raised since it was read.
func (s *Redeemer) refuse(ctx context.Context, r *redeeming, short *taking) error {
	if short.of == voucher.OfCode {
		s.rules.sellOut(r.claim.Request)
		return short.short
	}
	before := r.v.MaxUsesPerNick
	if err := s.reload(ctx, r); err != nil {
		return err
	}
	if r.v.MaxUsesPerNick <= before {
		return short.short
	}
	return errLookAgain
}

// reload reads the rules, and forgets what else was read.
func (s *Redeemer) reload(ctx context.Context, r *redeeming) (err error) {
	r.seen = nil
	r.v, err = s.read(ctx, r.claim.Request)
	return err
}

// redeemUnread redeems a code without having read it, if it is single-use and no redemption of it was undone. The
// condition contains all rules, so one call decides. It creates no item, because only existing items have a limit.
// errLookAgain means that nothing was written, and that r has the rules.
func (s *Redeemer) redeemUnread(ctx context.Context, r *redeeming, lost *lostAttempt) error {
	claim := r.claim
	call := &table.Update{Key: table.VoucherKey(claim.Shop, claim.Code)}
	call.Set(table.RecordPrefix+string(claim.Token), table.EncodeRecord(newRedemption(claim, voucher.Voucher{})))
	call.Add(table.AttrLeft, -1)
	call.Add(table.AttrUsed, 1)
	call.RequireEqual(table.AttrApart, nil)
	call.Require("#limit = :one AND #left >= :one AND #disabled = :false AND #from <= :at AND #until > :at" +
		" AND (attribute_not_exists(#nickHash) OR #nickHash = :nick)")
	call.Name(table.AttrLimit, table.AttrDisabled, table.AttrFrom, table.AttrUntil, table.AttrNickHash)
	call.Value(":one", table.Num(1))
	call.Value(":at", table.Millis(claim.At))
	call.Value(":false", table.Bool(false))
	call.Value(":nick", table.Str(table.NickCondition(claim.Nick)))
	requireUnpaused(call, claim.Paused)
	taken, err := s.api.UpdateItem(ctx, call.Input(s.vouchers, types.ReturnValueAllNew), lost.note)
	old, failed := table.OldItem(err)
	if failed {
		return s.judgeUnread(r, old)
	}
	if err != nil {
		return err
	}
	v, err := table.DecodeVoucher(taken.Attributes)
	if err == nil {
		r.redemption = *v.Redeemed
	}
	return err
}

// judgeUnread decides by the voucher that DynamoDB returned with the failed condition, and remembers its rules.
func (s *Redeemer) judgeUnread(r *redeeming, old table.Item) error {
	if len(old) == 0 {
		return &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	// written by an earlier attempt, or by an earlier request with the same key
	if err := r.judge(old); !errors.Is(err, errLookAgain) && !errors.Is(err, errApart) {
		return err
	}
	v, err := table.DecodeVoucher(old)
	if err != nil {
		return err
	}
	s.rules.remember(r.claim.Request, v.Voucher)
	r.v = v.Voucher
	if v.SingleUse() {
		r.seen, r.apart = &v.Allowance, v.Apart
	}
	return errLookAgain
}

// requireUnpaused adds the condition that the voucher is not paused. If all codes are paused, the condition can never
// hold. The call is made even then, so that the refusal takes as long as any other.
func requireUnpaused(call *table.Update, paused voucher.Pause) {
	if paused.All {
		call.Require("attribute_not_exists(#limit)")
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

// posting returns what a redemption writes. It is recorded in the smallest item that it takes from, see
// table.RecordKey.
func (s *Redeemer) posting(r *redeeming) *posting {
	claim := r.claim
	r.redemption = newRedemption(claim, r.v)
	own := table.RedemptionKey(claim.Shop, claim.Code, claim.Token)
	p := &posting{takings: s.takings(claim.Request, r.v, "", time.Time{})}
	var recordIn *taking
	for _, t := range p.takings {
		if t.of == voucher.OfNick || r.v.SingleUse() {
			recordIn = t
		}
	}
	if recordIn == nil {
		p.record, p.recorded = table.Reading(s.vouchers, own), r.judge
	} else {
		with, judge := recordIn.with, recordIn.judge
		recordIn.seen = r.seen
		recordIn.with = func(u *table.Update) {
			if with != nil {
				with(u)
			}
			record(u, r.redemption)
			if !r.apart {
				u.RequireEqual(table.AttrApart, nil)
			}
		}
		recordIn.judge = func(old table.Item) error {
			err := r.judge(old)
			if errors.Is(err, errLookAgain) && judge != nil {
				err = judge(old)
			}
			return err
		}
	}
	p.bookings = func() []action {
		var actions []action
		switch {
		case recordIn == nil:
			call := &table.Update{Key: own}
			record(call, r.redemption)
			actions = append(actions, updating(s.vouchers, call, r.judge))
		case r.apart:
			actions = append(actions, requiringAbsent(s.vouchers, own, r.judge))
		}
		return append(actions, s.counting(claim.Request)...)
	}
	return p
}

// record adds the record of a redemption to the update of an item.
func record(u *table.Update, redemption voucher.Redemption) {
	name := table.RecordPrefix + redemption.ID
	u.Set(name, table.EncodeRecord(redemption))
	u.Set(table.AttrCode, table.Str(redemption.Code))
	u.RequireEqual(name, nil)
}

// judge decides by an item that may have the claim's record: nil means that it has. errApart means that the record may
// be in an item of its own.
func (r *redeeming) judge(old table.Item) error {
	redemption, found, err := recorded(r.claim.Token, old)
	switch {
	case found || err != nil:
		r.redemption = redemption
		return err
	case old.Bool(table.AttrApart) && !r.apart:
		return errApart
	}
	return errLookAgain
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
	count := updating(s.refusals, call, func(table.Item) error {
		return &voucher.TooManyRedemptionsError{Until: quota.End}
	})
	count.weak = true
	return []action{count}
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

// redeemedBefore returns nil if a redemption is recorded under the claim's token, and the refusal if there is none. It
// waits for a transaction in flight, because a use that the transaction takes may be visible before the record that it
// writes.
func (s *Redeemer) redeemedBefore(ctx context.Context, r *redeeming, refusal error) error {
	claim := r.claim
	own := table.RedemptionKey(claim.Shop, claim.Code, claim.Token)
	reads := []types.TransactGetItem{table.Reading(s.vouchers, own)}
	if at := table.RecordKey(claim.Shop, r.v, claim.Nick, claim.Token); r.v.Code != "" && at != own {
		reads = append(reads, table.Reading(s.vouchers, at))
	}
	items, err := table.GetTogether(ctx, s.api, s.random, reads...)
	if err != nil {
		return err
	}
	for _, it := range items {
		if redemption, found, err := recorded(claim.Token, it); found || err != nil {
			r.redemption = redemption
			return err
		}
	}
	return refusal
}

// newRedemption returns the redemption of a claim. It has no Code and no Reward if the voucher was not read.
func newRedemption(claim voucher.Claim, v voucher.Voucher) voucher.Redemption {
	return voucher.Redemption{
		ID: string(claim.Token), Code: v.Written, Nick: claim.Nick.Written, At: claim.At, Attempt: claim.Attempt,
		Reward: v.Reward,
	}
}
