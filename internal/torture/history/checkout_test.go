package history_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"shopfront/internal/torture/history"
)

// These functions return operations on checkouts, with the ticks of their call and return. If the second tick is 0, no
// response came. The ID of a checkout is its key. Checkout 1 is the one that is replaced or cancelled. Redemption A is
// the one that is undone.

func asks(called, returned int64, ask history.Ask, nick, key string, outcome history.Outcome) history.Operation {
	return history.Operation{
		Called: called, Returned: returned, Ask: ask, Nick: nick, Key: key,
		Answer: history.Answer{Outcome: outcome},
	}
}

func hold(called, returned int64, nick, key string, outcome history.Outcome) history.Operation {
	o := asks(called, returned, history.AskHold, nick, key, outcome)
	if outcome == history.Held || outcome == replayed {
		o.ID = key
	}
	return o
}

func replace(called, returned int64, key string, outcome history.Outcome) history.Operation {
	o := hold(called, returned, "", key, outcome)
	o.Of = "1"
	return o
}

func order(called, returned int64, key string, outcome history.Outcome) history.Operation {
	return asks(called, returned, history.AskOrder, "", key, outcome)
}

func cancel(called, returned int64, outcome history.Outcome) history.Operation {
	return asks(called, returned, history.AskCancel, "", "1", outcome)
}

func undo(called, returned int64, outcome history.Outcome) history.Operation {
	o := asks(called, returned, history.AskUndo, "", "", outcome)
	o.Of = "A"
	return o
}

func lapse(called, returned int64, key string) history.Operation {
	return asks(called, returned, history.AskLapse, "", key, history.Done)
}

const (
	held           = history.Held
	ordered        = history.Ordered
	expired        = history.Expired
	replaced       = history.Replaced
	cancelled      = history.Cancelled
	undone         = history.Undone
	keyInUse       = history.KeyInUse
	notOrdered     = history.NotOrdered
	notReplaceable = history.NotReplaceable
	unknown        = history.Unknown
)

