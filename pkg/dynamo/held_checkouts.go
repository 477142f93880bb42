package dynamo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Tables names the tables that a store uses together.
type Tables struct{ Checkouts, Vouchers, Refusals string }

// HeldCheckouts stores checkouts that hold a use of a voucher, or replace another checkout. It implements
// checkout.HoldStore. Create it with NewHeldCheckouts.
type HeldCheckouts struct {
	uses

	tables Tables
}

// NewHeldCheckouts returns a store of held checkouts. random is as in NewRedeemer.
func NewHeldCheckouts(api UsesAPI, tables Tables, random func(n int64) int64) *HeldCheckouts {
	return &HeldCheckouts{uses{api, tables.Vouchers, random}, tables}
}

// OpenHeld stores a checkout and its hold in one transaction. If the checkout replaces another one, the transaction
// also marks that one as replaced. If a checkout with the same key is still open or has ended, OpenHeld returns that
// checkout and changes nothing.
func (s *HeldCheckouts) OpenHeld(ctx context.Context, opening checkout.Opening) (checkout.Checkout, error) {
	var lost lostAttempt
	result, err := s.openHeld(ctx, opening, &lost)
	if lost.mayContradict(err) {
		err = &UnavailableError{Err: errMayBeApplied}
	}
	return result, table.Outcome(err)
}

func (s *HeldCheckouts) openHeld(
	ctx context.Context, opening checkout.Opening, lost *lostAttempt,
) (checkout.Checkout, error) {
	h := &holding{Opening: opening, until: voucher.HeldUntil(opening.Checkout.Expires)}
	err := s.untilTaken(ctx, h.Voucher,
		func(free *freeUse) error { return s.openOnce(ctx, h, free, lost) },
		func() error {
			if h.Checkout.Code == "" { // there is no voucher to read
				return errLookAgain
			}
			return s.reread(ctx, h)
		})
	if err != nil {
		return checkout.Checkout{}, err
	}
	return h.result, nil
}

