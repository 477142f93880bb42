package history_test

import (
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/history"
)

// These functions make the operations of the histories below, with the ticks of their call and return.

func redeem(called, returned int64, nick, key string, outcome history.Outcome, id string) history.Operation {
	return history.Operation{
		Called: called, Returned: returned, Ask: history.AskRedeem, Nick: nick, Key: key,
		Answer: history.Answer{Outcome: outcome, ID: id},
	}
}

func lost(called int64, nick, key string) history.Operation {
	return redeem(called, 0, nick, key, history.Unknown, "")
}

func check(called, returned int64, nick string, outcome history.Outcome) history.Operation {
	return history.Operation{
		Called: called, Returned: returned, Ask: history.AskCheck, Nick: nick,
		Answer: history.Answer{Outcome: outcome},
	}
}

func edit(called, returned int64, change history.Edit) history.Operation {
	o := history.Operation{
		Called: called, Returned: returned, Ask: history.AskEdit, Edit: change,
		Answer: history.Answer{Outcome: history.Done},
	}
	if returned == 0 {
		o.Outcome = history.Unknown
	}
	return o
}

func list(called, returned int64, redemptions ...history.Redemption) history.Operation {
	return history.Operation{
		Called: called, Returned: returned, Ask: history.AskList,
		Answer: history.Answer{Outcome: history.Done, Listed: redemptions},
	}
}

func del(called, returned int64, outcome history.Outcome) history.Operation {
	return history.Operation{
		Called: called, Returned: returned, Ask: history.AskDelete,
		Answer: history.Answer{Outcome: outcome},
	}
}

const (
	redeemed   = history.Redeemed
	replayed   = history.Replayed
	refused    = history.Refused
	redeemable = history.Redeemable
)

