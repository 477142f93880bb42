package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// UsesAPI lists the DynamoDB operations that finding and taking uses needs.
type UsesAPI interface {
	table.Getter
	table.BatchGetter
	table.TransactGetter
	transactor
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// uses finds and takes the uses of vouchers.
type uses struct {
	api      UsesAPI
	vouchers string // the table
	random   func(n int64) int64
}

// freeUse is a use of a limited code that can be taken: a use that is left in a counter, or the use of a lapsed hold.
type freeUse struct {
	counter int
	lapsed  *voucher.Hold // nil: the use is taken from the counter
	holder  string        // if nicks have a limit: the NickID of the lapsed hold's nick
}

// untilTaken calls the function try until it takes a use or fails for good. As long as the counters of v may have uses
// left, the parameter free is a random counter. Once try has found such a counter empty, free is nil, and try looks for
// a free use itself. If the items have changed since they were read, untilTaken calls the function reread.
func (s *uses) untilTaken(
	ctx context.Context, v voucher.Voucher, try func(free *freeUse) error, reread func() error,
) error {
	mayHaveLeft := v.Limited() && v.FullUntil.IsZero() // the counters may have uses left
	for attempt := 0; ; attempt++ {
		var free *freeUse
		if mayHaveLeft {
			free = &freeUse{counter: int(s.random(int64(v.Counters)))}
		}
		stale, wait := false, true
		switch err := try(free); {
		case err == nil:
			return nil
		case errors.Is(err, errCounterEmpty):
			mayHaveLeft, wait = false, false
		case errors.Is(err, errDropped):
			stale, wait = true, false // many lapsed holds may have to be dropped
		case errors.Is(err, errLookAgain):
			stale = true
		case !table.IsConflict(err):
			return err
		default: // a conflict: wait, then try the same
		}
		if stale {
			if err := reread(); err != nil {
				return err
			}
		}
		if wait {
			if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
				return err
			}
		}
	}
}

func nickID(request voucher.Request) string {
	return voucher.NickID(request.Shop, request.Code, request.Nick)
}

// errCounterEmpty means that the counter has no uses left.
var errCounterEmpty = errors.New("the counter has no uses left")

// ownToSwap returns a lapsed hold of the request's own nick if the nick has reached its limit. Such a nick can get a
// use only by replacing that hold.
func ownToSwap(v voucher.Voucher, uses voucher.NickUses, request voucher.Request) *freeUse {
	lapsed := uses.Lapsed(request.At)
	if len(lapsed) == 0 || uses.Taken < int(v.MaxUsesPerNick) {
		return nil
	}
	return &freeUse{lapsed[0].Counter, &lapsed[0], nickID(request)}
}

// secure returns the free use to take. If free is nil, secure looks for one. If no use is free, secure marks the
// voucher as full for later requests, and returns a *voucher.RefusalError. If the voucher has changed since it was
// read, the error is errLookAgain. If more uses are taken than a lowered limit allows, secure drops a lapsed hold
// instead of returning it, and returns errDropped.
//
// Items are not read at one instant. Therefore secure does not mark the voucher if a use came back or the voucher was
// edited meanwhile.
func (s *uses) secure(
	ctx context.Context, request voucher.Request, v voucher.Voucher, free *freeUse,
) (*freeUse, error) {
	if free == nil {
		found, until, err := s.findFree(ctx, request, v)
		if err != nil {
			return nil, err
		}
		if found == nil {
			if err := s.markFull(ctx, request, v, until); err != nil {
				return nil, err
			}
			return nil, &voucher.RefusalError{Reason: voucher.ReasonUsedUp}
		}
		free = found
	}
	if free.lapsed == nil || v.Over == 0 {
		return free, nil
	}
	if err := s.drop(ctx, request, v, *free); err != nil {
		return nil, err
	}
	return nil, errDropped
}

// taking returns the actions that take a free use. The parameter until is the time when the taker's hold lapses. If
// until is zero, the taker redeems. The actions do not write the item of the taker's own nick, even if that nick has
// the lapsed hold: callers add that write.
func (s *uses) taking(request voucher.Request, free freeUse, until time.Time) []action {
	if free.lapsed == nil {
		take := &table.Update{Key: table.CounterKey(request.Shop, request.Code, free.counter)}
		take.Add(table.AttrLeft, -1)
		take.Add(table.AttrUsed, 1)
		if !until.IsZero() {
			take.SetOnce(table.AttrLapse, table.Millis(until.Add(-lapseMargin)))
		}
		take.Require("#left >= :least")
		take.Value(":least", table.Num(1))
		return []action{updating(s.vouchers, take, func(table.Item) error { return errCounterEmpty })}
	}
	taken := []action{deleting(s.vouchers, table.HoldKey(request.Shop, request.Code, *free.lapsed))}
	if free.holder != "" && free.holder != nickID(request) {
		taken = append(taken, s.losing(request, free))
	}
	return taken
}