func TestJudge_Checkouts(t *testing.T) {
	single, two := history.Terms{MaxUses: 1}, history.Terms{MaxUses: 2}
	oncePerNick, twicePerNick := history.Terms{MaxUsesPerNick: 1}, history.Terms{MaxUsesPerNick: 2}
	limit := func(n int) history.Edit { return history.Edit{MaxUses: new(n)} }
	perNick := func(n int) history.Edit { return history.Edit{MaxUsesPerNick: new(n)} }
	disable := history.Edit{Disabled: new(true)}
	for rule, tt := range map[string]struct {
		terms history.Terms
		want  history.Verdict
		ops   []history.Operation // they keep or break the rule
	}{
		"a hold counts as a use": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), redeem(3, 4, "birch", "", refused, ""), hold(5, 6, "birch", "2", refused),
			check(7, 8, "birch", refused),
		}},
		"a live hold is not redeemed by somebody else": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), redeem(3, 4, "birch", "", redeemed, "A"), lapse(5, 6, "1"),
		}},
		"a live hold is not redeemed by its nick either": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), redeem(3, 4, "alder", "", redeemed, "A"), lapse(5, 6, "1"),
		}},
		"a check does not report a held use as redeemable": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), check(3, 4, "birch", redeemable), lapse(5, 6, "1"),
		}},
		"a code is not held beyond its limit": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), redeem(3, 4, "", "", redeemed, "A"), hold(5, 6, "", "2", held),
		}},
		"a code is not refused at a checkout while a use is free": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), hold(3, 4, "", "2", refused),
		}},
		"a hold counts for its nick": {twicePerNick, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), hold(3, 4, "alder", "1", held),
			redeem(5, 6, "alder", "", redeemed, "B"),
		}},
		"a hold does not count for another nick": {oncePerNick, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), hold(3, 4, "birch", "2", refused),
		}},
		"a code that is disabled is not held": {
			two, history.Broken,
			[]history.Operation{edit(1, 2, disable), hold(3, 4, "", "1", held)},
		},
		"a checkout without a nick is refused if nicks have a limit": {oncePerNick, history.Kept, []history.Operation{
			hold(1, 2, "", "1", refused),
		}},

		"a hold that has lapsed is free": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 4, "1"), check(5, 6, "birch", redeemable),
			redeem(7, 8, "birch", "", redeemed, "A"),
		}},
		"a hold may be free as soon as its checkout expires": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 6, "1"), redeem(4, 5, "birch", "", redeemed, "A"),
		}},
		"a hold may last until it must be free": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 6, "1"), redeem(4, 5, "birch", "", refused, ""),
		}},
		"a hold that has lapsed does not refuse a redemption": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 4, "1"), redeem(5, 6, "birch", "", refused, ""),
		}},
		"a hold that has lapsed does not refuse a checkout": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), hold(3, 4, "", "2", held), lapse(5, 6, "1"), hold(7, 8, "", "3", refused),
		}},
		"a use that lapses while a request is in flight may count": {two, history.Kept, []history.Operation{
			hold(1, 2, "", "1", held), redeem(3, 10, "", "", refused, ""), lapse(4, 5, "1"),
			redeem(6, 7, "", "", redeemed, "A"),
			check(8, 9, "", redeemable),
		}},
		"a hold that has lapsed is passed on once": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 4, "1"), hold(5, 6, "birch", "2", held),
			hold(7, 8, "cedar", "3", held),
		}},

		"an order redeems the hold": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), order(3, 4, "1", ordered), lapse(5, 6, "1"),
			redeem(7, 8, "birch", "", refused, ""),
			order(9, 10, "1", ordered), list(11, 12, history.Redemption{ID: "A", Nick: "alder"}),
		}},
		"an order takes no second use": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), redeem(5, 6, "", "", refused, ""),
		}},
		"ordering twice takes no second use": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), order(5, 6, "1", ordered),
			redeem(7, 8, "", "", refused, ""),
		}},
		"a lost order may have redeemed the hold": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), order(3, 0, "1", unknown), lapse(4, 5, "1"),
			redeem(6, 7, "birch", "", refused, ""),
			order(8, 9, "1", ordered),
		}},
		"a lost order need not have redeemed the hold": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), order(3, 0, "1", unknown), lapse(4, 5, "1"),
			redeem(6, 7, "birch", "", redeemed, "A"),
			order(8, 9, "1", expired),
		}},
		"an order in time goes through": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), order(3, 4, "1", expired), lapse(5, 6, "1"),
		}},
		"an order in time goes through after the limit was lowered": {
			history.Terms{MaxUses: 3},
			history.Kept,
			[]history.Operation{
				hold(1, 2, "", "1", held), redeem(3, 4, "", "", redeemed, "A"), redeem(5, 6, "", "", redeemed, "B"),
				edit(7, 8, limit(2)),
				order(9, 10, "1", ordered), lapse(11, 12, "1"),
			},
		},
		"an order in time goes through after the code was disabled": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), edit(3, 4, disable), order(5, 6, "1", expired), lapse(7, 8, "1"),
		}},
		"an order does not get a use that was passed on": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 4, "1"), redeem(5, 6, "birch", "", redeemed, "A"),
			order(7, 8, "1", ordered),
		}},
		"an order in flight does not get a use that was passed on meanwhile": {
			single, history.Broken,
			[]history.Operation{
				hold(1, 2, "alder", "1", held), order(3, 10, "1", ordered), lapse(4, 5, "1"),
				redeem(6, 7, "birch", "", redeemed, "A"),
			},
		},
		"a late order may be placed": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 4, "1"), order(5, 6, "1", ordered),
			redeem(7, 8, "birch", "", refused, ""),
		}},
		"a late order takes a use": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 4, "1"), order(5, 6, "1", ordered),
			redeem(7, 8, "birch", "", redeemed, "A"),
		}},
		"a late order may be refused if its use is taken": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), lapse(3, 4, "1"), redeem(5, 6, "birch", "", redeemed, "A"),
			order(7, 8, "1", expired),
		}},
		"a late order looks for a free use": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), lapse(3, 4, "1"), redeem(5, 6, "", "", redeemed, "A"), order(7, 8, "1", expired),
		}},
		"a late order whose shared hold was ordered looks for a free use": {twicePerNick, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), hold(3, 4, "alder", "2", held), order(5, 6, "2", ordered), lapse(7, 8, "1"),
			order(9, 10, "1", ordered),
		}},
		"a late order is not refused if nobody can take the use": {history.Terms{}, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), lapse(3, 4, "1"), order(5, 6, "1", expired),
		}},
		"a late order does not exceed a lowered limit": {history.Terms{MaxUses: 3}, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), redeem(3, 4, "", "", redeemed, "A"), redeem(5, 6, "", "", redeemed, "B"),
			edit(7, 8, limit(2)),
			lapse(9, 10, "1"), order(11, 12, "1", ordered),
		}},
		"a late order does not exceed a lowered limit of its nick": {twicePerNick, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), redeem(3, 4, "alder", "", redeemed, "A"), edit(5, 6, perNick(1)),
			lapse(7, 8, "1"),
			order(9, 10, "1", ordered),
		}},

		"checkouts of a nick may share a hold": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), hold(3, 4, "alder", "2", held), order(5, 6, "2", ordered),
			order(7, 8, "1", expired),
		}},
		"a shared hold is ordered once": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), hold(3, 4, "alder", "2", held), order(5, 6, "2", ordered),
			order(7, 8, "1", ordered),
		}},
		"a shared hold lasts until its last checkout ends": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), hold(3, 4, "alder", "2", held), lapse(5, 6, "1"),
			redeem(7, 8, "birch", "", redeemed, "A"),
			lapse(9, 10, "2"),
		}},
		"an order of the older checkout is not late while the newer one shares its hold": {
			single, history.Broken,
			[]history.Operation{
				hold(1, 2, "alder", "1", held), hold(3, 4, "alder", "2", held), lapse(5, 6, "1"),
				order(7, 8, "1", expired),
				lapse(9, 10, "2"),
			},
		},
		"a nick whose hold can be shared is not refused": {single, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), hold(3, 4, "alder", "2", refused), lapse(5, 6, "1"),
		}},
		"without a nick nothing is shared": {single, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), hold(3, 4, "", "2", held),
		}},
		"nothing is shared if only all nicks together have a limit": {two, history.Broken, []history.Operation{
			hold(1, 2, "alder", "1", held), hold(3, 4, "alder", "2", held), hold(5, 6, "alder", "3", held),
		}},

		"a checkout that replaces another one gets its use": {single, history.Kept, []history.Operation{
			hold(1, 2, "", "1", held), replace(3, 4, "2", held), order(5, 6, "1", replaced), lapse(7, 8, "1"),
			order(9, 10, "2", ordered),
		}},
		"a checkout that replaces another one takes no second use": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), replace(3, 4, "2", held), hold(5, 6, "", "3", refused), lapse(7, 8, "1"),
		}},
		"a checkout that replaces another one is not refused": {single, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), replace(3, 4, "2", refused), lapse(5, 6, "1"),
		}},
		"a use that goes to a newer checkout lasts as long as that checkout": {
			single, history.Broken,
			[]history.Operation{
				hold(1, 2, "", "1", held), replace(3, 4, "2", held), lapse(5, 6, "1"),
				redeem(7, 8, "", "", redeemed, "A"),
				lapse(9, 10, "2"),
			},
		},
		"a replaced checkout is not ordered": {single, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), replace(3, 4, "2", held), order(5, 6, "1", ordered),
		}},
		"an open checkout is not replaced": {
			single, history.Broken,
			[]history.Operation{hold(1, 2, "", "1", held), order(3, 4, "1", replaced)},
		},
		"an ordered checkout cannot be replaced": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), replace(5, 6, "2", held),
		}},
		"an open checkout can be replaced": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), replace(3, 4, "2", notReplaceable),
		}},
		"a used-up code is refused before the checkout to replace is judged": {
			single, history.Kept,
			[]history.Operation{
				hold(1, 2, "", "1", held), replace(3, 4, "2", held), replace(5, 6, "3", refused),
			},
		},
		"a checkout is replaced once": {two, history.Kept, []history.Operation{
			hold(1, 2, "", "1", held), replace(3, 6, "2", held), replace(4, 5, "3", notReplaceable),
		}},

		"a retry finds its checkout": {two, history.Kept, []history.Operation{
			hold(1, 0, "", "1", unknown), hold(2, 3, "", "1", replayed), hold(4, 5, "", "1", replayed),
			order(6, 7, "1", ordered),
			hold(8, 9, "", "1", keyInUse),
		}},
		"a retry holds no second use": {two, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), hold(3, 4, "", "1", replayed), hold(5, 6, "", "2", refused),
		}},
		"a retry does not make a second checkout": {
			two, history.Broken,
			[]history.Operation{hold(1, 2, "", "1", held), hold(3, 4, "", "1", held)},
		},
		"the key of an open checkout is not in use": {
			two, history.Broken,
			[]history.Operation{hold(1, 2, "", "1", held), hold(3, 4, "", "1", keyInUse)},
		},
		"a lost checkout may hold a use until it lapses": {single, history.Kept, []history.Operation{
			hold(1, 0, "", "1", unknown), redeem(2, 3, "", "", refused, ""), lapse(4, 5, "1"),
			redeem(6, 7, "", "", redeemed, "A"),
		}},
		"a lost checkout holds no use afterwards": {single, history.Broken, []history.Operation{
			hold(1, 0, "", "1", unknown), lapse(2, 3, "1"), redeem(4, 5, "", "", refused, ""),
		}},

		"a cancellation frees the use": {single, history.Kept, []history.Operation{
			hold(1, 2, "alder", "1", held), order(3, 4, "1", ordered), cancel(5, 6, cancelled),
			redeem(7, 8, "birch", "", redeemed, "A"),
			order(9, 10, "1", cancelled), cancel(11, 12, cancelled),
			list(13, 14, history.Redemption{ID: "A", Nick: "birch"}),
		}},
		"a cancellation frees the use once": {single, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), cancel(5, 6, cancelled), cancel(7, 8, cancelled),
			redeem(9, 10, "", "", redeemed, "A"), redeem(11, 12, "", "", redeemed, "B"),
		}},
		"a cancellation does not leave the use taken": {single, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), cancel(5, 6, cancelled),
			redeem(7, 8, "", "", refused, ""), lapse(9, 10, "1"),
		}},
		"a lost cancellation may free the use": {single, history.Kept, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), cancel(5, 0, unknown),
			redeem(6, 7, "", "", redeemed, "A"),
		}},
		"a cancelled order is not placed again": {single, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), cancel(5, 6, cancelled), order(7, 8, "1", ordered),
		}},
		"only an order is cancelled": {
			single, history.Broken,
			[]history.Operation{hold(1, 2, "", "1", held), cancel(3, 4, cancelled)},
		},
		"an order can be cancelled": {single, history.Broken, []history.Operation{
			hold(1, 2, "", "1", held), order(3, 4, "1", ordered), cancel(5, 6, notOrdered),
		}},

		"an undo frees the use": {single, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), undo(3, 4, undone), redeem(5, 6, "birch", "", redeemed, "B"),
			redeem(7, 8, "alder", "1", undone, ""), undo(9, 10, undone),
			list(11, 12, history.Redemption{ID: "B", Nick: "birch"}),
		}},
		"an undo frees the use once": {two, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), undo(5, 6, undone),
			undo(7, 8, undone),
			redeem(9, 10, "", "", redeemed, "C"), redeem(11, 12, "", "", redeemed, "D"),
		}},
		"an undo does not leave the use taken": {single, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), undo(3, 4, undone), hold(5, 6, "", "1", refused),
		}},
		"an undo frees the use of its nick": {oncePerNick, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), undo(3, 4, undone), redeem(5, 6, "alder", "", refused, ""),
		}},
		"a lost undo may free the use": {single, history.Kept, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), undo(3, 0, unknown), check(4, 5, "", refused),
			redeem(6, 7, "", "", redeemed, "B"),
		}},
		"an undone redemption is not replayed": {single, history.Broken, []history.Operation{
			redeem(1, 2, "", "1", redeemed, "A"), undo(3, 4, undone), redeem(5, 6, "", "1", replayed, "A"),
		}},
		"an undone redemption is not judged anew": {single, history.Broken, []history.Operation{
			redeem(1, 2, "", "1", redeemed, "A"), undo(3, 4, undone), redeem(5, 6, "", "1", redeemed, "B"),
		}},
		"an undone redemption is not refused": {single, history.Broken, []history.Operation{
			redeem(1, 2, "", "1", redeemed, "A"), undo(3, 4, undone), redeem(5, 6, "", "", redeemed, "B"),
			redeem(7, 8, "", "1", refused, ""),
		}},
		"a redemption that was not undone is replayed": {single, history.Broken, []history.Operation{
			redeem(1, 2, "", "1", redeemed, "A"), redeem(3, 4, "", "1", undone, ""),
		}},
		"an undone redemption is not listed among the others": {single, history.Broken, []history.Operation{
			redeem(1, 2, "", "1", redeemed, "A"), undo(3, 4, undone), list(5, 6, history.Redemption{ID: "A"}),
		}},
		"a redemption that was not undone is listed": {single, history.Broken, []history.Operation{
			redeem(1, 2, "", "1", redeemed, "A"), list(3, 4),
		}},
	} {
		t.Run(rule, func(t *testing.T) { wantVerdict(t, tt.want, tt.terms, tt.ops) })
	}
}

