package history_test

import (
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/history"
)

// The operations of hand-written histories: what was called at one tick and returned at another.

func redeem(called, returned int64, nick, key string, outcome history.Outcome, id string) history.Operation {
	return history.Operation{Called: called, Returned: returned, Ask: history.AskRedeem, Nick: nick, Key: key, Answer: history.Answer{Outcome: outcome, ID: id}}
}

func lost(called int64, nick, key string) history.Operation {
	return redeem(called, 0, nick, key, history.Unknown, "")
}

func check(called, returned int64, nick string, outcome history.Outcome) history.Operation {
	return history.Operation{Called: called, Returned: returned, Ask: history.AskCheck, Nick: nick, Answer: history.Answer{Outcome: outcome}}
}

func edit(called, returned int64, change history.Edit) history.Operation {
	o := history.Operation{Called: called, Returned: returned, Ask: history.AskEdit, Edit: change, Answer: history.Answer{Outcome: history.Done}}
	if returned == 0 {
		o.Outcome = history.Unknown
	}
	return o
}

func list(called, returned int64, redemptions ...history.Redemption) history.Operation {
	return history.Operation{Called: called, Returned: returned, Ask: history.AskList, Answer: history.Answer{Outcome: history.Done, Listed: redemptions}}
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
		is    []history.Operation
	}{
		"a single-use code is redeemed once": {single, history.Kept, []history.Operation{
			redeem(1, 4, "alder", "", redeemed, "A"), redeem(2, 3, "birch", "", refused, ""), redeem(5, 6, "alder", "", refused, ""),
		}},
		"and not twice": {single, history.Broken, []history.Operation{
			redeem(1, 4, "alder", "", redeemed, "A"), redeem(2, 3, "birch", "", redeemed, "B"),
		}},
		"a limit is not passed": {two, history.Broken, []history.Operation{
			redeem(1, 6, "", "", redeemed, "A"), redeem(2, 5, "", "", redeemed, "B"), redeem(3, 4, "", "", redeemed, "C"),
		}},
		"a code is not refused while a use is left": {two, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", refused, ""),
		}},
		"but may be refused before a redemption under way is answered": {single, history.Kept, []history.Operation{
			redeem(1, 4, "alder", "", redeemed, "A"), redeem(2, 3, "birch", "", refused, ""),
		}},
		"a request of unknown outcome may have taken the use": {single, history.Kept, []history.Operation{
			lost(1, "alder", ""), redeem(2, 3, "birch", "", refused, ""),
		}},
		"or not": {single, history.Kept, []history.Operation{
			lost(1, "alder", ""), redeem(2, 3, "birch", "", redeemed, "B"),
		}},
		"or do so later": {two, history.Kept, []history.Operation{
			lost(1, "alder", ""), check(2, 3, "birch", redeemable), redeem(4, 5, "birch", "", redeemed, "B"), redeem(6, 7, "birch", "", refused, ""),
		}},
		"but takes one at most": {history.Terms{MaxUses: 3}, history.Broken, []history.Operation{
			lost(1, "alder", ""), redeem(2, 3, "birch", "", redeemed, "B"), redeem(4, 5, "birch", "", refused, ""),
		}},

		"a key answers one redemption": {two, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", replayed, "A"),
		}},
		"even while it is made": {single, history.Kept, []history.Operation{
			redeem(1, 4, "alder", "1", redeemed, "A"), redeem(2, 3, "alder", "1", replayed, "A"),
		}},
		"not two": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", replayed, "B"),
		}},
		"and not a new one": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", redeemed, "B"),
		}},
		"and is answered anew only where nothing was applied": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "1", refused, ""),
		}},
		"a replay needs a redemption": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", replayed, "A"),
		}},
		"a request without a key is never a replay": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), redeem(3, 4, "alder", "", replayed, "A"),
		}},
		"one ID is one redemption's": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), redeem(3, 4, "birch", "", redeemed, "A"),
		}},
		"a key belongs to its nick": {two, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "birch", "1", redeemed, "B"),
		}},
		"a lost answer is replayed": {single, history.Kept, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", replayed, "A"), redeem(4, 5, "alder", "1", replayed, "A"),
		}},
		"as one redemption": {single, history.Broken, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", replayed, "A"), redeem(4, 5, "alder", "1", replayed, "B"),
		}},
		"a lost request is applied by its repetition": {single, history.Kept, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", redeemed, "A"),
		}},
		"however often it was lost": {two, history.Kept, []history.Operation{
			lost(1, "alder", "1"), lost(2, "alder", "1"), lost(3, "alder", "1"), redeem(4, 5, "birch", "", redeemed, "B"),
			redeem(6, 7, "cedar", "", refused, ""), redeem(8, 9, "alder", "1", replayed, "A"),
		}},
		"and both are one": {two, history.Broken, []history.Operation{
			lost(1, "alder", "1"), redeem(2, 3, "alder", "1", redeemed, "A"), redeem(4, 5, "birch", "", refused, ""),
		}},

		"a nick's limit is not passed": {oncePerNick, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "alder", "2", redeemed, "B"),
		}},
		"and is the nick's own": {oncePerNick, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "birch", "2", redeemed, "B"), redeem(5, 6, "alder", "2", refused, ""),
		}},
		"nor is a nick refused before": {oncePerNick, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), redeem(3, 4, "birch", "1", refused, ""),
		}},
		"where nicks have a limit, one is needed": {oncePerNick, history.Broken, []history.Operation{
			redeem(1, 2, "", "1", redeemed, "A"),
		}},
		"who has none is refused": {oncePerNick, history.Kept, []history.Operation{
			redeem(1, 2, "", "1", refused, ""), check(3, 4, "", refused),
		}},
		"a request is judged by a nick's limit of one moment of it": {oncePerNick, history.Kept, []history.Operation{
			edit(1, 2, perNick(2)), redeem(3, 10, "alder", "1", redeemed, "A"), edit(4, 5, perNick(1)), redeem(6, 7, "alder", "2", redeemed, "B"),
		}},
		"and not by an earlier one": {oncePerNick, history.Broken, []history.Operation{
			edit(1, 2, perNick(2)), edit(4, 5, perNick(1)), redeem(6, 7, "alder", "2", redeemed, "B"), redeem(8, 10, "alder", "1", redeemed, "A"),
		}},

		"a disabled code is refused": {single, history.Kept, []history.Operation{
			edit(1, 2, disable), redeem(3, 4, "alder", "", refused, ""), check(5, 6, "alder", refused),
		}},
		"by every request that begins after the edit returned": {single, history.Broken, []history.Operation{
			edit(1, 2, disable), redeem(3, 4, "alder", "", redeemed, "A"),
		}},
		"and either way by one that began before": {single, history.Kept, []history.Operation{
			redeem(1, 6, "alder", "", redeemed, "A"), edit(2, 3, disable), redeem(4, 5, "birch", "", refused, ""),
		}},
		"a code that is enabled again is not refused": {single, history.Broken, []history.Operation{
			edit(1, 2, disable), edit(3, 4, enable), redeem(5, 6, "alder", "", refused, ""),
		}},
		"an edit of unknown outcome may hold or not, until the next": {history.Terms{MaxUses: history.None}, history.Kept, []history.Operation{
			edit(1, 0, disable), redeem(2, 3, "alder", "", redeemed, "A"), redeem(4, 5, "alder", "", refused, ""),
			edit(6, 7, enable), redeem(8, 9, "alder", "", redeemed, "B"),
		}},
		"and not behind it": {history.Terms{MaxUses: history.None}, history.Broken, []history.Operation{
			edit(1, 0, disable), edit(6, 7, enable), redeem(8, 9, "alder", "", refused, ""),
		}},
		"a replay is answered though the code was disabled": {single, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), edit(3, 4, disable), redeem(5, 6, "alder", "1", replayed, "A"),
		}},
		"and not refused": {single, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "1", redeemed, "A"), edit(3, 4, disable), redeem(5, 6, "alder", "1", refused, ""),
		}},

		"a limit that was raised gives its uses": {two, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 6, limit(3)), redeem(7, 8, "", "", refused, ""),
		}},
		"all of them, or some, or none until the edit has returned": {two, history.Kept, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 12, limit(5)),
			redeem(6, 7, "", "", redeemed, "C"), redeem(8, 9, "", "", refused, ""), redeem(10, 11, "", "", redeemed, "D"),
			redeem(13, 14, "", "", redeemed, "E"), redeem(15, 16, "", "", refused, ""),
		}},
		"but no more": {two, history.Broken, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 10, limit(3)),
			redeem(6, 7, "", "", redeemed, "C"), redeem(8, 9, "", "", redeemed, "D"),
		}},
		"a limit that was lowered holds, for requests under way too": {history.Terms{MaxUses: 3}, history.Broken, []history.Operation{
			redeem(1, 10, "alder", "", redeemed, "A"), edit(2, 3, limit(2)), redeem(4, 5, "birch", "", redeemed, "B"),
			redeem(6, 7, "birch", "", redeemed, "C"), check(11, 12, "birch", redeemable),
		}},
		"a limit below what was used means used up": {history.Terms{MaxUses: 3}, history.Kept, []history.Operation{
			redeem(1, 2, "", "", redeemed, "A"), redeem(3, 4, "", "", redeemed, "B"), edit(5, 6, limit(2)), edit(7, 8, limit(2)),
			redeem(9, 10, "", "", refused, ""), edit(11, 12, limit(3)), redeem(13, 14, "", "", redeemed, "C"),
		}},

		"a check tells of uses left": {single, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), check(3, 4, "birch", redeemable),
		}},
		"and of none": {single, history.Broken, []history.Operation{check(1, 2, "alder", refused)}},
		"but either way while the limit is edited": {two, history.Kept, []history.Operation{
			check(1, 6, "alder", refused), edit(2, 3, limit(4)), redeem(4, 5, "alder", "", redeemed, "A"),
		}},

		"what was redeemed is on record": {two, history.Kept, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), lost(3, "birch", ""), list(4, 5, history.Redemption{ID: "A", Nick: "alder"}),
		}},
		"as is what was lost and applied": {two, history.Kept, []history.Operation{
			lost(1, "birch", ""), list(2, 3, history.Redemption{ID: "B", Nick: "birch"}),
		}},
		"no redemption is lost": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), list(3, 4),
		}},
		"nor another's": {two, history.Broken, []history.Operation{
			redeem(1, 2, "alder", "", redeemed, "A"), list(3, 4, history.Redemption{ID: "B", Nick: "alder"}),
		}},
		"nor made up": {two, history.Broken, []history.Operation{list(1, 2, history.Redemption{ID: "B", Nick: "alder"})}},
		"nor made of a refusal": {single, history.Broken, []history.Operation{
			edit(1, 2, disable), redeem(3, 4, "alder", "1", refused, ""), edit(5, 6, enable),
			list(7, 8, history.Redemption{ID: "B", Nick: "alder"}),
		}},
	} {
		t.Run(rule, func(t *testing.T) {
			verdict, told := history.History{Terms: tt.terms, Operations: tt.is}.Judge(time.Minute)
			if verdict != tt.want {
				t.Errorf("%s, want %s\n%s", verdict, tt.want, told)
			}
		})
	}
}