// losing returns the action that removes a lapsed hold from the item of the nick that holds it.
func (s *uses) losing(request voucher.Request, free freeUse) action {
	lose := &table.Update{Key: table.NickKey(request.Shop, request.Code, free.holder)}
	attribute := table.HoldPrefix + free.lapsed.ID
	lose.RequireEqual(attribute, table.EncodeHold(*free.lapsed))
	lose.Remove(attribute)
	lose.Add(table.AttrTaken, -1)
	return updating(s.vouchers, lose, nil)
}

const (
	// lapseMargin is how much earlier a counter's AttrLapse is than the lapse of the counter's first hold. It must
	// exceed the sum of the holdTick of package voucher, the length of a request and the difference between clocks.
	// Then no later hold of the counter lapses before AttrLapse.
	lapseMargin = time.Minute
	// longestMark bounds how long a code is marked as full if it ever had a hold. The mark must end, because findFree
	// may have missed a hold that was just being moved.
	longestMark = 29 * time.Minute
	// holdPage is how many holds of a counter one query reads.
	holdPage = 8
)

// errDropped means that a lapsed hold was dropped, because more uses are taken than a lowered limit allows.
var errDropped = errors.New("a lapsed hold was dropped")

// findFree returns a free use. If no use is free, the result is nil, and the voucher can be marked as full until
// fullUntil.
func (s *uses) findFree(
	ctx context.Context, request voucher.Request, v voucher.Voucher,
) (free *freeUse, fullUntil time.Time, err error) {
	counters, err := table.ReadCounters(ctx, s.api, s.random, s.vouchers, request.Shop, v.Code, v.Counters)
	if err != nil {
		return nil, time.Time{}, err
	}
	var left []int
	for _, counter := range counters {
		if counter.Left > 0 {
			left = append(left, counter.Number)
		}
	}
	if len(left) > 0 {
		return &freeUse{counter: left[s.random(int64(len(left)))]}, time.Time{}, nil
	}
	fullUntil = noLapse()
	for i, start := 0, int(s.random(int64(len(counters)))); i < len(counters); i++ {
		counter := counters[(start+i)%len(counters)]
		if counter.Lapse.IsZero() {
			continue
		}
		fullUntil = earliest(fullUntil, request.At.Add(longestMark))
		if counter.Lapse.After(request.At) {
			fullUntil = earliest(fullUntil, counter.Lapse)
			continue
		}
		lapsed, next, err := s.lapsed(ctx, request, v, counter.Number, aws.Int32(holdPage))
		if err != nil {
			return nil, time.Time{}, err
		}
		if len(lapsed) > 0 {
			return &lapsed[s.random(int64(len(lapsed)))], time.Time{}, nil
		}
		fullUntil = earliest(fullUntil, next)
	}
	return nil, fullUntil, nil
}

// noLapse returns a time that is later than the lapse of any hold.
func noLapse() time.Time { return time.UnixMilli(table.FarFuture).UTC() }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// lapsed reads the first holds of a counter, up to limit. It returns those that have lapsed, and when the next one
// lapses. If limit is nil, it reads as many holds as fit in a response.
func (s *uses) lapsed(
	ctx context.Context, request voucher.Request, v voucher.Voucher, counter int, limit *int32,
) (lapsed []freeUse, next time.Time, err error) {
	query := table.HoldsQuery(s.vouchers, request.Shop, v.Code, counter)
	query.Limit = limit
	out, err := s.api.Query(ctx, query)
	if err != nil {
		return nil, time.Time{}, err
	}
	next = noLapse()
	for _, it := range out.Items {
		hold, holder, err := table.DecodeHoldItem(v.HoldKind(), it)
		if err != nil {
			return nil, time.Time{}, err
		}
		if hold.HasLapsed(request.At) {
			lapsed = append(lapsed, freeUse{counter, &hold, holder})
		} else {
			next = earliest(next, hold.Until)
		}
	}
	return lapsed, next, nil
}

// markFull marks a voucher as full until a time. If the voucher was edited or a use came back since the voucher was
// read, it returns errLookAgain instead.
func (s *uses) markFull(ctx context.Context, request voucher.Request, v voucher.Voucher, until time.Time) error {
	call := &table.Update{Key: table.VoucherKey(request.Shop, v.Code)}
	call.RequireEqual(table.AttrVersion, table.Num(v.Version))
	call.RequireCount(table.AttrReturns, v.Returns)
	call.Set(table.AttrFullUntil, table.Millis(until))
	call.Set(table.AttrFullVersion, table.Num(v.Version))
	_, err := s.api.UpdateItem(ctx, call.Input(s.vouchers, types.ReturnValueNone))
	if _, failed := table.OldItem(err); failed {
		return errLookAgain
	}
	return err
}

