package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes of an allowance. A code's allowance is in the voucher's item, its head, and in the items of its parts.
const (
	AttrLimit = "limit" // how much may be taken in total; missing: no limit, and no allowance
	AttrLeft  = "left"  // how much is neither held nor taken for good; below zero: a debt, see Allowance
	AttrUsed  = "used"  // how much is taken for good; below zero in a head if more was given back than taken there
	AttrHolds = "n"     // the number of holds in the item
	AttrParts = "parts" // in a head: the number of parts; missing: none

	// HoldPrefix and the holder form the name of an attribute with a hold.
	HoldPrefix = "h#"
)

// Head is the number of a head among the items of an allowance. Parts are numbered from 0.
const Head = -1

// Allowance is one item of an allowance: all of it, or the head, or a part. After every write, and summed over all
// items of the allowance,
//
//	left + holds + used = limit
//
// Only a head has a limit, and only a head's Left can be below zero: the limit was lowered below what is held and
// taken. As long as it is, what comes back pays the debt.
type Allowance struct {
	Limit, Left, Used int64
	Holds             []Hold // by holder
	Counted           int64  // the stored number of holds, which equals len(Holds)
}

// Hold is an amount that a holder may take until a time. A lapsed hold belongs to its holder until somebody takes it
// over.
type Hold struct {
	Holder string // 22 characters that stand for the first checkout that held it
	Amount int64
	Until  time.Time // UTC, whole milliseconds; from then on the hold has lapsed
	// Note is whatever finds the hold's owner again: in the head of a single-use code the voucher.NickID of the nick
	// that may share the hold, and in the item of a nick the number of the code's item with the same holder's hold.
	Note string
}

// HasLapsed reports whether others can take the hold over at the given time.
func (h Hold) HasLapsed(at time.Time) bool { return !at.Before(h.Until) }

// Value returns the stored form of a hold: amount, end in milliseconds in base 36, and note, separated by dots.
func (h Hold) Value() types.AttributeValue {
	return Str(strconv.FormatInt(h.Amount, 10) + "." + strconv.FormatInt(h.Until.UnixMilli(), 36) + "." + h.Note)
}

// DecodeAllowance reads the allowance in an item. The error means that a hold is malformed.
func DecodeAllowance(it Item) (Allowance, error) {
	a := Allowance{Limit: it.Num(AttrLimit), Left: it.Num(AttrLeft), Used: it.Num(AttrUsed), Counted: it.Num(AttrHolds)}
	for name := range it {
		holder, is := strings.CutPrefix(name, HoldPrefix)
		if !is {
			continue
		}
		parts := strings.SplitN(it.Str(name), ".", 3)
		if len(parts) != 3 {
			return Allowance{}, errors.New("malformed hold")
		}
		amount, badAmount := strconv.ParseInt(parts[0], 10, 64)
		until, badTime := strconv.ParseInt(parts[1], 36, 64)
		if err := errors.Join(badAmount, badTime); err != nil {
			return Allowance{}, fmt.Errorf("malformed hold: %w", err)
		}
		a.Holds = append(a.Holds, Hold{holder, amount, time.UnixMilli(until).UTC(), parts[2]})
	}
	slices.SortFunc(a.Holds, func(a, b Hold) int { return cmp.Compare(a.Holder, b.Holder) })
	return a, nil
}

// Hold returns the holder's hold, live or lapsed, if there is one.
func (a Allowance) Hold(holder string) (hold Hold, found bool) {
	i := slices.IndexFunc(a.Holds, func(h Hold) bool { return h.Holder == holder })
	if i < 0 {
		return Hold{}, false
	}
	return a.Holds[i], true
}

// Lapsed returns the holds that have lapsed at the given time.
func (a Allowance) Lapsed(at time.Time) []Hold {
	return slices.DeleteFunc(slices.Clone(a.Holds), func(h Hold) bool { return !h.HasLapsed(at) })
}

// Live returns the live hold that lapses last, if there is one.
func (a Allowance) Live(at time.Time) (live Hold, found bool) {
	for _, hold := range a.Holds {
		if !hold.HasLapsed(at) && hold.Until.After(live.Until) {
			live, found = hold, true
		}
	}
	return live, found
}

// Free returns how much can be taken at the given time: what is left, and what lapsed holds have.
func (a Allowance) Free(at time.Time) int64 { return a.Left + Sum(a.Lapsed(at)) }

// Held returns how much all holds have, lapsed or not.
func (a Allowance) Held() int64 { return Sum(a.Holds) }

// Sum returns how much the holds have together.
func Sum(holds []Hold) (amount int64) {
	for _, hold := range holds {
		amount += hold.Amount
	}
	return amount
}

// FirstEnd returns when the first live hold lapses.
func (a Allowance) FirstEnd(at time.Time) (first time.Time) {
	for _, hold := range a.Holds {
		if !hold.HasLapsed(at) && (first.IsZero() || hold.Until.Before(first)) {
			first = hold.Until
		}
	}
	return first
}