func TestJudge(t *testing.T) {
	single := history.Terms{MaxUses: 1}
	two := history.Terms{MaxUses: 2}
	oncePerNick := history.Terms{MaxUses: history.None, MaxUsesPerNick: 1}
	disable, enable := history.Edit{Disabled: new(true)}, history.Edit{Disabled: new(false)}
	limit := func(n int) history.Edit { return history.Edit{MaxUses: new(n)} }
	perNick := func(n int) history.Edit { return history.Edit{MaxUsesPerNick: new(n)} }
	for rule, tt := range map[string]struct {
		terms history.Terms
		want  history.Verdict
		ops   []history.Operation // they keep or break the rule
	}{
		"a single-use code is redeemed once": {single, history.Kept, []history.Operation{
			redeem(1, 4, "alder", "", redeemed, "A"), redeem(2, 3, "birch", "", refused, ""),
			redeem(5, 6, "alder", "", refused, ""),
		}},
		"a single-use code is not redeemed twice": {single, history.Broken, []history.Operation{
			redeem(1, 4, "alder", "", redeemed, "A"), redeem(2, 3, "birch", "", redeemed, "B"),
		}},
		"a code is not redeemed beyond its limit": {two, history.Broken, []history.Operation{
			redeem(1, 6, "", "", redeemed, "A"), redeem(2, 5, "", "", redeemed, "B"),
			redeem(3, 4, "", "", redeemed, "C"),
		}},
		"a code is not refused while a use is left": {two, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", refused, ""),
		}},
		"a code may be refused before the response to a redemption in flight": {
			single, history.Kept,
			[]history.Operation{
				redeem(1, 4, "alder", "", redeemed, "A"), redeem(2, 3, "birch", "", refused, ""),
			},
		},
		"a request without a response may have taken the use": {single, history.Kept, []history.Operation{
			lost(1, "alder", ""), redeem(2, 3, "birch", "", refused, ""),
		}},
		"a request without a response need not have taken the use": {single, history.Kept, []history.Operation{
			lost(1, "alder", ""), redeem(2, 3, "birch", "", redeemed, "B"),
		}},
		"a request without a response may take a use later": {two, history.Kept, []history.Operation{
			lost(1, "alder", ""), check(2, 3, "birch", redeemable), redeem(4, 5, "birch", "", redeemed, "B"),
			redeem(6, 7, "birch", "", refused, ""),
		}},
		"a request without a response takes one use at most": {
			history.Terms{MaxUses: 3},
			history.Broken,
			[]history.Operation{
				lost(1, "alder", ""), redeem(2, 3, "birch", "", redeemed, "B"), redeem(4, 5, "birch", "", refused, ""),
			},
		},

		"a retry replays the redemption of its key": {two, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", replayed, "A"),
		}},
		"a retry may replay a redemption before its response": {single, history.Kept, []history.Operation{
			redeem(1, 4, "alder", "1", redeemed, "A"), redeem(2, 3, "alder", "1", replayed, "A"),
		}},
		"a retry does not replay another ID": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", replayed, "B"),
		}},
		"a retry does not redeem again": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", redeemed, "B"),
		}},
		"a retry is not refused after a redemption": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", refused, ""),
		}},
		"a replay needs a redemption": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", replayed, "A"),
		}},
		"a request without a key is never a replay": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), redeem(3, 4, "alder", "", replayed, "A"),
		}},
		"two redemptions do not share an ID": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), redeem(3, 4, "birch", "", redeemed, "A"),
		}},
		"a key belongs to its nick": {two, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "birch", "1", redeemed, "B"),
		}},
		"a lost response is replayed by every retry": {single, history.Kept, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", replayed, "A"), redeem(4, 5, "alder", "1", replayed, "A"),
		}},
		"replays of a lost response do not differ": {single, history.Broken, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", replayed, "A"), redeem(4, 5, "alder", "1", replayed, "B"),
		}},
		"a retry of a lost request may redeem": {single, history.Kept, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", redeemed, "A"),
		}},
		"a request lost several times is replayed once it was applied": {two, history.Kept, []history.Operation{
			lost(1, "alder", "1"), lost(2, "alder", "1"), lost(3, "alder", "1"),
			redeem(4, 5, "birch", "", redeemed, "B"),
			redeem(6, 7, "cedar", "", refused, ""), redeem(8, 9, "alder", "1", replayed, "A"),
		}},
		"a lost request and its retry take one use together": {two, history.Broken, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", redeemed, "A"), redeem(4, 5, "birch", "", refused, ""),
		}},

		"a nick does not redeem beyond its limit": {oncePerNick, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "2", redeemed, "B"),
		}},
		"a nick's limit does not affect other nicks": {oncePerNick, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "birch", "2", redeemed, "B"),
			redeem(5, 6, "alder", "2", refused, ""),
		}},
		"a nick is not refused before its limit": {oncePerNick, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "birch", "1", refused, ""),
		}},
		"if nicks have a limit, a request without a nick does not redeem": {
			oncePerNick, history.Broken,
			[]history.Operation{
				redeem(1, 2, "", "1", redeemed, "A"),
			},
		},
		"if nicks have a limit, a request without a nick is refused": {oncePerNick, history.Kept, []history.Operation{
			redeem(1, 2, "", "1", refused, ""), check(3, 4, "", refused),
		}},
		"a request may be judged by any limit that the nick has while the request is in flight": {
			oncePerNick,
			history.Kept,
			[]history.Operation{
				edit(1, 2, perNick(2)), redeem(3, 10, "alder", "1", redeemed, "A"), edit(4, 5, perNick(1)),
				redeem(6, 7, "alder", "2", redeemed, "B"),
			},
		},
		"a request is not judged by an earlier limit of the nick": {oncePerNick, history.Broken, []history.Operation{
			edit(1, 2, perNick(2)), edit(4, 5, perNick(1)), redeem(6, 7, "alder", "2", redeemed, "B"),
			redeem(8, 10, "alder", "1", redeemed, "A"),
		}},

		"a disabled code is refused": {single, history.Kept, []history.Operation{
			edit(1, 2, disable), redeem(3, 4, "alder", "", refused, ""), check(5, 6, "alder", refused),
		}},
		"a code is not redeemed by a request that begins after it was disabled": {
			single, history.Broken,
			[]history.Operation{
				edit(1, 2, disable), redeem(3, 4, "alder", "", redeemed, "A"),
			},
		},
		"a request in flight while a code is disabled may redeem or be refused": {
			single, history.Kept,
			[]history.Operation{
				redeem(1, 6, "alder", "", redeemed, "A"), edit(2, 3, disable), redeem(4, 5, "birch", "", refused, ""),
			},
		},
		"a code that is enabled again is not refused": {single, history.Broken, []history.Operation{
			edit(1, 2, disable), edit(3, 4, enable), redeem(5, 6, "alder", "", refused, ""),
		}},
		"an edit without a response may apply or not, until the next edit": {
			history.Terms{MaxUses: history.None},
			history.Kept,
			[]history.Operation{
				edit(1, 0, disable), redeem(2, 3, "alder", "", redeemed, "A"), redeem(4, 5, "alder", "", refused, ""),
				edit(6, 7, enable), redeem(8, 9, "alder", "", redeemed, "B"),
			},
		},
		"an edit without a response does not apply after the next edit": {
			history.Terms{MaxUses: history.None},
			history.Broken,
			[]history.Operation{
				edit(1, 0, disable), edit(6, 7, enable), redeem(8, 9, "alder", "", refused, ""),
			},
		},
		"a retry is replayed after the code was disabled": {single, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), edit(3, 4, disable), redeem(5, 6, "alder", "1", replayed, "A"),
		}},
		"a retry is not refused after the code was disabled": {single, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), edit(3, 4, disable), redeem(5, 6, "alder", "1", refused, ""),
		}},

		"a raised limit makes its new uses available": {two, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 6, limit(3)),
			redeem(7, 8, "", "", refused, ""),
		}},
		"a limit that is being raised may give any of its new uses": {two, history.Kept, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 12, limit(5)),
			redeem(6, 7, "", "", redeemed, "C"), redeem(8, 9, "", "", refused, ""),
			redeem(10, 11, "", "", redeemed, "D"),
			redeem(13, 14, "", "", redeemed, "E"), redeem(15, 16, "", "", refused, ""),
		}},
		"a limit that is being raised gives no more than its new uses": {two, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 10, limit(3)),
			redeem(6, 7, "", "", redeemed, "C"), redeem(8, 9, "", "", redeemed, "D"),
		}},
		"a lowered limit also applies to requests in flight": {
			history.Terms{MaxUses: 3},
			history.Broken,
			[]history.Operation{
				redeem(1, 10, "alder", "", redeemed, "A"), edit(2, 3, limit(2)),
				redeem(4, 5, "birch", "", redeemed, "B"),
				redeem(6, 7, "birch", "", redeemed, "C"), check(11, 12, "birch", redeemable),
			},
		},
		"a limit at or below the used count means used up": {
			history.Terms{MaxUses: 3},
			history.Kept,
			[]history.Operation{
				redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 6, limit(2)),
				edit(7, 8, limit(2)),
				redeem(9, 10, "", "", refused, ""), edit(11, 12, limit(3)), redeem(13, 14, "", "", redeemed, "C"),
			},
		},

		"a check of a used-up code does not report redeemable": {single, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), check(3, 4, "birch", redeemable),
		}},
		"a check of an unused code does not report refused": {
			single, history.Broken,
			[]history.Operation{check(1, 2, "alder", refused)},
		},
		"a check may respond either way while the limit is edited": {two, history.Kept, []history.Operation{
			check(1, 6, "alder", refused), edit(2, 3, limit(4)), redeem(4, 5, "alder", "", redeemed, "A"),
		}},

		"a redemption is listed": {two, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), lost(3, "birch", ""),
			list(4, 5, history.Redemption{ID: "A", Nick: "alder"}),
		}},
		"a redemption without a response may be listed": {two, history.Kept, []history.Operation{
			lost(1, "birch", ""), list(2, 3, history.Redemption{ID: "B", Nick: "birch"}),
		}},
		"a redemption is not missing from the list": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), list(3, 4),
		}},
		"a list has no other ID for a redemption": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), list(3, 4, history.Redemption{ID: "B", Nick: "alder"}),
		}},
		"a list has no redemption that nobody asked for": {
			two, history.Broken,
			[]history.Operation{list(1, 2, history.Redemption{ID: "B", Nick: "alder"})},
		},
		"a denied request takes nothing, whatever is left": {two, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", history.Denied, ""), redeem(3, 4, "birch", "", redeemed, "B"),
			redeem(5, 6, "alder", "1", redeemed, "A"),
			check(7, 8, "alder", history.Denied), redeem(9, 10, "alder", "1", history.Denied, ""),
			redeem(11, 12, "birch", "", refused, ""),
		}},
		"a deleted code is refused": {two, history.Kept, []history.Operation{
			check(1, 2, "alder", redeemable), del(3, 6, history.Deleted), redeem(4, 5, "alder", "", refused, ""),
			redeem(7, 8, "birch", "", refused, ""), check(9, 10, "birch", refused), del(11, 12, history.Deleted),
			list(13, 14),
		}},
		"a deleted code is not redeemed": {two, history.Broken, []history.Operation{
			del(1, 2, history.Deleted), redeem(3, 4, "alder", "", redeemed, "A"),
		}},
		"a redeemed code is not deleted": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), del(3, 4, history.Deleted),
		}},
		"a code is not both redeemed and deleted": {single, history.Broken, []history.Operation{
			redeem(1, 4, "alder", "", redeemed, "A"), del(2, 3, history.Deleted),
		}},
		"a code that was redeemed meanwhile is not deleted": {single, history.Kept, []history.Operation{
			redeem(1, 4, "alder", "", redeemed, "A"), del(2, 3, history.WasUsed),
			list(5, 6, history.Redemption{ID: "A", Nick: "alder"}),
		}},
		"a code that was never used is deleted": {
			single, history.Broken,
			[]history.Operation{del(1, 2, history.WasUsed)},
		},
		"a deletion without a response may be applied later": {single, history.Kept, []history.Operation{
			del(1, 0, history.Unknown), check(2, 3, "alder", redeemable), redeem(4, 5, "alder", "", refused, ""),
		}},
		"a code with imported uses has fewer left": {
			history.Terms{MaxUses: 3, Imported: 2},
			history.Broken,
			[]history.Operation{
				redeem(1, 2, "alder", "", redeemed, "A"), redeem(3, 4, "birch", "", redeemed, "B"),
			},
		},
		"a code with imported uses is not deleted": {
			history.Terms{MaxUses: 3, Imported: 2},
			history.Broken,
			[]history.Operation{
				del(1, 2, history.Deleted),
			},
		},
		"a list has no redemption of a denied request": {single, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", history.Denied, ""), list(3, 4, history.Redemption{ID: "A", Nick: "alder"}),
		}},
		"a list has no redemption of a refused request": {single, history.Broken, []history.Operation{
			edit(1, 2, disable), redeem(3, 4, "alder", "1", refused, ""), edit(5, 6, enable),
			list(7, 8, history.Redemption{ID: "B", Nick: "alder"}),
		}},
	} {
		t.Run(rule, func(t *testing.T) { wantVerdict(t, tt.want, tt.terms, tt.ops) })
	}
}

