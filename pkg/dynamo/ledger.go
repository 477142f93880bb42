package dynamo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// ledger posts bookings: it writes a redemption, a checkout or an order together with what it takes of allowances, all
// of it or nothing.
type ledger struct {
	api    UsesAPI
	random func(n int64) int64
}

// posting is a booking and what it takes.
type posting struct {
	takings []*taking
	// bookings returns the other writes. It is called for each attempt, after the items to take from were chosen.
	bookings func() []action
	// record reads the item of the booking, and recorded decides by it as action.rejected does. They are used before a
	// refusal that was judged by several readings: an earlier attempt may have stored the booking meanwhile. They are
	// zero if the booking is in an item that it takes from.
	record   types.TransactGetItem
	recorded func(table.Item) error
}

// taking is what a booking takes of one allowance: for good, or as a hold.
type taking struct {
	of    voucher.Allowance // of a code; empty: of something else
	table string
	key   func(item int) table.Key // of the head or a part
	parts int                      // how many parts the allowance has

	amount int64
	at     time.Time     // when it must be known which holds have lapsed
	holder string        // of the hold that is stored, or becomes used; empty: none
	until  time.Time     // when the hold lapses; zero: the amount is taken for good
	note   func() string // of the hold; nil: empty
	// limit is the limit by a rule. It creates the allowance, and an allowance with another limit is adapted. Zero: the
	// allowance has a limit of its own.
	limit int64
	// from is the holder's hold as the booking knows it: an order takes it for good, and a checkout shares it. If it is
	// gone, the error is errHoldGone, or the amount is taken anew. It is nil for a new hold.
	from *table.Hold
	anew bool
	// with adds writes and conditions to the update of the item; nil: none.
	with func(*table.Update)
	// short is the refusal if all items of the allowance together have too little; nil: the caller decides.
	short error
	// judge decides by the item of a refused update, as action.rejected does; nil: the allowance decides.
	judge func(table.Item) error

	item      int              // the item to take from
	seen      *table.Allowance // that item as it was read; nil: it was not
	debt      bool             // a write was refused, because the head is in debt
	insolvent bool             // the head was in debt when all items were read
	chosen    bool             // the item was chosen from all items
}

const (
	// blindHolds is how many holds an item may have for a new hold that is stored without reading the item. An item
	// with more is read, and what has lapsed is removed, so an item has no more than its live holds and this many.
	blindHolds = 16
	// mostRemoved bounds the lapsed holds that one update removes, because DynamoDB bounds expressions.
	mostRemoved = 16
)

// Errors within this file.
var (
	errPosted   = errors.New("the booking was posted before")
	errHoldGone = errors.New("the hold is gone")
	errShort    = errors.New("the item has too little")
)

// shortError means that all items of an allowance together had too little, at one moment.
type shortError struct{ taking *taking }

func (*shortError) Error() string { return "the allowance has too little" }

// post writes a booking and takes what it takes. It first tries without reading anything, from the head or a random
// part. DynamoDB returns what it refused as it is stored, and that decides. Errors: a *shortError, errHoldGone, and
// those of the functions in the posting; then nothing was written.
func (l ledger) post(ctx context.Context, p *posting, lost *lostAttempt) error {
	for _, t := range p.takings {
		if t.from == nil && t.seen == nil {
			l.pick(t)
		}
	}
	for attempt := 0; ; attempt++ {
		actions, err := l.plan(ctx, p)
		if err == nil {
			err = transact(ctx, l.api, actions, lost.note)
		}
		switch {
		case err == nil || errors.Is(err, errPosted):
			return nil
		case table.IsConflict(err):
			for _, t := range p.takings {
				t.seen, t.debt, t.insolvent = nil, false, false // others have written meanwhile
				if t.from == nil && !t.chosen {
					l.pick(t)
				}
			}
		case !errors.Is(err, errLookAgain):
			return err
		case attempt == 0:
			continue // the items are known only now
		}
		if err := table.Wait(ctx, table.Backoff(attempt, l.random)); err != nil {
			return err
		}
	}
}