func TestJudge_TimeIsUp_IsUndecided(t *testing.T) {
	recorder := history.NewRecorder(history.Terms{MaxUses: 500})
	for range 400 { // lost without a trace, in any of 2^400 ways
		recorder.Call(history.Operation{Ask: history.AskRedeem, Nick: "alder"})
	}
	recorder.Call(history.Operation{Ask: history.AskRedeem, Nick: "birch"})(history.Answer{Outcome: history.Refused})
	if verdict, told := recorder.History().Judge(time.Millisecond); verdict != history.Undecided || told == "" {
		t.Errorf("%s\n%s", verdict, told)
	}
}

func TestJudge_BrokenHistory_MarksTheOperationsThatDoNotFit(t *testing.T) {
	recorder := history.NewRecorder(history.Terms{MaxUses: 1})
	recorder.Call(history.Operation{Ask: history.AskRedeem, Nick: "alder"})(history.Answer{Outcome: history.Redeemed, ID: "A"})
	recorder.Call(history.Operation{Client: 7, Ask: history.AskRedeem, Nick: "birch"})(history.Answer{Outcome: history.Redeemed, ID: "B"})
	_, told := recorder.History().Judge(time.Minute)
	for _, want := range []string{
		"maxUses=1", `     1 to     2  client  0  redeem nick="alder" key="": redeemed as A`,
		"\n!     3 to     4  client  7  redeem nick=\"birch\" key=\"\": redeemed as B",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
}