func wantVerdict(t *testing.T, want history.Verdict, terms history.Terms, operations []history.Operation) {
	t.Helper()
	if verdict, text := (history.History{Terms: terms, Operations: operations}).Judge(time.Minute); verdict != want {
		t.Errorf("the verdict is %s, want %s\n%s", verdict, want, text)
	}
}

func TestJudge_TimeIsUp_IsUndecided(t *testing.T) {
	recorder := history.NewRecorder(history.Terms{MaxUses: 500}, history.CheckoutTimes{})
	for range 400 { // each may have redeemed or not: 2^400 possibilities
		recorder.Call(history.Operation{Ask: history.AskRedeem, Nick: "alder"})
	}
	recorder.Call(history.Operation{Ask: history.AskRedeem, Nick: "birch"})(history.Answer{Outcome: history.Refused})
	if verdict, text := recorder.History().Judge(time.Millisecond); verdict != history.Undecided || text == "" {
		t.Errorf("the verdict is %s, want %s\n%s", verdict, history.Undecided, text)
	}
}

func TestJudge_BrokenHistory_MarksTheOperationsThatDoNotFit(t *testing.T) {
	recorder := history.NewRecorder(history.Terms{MaxUses: 1}, history.CheckoutTimes{})
	recorder.Call(history.Operation{Ask: history.AskRedeem, Nick: "alder"})(history.Answer{
		Outcome: history.Redeemed,
		ID:      "A",
	})
	recorder.Call(history.Operation{
		Client: 7, Ask: history.AskRedeem,
		Nick: "birch",
	})(history.Answer{Outcome: history.Redeemed, ID: "B"})
	_, text := recorder.History().Judge(time.Minute)
	for _, want := range []string{
		"maxUses=1", `     1 to     2  client  0  redeem nick="alder" key="": redeemed as A`,
		"\n!     3 to     4  client  7  redeem nick=\"birch\" key=\"\": redeemed as B",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
}