// again calls the function try, with growing pauses, until its error is neither errLookAgain nor a conflict.
func (l ledger) again(ctx context.Context, try func() error) error {
	for attempt := 0; ; attempt++ {
		err := try()
		if !errors.Is(err, errLookAgain) && !table.IsConflict(err) {
			return err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, l.random)); err != nil {
			return err
		}
	}
}

// pick chooses an item that was not read.
func (l ledger) pick(t *taking) {
	if t.item = table.Head; t.parts > 0 {
		t.item = int(l.random(int64(t.parts)))
	}
}

// plan returns the writes of a posting.
func (l ledger) plan(ctx context.Context, p *posting) ([]action, error) {
	var taken []action
	for _, t := range p.takings {
		planned, err := t.plan()
		if errors.Is(err, errShort) || t.debt {
			if err = l.choose(ctx, p, t); err == nil {
				planned, err = t.plan()
			}
		}
		if err != nil {
			return nil, err
		}
		taken = append(taken, planned...)
	}
	return append(p.bookings(), taken...), nil
}

// plan returns the writes that take from the item. If the item was seen to have too little, the error is errShort.
func (t *taking) plan() ([]action, error) {
	u := &table.Update{Key: t.key(t.item)}
	own, has := t.own()
	if t.from != nil && !has {
		if !t.anew {
			return nil, errHoldGone
		}
		t.from = nil
	}
	need, holds := t.planHold(u, own, has)
	ownLapsed := has && own.HasLapsed(t.at)
	var freed []table.Hold
	if (need > 0 || ownLapsed) && (!t.insolvent || t.item == table.Head) {
		freed = t.removeLapsed(u)
	}
	holds -= len(freed)
	if holds > 0 && t.seen == nil {
		u.Require("(attribute_not_exists(#n) OR #n < :most)")
		u.Value(":most", table.Num(blindHolds))
	}
	if holds != 0 {
		u.Add(table.AttrHolds, holds)
	}
	if err := t.takeLeft(u, need, table.Sum(freed), ownLapsed); err != nil {
		return nil, err
	}
	if t.with != nil {
		t.with(u)
	}
	actions := []action{updating(t.table, u, t.see)}
	if (len(freed) > 0 || ownLapsed) && t.item != table.Head {
		actions = append(actions, t.requiringSolvency())
	}
	return actions, nil
}

// planHold adds to an update what becomes of the holder's own hold. It returns how much must be left besides, and by
// how much the number of holds changes.
func (t *taking) planHold(u *table.Update, own table.Hold, has bool) (need int64, holds int) {
	name := table.HoldPrefix + t.holder
	if has {
		u.RequireEqual(name, own.Value())
	}
	if t.until.IsZero() {
		u.Add(table.AttrUsed, int(t.amount))
		if has {
			u.Remove(name)
			holds--
		}
		return t.amount - own.Amount, holds
	}
	hold := table.Hold{Holder: t.holder, Amount: max(t.amount, own.Amount), Until: t.until, Note: t.noted()}
	switch {
	case !has:
		u.RequireEqual(name, nil)
		holds++
	case t.from != nil && !own.Until.Before(hold.Until):
		hold.Until = own.Until.Add(time.Millisecond) // so that whoever shares it, too, notices
	case own.Until.After(hold.Until):
		hold.Until = own.Until
	}
	u.Set(name, hold.Value())
	return hold.Amount - own.Amount, holds
}

// requiringSolvency returns the action that requires that the head is not in debt: a lapsed hold of a part pays the
// debt first.
func (t *taking) requiringSolvency() action {
	solvent := checking(t.table, t.key(table.Head), "#left >= :zero")
	solvent.ConditionCheck.ExpressionAttributeNames = map[string]string{"#left": table.AttrLeft}
	solvent.ConditionCheck.ExpressionAttributeValues = table.Item{":zero": table.Num(0)}
	return action{write: solvent, rejected: func(table.Item) error {
		t.debt = true
		return errLookAgain
	}}
}

