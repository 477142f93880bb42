package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// VouchersAPI is what an operator's work on vouchers calls of DynamoDB.
type VouchersAPI interface {
	RedeemAPI
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Vouchers is the operator's side of a vouchers table. Make it with NewVouchers.
type Vouchers struct {
	*Redemptions
	api VouchersAPI
}

// NewVouchers returns the vouchers of a table; random is as in NewRedemptions.
func NewVouchers(api VouchersAPI, table string, random func(n int64) int64) *Vouchers {
	return &Vouchers{Redemptions: NewRedemptions(api, table, random), api: api}
}

// Create stores a new voucher, with its counters where it has a limit above one: all or nothing. It returns voucher.ErrCodeTaken
// where the code exists. One that was created as v counts as created: the answer to the first attempt was lost.
func (s *Vouchers) Create(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) error {
	existing, err := s.putNew(ctx, customer, v)
	if err != nil || existing == nil {
		return outcome(err)
	}
	kept, err := decodeVoucher(existing)
	if err != nil {
		return err
	}
	if !createdAs(kept.Voucher, stored(v)) {
		return voucher.ErrCodeTaken
	}
	return nil
}

// createdAs tells whether a kept voucher was created as v, by all that neither redemptions nor edits change where they came.
func createdAs(kept, v voucher.Voucher) bool {
	if kept.Version == v.Version {
		return sameEdit(kept, v)
	}
	return kept.Written == v.Written && kept.Reward == v.Reward && kept.Created.Equal(v.Created) && kept.Counters == v.Counters
}

// stored is v as it is read back: in whole milliseconds.
func stored(v voucher.Voucher) voucher.Voucher {
	kept, _ := decodeVoucher(encodeVoucher("", v)) // what New made can be read
	return kept.Voucher
}

// putNew stores the voucher, or returns the one that has its code.
func (s *Vouchers) putNew(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) (existing item, err error) {
	put := &types.Put{
		TableName: aws.String(s.table), Item: encodeVoucher(customer, v),
		ConditionExpression:                 aws.String("attribute_not_exists(" + sortKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if v.Counters == 0 {
		_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
		})
		if old, failed := oldItem(err); failed {
			return old, nil
		}
		return nil, err
	}
	actions := []types.TransactWriteItem{{Put: put}}
	for number := range v.Counters {
		counter := counterKey{customer, v.Code, number}.primary().attributes()
		counter[attrLeft] = num(share(int(v.MaxUses), v.Counters, number))
		counter[attrUsed] = num(0)
		counter[attrVersion] = num(0)
		actions = append(actions, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(s.table), Item: counter}})
	}
	for attempt := 0; ; attempt++ {
		_, err := s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
		canceled, is := errors.AsType[*types.TransactionCanceledException](err)
		if is && len(canceled.CancellationReasons) > 0 && aws.ToString(canceled.CancellationReasons[0].Code) == conditionFailed {
			return canceled.CancellationReasons[0].Item, nil
		}
		if !isConflict(err) {
			return nil, err
		}
		if err := wait(ctx, backoff(attempt, s.random)); err != nil {
			return nil, err
		}
	}
}

// share is the part of a whole that number of parts gets, as even as can be.
func share(whole, parts, number int) int {
	part := whole / parts
	if number < whole%parts {
		part++
	}
	return part
}

// Standing is a voucher as it stands.
type Standing struct {
	voucher.Voucher
	// UsesLeft is how often it can still be redeemed; voucher.NoLimit for a code without a limit.
	UsesLeft int
	// Used is how often it was redeemed; for a code without a limit it is not counted, and 0.
	Used int
	// Editing is the limit that an edit was on its way to when it was interrupted, or is now; else voucher.NoLimit.
	Editing voucher.Limit
}

// Show reads a voucher and its counters. An unknown code is a *voucher.RefusalError.
func (s *Vouchers) Show(ctx context.Context, customer catalog.CustomerID, code voucher.Code) (Standing, error) {
	kept, err := s.readKept(ctx, voucherKey{customer, code})
	if err != nil {
		return Standing{}, outcome(err)
	}
	standing := Standing{Voucher: kept.Voucher, Editing: kept.editing}
	switch {
	case kept.SingleUse() && kept.Redeemed == nil:
		standing.UsesLeft = 1
	case kept.SingleUse():
		standing.Used = 1
	case kept.Limited():
		counters, err := s.readCounters(ctx, customer, kept.Voucher)
		if err != nil {
			return Standing{}, outcome(err)
		}
		for _, counter := range counters {
			standing.UsesLeft += counter.left
			standing.Used += counter.used
		}
	}
	return standing, nil
}

// errEditedMeanwhile says that another edit got in between.
var errEditedMeanwhile = errors.New("another edit of the voucher is going on or has just ended: look at it and run the edit again")

