package audit

import (
	"slices"
	"time"

	"shopfront/pkg/voucher"
)

// Item is one item of an allowance: its head, or a part.
type Item struct {
	Left, Used int64
	Holds      []Hold
	Counted    int64 // the number of holds that the item states
}

// Hold is an amount that checkouts hold until a time.
type Hold struct {
	Holder string // stands for the first checkout that had the hold
	Amount int64
	Until  time.Time
}

func (i Item) held() (sum int64) {
	for _, hold := range i.Holds {
		sum += hold.Amount
	}
	return sum
}

func (i Item) sum() int64 { return i.Left + i.held() + i.Used }

// judge checks what one item shows.
func (i Item) judge(place Place) []Finding {
	if i.Counted != int64(len(i.Holds)) {
		return []Finding{found(KindAllowance, place, "the item states %s but has %d", count(int(i.Counted), "hold"),
			len(i.Holds))}
	}
	return nil
}

// judgeLimit checks that what is left, held and used of an allowance is the limit.
func judgeLimit(place Place, of string, limit int64, items ...Item) []Finding {
	var left, held, used int64
	for _, item := range items {
		left, held, used = left+item.Left, held+item.held(), used+item.Used
	}
	if left+held+used == limit {
		return nil
	}
	return []Finding{found(KindAllowance, place, "%s: %d left, %d held and %d used are not the limit of %d", of, left,
		held, used, limit)}
}

// judgeUsed checks that as much of an allowance is used as bookings have taken for good, which was from least to most
// while the items were read.
func judgeUsed(place Place, of string, least, most int64, items ...Item) []Finding {
	var used int64
	for _, item := range items {
		used += item.Used
	}
	if least <= used && used <= most {
		return nil
	}
	return []Finding{found(KindAllowance, place, "%s: %d used, but bookings have taken %d", of, used, least)}
}

// JudgeItem checks an allowance of one item. Bookings took from least to most of it for good while it was read.
func JudgeItem(place Place, of string, limit int64, item Item, least, most int64) []Finding {
	return slices.Concat(item.judge(place), judgeLimit(place, of, limit, item), judgeUsed(place, of, least, most, item))
}

// Held is a hold, and where it is.
type Held struct {
	Hold

	Place Place
	Code  voucher.Code // empty: the hold is one of a source's live holds
	Take  voucher.Take
}

// JudgeHeld checks a live hold. until is when the last hold of its checkouts lapses; zero: it has no checkout. The hold
// may outlast that by ClockSkew: whoever shares a hold makes it last longer than another function's clock has set.
func JudgeHeld(h Held, until time.Time) []Finding {
	var f Finding
	switch {
	case until.IsZero():
		f = found(KindHoldUnfounded, h.Place, "the hold of %s until %s has no open checkout", h.Holder,
			written(h.Until))
	case h.Until.After(until.Add(ClockSkew)):
		f = found(KindHoldTooLong, h.Place, "the hold of %s lapses at %s, but the last of its checkouts ends at %s",
			h.Holder, written(h.Until), written(until))
	default:
		return nil
	}
	f.Code = h.Code
	return []Finding{f}
}