// own returns the holder's hold in the item, as it was read or as the booking knows it.
func (t *taking) own() (table.Hold, bool) {
	switch {
	case t.seen != nil:
		return t.seen.Hold(t.holder)
	case t.from != nil:
		return *t.from, true
	default:
		return table.Hold{}, false
	}
}

// isExtended reports whether the holder's hold lasts longer than the booking knows: another booking shares it.
func (t *taking) isExtended() bool {
	own, has := t.own()
	return t.from != nil && has && own.Until.After(t.from.Until)
}

func (t *taking) noted() string {
	if t.note == nil {
		return ""
	}
	return t.note()
}

// removable returns the lapsed holds of others that one update of an item can remove.
func (t *taking) removable(a *table.Allowance) []table.Hold {
	lapsed := slices.DeleteFunc(a.Lapsed(t.at), func(h table.Hold) bool { return h.Holder == t.holder })
	return lapsed[:min(len(lapsed), mostRemoved)]
}

// removeLapsed removes lapsed holds of others from the item, if it was read.
func (t *taking) removeLapsed(u *table.Update) []table.Hold {
	if t.seen == nil {
		return nil
	}
	lapsed := t.removable(t.seen)
	for _, hold := range lapsed {
		u.Remove(table.HoldPrefix + hold.Holder)
		u.RequireEqual(table.HoldPrefix+hold.Holder, hold.Value())
	}
	return lapsed
}

// takeLeft takes what is needed from what is left, after adding what lapsed holds have freed. If the item must be
// solvent, or something is needed, it must not be in debt afterwards.
func (t *taking) takeLeft(u *table.Update, need, freed int64, solvent bool) error {
	enough := "#left >= :need"
	var left int64
	if t.seen != nil {
		left = t.seen.Left
	}
	if t.limit > 0 {
		u.Set(table.AttrLimit, table.Num(t.limit))
		enough = "(attribute_not_exists(#left) OR #left >= :need)" // the item may be new
		switch {
		case t.seen == nil:
			u.Require("(attribute_not_exists(#limit) OR #limit = :limit_new)")
		case t.seen.Limit == 0:
			u.RequireEqual(table.AttrLimit, nil)
			left = t.limit
		default:
			u.RequireEqual(table.AttrLimit, table.Num(t.seen.Limit))
			freed += t.limit - t.seen.Limit
		}
	}
	if change := freed - need; change != 0 || t.limit > 0 {
		u.AddTo(table.AttrLeft, t.limit, change)
	}
	if need <= 0 && !solvent {
		return nil
	}
	if t.seen != nil && left+freed < need {
		return errShort
	}
	u.Name(table.AttrLeft)
	u.Require(enough)
	u.Value(":need", table.Num(need-freed))
	return nil
}

// see reads the item of a refused update.
func (t *taking) see(old table.Item) error {
	if t.judge != nil {
		if err := t.judge(old); !errors.Is(err, errLookAgain) {
			return err
		}
	}
	seen, err := table.DecodeAllowance(old)
	if err != nil {
		return err
	}
	t.seen = &seen
	t.parts = max(t.parts, int(old.Num(table.AttrParts)))
	return errLookAgain
}

// choose chooses the item to take from, by all items of the allowance at one moment. If all of them together have too
// little, the error is a *shortError.
func (l ledger) choose(ctx context.Context, p *posting, t *taking) error {
	for attempt := 0; ; attempt++ {
		items := map[int]*table.Allowance{table.Head: t.seen} // the whole allowance, if it has no parts
		if t.parts > 0 || attempt > 0 {
			var err error
			if items, err = l.readAll(ctx, p, t); err != nil {
				return err
			}
		}
		t.insolvent = items[table.Head].Left+t.rebase(items[table.Head]) < 0
		if item, found := l.best(t, items); found {
			t.item, t.seen, t.debt, t.chosen = item, items[item], false, true
			return nil
		}
		var free int64
		for _, a := range items {
			free += a.Free(t.at)
		}
		if !t.insolvent || free+t.rebase(items[table.Head]) < t.amount {
			return &shortError{t}
		}
		if err := l.payDebt(ctx, t, items); err != nil {
			return err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, l.random)); err != nil {
			return err
		}
	}
}

