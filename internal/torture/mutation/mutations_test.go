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

// mutation removes one of the store's guards.
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
	manyUseGo     = "pkg/dynamo/many_use.go"
	retryGo       = "pkg/dynamo/table/retry.go"
	voucherItemGo = "pkg/dynamo/table/voucher.go"
	readGo        = "pkg/dynamo/table/read.go"
	createGo      = "pkg/backoffice/store.go"
	editGo        = "pkg/backoffice/edit.go"
	limitGo       = "pkg/backoffice/limit.go"
	voucherGo     = "pkg/voucher/voucher.go"
	deskGo        = "pkg/voucher/redeem.go"
	idempotencyGo = "pkg/idempotency/idempotency.go"
	problemGo     = "pkg/httpapi/problem.go"
	functionGo    = "functions/redeem-voucher/main.go"
	admitGo       = "pkg/httpapi/admit.go"
	guardGo       = "pkg/access/guard.go"
	keyGo         = "pkg/access/key.go"
	usesGo        = "pkg/dynamo/uses.go"
)

// mutations lists the guards of a redemption, then those of an edit and of a creation, in the order in which they act.
func mutations() []mutation {
	return []mutation{
		// The condition of the first call.
		inHistory("redeems a single-use code again", twoShoppersOneUse, redeemGo,
			`(attribute_not_exists(#redemption) OR`,
			`(attribute_not_exists(#redemption) OR attribute_exists(#redemption) OR`),
		inHistoryAndRecords("redeems a code with many uses as if it were single-use", firstOfManyUses, redeemGo,
			`"#maxUses = :one AND`, `"#maxUses >= :one AND`),
		{
			name: "treats an invented code as a voucher", scene: inventedCode, by: []checker{byVerify},
			removed: change{
				{
					redeemGo, `call.Require("#maxUses = :one AND #disabled = :false AND #from <= :at AND #until > ` +
						`:at" +`,
					``,
				},
				{redeemGo, `" AND (attribute_not_exists(#nickHash) OR #nickHash = :nick)")`, ``},
				{redeemGo, `call.Name(table.AttrMaxUses, table.AttrDisabled, table.AttrFrom, table.AttrUntil, ` +
					`table.AttrNickHash)`, ``},
				{redeemGo, `call.Value(":one", table.Num(1))`, ``},
				{redeemGo, `call.Value(":false", table.Bool(false))`, ``},
				{redeemGo, `call.Value(":nick", table.Str(table.NickCondition(claim.Nick)))`, ``},
			},
		},
		inHistoryAndRecords("redeems a disabled single-use code", codesThatMustBeRefused, redeemGo,
			`AND #disabled = :false AND`, `AND (#disabled = :false OR attribute_exists(#disabled)) AND`),
		inHistoryAndRecords("redeems a single-use code before it begins", codesThatMustBeRefused, redeemGo,
			`AND #from <= :at AND`, `AND attribute_exists(#from) AND`),
		inHistoryAndRecords("redeems a single-use code after it ended", codesThatMustBeRefused, redeemGo,
			`AND #until > :at" +`, `AND attribute_exists(#until)" +`),
		inHistoryAndRecords("redeems another shopper's single-use code", codesThatMustBeRefused, redeemGo,
			`OR #nickHash = :nick)`, `OR #nickHash <> :nick)`),
		inHistory("redeems a paused single-use code", pausedCodes, redeemGo, `requireUnpaused(call, claim.Paused)`, ``),
		inHistory("redeems a paused code with many uses", pausedCodes, voucherGo,
			`case request.Paused.Covers(v.Batch):`, `case false && request.Paused.Covers(v.Batch):`),
		inHistoryAndRecords("does not check the terms of codes with many uses", codesThatMustBeRefused, redeemGo,
			"if err := r.v.Refuse(claim.Request); err != nil {\n\t\t\treturn err\n\t\t}\n", ""),

		// The guard of access.
		inHistory("redeems for strangers where only the server may", serverOnly, admitGo,
			`!policy(settings).Allows(caller)`, `!policy(settings).Allows(caller) && false`),
		inHistory("redeems for a revoked key", revokedKey, keyGo, `r.ID != "" && r.Revoked.IsZero() &&`,
			`r.ID != "" &&`),
		{
			name: "uses settings and keys for ever", scene: pausedAfterALook, by: []checker{byHistory},
			removed: change{{guardGo, `age >= 0 && age < Lifetime`, `age >= 0`}}, given: shortLived(),
		},

		// The token.
		inHistory("draws a token although there is a key", requestsAreRetried, deskGo,
			`if request.Key != "" {`, `if request.Key != "" && request.Key == "" {`),
		inHistory("has one token for all requests without a key", requestsWithoutKeys, deskGo,
			`claim.Token = id //`, `claim.Token = idempotency.Digest("none") //`),
		inHistory("has one token for all keys", differentRequests, deskGo,
			"string(request.Code), request.Nick.Compared,\n\t\t\tstring(request.Key))",
			"string(request.Code), request.Nick.Compared)"),
		inHistory("has one token for all nicks", differentRequests, deskGo,
			"string(request.Code), request.Nick.Compared,\n\t\t\tstring(request.Key))",
			"string(request.Code), string(request.Key))"),
		inHistory("joins the parts of a token without their lengths", differentRequests, idempotencyGo,
			`uint32(len(part)))`, `uint32(len(part)))[:len(joined)]`),
		inHistory("reports a retry as a new redemption", requestsAreRetried, deskGo,
			`redemption.ID != claim.RedemptionID, nil`, `false, nil`),

		// The item that a failed condition returned.
		inHistory("ignores the item of a failed condition", firstOfManyUses, redeemGo,
			"case failed:\n\t\tredemption, v, err", "case failed:\n\t\tclear(old)\n\t\tredemption, v, err"),
		{
			name: "refuses its own write to a single-use code when the SDK retries it", scene: lostResponse,
			by: []checker{byHistory},
			removed: change{{
				redeemGo, `v.Token == claim.Token:`,
				`v.Token == claim.Token && v.Redeemed.ID != claim.RedemptionID:`,
			}},
			given: withoutLost(),
		},
		inHistory("refuses a retry of a single-use redemption", requestsAreRetried, redeemGo,
			`v.Token == claim.Token:`, `v.Redeemed.ID == claim.RedemptionID:`),
		inHistory("refuses a retry of a redemption with many uses", requestsAreRetried, redeemGo,
			"if found || err != nil {\n\t\tr.redemption = redemption\n\t\treturn err",
			"if r.redemption = redemption; found || err != nil {\n\t\treturn &voucher.RefusalError{Reason: "+
				"voucher.ReasonNickLimit}"),
		{
			name: "judges the counter before the record", scene: retryOfTheLastUse, by: []checker{byHistory},
			removed: change{{
				redeemGo, recordThenUse,
				`append(s.taking(request, *free, time.Time{}), r.actions(s.table, free)...)`,
			}},
			given: withoutRecall(),
		},
		{
			name: "judges one half of a transaction", scene: lastUseInHalves, by: []checker{byHistory},
			removed: change{{retryGo, "return true\n\t\tcase \"None\":", "case \"None\":"}},
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
		inHistory("refuses when the store does not respond", allResponsesLost, problemGo,
			`return unavailable()`, `return problemVoucherNotFound.new()`),

		// The record and the counter.
		inHistory("records a request again", requestsAreRetried, redeemGo,
			"call.RequireEqual(record, nil)\n\tif r.v",
			"call.Require(\"(attribute_not_exists(\" + call.Alias(record) + \") OR attribute_exists(\" + "+
				"call.Alias(record) + \"))\")\n\tif r.v"),
		inHistoryAndRecords("gives a nick more than its limit", oneUsePerNick, redeemGo,
			`OR #taken < :limit)`, `OR #taken < :limit OR #taken >= :limit)`),
		inHistoryAndRecords("takes uses from an empty counter", moreRequestsThanUses, usesGo,
			`take.Condition = "#left >= :least"`, `take.Condition = "#left >= :least OR #left < :least"`),
		inHistoryAndRecords("takes no use from a counter", moreRequestsThanUses, redeemGo,
			recordThenUse, `r.actions(s.table, free)`),
		inHistory("refuses when one counter is empty", usesOnManyCounters, usesGo,
			"range counters {\n\t\tif counter.Left", "range counters[:1] {\n\t\tif counter.Left"),
		inHistory("treats unread counters as empty", unreadCounters, readGo, `len(asked.Keys) == 0 {`,
			`len(asked.Keys) >= 0 {`),
		{
			name: "remembers a voucher's terms", scene: busyCodeIsDisabled, by: []checker{byHistory},
			removed: change{
				{manyUseGo, "mu    sync.Mutex\n", "mu    sync.Mutex\n\tvouchers sync.Map\n"},
				{
					redeemGo, "s.many.add(manyUseCode{claim.Customer, claim.Code})\n",
					"s.many.add(manyUseCode{claim.Customer, " +
						"claim.Code})\n\t\ts.many.vouchers.Store(manyUseCode{claim.Customer, claim.Code}, v.Voucher)\n",
				},
				{
					redeemGo, "v, err := s.read(ctx, claim)\n",
					"remembered, _ := s.many.vouchers.Load(manyUseCode{claim.Customer, claim.Code})\n\t\tv, err := " +
						"remembered.(voucher.Voucher), error(nil)\n",
				},
			},
		},

		// The version.
		{
			name: "marks a code as full although it was edited meanwhile", scene: raiseBeforeTheMark,
			by: []checker{byHistory},
			removed: change{{
				usesGo, "call.RequireEqual(table.AttrVersion, table.Num(v.Version))\n\tcall.RequireCount",
				`call.RequireCount`,
			}}, given: heedingEveryMark(),
		},
		{
			name: "refuses although the limit was edited meanwhile", scene: useMovesBetweenReads,
			by: []checker{byHistory},
			removed: change{{
				usesGo, "call.RequireEqual(table.AttrVersion, table.Num(v.Version))\n\tcall.RequireCount",
				`call.RequireCount`,
			}},
			given: drawingTheLast(),
		},
		{
			name: "leaves a raised code marked as full", scene: raiseAfterTheMark, by: []checker{byHistory},
			removed: change{{
				limitGo, `table.AttrEditing, table.AttrFullUntil, table.AttrFullVersion`,
				`table.AttrEditing`,
			}}, given: heedingEveryMark(),
		},
		inHistoryAndRecords("ends an edit without a new version", markAfterTheRaise, limitGo,
			"end := s.editing(before)\n",
			"end := s.editing(before)\n\t\tend.Value(\":version_new\", table.Num(before.Version))\n"),
		inHistoryAndRecords("raises a counter twice", lostResponseToARaise, limitGo,
			`"#version = :version AND #left >= :least"`,
			`"(#version = :version OR #version <> :version) AND #left >= :least"`),
		{
			name: "takes more from a counter than it has left", scene: loweringDuringRedemptions,
			by:      []checker{byVerify},
			removed: change{{limitGo, `AND #left >= :least"`, `AND (#left >= :least OR #left < :least)"`}},
		},
		{
			name: "does not fence the counters", scene: overtakenEditIsKilled, by: []checker{byHistory, byVerify},
			removed: change{
				{
					limitGo, `call.Set(table.AttrVersion, table.Num(edit*writesPerEdit))`,
					`call.Add(table.AttrVersion, 0*int(edit))`,
				},
				{
					limitGo, `call.Condition = "#version <= " + table.Placeholder(call.Alias(table.AttrVersion))`,
					`call.Condition = "attribute_exists(#version)"`,
				},
			},
		},
		inHistoryAndRecords("removes the fence of a later edit", editOvertakenBeforeItsFenceIsKilled, limitGo,
			`call.Condition = "#version <= " + table.Placeholder(call.Alias(table.AttrVersion))`,
			`call.Condition = "attribute_exists(#version)"`),
		inHistory("overwrites another edit", disablingDuringANote, editGo,
			`Condition: "#version = :version"}`, `Condition: "#version = :version OR #version <> :version"}`),
		inHistory("mistakes another edit of the same version for its own", noteDuringADisabling, editGo,
			`return sameTerms(stored.Voucher, after)`, `return stored.Version == after.Version`),
		inHistory("mistakes another edit of the limit for its own", twoLimitsAtOnce, limitGo,
			`return stored.Editor == editor`, `return stored.Editor != 0`),
		{
			name: "mistakes another edit for its own last write", scene: noteBeforeALimitIsSet, by: []checker{byMotion},
			removed: change{{limitGo, `mine(stored) && stored.Editing == voucher.NoLimit`, `mine(stored)`}},
		},

		// The condition of a creation.
		inHistoryAndRecords("overwrites a voucher when it is created again", codesAreCreatedAgain, createGo,
			`"attribute_not_exists(" + table.SortKey + ")"`, `"attribute_not_exists(sk) OR attribute_exists(sk)"`),
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
		redeemGo, `table.GetSettled(ctx, s.api, s.random, s.table, recordKey(claim, v))`,
		`table.Get(ctx, s.api, s.table, recordKey(claim, v), nil)`,
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
const recordThenUse = `append(r.actions(s.table, free), s.taking(request, *free, time.Time{})...)`

// heedingEveryMark makes the store heed a mark as full, whatever the version at which the mark was made.
func heedingEveryMark() change {
	return change{{
		voucherItemGo, `it.Has(AttrFullUntil) && it.Num(AttrFullVersion) == v.Version {`,
		`it.Has(AttrFullUntil) {`,
	}}
}

// drawingTheLast makes the function always draw the last of the counters.
func drawingTheLast() change {
	return change{{
		functionGo, `dynamo.NewRedemptions(client, vouchers, mathrand.Int64N)`,
		`dynamo.NewRedemptions(client, vouchers, func(n int64) int64 { return max(mathrand.Int64N(n), n-1) })`,
	}}
}
