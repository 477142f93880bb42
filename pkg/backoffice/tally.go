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

	free, used, held int64
	lapse            time.Time // when the first live hold lapses
	recorded         int       // imported, or redeemed and not undone
}

// add adds an item that is stored under the code of the voucher.
func (t *tally) add(item entry) {
	if item.voucher != nil {
		t.voucher = *item.voucher
		t.recorded += t.voucher.Imported
	}
	live := item.allowance.Held() - table.Sum(item.allowance.Lapsed(t.at))
	t.free += item.allowance.Free(t.at)
	t.used += item.allowance.Used
	t.held += live
	if first := item.allowance.FirstEnd(t.at); live > 0 && (t.lapse.IsZero() || first.Before(t.lapse)) {
		t.lapse = first
	}
	for _, redemption := range item.redemptions {
		if redemption.Undone.IsZero() {
			t.recorded++
		}
	}
}

// standing returns the voucher with the counted uses. A lapsed hold counts as a use that is left.
func (t *tally) standing() voucher.Standing {
	standing := voucher.Standing{
		Voucher: t.voucher, UsesLeft: int(max(t.free, 0)), Used: int(t.used + t.held), UsesHeld: int(t.held),
		Lapse: t.lapse,
	}
	if t.voucher.MaxUses == voucher.NoLimit {
		standing.Used = t.recorded
	}
	return standing
}