// If the checker tried the lapses in each order, it would try 2^40 sets of them before it let the lost redemption come
// last.
func TestJudge_CheckoutsThatLapseTogether_AreTriedInOneOrder(t *testing.T) {
	operations := []history.Operation{lost(1, "alder", "")}
	for n := range int64(40) {
		operations = append(operations, hold(2*n+2, 2*n+3, fmt.Sprint("shopper-", n), fmt.Sprint(n), held))
	}
	for n := range 40 {
		operations = append(operations, lapse(90, 91, fmt.Sprint(n)))
	}
	operations = append(operations, list(92, 93))
	wantVerdict(t, history.Kept, history.Terms{MaxUsesPerNick: 3}, operations)
}

func TestRecorder_Checkouts_LapseFromTheirExpiryUntilTheirUseMustBeFree(t *testing.T) {
	for name, tt := range map[string]struct {
		times   history.CheckoutTimes
		expires time.Duration // from now; 0 if the response is lost
		want    history.Verdict
	}{
		"expired long ago": {
			expires: -time.Hour, times: history.CheckoutTimes{Free: time.Minute},
			want: history.Broken,
		},
		"expired, use not yet free": {
			expires: -time.Hour, times: history.CheckoutTimes{Free: 2 * time.Hour},
			want: history.Kept,
		},
		"open":                      {expires: time.Hour, want: history.Kept},
		"lost, may be open":         {times: history.CheckoutTimes{Lifetime: time.Hour}, want: history.Kept},
		"lost, may have just ended": {times: history.CheckoutTimes{Free: time.Hour}, want: history.Kept},
		"lost, long expired":        {times: history.CheckoutTimes{Lifetime: -time.Hour}, want: history.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := history.NewRecorder(history.Terms{MaxUses: 1}, tt.times)
			answer := history.Answer{Outcome: unknown}
			if tt.expires != 0 {
				answer = history.Answer{Outcome: held, ID: "1", Expires: time.Now().Add(tt.expires)}
			}
			recorder.Call(history.Operation{Ask: history.AskHold, Key: "1"})(answer)
			recorder.Call(history.Operation{Ask: history.AskRedeem})(history.Answer{Outcome: refused})
			recorded := recorder.History()
			if !slices.ContainsFunc(recorded.Operations,
				func(o history.Operation) bool { return o.Ask == history.AskLapse && o.Key == "1" }) {
				t.Error("the history has no lapse of the checkout")
			}
			wantVerdict(t, tt.want, recorded.Terms, recorded.Operations)
		})
	}
}