// drop gives up the use of a lapsed hold, because more uses are taken than a lowered limit allows.
func (s *uses) drop(ctx context.Context, request voucher.Request, v voucher.Voucher, free freeUse) error {
	counter, err := s.usedCounter(ctx, request, v)
	if err != nil {
		return err
	}
	actions := []action{deleting(s.vouchers, table.HoldKey(request.Shop, v.Code, *free.lapsed))}
	if free.holder != "" {
		actions = append(actions, s.losing(request, free))
	}
	return transact(ctx, s.api, append(actions, s.returning(request, v, counter)...))
}

// returning returns the actions that give one use back to a counter. If more uses are taken than the limit allows, the
// actions drop the use instead.
func (s *uses) returning(request voucher.Request, v voucher.Voucher, counter int) []action {
	back := &table.Update{Key: table.CounterKey(request.Shop, v.Code, counter)}
	back.Add(table.AttrUsed, -1)
	back.Require("#used >= :least")
	back.Value(":least", table.Num(1))
	returned := &table.Update{Key: table.VoucherKey(request.Shop, v.Code)}
	returned.Add(table.AttrReturns, 1)
	returned.Name(table.AttrOver)
	if v.Over > 0 {
		returned.Add(table.AttrOver, -1)
		returned.Require("#over >= :least")
		returned.Value(":least", table.Num(1))
	} else {
		back.Add(table.AttrLeft, 1)
		returned.Remove(table.AttrFullUntil)
		returned.Require("(attribute_not_exists(#over) OR #over = :zero)")
		returned.Value(":zero", table.Num(0))
	}
	return []action{updating(s.vouchers, back, nil), updating(s.vouchers, returned, nil)}
}

// usedCounter returns the number of a random counter that has uses taken.
func (s *uses) usedCounter(ctx context.Context, request voucher.Request, v voucher.Voucher) (int, error) {
	counters, err := table.ReadCounters(ctx, s.api, s.random, s.vouchers, request.Shop, v.Code, v.Counters)
	if err != nil {
		return 0, err
	}
	var used []int
	for _, counter := range counters {
		if counter.Used > 0 {
			used = append(used, counter.Number)
		}
	}
	if len(used) == 0 {
		return 0, errLookAgain // a use is taken, so it moved between counters while they were read
	}
	return used[s.random(int64(len(used)))], nil
}

// HasFreeUse reports whether a use of a voucher with a limit above one is free at the time of the request. If v.Over
// uses are taken beyond a lowered limit, that many lapsed holds do not count as free. If no use is free, HasFreeUse
// marks the voucher as full. From then on a refusal takes no longer than that of an unknown code.
func (s *uses) HasFreeUse(ctx context.Context, request voucher.Request, v voucher.Voucher) (bool, error) {
	if v.Over > 0 {
		lapsed, err := s.countLapsed(ctx, request, v)
		return lapsed > v.Over, table.Outcome(err)
	}
	free, until, err := s.findFree(ctx, request, v)
	if err == nil && free == nil {
		err = s.markFull(ctx, request, v, until)
	}
	if errors.Is(err, errLookAgain) { // no use was free when the counters were read
		err = nil
	}
	return free != nil, table.Outcome(err)
}

// countLapsed counts the lapsed holds of a voucher. It stops counting once the number exceeds v.Over.
func (s *uses) countLapsed(ctx context.Context, request voucher.Request, v voucher.Voucher) (int, error) {
	lapsed := 0
	for counter := 0; counter < v.Counters && lapsed <= v.Over; counter++ {
		found, _, err := s.lapsed(ctx, request, v, counter, nil)
		if err != nil {
			return 0, err
		}
		lapsed += len(found)
	}
	return lapsed, nil
}

// Look reads a voucher and the uses that the request's nick has of it, in one call. For an unknown code, the error is a
// *voucher.RefusalError.
func (s *uses) Look(ctx context.Context, request voucher.Request) (voucher.Voucher, voucher.NickUses, error) {
	key := table.VoucherKey(request.Shop, request.Code)
	nick := table.NickKey(request.Shop, request.Code, nickID(request))
	found, err := table.BatchGet(ctx, s.api, s.random, s.vouchers, key, nick)
	if err != nil {
		return voucher.Voucher{}, voucher.NickUses{}, table.Outcome(err)
	}
	if found[key] == nil {
		return voucher.Voucher{}, voucher.NickUses{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	v, err := table.DecodeVoucher(found[key])
	if err != nil {
		return voucher.Voucher{}, voucher.NickUses{}, err
	}
	nickUses, err := table.DecodeNickUses(v.HoldKind(), found[nick])
	return v.Voucher, nickUses, err
}
