package mutation_test

const (
	usesGo         = "pkg/dynamo/uses.go"
	transactionGo  = "pkg/dynamo/transaction.go"
	heldOpenGo     = "pkg/dynamo/held_checkouts.go"
	heldOrdersGo   = "pkg/dynamo/held_orders.go"
	undoGo         = "pkg/dynamo/undo.go"
	checkoutGo     = "pkg/checkout/checkout.go"
	redemptionsGo  = "pkg/httpapi/redemptions.go"
	rewardGo       = "pkg/voucher/reward.go"
	pkgHTTP        = "./pkg/httpapi"
	pkgVoucher     = "./pkg/voucher"
	theSimulation  = "TestHolds_ConcurrentRequestsAndFaults_KeepEveryUseInOnePlace"
	refusedTheSame = "TestCheckout_RefusedCodes_LookTheSame"
	serversOnly    = "TestRedemptions_WithoutALiveKey_Are401BeforeAnyLookup"
)

// ofUses lists the guards of taking a use, of giving it back, and of marking a code as full.
func ofUses() []tested {
	return []tested{
		inSimulation("takes from an empty counter", usesGo, `take.Condition = "#left >= :least"`, `take.Condition = "#left >= :least OR #left < :least"`),
		inSimulation("passes on a live hold", usesGo,
			"if hold.HasLapsed(request.At) {\n\t\t\tlapsed = append", "if hold.HasLapsed(request.At) || len(lapsed) == 0 {\n\t\t\tlapsed = append"),
		inSimulation("passes on a hold that is gone", transactionGo,
			`Key: key.Attributes(), ConditionExpression: aws.String("attribute_exists(" + table.SortKey + ")"),`, `Key: key.Attributes(),`),
		inSimulation("takes a live hold of a single-use code", redeemGo, `OR #heldUntil <= :at)"`, `OR #heldUntil <= :at OR #heldUntil > :at)"`),
		byTest("bounds a counter by its first hold exactly", pkgDynamo, "TestRedeem_SecondHoldLapsesFirst_IsFound", usesGo,
			`lapseMargin = time.Minute`, `lapseMargin = 0`),
		inSimulation("raises the bound of a counter", usesGo, `take.SetOnce(table.AttrLapse,`, `take.Set(table.AttrLapse,`),
		byTest("marks a code as full for as long as its holds last", pkgDynamo, "TestRedeem_HoldMissedWhileItMoved_IsFoundHalfAnHourLater", usesGo,
			`fullUntil = earliest(fullUntil, request.At.Add(longestMark))`, ``),
		inSimulation("marks a code as full although a use came back", usesGo, "call.RequireCount(table.AttrReturns, v.Returns)\n\treturn call", `return call`),
		inSimulation("leaves a code marked as full when a use comes back", usesGo, `returned.Remove(table.AttrFullUntil)`, ``),
		inSimulation("passes on uses that exceed the limit", usesGo,
			`if free.lapsed == nil || v.Over == 0 {`, `if free.lapsed == nil || v.Over >= 0 {`),
		byTest("gives back more uses than were taken from a counter", pkgDynamo, "TestUndo_CounterHasAllUsesBackMeanwhile_UseComesBackToAnother", usesGo,
			`back.Condition = "#used >= :least"`, `back.Condition = "#used >= :least OR #used < :least"`),
		byTest("drops a use that no longer exceeds the limit", pkgDynamo, "TestRedeem_UseDroppedMeanwhile_DropsNoSecondUse", usesGo,
			`"#over >= :least"`, `"#over >= :least OR #over < :least OR attribute_not_exists(#over)"`),
		byTest("gives back a use that exceeds the limit", pkgDynamo, "TestUndo_LimitLoweredMeanwhile_UseIsDropped", usesGo,
			`OR #over = :zero)"`, `OR #over = :zero OR #over <> :zero)"`),
		byTest("edits the limit although a use came back", pkgDynamo, "TestEdit_UseComesBackMeanwhile_IsCounted", editGo,
			`end.RequireCount(table.AttrReturns, marked.Returns)`, ``),
		byTest("swaps a hold although the nick's uses changed", pkgDynamo, "TestRedeem_NickRedeemsMeanwhile_SwapsNoHold", redeemGo,
			`call.RequireEqual(table.AttrTaken, table.Num(uses.Taken))`, ``),
		byTest("swaps a hold although another was extended", pkgDynamo, "TestRedeem_OwnHoldExtendedMeanwhile_LeavesNoUseFree", redeemGo,
			`range uses.Lapsed(request.At) {`, `range []voucher.Hold{*free.lapsed} {`),
		byTest("ignores redemptions that were undone", pkgDynamo, "TestUndo_KeyOfTheUndoneRedemption_RedeemsNoMore", redeemGo,
			"call.RequireEqual(table.AttrUndone, nil)\n\tcall.Require(", `call.Require(`),
		byTest("stores no uses above the limit", pkgDynamo, "TestHolds_LimitLoweredByAnOlderVersion_UsesAboveItAreDropped", usesGo,
			`if v.Over > 0 || total <= int(v.MaxUses) {`, `if v.Over >= 0 {`),
	}
}

