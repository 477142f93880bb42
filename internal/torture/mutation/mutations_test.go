//go:build proofs

package mutation_test

import (
	"slices"

	"shopfront/internal/torture"
)

// checker names the check that finds a broken promise.
type checker string

const (
	byHistory checker = "history" // no correct voucher could give these responses and end with these records
	byVerify  checker = "verify"  // the stored records do not add up

	// These checkers alone do not count as finding a mutation, because a crash can trigger them, too.
	byInterface checker = "interface"
	byMotion    checker = "motion" // an edit is unfinished although nobody interrupted it
)

// mutation removes a guard that the proof of the conditions in package dynamo does not reach.
type mutation struct {
	name    string // what the store does without the guard
	scene   scene
	by      []checker
	removed change
	// given is an additional change. It fixes a random choice, or removes a second guard that would hide the mutation.
	// With only this change, the checkers find nothing.
	given change
}

// Files of the store.
const (
	redeemGo      = "pkg/dynamo/redeem.go"
	ledgerGo      = "pkg/dynamo/ledger.go"
	codesGo       = "pkg/dynamo/codes.go"
	lostGo        = "pkg/dynamo/lost_attempt.go"
	undoGo        = "pkg/dynamo/undo.go"
	transactionGo = "pkg/dynamo/transaction.go"
	retryGo       = "pkg/dynamo/table/retry.go"
	editGo        = "pkg/backoffice/edit.go"
	deskGo        = "pkg/voucher/redeem.go"
	guardGo       = "pkg/access/guard.go"
)

// mutations lists the guards of a redemption, then those of an undo and an edit, in the order in which they act.
func mutations() []mutation {
	return []mutation{
		inHistory("redeems a paused single-use code", pausedCodes, redeemGo, `requireUnpaused(call, claim.Paused)`, ``),
		inHistoryAndRecords("does not check the rules of codes with many uses", codesThatMustBeRefused, redeemGo,
			"if err := r.v.Refuse(r.claim.Request); err != nil {\n\t\t\treturn err\n\t\t}\n", ""),
		{
			name: "uses settings and keys for ever", scene: pausedAfterALook, by: []checker{byHistory},
			removed: change{{guardGo, `age >= 0 && age < Lifetime`, `age >= 0`}}, given: shortLived(),
		},
		inHistory("remembers the rules of a code for ever", disabledAfterALook, codesGo,
			`known && request.At.Sub(r.at) < RulesAge`, `known`),
		inHistory("draws a token although there is a key", requestsAreRetried, deskGo,
			`if request.Key != "" {`, `if request.Key != "" && request.Key == "" {`),
		inHistory("ignores the item of a failed condition", firstOfManyUses, redeemGo,
			"if len(old) == 0 {", "clear(old)\n\tif len(old) == 0 {"),
		{
			name: "refuses its own write to a single-use code when the SDK retries it", scene: lostResponse,
			by: []checker{byHistory},
			removed: change{{
				redeemGo, "case found || err != nil:\n\t\tr.redemption",
				"case found && redemption.Attempt != r.claim.Attempt || err != nil:\n\t\tr.redemption",
			}},
			given: slices.Concat(withoutRecall(), withoutLost()),
		},
		{
			name: "lets a used-up code outweigh the record", scene: retryOfTheLastUse, by: []checker{byHistory},
			removed: change{{
				transactionGo, "case meant == nil:\n\t\t\treturn nil", "case meant == nil:\n\t\t\tdecided = errLookAgain",
			}},
			given: withoutRecall(),
		},
		{
			name: "judges one half of a transaction", scene: lastUseInHalves, by: []checker{byHistory},
			removed: judgingHalves(), given: withoutRecall(),
		},
		{
			name: "looks up the record before it is visible", scene: lookupInHalves, by: []checker{byHistory},
			removed: change{{
				redeemGo, `items, err := table.GetTogether(ctx, s.api, s.random, reads...)`,
				`items, err := ` + oneByOne,
			}},
			given: judgingHalves(),
		},
		{
			name: "refuses without looking up the record", scene: retryAfterDisabling, by: []checker{byHistory},
			removed: withoutRecall(),
		},
		{
			name: "refuses without a key although it tried to take a use", scene: lateTransaction,
			by:      []checker{byHistory},
			removed: change{{redeemGo, `(claim.Key != "" || bool(lost))`, `claim.Key != ""`}},
			given:   withoutLost(),
		},
		{
			name: "refuses while an attempt is in flight", scene: refusalWithAttemptInFlight, by: []checker{byHistory},
			removed: withoutLost(),
		},
		inHistoryAndRecords("takes no use", moreRequestsThanUses, ledgerGo,
			`return append(p.bookings(), taken...), nil`, `return p.bookings(), nil`),
		inHistory("refuses when one part is empty", usesOnManyParts, ledgerGo,
			"item < t.parts; item++ {\n\t\ta := items[item]", "item < 0; item++ {\n\t\ta := items[item]"),
		{
			name: "keeps the record of an undone redemption in its place", scene: undoneRedemptions,
			by:      []checker{byVerify},
			removed: change{{undoGo, "u.Remove(name)\n", ""}},
		},
		inHistory("does not mark the item of an undone redemption", undoneRedemptions, undoGo,
			`u.Set(table.AttrApart, table.Bool(true))`, ``),
		inHistory("mistakes another edit of the same version for its own", noteDuringADisabling, editGo,
			`!sameTerms(stored.Voucher, after)`, `stored.Version != after.Version`),
		inHistory("does not collect a debt", loweredLimit, editGo, `err = s.settle(ctx, after)`, `err = nil`),
	}
}

// oneByOne is source text that makes reads one after the other.
const oneByOne = `func() (items []table.Item, err error) {
	for _, read := range reads {
		it, err := table.Get(ctx, s.api, *read.Get.TableName, table.KeyOf(read.Get.Key), nil)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}()`

// inHistory returns a mutation that replaces one string. The history must then show responses that no correct voucher
// could give.
func inHistory(name string, scene scene, file, old, mutated string) mutation {
	return mutation{name: name, scene: scene, by: []checker{byHistory}, removed: change{{file, old, mutated}}}
}

// inHistoryAndRecords returns a mutation like inHistory. In addition, the stored records must then not add up.
func inHistoryAndRecords(name string, scene scene, file, old, mutated string) mutation {
	m := inHistory(name, scene, file, old, mutated)
	m.by = append(m.by, byVerify)
	return m
}

// judgingHalves makes the store judge a condition that failed beside a conflict.
func judgingHalves() change { return change{{retryGo, "return true\n\t\tcase code", "case code"}} }

// withoutRecall makes the store refuse a request without looking up whether the request is already recorded.
func withoutRecall() change {
	return change{{redeemGo, `err = s.redeemedBefore(ctx, r, err)`, `_ = s.redeemedBefore`}}
}

// withoutLost makes the store ignore attempts that may still be applied.
func withoutLost() change {
	return change{{lostGo, `refused && bool(*l) {`, `refused && bool(*l) && false {`}}
}

// shortLived sets access.Lifetime as torture.Overlay does.
func shortLived() change {
	return change{{guardGo, torture.DeployedLifetime, torture.ShortLifetime}}
}