// maxEditAttempts bounds how often an edit begins again because another one got in between.
const maxEditAttempts = 5

// Edit changes a voucher and returns it as it then is; the change holds for every request that begins after Edit returned.
// Errors are a *voucher.RefusalError for an unknown code, the *voucher.FieldError of an edit that is not allowed, an
// *UnavailableError, and one that says that other edits came in between. After the latter two the edit may have been applied in
// part. Run again, it is completed.
func (s *Vouchers) Edit(ctx context.Context, customer catalog.CustomerID, code voucher.Code, edit voucher.Edit) (voucher.Voucher, error) {
	begun := false // an edit of the limit, which may have reached the counters
	for attempt := 0; ; attempt++ {
		before, err := s.readKept(ctx, voucherKey{customer, code})
		if err != nil {
			return voucher.Voucher{}, outcome(err)
		}
		after, err := before.Edited(edit)
		if err != nil && begun { // it is not refused: something was changed
			return voucher.Voucher{}, fmt.Errorf("%w: %s", errEditedMeanwhile, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if err != nil {
			return voucher.Voucher{}, err
		}
		if edit.MaxUses != nil && after.Limited() {
			var marked bool
			after, marked, err = s.moveLimit(ctx, customer, before.Voucher, after)
			begun = begun || marked
		} else {
			after, err = s.writeEdited(ctx, customer, before.Voucher, after)
		}
		if err == nil {
			return after, nil
		}
		if !errors.Is(err, errEditedMeanwhile) || attempt == maxEditAttempts-1 {
			return voucher.Voucher{}, outcome(err)
		}
		if err := wait(ctx, backoff(attempt, s.random)); err != nil {
			return voucher.Voucher{}, outcome(err)
		}
	}
}

// writeEdited writes what an edit changed of a voucher that still has the version it was read at.
func (s *Vouchers) writeEdited(ctx context.Context, customer catalog.CustomerID, before, after voucher.Voucher) (voucher.Voucher, error) {
	after.Version = before.Version + 1
	call := editing(customer, before, after.Version)
	setEditable(call, after)
	return s.commitEdit(ctx, call, func(kept keptVoucher) bool { return sameEdit(kept.Voucher, after) })
}

// editing begins an update of a voucher that still has the version it was read at.
func editing(customer catalog.CustomerID, before voucher.Voucher, version int64) *update {
	call := &update{key: voucherKey{customer, before.Code}.primary(), condition: "#version = :version"}
	call.value(":version", num(before.Version))
	call.set(attrVersion, num(version))
	return call
}

func setEditable(call *update, v voucher.Voucher) {
	attributes := encodeEditable(v)
	for _, name := range []string{attrFrom, attrUntil, attrDisabled, attrPerNick, attrNick, attrNickHash, attrBatch, attrNote} {
		if attributes.has(name) {
			call.set(name, attributes[name])
		} else {
			call.remove(name)
		}
	}
}

// commitEdit sends an edit's write. Where its condition fails because it was written already and the answer was lost, which
// mine tells of the voucher as it then is, it is done.
func (s *Vouchers) commitEdit(ctx context.Context, call *update, mine func(keptVoucher) bool) (voucher.Voucher, error) {
	out, err := s.api.UpdateItem(ctx, call.input(s.table, types.ReturnValueAllNew))
	if old, failed := oldItem(err); failed {
		kept, err := decodeVoucher(old)
		if err == nil && !mine(kept) {
			err = errEditedMeanwhile
		}
		return kept.Voucher, err
	}
	if err != nil {
		return voucher.Voucher{}, err
	}
	kept, err := decodeVoucher(out.Attributes)
	return kept.Voucher, err
}

// sameEdit tells whether two vouchers are the same but for what redemptions change.
func sameEdit(a, b voucher.Voucher) bool {
	a.Redeemed, b.Redeemed = nil, nil
	a.Full, b.Full = false, false
	return stored(a) == stored(b)
}

// moveLimit changes the limit of a voucher with counters while it is being redeemed.
//
// It takes the voucher's next version, marks the voucher with the limit it is on its way to, and fences every counter with
// that version, so that an older edit can no longer write them. What a counter has left and used together then changes by
// this edit alone: a raise adds to it, a lowering takes from what is left. The voucher follows last, in a version of its
// own, with which it is no longer full: a request that saw it full before cannot mark it any more. begun tells that it was marked.
func (s *Vouchers) moveLimit(
	ctx context.Context, customer catalog.CustomerID, before, after voucher.Voucher,
) (moved voucher.Voucher, begun bool, err error) {
	editor := s.random(math.MaxInt64) // tells this edit from another that takes the same version
	marked := before
	marked.Version = before.Version + 1
	begin := editing(customer, before, marked.Version)
	begin.set(attrEditing, num(after.MaxUses))
	begin.set(attrEditor, num(editor))
	mine := func(kept keptVoucher, version int64) bool { return kept.Version == version && kept.editor == editor }
	if _, err := s.commitEdit(ctx, begin, func(kept keptVoucher) bool { return mine(kept, marked.Version) }); err != nil {
		return voucher.Voucher{}, false, err
	}
	if err := s.moveCounters(ctx, customer, marked, int(after.MaxUses)); err != nil {
		return voucher.Voucher{}, true, err
	}
	after.Version = marked.Version + 1
	end := editing(customer, marked, after.Version)
	setEditable(end, after)
	end.set(attrMaxUses, num(after.MaxUses))
	end.remove(attrEditing)
	end.remove(attrFull)
	// An edit of another field takes a version too, and leaves editor and mark as they are.
	ended := func(kept keptVoucher) bool { return mine(kept, after.Version) && kept.editing == voucher.NoLimit }
	moved, err = s.commitEdit(ctx, end, ended)
	return moved, true, err
}

func (s *Vouchers) moveCounters(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher, limit int) error {
	counters := make([]keptCounter, v.Counters)
	total := 0
	for number := range counters {
		fenced, err := s.fence(ctx, counterKey{customer, v.Code, number}, v.Version)
		if err != nil {
			return err
		}
		counters[number] = fenced
		total += fenced.left + fenced.used
	}
	if total <= limit {
		return s.raise(ctx, customer, v.Code, counters, limit-total)
	}
	return s.lower(ctx, customer, v.Code, counters, total-limit)
}

// A counter's version is the edit's that fenced it, and behind it the number of that edit's writes to the counter: a write
// that finds its own version has found itself.
const writesPerEdit = 1 << 20

func (s *Vouchers) fence(ctx context.Context, key counterKey, edit int64) (keptCounter, error) {
	call := update{key: key.primary()}
	call.set(attrVersion, num(edit*writesPerEdit))
	call.condition = "#version <= " + placeholder(call.alias(attrVersion))
	out, err := s.api.UpdateItem(ctx, call.input(s.table, types.ReturnValueAllNew))
	if _, failed := oldItem(err); failed {
		return keptCounter{}, errEditedMeanwhile
	}
	if err != nil {
		return keptCounter{}, err
	}
	return decodeCounter(key.number, out.Attributes), nil
}

func (s *Vouchers) raise(ctx context.Context, customer catalog.CustomerID, code voucher.Code, counters []keptCounter, by int) error {
	for number, counter := range counters {
		more := share(by, len(counters), number)
		if more == 0 {
			continue
		}
		moved, err := s.move(ctx, counterKey{customer, code, number}, counter, more)
		if err != nil {
			return err
		}
		if !moved.done {
			return fmt.Errorf("counter %d refused a raise: %w", number, errEditedMeanwhile)
		}
	}
	return nil
}

// lower takes uses from what the counters have left, until enough are taken or none is left. Redemptions go on meanwhile:
// where a counter has less left than was read, the failed condition tells how much, and half of that is tried for, so that
// a busy code cannot starve the edit.
func (s *Vouchers) lower(ctx context.Context, customer catalog.CustomerID, code voucher.Code, counters []keptCounter, by int) error {
	for number, counter := range counters {
		want := min(counter.left, by)
		for want > 0 {
			moved, err := s.move(ctx, counterKey{customer, code, number}, counter, -want)
			if err != nil {
				return err
			}
			counter = moved.counter
			if moved.done {
				by -= want
				want = min(counter.left, by)
			} else {
				want = min((counter.left+1)/2, by)
			}
		}
	}
	return nil
}

// move is one try to change what a counter has left; done tells whether it held, counter how the counter then stood.
func (s *Vouchers) move(ctx context.Context, key counterKey, counter keptCounter, by int) (moved struct {
	counter keptCounter
	done    bool
}, err error,
) {
	next := counter.version + 1
	call := update{key: key.primary()}
	call.add(attrLeft, by)
	call.set(attrVersion, num(next))
	call.condition = "#version = :version AND #left >= :least"
	call.value(":version", num(counter.version))
	call.value(":least", num(max(-by, 0)))
	out, err := s.api.UpdateItem(ctx, call.input(s.table, types.ReturnValueAllNew))
	if old, failed := oldItem(err); failed {
		moved.counter = decodeCounter(key.number, old)
		switch moved.counter.version {
		case next: // this very write: its answer was lost
			moved.done = true
		case counter.version:
		default:
			return moved, errEditedMeanwhile
		}
		return moved, nil
	}
	if err != nil {
		return moved, err
	}
	moved.counter, moved.done = decodeCounter(key.number, out.Attributes), true
	return moved, nil
}