// ofHolds lists the guards of checkouts that hold a use, and of their orders.
func ofHolds() []tested {
	const atMost20 = "TestOpenHeld_Source_HasAtMost20LiveHolds"
	return []tested{
		byTest("shares a hold that another request holds", pkgDynamo, "TestOpenHeld_AnotherHoldMeanwhile_IsNotShared", heldOpenGo,
			`call.RequireEqual(table.AttrRedemption, table.Str(shared.ID))`, ``),
		inSimulation("shares a hold that was ordered", heldOpenGo, `call.RequireEqual(table.AttrHeldUntil, table.Millis(shared.Until))`, ``),
		byTest("shares a nick's hold that is gone", pkgDynamo, "TestOpenHeld_OwnHoldOrderedMeanwhile_IsNotShared", heldOpenGo,
			`call.RequireEqual(name, table.EncodeHold(shared))`, ``),
		byTest("replaces a checkout that was ordered", pkgDynamo, "TestOpenHeld_OrderedMeanwhile_IsNotReplaced", heldOpenGo,
			`release := change(h.Customer, h.Replaces.ID, table.StatusOpen)`,
			"release := change(h.Customer, h.Replaces.ID, table.StatusOpen)\n\t\trelease.Condition = \"#id = :id AND (#status = :status OR #status <> :status)\""),
		inSimulation("orders a checkout without redeeming its code", ordersGo,
			"call := placing(customer, id, order, expiresAfter)\n\tcall.RequireEqual(table.AttrUse, nil)",
			`call := placing(customer, id, order, expiresAfter)`),
		inSimulation("cancels an order without undoing its redemption", ordersGo,
			"call := cancelling(customer, id, reason, at)\n\tcall.RequireEqual(table.AttrUse, nil)", `call := cancelling(customer, id, reason, at)`),
		inSimulation("orders with a single-use code that another request holds", heldOrdersGo, `call.RequireEqual(table.AttrRedemption, table.Str(hold.ID))`, ``),
		inSimulation("orders with a single-use code that was ordered", heldOrdersGo, `call.Require("attribute_exists(#heldUntil)")`, ``),
		inSimulation("orders with a nick's hold that is gone", heldOrdersGo, "call.Remove(name)\n\t\tcall.RequireEqual(name, table.EncodeHold(hold))", `call.Remove(name)`),
		byTest("orders a checkout that was replaced", pkgDynamo, "TestPlaceHeld_ReplacedBeforeTheWrite_IsNotOrdered", ordersGo,
			"call := change(customer, id, table.StatusOpen)\n",
			"call := change(customer, id, table.StatusOpen)\n\tcall.Condition = \"#id = :id AND (#status = :status OR #status <> :status)\"\n"),
		byTest("accepts late orders above a lowered limit", pkgDynamo, "TestOrders_VoucherEditedMeanwhile_AreHonoured", heldOrdersGo,
			`isOver := v.Over > 0`, `isOver := false`),
		byTest("accepts late orders above a nick's lowered limit", pkgDynamo, "TestPlaceHeld_LateAboveTheNicksLoweredLimit_IsExpired", heldOrdersGo,
			`isOver = isOver || uses.Taken > int(v.MaxUsesPerNick)`, ``),
		inSimulation("looks for a hold only where its checkout recorded it", heldOrdersGo,
			`hold, err = s.holdNow(ctx, claim.Request, hold)`, `err = checkout.ErrExpired`),
		byTest("holds a use by terms that were edited since the lookup", pkgDynamo, "TestOpenHeld_VoucherEditedSinceItWasRead_IsJudgedAgain", heldOpenGo,
			`call.RequireEqual(table.AttrVersion, table.Num(h.Voucher.Version)) //`, `//`),
		byTest("shares a hold although the terms refuse", pkgDynamo, "TestOpenHeld_VoucherEditedSinceItWasRead_IsJudgedAgain", heldOpenGo,
			`if err := h.Voucher.RefuseShare(request); err != nil {`, `if err := h.Voucher.RefuseShare(request); err != nil && false {`),
		byTest("says that a placed order expired", pkgDynamo, "TestPlaceHeld_PlacedMeanwhile_IsReplayed", heldOrdersGo,
			`now.ID == c.ID && now.Order == nil && !now.Released {`, `now.ID == c.ID && !now.Released {`),
		byTest("says that a replaced checkout expired", pkgDynamo, "TestPlaceHeld_ReplacedMeanwhile_IsReleased", heldOrdersGo,
			`now.Order == nil && !now.Released {`, `now.Order == nil {`),
		byTest("does not limit the holds of a source", pkgDynamo, atMost20, heldOpenGo,
			`if len(live) > checkout.MaxHoldsPerSource {`, `if len(live) > checkout.MaxHoldsPerSource && false {`),
		byTest("counts concurrent holds of a source as one", pkgDynamo, atMost20, heldOpenGo,
			`call.RequireEqual(table.AttrLapses, it[table.AttrLapses])`, ``),
		byTest("refuses while an attempt to hold is in flight", pkgDynamo, "TestOpenHeld_AttemptInFlight_OutcomeIsUnknown", heldOpenGo,
			`if lost.mayContradict(err) {`, `if lost.mayContradict(err) && false {`),
	}
}

