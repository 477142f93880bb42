package backoffice

import (
	"time"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// tally counts the uses of one voucher as of a given time.
type tally struct {
	voucher voucher.Voucher
	at      time.Time

	left, used, lapsed, held int
	lapse                    time.Time // when the first live hold lapses
	taken                    int       // uses of a code without a limit: imported, or redeemed and not undone
}

// add adds an item that is stored under the code of the voucher.
func (t *tally) add(item entry) {
	switch {
	case item.voucher != nil:
		t.voucher = *item.voucher
		t.taken += t.voucher.Imported
	case item.counter != nil:
		t.addCounter(*item.counter)
	case item.hold != nil:
		t.addHold(*item.hold)
	default:
		for _, redemption := range item.redemptions {
			if redemption.Undone.IsZero() {
				t.taken++
			}
		}
	}
}

func (t *tally) addCounter(counter table.Counter) {
	t.left += counter.Left
	t.used += counter.Used
}

// addHold adds a hold that a counter counts as used.
func (t *tally) addHold(hold voucher.Hold) {
	if hold.HasLapsed(t.at) {
		t.lapsed++
		return
	}
	t.held++
	if t.lapse.IsZero() || hold.Until.Before(t.lapse) {
		t.lapse = hold.Until
	}
}

// standing returns the voucher with the counted uses. A lapsed hold counts as a use that is left. If v.Over uses are
// taken beyond the limit, v.Over lapsed holds will be dropped, so standing does not count these holds as left.
func (t *tally) standing() voucher.Standing {
	v := t.voucher
	standing := voucher.NewStanding(v, t.left+max(t.lapsed-v.Over, 0), t.used-t.lapsed, t.at)
	if !v.SingleUse() {
		standing.UsesHeld, standing.Lapse = t.held, t.lapse
	}
	if v.MaxUses == voucher.NoLimit {
		standing.Used = t.taken
	}
	return standing
}