// reread reads the voucher and the nick's uses again, and checks whether the hold that the checkout can share still
// exists. If the voucher was deleted and its code was created again, the checkout is refused, because it was priced by
// the old voucher. If only the reward was edited, the checkout keeps its price, because its request began before the
// edit ended.
func (s *HeldCheckouts) reread(ctx context.Context, h *holding) (err error) {
	priced := h.Voucher.Created
	if h.Voucher, h.Uses, err = s.Look(ctx, h.Claim.Request); err != nil {
		return err
	}
	if !h.Voucher.Created.Equal(priced) {
		return &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	shared, canShare := h.Shared()
	if !canShare || shared.Kind != voucher.HoldCounted {
		return nil
	}
	// Without a limit per nick, the hold to share is the one that the replaced checkout names. If that hold does not
	// exist any more, for example because a request whose clock is ahead took it over, the new checkout must not try to
	// share it.
	key := table.HoldKey(h.Shop, h.Claim.Code, shared)
	found, err := table.BatchGet(ctx, s.api, s.random, s.vouchers, key)
	if err == nil && found[key] == nil {
		replaced := *h.Replaces
		replaced.Hold, h.Replaces = nil, &replaced
	}
	return err
}

// RecallSettled reads the checkout that is stored under a token, or returns checkout.ErrNotFound. It waits for a
// transaction in flight, because the hold may be visible before its checkout.
func (s *HeldCheckouts) RecallSettled(
	ctx context.Context, shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	return readCheckoutSettled(ctx, s.api, s.random, s.tables.Checkouts, shop, token)
}

// holding is a checkout that is being opened.
type holding struct {
	checkout.Opening

	until  time.Time // when a new hold lapses
	result checkout.Checkout
}

// openOnce tries once to open the checkout with a free use. If free is nil, openOnce looks for a free use.
func (s *HeldCheckouts) openOnce(ctx context.Context, h *holding, free *freeUse, lost *lostAttempt) error {
	h.result = h.Checkout
	var held []action
	if h.Checkout.Code != "" {
		var err error
		if held, err = s.hold(ctx, h, free); err != nil {
			return err
		}
	}
	put := putCheckout(s.tables.Checkouts, h.Shop, h.result)
	actions := []action{{types.TransactWriteItem{Put: &put}, h.keep}}
	// A replaced checkout with the same token needs no write of its own: the put overwrites it, or finds it still open.
	if h.Replaces != nil && h.Replaces.ID.Token() != h.result.ID.Token() {
		replace := updateWhile(h.Shop, h.Replaces.ID, table.StatusOpen)
		replace.Set(table.AttrStatus, table.Str(table.StatusReplaced))
		actions = append(actions, updating(s.tables.Checkouts, replace,
			func(table.Item) error { return checkout.ErrNotReplaceable }))
	}
	return transact(ctx, s.api, append(actions, held...), lost.note)
}

// keep sets the result to the checkout that is already stored.
func (h *holding) keep(old table.Item) error {
	h.result = table.DecodeCheckout(old)
	return nil
}

// hold decides which use the checkout holds, and returns the actions that take it. If the replaced checkout has a live
// hold of the same voucher, the new checkout shares that hold. If not, the new checkout takes a free use. If it cannot
// get a free use, it shares another live hold of the nick, if the nick has one.
func (s *HeldCheckouts) hold(ctx context.Context, h *holding, free *freeUse) ([]action, error) {
	shared, canShare := h.Shared()
	if canShare && h.Replaces != nil && h.Replaces.Hold != nil && h.Replaces.Hold.ID == shared.ID {
		h.result.SharesUse = h.Replaces.SharesUse || !h.Replaces.Hold.Until.Equal(shared.Until)
		return s.share(ctx, h, shared)
	}
	taken, err := s.take(ctx, h, free)
	if !isShortage(err) {
		return taken, err
	}
	_, tooMany := errors.AsType[*checkout.TooManyHoldsError](err)
	// Of this kind only, take reads counters after the nick's holds: meanwhile another request of the nick may have
	// taken the last use, for a hold to share.
	if !canShare && !tooMany && h.Voucher.HoldKind() == voucher.HoldCountedByNick {
		v, uses, lookErr := s.Look(ctx, h.Claim.Request)
		if lookErr != nil {
			return nil, lookErr
		}
		h.Voucher, h.Uses = v, uses
		shared, canShare = h.Shared()
	}
	if !canShare {
		return nil, err
	}
	h.result.SharesUse = true
	return s.share(ctx, h, shared)
}

// isShortage reports whether the code is valid, but no use could be taken for this request: all are used up, or the
// nick or the source has reached its limit.
func isShortage(err error) bool {
	reason, _ := voucher.IsRefusal(err)
	_, tooMany := errors.AsType[*checkout.TooManyHoldsError](err)
	return reason == voucher.ReasonUsedUp || reason == voucher.ReasonNickLimit || tooMany
}

// take returns the actions that take a free use for a new hold.
func (s *HeldCheckouts) take(ctx context.Context, h *holding, free *freeUse) ([]action, error) {
	request, kind := h.Claim.Request, h.Voucher.HoldKind()
	if err := h.Voucher.Refuse(request); err != nil {
		return nil, err
	}
	if err := h.Voucher.RefuseNick(h.Uses, request.At); err != nil {
		return nil, err
	}
	hold := &voucher.Hold{Kind: kind, ID: h.Claim.HoldID, Counter: table.NoCounter, Until: h.until}
	h.result.Hold = hold
	var actions []action
	switch kind {
	case voucher.HoldUnlimited:
		return nil, nil
	case voucher.HoldSingleUse:
		call := takeSingleUse(h.Claim, hold.Until)
		// The voucher must still be the one that the rules accepted. The role of the function may not name its reward,
		// not even in a condition.
		call.RequireEqual(table.AttrVersion, table.Num(h.Voucher.Version))
		call.RequireEqual(table.AttrCreated, table.Millis(h.Voucher.Created))
		actions = append(actions, updating(s.vouchers, call, nil))
	case voucher.HoldCounted, voucher.HoldCountedByNick, voucher.HoldByNick:
		if own := ownToSwap(h.Voucher, h.Uses, request); own != nil {
			free = own
		}
		if kind.IsCounted() {
			var err error
			if free, err = s.secure(ctx, request, h.Voucher, free); err != nil {
				return nil, err
			}
			hold.Counter = free.counter
			actions = append(s.taking(request, *free, hold.Until), s.storingHold(request, *hold))
		}
		if kind.IsByNick() {
			call := &table.Update{Key: table.NickKey(request.Shop, request.Code, nickID(request))}
			call.Set(table.HoldPrefix+hold.ID, table.EncodeHold(*hold))
			countForNick(call, h.Voucher, h.Uses, request, free)
			actions = append(actions, updating(s.vouchers, call, nil))
		}
	}
	counted, err := s.countForSource(ctx, h, hold.Until, time.Time{})
	return append(actions, counted...), err
}

// storingHold returns the action that stores a counted hold.
func (s *HeldCheckouts) storingHold(request voucher.Request, hold voucher.Hold) action {
	it := table.HoldKey(request.Shop, request.Code, hold).Attributes()
	if hold.Kind.IsByNick() {
		it[table.AttrHolder] = table.Str(nickID(request))
	}
	return inserting(s.vouchers, it)
}

// share returns the actions that let the checkout share a live hold. They make that hold last at least as long as a new
// hold would. Only one of the checkouts that share a hold can be ordered. If another open checkout has the hold, too,
// they always make it last longer: so a checkout whose hold is stored as the checkout has it does not share it.
func (s *HeldCheckouts) share(ctx context.Context, h *holding, shared voucher.Hold) ([]action, error) {
	request := h.Claim.Request
	if err := h.Voucher.RefuseShare(request); err != nil {
		return nil, err
	}
	longer := shared
	if h.until.After(shared.Until) {
		longer.Until = h.until
	} else if h.result.SharesUse {
		longer.Until = shared.Until.Add(time.Millisecond)
	}
	h.result.Hold = &longer
	var actions []action
	if shared.Kind.IsCounted() && longer.Until.After(shared.Until) {
		actions = append(actions, deleting(s.vouchers, table.HoldKey(request.Shop, request.Code, shared)),
			s.storingHold(request, longer))
	}
	switch {
	case shared.Kind == voucher.HoldSingleUse:
		call := &table.Update{Key: table.VoucherKey(request.Shop, request.Code)}
		holdSingleUse(call, shared.ID, request.Nick, longer.Until)
		call.RequireEqual(table.AttrHold, table.Str(shared.ID))
		call.RequireEqual(table.AttrHeldUntil, table.Millis(shared.Until))
		actions = append(actions, updating(s.vouchers, call, nil))
	case shared.Kind.IsByNick():
		attribute := table.HoldPrefix + shared.ID
		call := &table.Update{Key: table.NickKey(request.Shop, request.Code, nickID(request))}
		call.Set(attribute, table.EncodeHold(longer))
		call.RequireEqual(attribute, table.EncodeHold(shared))
		actions = append(actions, updating(s.vouchers, call, nil))
	case len(actions) == 0:
		actions = append(actions, requiring(s.vouchers, table.HoldKey(request.Shop, request.Code, shared)))
	}
	if longer.Until.Equal(shared.Until) {
		return actions, nil
	}
	counted, err := s.countForSource(ctx, h, longer.Until, shared.Until)
	return append(actions, counted...), err
}

// sourceRetention is how long the item of a source is stored after its last hold has lapsed.
const sourceRetention = time.Hour

// countForSource returns the action that adds a hold to the list of live holds of the source, or a
// *checkout.TooManyHoldsError. The parameter until is the time when the hold lapses. If the hold existed before and now
// lasts longer, oldUntil is the time when it would have lapsed. Then until replaces oldUntil in the list, or is added
// if the list does not have oldUntil. For a new hold, oldUntil is zero. A network and its subnets share one list, so
// that counting both takes no more calls.
func (s *HeldCheckouts) countForSource(ctx context.Context, h *holding, until, oldUntil time.Time) ([]action, error) {
	if h.Source == (access.Source{}) {
		return nil, nil
	}
	key := table.SourceHoldsKey(h.Shop, h.Source)
	it, err := table.Get(ctx, s.api, s.tables.Refusals, key, nil)
	if err != nil {
		return nil, err
	}
	live, subnet := table.DecodeLapses(it, h.Claim.At), h.Source.Subnet
	if old := slices.Index(live, table.Lapse{Millis: oldUntil.UnixMilli(), Subnet: subnet}); old >= 0 {
		live = slices.Delete(live, old, old+1)
	}
	live = append(live, table.Lapse{Millis: until.UnixMilli(), Subnet: subnet})
	slices.SortFunc(live, func(a, b table.Lapse) int { return cmp.Compare(a.Millis, b.Millis) })
	own := slices.DeleteFunc(slices.Clone(live), func(l table.Lapse) bool { return l.Subnet != subnet })
	switch {
	case len(own) > checkout.MaxHoldsPerSource:
		return nil, &checkout.TooManyHoldsError{Until: time.UnixMilli(own[0].Millis).UTC()}
	case len(live) > checkout.MaxHoldsPerNetwork:
		return nil, &checkout.TooManyHoldsError{Until: time.UnixMilli(live[0].Millis).UTC()}
	}
	call := &table.Update{Key: key}
	call.Set(table.AttrLapses, table.EncodeLapses(live))
	call.Set(table.AttrExpiresAt, table.Num(live[len(live)-1].Millis/1000+int64(sourceRetention/time.Second)))
	call.RequireEqual(table.AttrLapses, it[table.AttrLapses])
	return []action{updating(s.tables.Refusals, call, nil)}, nil
}