// ofUndoing lists the guards of undoing, and of redeeming afterwards.
func ofUndoing() []tested {
	const again = "TestUndo_KeyOfTheUndoneRedemption_RedeemsNoMore"
	return []tested{
		{
			"undoes a redemption of a single-use code twice", pkgDynamo, theSimulation,
			change{
				{undoGo, `call.RequireEqual(table.AttrRedemption, table.Str(claim.RedemptionID))`, ``},
				{undoGo, `call.RequireEqual(table.AttrToken, table.Str(claim.Token))`, ``},
				insertingAlways(),
			},
		},
		{
			"undoes a nick's redemption twice", pkgDynamo, theSimulation,
			change{{undoGo, `call.RequireEqual(record, it[record])`, `call.Require("attribute_exists(" + table.SortKey + ")")`}, insertingAlways()},
		},
		inSimulation("undoes a redemption with its own item twice", undoGo, "call.RequireEqual(table.AttrUndone, nil)\n\t}\n\tvar actions", "}\n\tvar actions"),
		inSimulation("looks only once for a redemption that moves", undoGo,
			"found, err = s.look(ctx, request)\n\t}\n\treturn found, err", "}\n\treturn found, err"),
		byTest("undoes the redemption of an order", pkgDynamo, "TestUndo_RedemptionOfAnOrder_IsRefused", undoGo,
			`case err == nil && c.Order != nil && c.Hold != nil`, `case err == nil && c.Order == nil && c.Hold != nil`),
		byTest("redeems a single-use code with the key of an undone redemption", pkgDynamo, again, redeemGo,
			`requiringAbsent(s.table, table.RedemptionKey(claim.Customer, claim.Code, claim.Token), alreadyUndone),`, ``),
		{
			"redeems for a nick with the key of an undone redemption", pkgDynamo, again,
			change{
				{redeemGo, `return []action{updating(name, call, r.judge), requiringAbsent(name, undone, alreadyUndone)}`, `return []action{updating(name, call, r.judge)}`},
				{redeemGo, `undone := table.RedemptionKey(r.claim.Customer, r.claim.Code, r.claim.Token)`, ``},
			},
		},
		byTest("replays an undone redemption", pkgDynamo, again, redeemGo,
			`if found && !redemption.Undone.IsZero() {`, `if found && false {`),
		byTest("redeems again by terms that were edited since the lookup", pkgDynamo, "TestRedeem_UndoneBeforeAndEditedSinceItWasRead_IsJudgedAgain", redeemGo,
			`call.RequireEqual(table.AttrVersion, table.Num(v.Version)) //`, `//`),
	}
}

