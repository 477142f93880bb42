//go:build proofs

package mutation_test

import "shopfront/internal/torture"

// checker names the check that finds a broken promise.
type checker string

const (
	byHistory checker = "history" // no correct voucher could give these responses and end with these records
	byVerify  checker = "verify"  // the stored records do not add up

	// These checkers alone do not count as finding a mutation, because a crash can trigger them, too. The only
	// exception is the mutation whose only effect is an unfinished edit.
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
	redeemGo   = "pkg/dynamo/redeem.go"
	retryGo    = "pkg/dynamo/table/retry.go"
	readGo     = "pkg/dynamo/table/read.go"
	editGo     = "pkg/backoffice/edit.go"
	limitGo    = "pkg/backoffice/limit.go"
	deskGo     = "pkg/voucher/redeem.go"
	functionGo = "functions/redeem-voucher/main.go"
	guardGo    = "pkg/access/guard.go"
	usesGo     = "pkg/dynamo/uses.go"
)

// mutations lists the guards of a redemption, then those of an edit, in the order in which they act.
func mutations() []mutation {
	return []mutation{
		inHistory("redeems a paused single-use code", pausedCodes, redeemGo, `requireUnpaused(call, claim.Paused)`, ``),
		inHistoryAndRecords("does not check the terms of codes with many uses", codesThatMustBeRefused, redeemGo,
			"if err := r.v.Refuse(claim.Request); err != nil {\n\t\t\treturn err\n\t\t}\n", ""),
		{
			name: "uses settings and keys for ever", scene: pausedAfterALook, by: []checker{byHistory},
			removed: change{{guardGo, `age >= 0 && age < Lifetime`, `age >= 0`}}, given: shortLived(),
		},
		inHistory("draws a token although there is a key", requestsAreRetried, deskGo,
			`if request.Key != "" {`, `if request.Key != "" && request.Key == "" {`),
		inHistory("ignores the item of a failed condition", firstOfManyUses, redeemGo,
			"case failed:\n\t\tredemption, v, err", "case failed:\n\t\tclear(old)\n\t\tredemption, v, err"),
		{
			name: "refuses its own write to a single-use code when the SDK retries it", scene: lostResponse,
			by: []checker{byHistory},
			removed: change{{
				redeemGo, `v.Redeemed.ID == string(claim.Token):`,
				`v.Redeemed.ID == string(claim.Token) && v.Redeemed.Attempt != claim.Attempt:`,
			}},
			given: withoutLost(),
		},
		inHistory("refuses a retry of a single-use redemption", requestsAreRetried, redeemGo,
			`v.Redeemed.ID == string(claim.Token):`, `v.Redeemed.Attempt == claim.Attempt:`),
		{
			name: "judges the counter before the record", scene: retryOfTheLastUse, by: []checker{byHistory},
			removed: change{{
				redeemGo, recordThenUse,
				`append(s.taking(request, *free, time.Time{}), r.actions(s.vouchers, free)...)`,
			}},
			given: withoutRecall(),
		},
		{
			name: "judges one half of a transaction", scene: lastUseInHalves, by: []checker{byHistory},
			removed: change{{retryGo, "return true\n\t\tcase code", "case code"}},
			given:   withoutSettling(),
		},
		{
			name: "looks up the record before it is visible", scene: fullCodeInHalves, by: []checker{byHistory},
			removed: withoutSettling(),
		},
		{
			name: "refuses without looking up the record", scene: retryAfterDisabling, by: []checker{byHistory},
			removed: withoutRecall(),
		},
		{
			name: "refuses without a key although it tried to take a use", scene: lateTransaction,
			by: []checker{byHistory},
			removed: change{{
				redeemGo, `(claim.Key != "" || triedForUse)`,
				`(claim.Key != "" || triedForUse && false)`,
			}},
			given: withoutLost(),
		},
		{
			name: "refuses while an attempt is in flight", scene: refusalWithAttemptInFlight, by: []checker{byHistory},
			removed: withoutLost(),
		},
		inHistoryAndRecords("takes no use from a counter", moreRequestsThanUses, redeemGo,
			recordThenUse, `r.actions(s.vouchers, free)`),
		inHistory("refuses when one counter is empty", usesOnManyCounters, usesGo,
			"range counters {\n\t\tif counter.Left", "range counters[:1] {\n\t\tif counter.Left"),
		inHistory("treats unread counters as empty", unreadCounters, readGo, `len(asked.Keys) == 0 {`,
			`len(asked.Keys) >= 0 {`),
		{
			name: "refuses although the limit was edited meanwhile", scene: useMovesBetweenReads,
			by: []checker{byHistory},
			removed: change{{
				usesGo, "call.RequireEqual(table.AttrVersion, table.Num(v.Version))\n\tcall.RequireCount",
				`call.RequireCount`,
			}},
			given: drawingTheLast(),
		},
		inHistoryAndRecords("ends an edit without a new version", markAfterTheRaise, limitGo,
			"end := s.editing(before)\n",
			"end := s.editing(before)\n\t\tend.Value(\":version_new\", table.Num(before.Version))\n"),
		inHistory("mistakes another edit of the same version for its own", noteDuringADisabling, editGo,
			`return sameTerms(stored.Voucher, after)`, `return stored.Version == after.Version`),
		inHistory("mistakes another edit of the limit for its own", twoLimitsAtOnce, limitGo,
			`return stored.Editor == editor`, `return stored.Editor != 0`),
		{
			name: "mistakes another edit for its own last write", scene: noteBeforeALimitIsSet, by: []checker{byMotion},
			removed: change{{limitGo, `mine(stored) && stored.Editing == voucher.NoLimit`, `mine(stored)`}},
		},
	}
}

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

// withoutRecall makes the store refuse a request without looking up whether the request is already recorded.
func withoutRecall() change {
	return change{{
		redeemGo, `if mayBeRedeemedBefore(claim, v, err) {`,
		`if mayBeRedeemedBefore(claim, v, err) && false {`,
	}}
}

// withoutSettling makes the store look up the record without waiting for a transaction that is writing the record.
func withoutSettling() change {
	return change{{
		redeemGo, `table.GetSettled(ctx, s.api, s.random, s.vouchers, recallKey(claim, v))`,
		`table.Get(ctx, s.api, s.vouchers, recallKey(claim, v), nil)`,
	}}
}

// withoutLost makes the store ignore attempts that may still be applied.
func withoutLost() change {
	return change{{redeemGo, `if lost.mayContradict(err) {`, `if lost.mayContradict(err) && false {`}}
}

// shortLived sets access.Lifetime as torture.Overlay does.
func shortLived() change {
	return change{{guardGo, torture.DeployedLifetime, torture.ShortLifetime}}
}

// recordThenUse is the source text that builds the transaction of a limited code's redemption.
const recordThenUse = `append(r.actions(s.vouchers, free), s.taking(request, *free, time.Time{})...)`

// drawingTheLast makes the function always draw the last of the counters.
func drawingTheLast() change {
	return change{{
		functionGo, `dynamo.NewRedeemer(client, tables, mathrand.Int64N)`,
		`dynamo.NewRedeemer(client, tables, func(n int64) int64 { return max(mathrand.Int64N(n), n-1) })`,
	}}
}