// rebase returns by how much the limit by a rule differs from the stored one.
func (t *taking) rebase(head *table.Allowance) int64 {
	if t.limit == 0 {
		return 0
	}
	return t.limit - head.Limit
}

// best returns a random one of the items that can give the amount in one write. As long as the head is in debt, lapsed
// holds of a part pay the debt and give nothing.
func (l ledger) best(t *taking, items map[int]*table.Allowance) (item int, found bool) {
	var able []int
	for item := table.Head; item < t.parts; item++ {
		a := items[item]
		own, has := a.Hold(t.holder)
		usable := a.Left
		switch {
		case t.from != nil && !has && !t.anew, has && own.HasLapsed(t.at) && t.insolvent:
			continue
		case item == table.Head:
			usable += table.Sum(t.removable(a)) + t.rebase(a)
		case !t.insolvent:
			usable += table.Sum(t.removable(a))
		}
		if usable >= t.amount-own.Amount {
			able = append(able, item)
		}
	}
	if len(able) == 0 {
		return 0, false
	}
	return able[l.random(int64(len(able)))], true
}

// readAll reads all items of an allowance at one moment, and the booking with them.
func (l ledger) readAll(ctx context.Context, p *posting, t *taking) (map[int]*table.Allowance, error) {
	for {
		var reads []types.TransactGetItem
		for item := table.Head; item < t.parts; item++ {
			reads = append(reads, table.Reading(t.table, t.key(item)))
		}
		if p.recorded != nil {
			reads = append(reads, p.record)
		}
		found, err := table.GetTogether(ctx, l.api, l.random, reads...)
		if err != nil {
			return nil, err
		}
		if p.recorded != nil {
			switch err := p.recorded(found[len(found)-1]); {
			case err == nil:
				return nil, errPosted
			case !errors.Is(err, errLookAgain):
				return nil, err
			}
		}
		if parts := int(found[0].Num(table.AttrParts)); parts > t.parts {
			t.parts = parts // they were added meanwhile
			continue
		}
		items := make(map[int]*table.Allowance, t.parts+1)
		for item := table.Head; item < t.parts; item++ {
			a, err := table.DecodeAllowance(found[item+1])
			if err != nil {
				return nil, err
			}
			items[item] = &a
		}
		return items, nil
	}
}

// payDebt gives to the head what lapsed holds have, and what is left in parts, until the head is no longer in debt.
func (l ledger) payDebt(ctx context.Context, t *taking, items map[int]*table.Allowance) error {
	owed := -items[table.Head].Left
	for item := table.Head; item < t.parts && owed > 0; item++ {
		payer := &taking{key: t.key, item: item, at: t.at, seen: items[item]}
		u, head := &table.Update{Key: t.key(item)}, &table.Update{Key: t.key(table.Head)}
		freed := payer.removeLapsed(u)
		amount := table.Sum(freed)
		if item != table.Head {
			amount += payer.seen.Left
			u.Set(table.AttrLeft, table.Num(0))
			u.RequireEqual(table.AttrLeft, table.Num(payer.seen.Left))
			head.Add(table.AttrLeft, int(amount))
			head.Require("attribute_exists(#left)")
		} else {
			u.Add(table.AttrLeft, int(amount))
		}
		if amount == 0 {
			continue
		}
		if len(freed) > 0 {
			u.Add(table.AttrHolds, -len(freed))
		}
		actions := []action{updating(t.table, u, nil)}
		if item != table.Head {
			actions = append(actions, updating(t.table, head, nil))
		}
		err := transact(ctx, l.api, actions)
		if err != nil && !errors.Is(err, errLookAgain) && !table.IsConflict(err) {
			return err
		}
		owed -= amount
	}
	return nil
}