// ofCodes lists guards of discounts, holds and undo in the packages of rules and of HTTP. Its last mutations remove the customer from the
// keys of holds.
func ofCodes() []tested {
	return []tested{
		byTest("replaces a checkout that was ordered", pkgCheckout, "TestOpen_Replaces_HandsTheOldCheckoutToTheStore", openGo,
			`err == nil && (replaced.Order != nil || replaced.Released)`, `err == nil && replaced.Released`),
		byTest("replaces a checkout that was replaced", pkgCheckout, "TestOpen_Replaces_HandsTheOldCheckoutToTheStore", openGo,
			`err == nil && (replaced.Order != nil || replaced.Released)`, `err == nil && replaced.Order != nil`),
		byTest("replays a checkout with another code", pkgCheckout, "TestOpen_RetryWithCode_ReturnsTheSameCheckout", checkoutGo,
			`err == nil && code == request.Code && nick`, `err == nil && (code == request.Code || true) && nick`),
		byTest("replays a checkout with another nick", pkgCheckout, "TestOpen_RetryWithCode_ReturnsTheSameCheckout", checkoutGo,
			`nick.Compared == request.Nick.Compared && c.Product`, `(nick.Compared == request.Nick.Compared || true) && c.Product`),
		byTest("replays a checkout that was replaced", pkgCheckout, "TestOpen_KeyOfAReplacedCheckout_IsInUse", openGo,
			`kept.Order != nil || kept.Released ||`, `kept.Order != nil ||`),
		byTest("shares the holds of all strangers", pkgCheckout, "TestOpening_Shared", openGo,
			`nick.Compared != "" && held.Nick.Compared`, `held.Nick.Compared`),
		byTest("shares a lapsed hold", pkgCheckout, "TestOpening_Shared", openGo, `if isOwn && !held.HasLapsed(at) {`, `if isOwn {`),
		byTest("shares the hold of another code", pkgCheckout, "TestOpening_Shared", openGo,
			`o.Replaces.Hold != nil && o.Replaces.Code == v.Written {`, `o.Replaces.Hold != nil {`),
		byTest("rounds a discount up", pkgVoucher, "TestReward_Discount", rewardGo,
			`subtotal.Minor * int64(r.PercentOff) / 100`, `(subtotal.Minor*int64(r.PercentOff) + 99) / 100`),
		byTest("takes more off than a checkout costs", pkgVoucher, "TestReward_Discount", rewardGo,
			`min(r.AmountOff.Minor, subtotal.Minor)`, `r.AmountOff.Minor`),
		byTest("takes an amount off in another currency", pkgVoucher, "TestReward_Discount", rewardGo,
			`r.AmountOff.Currency == subtotal.Currency:`, `r.AmountOff.Currency != "":`),
		byTest("accepts a code that takes nothing off", pkgVoucher, "TestReward_Discount", rewardGo,
			`if discount.Minor == 0 {`, `if discount.Minor < 0 {`),
		byTest("tells strangers why a code is refused", pkgHTTP, refusedTheSame, problemGo,
			"if c.caller.IsServer() {\n\t\t\trefused.reason", "if !c.caller.IsServer() || c.caller.IsServer() {\n\t\t\trefused.reason"),
		byTest("tells the shop's server no reason", pkgHTTP, refusedTheSame, problemGo,
			"if c.caller.IsServer() {\n\t\t\trefused.reason", "if c.caller.IsServer() && false {\n\t\t\trefused.reason"),
		byTest("undoes redemptions for strangers", pkgHTTP, serversOnly, redemptionsGo,
			`undoRequest, (*call).admitServer`, `undoRequest, (*call).admitAnyone`),
		byTest("lists redemptions for strangers", pkgHTTP, serversOnly, redemptionsGo,
			`redemptionsRequest, (*call).admitServer`, `redemptionsRequest, (*call).admitAnyone`),
		inSimulation("stores one counted hold for all customers", keysGo, `CounterKey(customer, code, hold.Counter).Partition`, `CounterKey("all", code, hold.Counter).Partition`),
		forAll("list of a source's holds", "TestOpenHeld_SourceAtAnotherCustomer_HasALimitOfItsOwn", `Bucket(customer, hashBucket(source)), HoldsPrefix`),
	}
}

// inSimulation returns a mutation that the simulation of holds must find. It replaces a string in the source.
func inSimulation(name, file, old, mutated string) tested {
	return tested{name, pkgDynamo, theSimulation, change{{file, old, mutated}}}
}

// insertingAlways makes the store put an item even if another item has the same key.
func insertingAlways() replacement {
	const condition = `ConditionExpression: aws.String("attribute_not_exists(" + table.SortKey + ")"),`
	return replacement{transactionGo, "Item: it, " + condition, "Item: it,"}
}
