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
		inSimulation("passes a live hold on", usesGo,
			"if hold.HasLapsed(request.At) {\n\t\t\tlapsed = append", "if hold.HasLapsed(request.At) || len(lapsed) == 0 {\n\t\t\tlapsed = append"),
		inSimulation("passes a hold on that is gone", transactionGo,
			`Key: key.Attributes(), ConditionExpression: aws.String("attribute_exists(" + table.SortKey + ")"),`, `Key: key.Attributes(),`),
		inSimulation("takes a live hold of a single-use code", redeemGo, `OR #heldUntil <= :at)"`, `OR #heldUntil <= :at OR #heldUntil > :at)"`),
		{
			"bounds a counter by its first hold exactly", pkgDynamo, "TestRedeem_SecondHoldLapsesFirst_IsFound",
			change{{usesGo, `lapseMargin = time.Minute`, `lapseMargin = 0`}},
		},
		inSimulation("raises the bound of a counter", usesGo, `take.SetOnce(table.AttrLapse,`, `take.Set(table.AttrLapse,`),
		{
			"marks a code as full for as long as its holds last", pkgDynamo, "TestRedeem_HoldMissedWhileItMoved_IsFoundHalfAnHourLater",
			change{{usesGo, `none = earliest(none, request.At.Add(longestMark))`, ``}},
		},
		inSimulation("marks a code as full although a use came back", usesGo, "call.RequireCount(table.AttrReturns, v.Returns)\n\treturn call", `return call`),
		inSimulation("leaves a code marked as full when a use comes back", usesGo, `returned.Remove(table.AttrFullUntil)`, ``),
		inSimulation("passes uses on that exceed the limit", usesGo, `if free.lapsed == nil || v.Over == 0 {`, `if free.lapsed == nil || v.Over >= 0 {`),
		{
			"gives more uses back than a counter has", pkgDynamo, "TestUndo_CounterEmptiedMeanwhile_UseComesBackToAnother",
			change{{usesGo, `back.Condition = "#used >= :least"`, `back.Condition = "#used >= :least OR #used < :least"`}},
		},
		{
			"drops a use that no longer exceeds the limit", pkgDynamo, "TestRedeem_UseDroppedMeanwhile_DropsNoOther",
			change{{
				usesGo,
				`"#over >= :least"`, `"#over >= :least OR #over < :least OR attribute_not_exists(#over)"`,
			}},
		},
		{
			"gives a use back that exceeds the limit", pkgDynamo, "TestUndo_LimitLoweredMeanwhile_UseIsGone",
			change{{usesGo, `OR #over = :zero)"`, `OR #over = :zero OR #over <> :zero)"`}},
		},
		{
			"edits the limit although a use came back", pkgDynamo, "TestEdit_UseComesBackMeanwhile_IsCounted",
			change{{editGo, `end.RequireCount(table.AttrReturns, marked.Returns)`, ``}},
		},
		{
			"swaps a hold although the nick's uses changed", pkgDynamo, "TestRedeem_NickRedeemsMeanwhile_SwapsNoHold",
			change{{redeemGo, `call.RequireEqual(table.AttrTaken, table.Num(uses.Taken))`, ``}},
		},
		{
			"swaps a hold although another was extended", pkgDynamo, "TestRedeem_OwnHoldExtendedMeanwhile_LeavesNoneFree",
			change{{
				redeemGo,
				`range uses.Lapsed(request.At) { // each`, `range []voucher.Hold{*free.lapsed} { // each`,
			}},
		},
		{
			"ignores redemptions that were undone", pkgDynamo, "TestUndo_KeyOfTheRedemption_RedeemsNoMore",
			change{{redeemGo, "call.RequireEqual(table.AttrUndone, nil)\n\tcall.Require(", `call.Require(`}},
		},
		{
			"stores no uses above the limit", pkgDynamo, "TestHolds_LimitLoweredBefore_UsesAboveItAreDropped",
			change{{usesGo, `if v.Over > 0 || total <= int(v.MaxUses) {`, `if v.Over >= 0 {`}},
		},
	}
}

// ofHolds lists the guards of checkouts that hold a use, and of their orders.
func ofHolds() []tested {
	const atMost20 = "TestOpenHeld_Source_HasAtMost20LiveHolds"
	return []tested{
		{
			"shares a hold that another request holds", pkgDynamo, "TestOpenHeld_AnotherHoldMeanwhile_IsNotShared",
			change{{heldOpenGo, `call.RequireEqual(table.AttrRedemption, table.Str(shared.ID))`, ``}},
		},
		inSimulation("shares a hold that was ordered", heldOpenGo, `call.RequireEqual(table.AttrHeldUntil, table.Millis(shared.Until))`, ``),
		{
			"shares a nick's hold that is gone", pkgDynamo, "TestOpenHeld_OwnHoldOrderedMeanwhile_IsNotShared",
			change{{heldOpenGo, `call.RequireEqual(name, table.EncodeHold(shared))`, ``}},
		},
		{
			"replaces a checkout that was ordered", pkgDynamo, "TestOpenHeld_OrderedMeanwhile_IsNotReplaced",
			change{{
				heldOpenGo,
				`release := change(h.Customer, h.Replaces.ID, table.StatusOpen)`,
				"release := change(h.Customer, h.Replaces.ID, table.StatusOpen)\n\t\trelease.Condition = \"#id = :id AND (#status = :status OR #status <> :status)\"",
			}},
		},
		inSimulation("orders a checkout without redeeming its code", ordersGo,
			"call := placing(customer, id, order, expiresAfter)\n\tcall.RequireEqual(table.AttrUse, nil)", `call := placing(customer, id, order, expiresAfter)`),
		inSimulation("cancels an order without undoing its redemption", ordersGo,
			"call := cancelling(customer, id, reason, at)\n\tcall.RequireEqual(table.AttrUse, nil)", `call := cancelling(customer, id, reason, at)`),
		inSimulation("orders with a single-use code that another request holds", heldOrdersGo, `call.RequireEqual(table.AttrRedemption, table.Str(hold.ID))`, ``),
		inSimulation("orders with a single-use code that was ordered", heldOrdersGo, `call.Require("attribute_exists(#heldUntil)")`, ``),
		inSimulation("orders with a nick's hold that is gone", heldOrdersGo, "call.Remove(name)\n\t\tcall.RequireEqual(name, table.EncodeHold(hold))", `call.Remove(name)`),
		{
			"orders a checkout that was replaced", pkgDynamo, "TestPlaceHeld_ReplacedBeforeTheWrite_IsNotOrdered",
			change{{
				ordersGo, "call := change(customer, id, table.StatusOpen)\n",
				"call := change(customer, id, table.StatusOpen)\n\tcall.Condition = \"#id = :id AND (#status = :status OR #status <> :status)\"\n",
			}},
		},
		{
			"accepts late orders above a lowered limit", pkgDynamo, "TestOrders_VoucherEditedMeanwhile_AreHonoured",
			change{{heldOrdersGo, `isOver := v.Over > 0`, `isOver := false`}},
		},
		{
			"accepts late orders above a nick's lowered limit", pkgDynamo, "TestPlaceHeld_LateAboveTheNicksLoweredLimit_IsExpired",
			change{{heldOrdersGo, `isOver = isOver || uses.Taken > int(v.MaxUsesPerNick)`, ``}},
		},
		inSimulation("looks for a hold only where its checkout has it", heldOrdersGo, `hold, err = s.holdNow(ctx, claim.Request, hold)`, `err = checkout.ErrExpired`),
		{
			"holds by rules that were edited since", pkgDynamo, "TestOpenHeld_EditedSinceTheLook_IsJudgedAgain",
			change{{heldOpenGo, `call.RequireEqual(table.AttrVersion, table.Num(h.Voucher.Version)) //`, `//`}},
		},
		{
			"shares by rules that refuse", pkgDynamo, "TestOpenHeld_EditedSinceTheLook_IsJudgedAgain",
			change{{heldOpenGo, `if err := h.Voucher.RefuseShare(request); err != nil {`, `if err := h.Voucher.RefuseShare(request); err != nil && false {`}},
		},
		{
			"says that a placed order expired", pkgDynamo, "TestPlaceHeld_PlacedMeanwhile_IsReplayed",
			change{{heldOrdersGo, `now.ID == c.ID && now.Order == nil && !now.Released {`, `now.ID == c.ID && !now.Released {`}},
		},
		{
			"says that a replaced checkout expired", pkgDynamo, "TestPlaceHeld_ReplacedMeanwhile_IsReleased",
			change{{heldOrdersGo, `now.Order == nil && !now.Released {`, `now.Order == nil {`}},
		},
		{
			"counts the holds of a source for nothing", pkgDynamo, atMost20,
			change{{heldOpenGo, `if len(live) > checkout.MaxHoldsPerSource {`, `if len(live) > checkout.MaxHoldsPerSource && false {`}},
		},
		{
			"counts concurrent holds of a source as one", pkgDynamo, atMost20,
			change{{heldOpenGo, `call.RequireEqual(table.AttrLapses, it[table.AttrLapses])`, ``}},
		},
		{
			"refuses while an attempt to hold is in flight", pkgDynamo, "TestOpenHeld_AttemptInFlight_IsUnknown",
			change{{heldOpenGo, `if lost.mayContradict(err) {`, `if lost.mayContradict(err) && false {`}},
		},
	}
}

// ofUndoing lists the guards of undoing, and of redeeming afterwards.
func ofUndoing() []tested {
	const again = "TestUndo_KeyOfTheRedemption_RedeemsNoMore"
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
		inSimulation("looks once for a redemption that moves", undoGo, "found, err = s.look(ctx, request)\n\t}\n\treturn found, err", "}\n\treturn found, err"),
		{
			"undoes the redemption of an order", pkgDynamo, "TestUndo_RedemptionOfAnOrder_IsRefused",
			change{{undoGo, `case err == nil && c.Order != nil && c.Hold != nil`, `case err == nil && c.Order == nil && c.Hold != nil`}},
		},
		{
			"redeems a single-use code with the key of an undone redemption", pkgDynamo, again,
			change{{redeemGo, `requiringAbsent(s.table, table.RedemptionKey(claim.Customer, claim.Code, claim.Token), alreadyUndone),`, ``}},
		},
		{
			"redeems for a nick with the key of an undone redemption", pkgDynamo, again,
			change{
				{redeemGo, `return []action{updating(name, call, r.judge), requiringAbsent(name, undone, alreadyUndone)}`, `return []action{updating(name, call, r.judge)}`},
				{redeemGo, `undone := table.RedemptionKey(r.claim.Customer, r.claim.Code, r.claim.Token)`, ``},
			},
		},
		{
			"replays an undone redemption", pkgDynamo, again,
			change{{redeemGo, `if found && !redemption.Undone.IsZero() {`, `if found && false {`}},
		},
		{
			"redeems again by rules that were edited since", pkgDynamo, "TestUndo_EditedSinceTheLook_IsJudgedAgain",
			change{{redeemGo, `call.RequireEqual(table.AttrVersion, table.Num(v.Version)) //`, `//`}},
		},
	}
}

// ofCodes lists guards of discounts, holds and undo in the rules and in HTTP, and the customer in keys of holds.
func ofCodes() []tested {
	return []tested{
		{
			"replaces a checkout that was ordered", pkgCheckout, "TestOpen_Replaces_PassesTheOldCheckoutOn",
			change{{openGo, `err == nil && (replaced.Order != nil || replaced.Released)`, `err == nil && replaced.Released`}},
		},
		{
			"replaces a checkout that was replaced", pkgCheckout, "TestOpen_Replaces_PassesTheOldCheckoutOn",
			change{{openGo, `err == nil && (replaced.Order != nil || replaced.Released)`, `err == nil && replaced.Order != nil`}},
		},
		{
			"replays a checkout with another code", pkgCheckout, "TestOpen_RetryWithCode_ReturnsTheSameCheckout",
			change{{checkoutGo, `err == nil && code == request.Code && nick`, `err == nil && (code == request.Code || true) && nick`}},
		},
		{
			"replays a checkout with another nick", pkgCheckout, "TestOpen_RetryWithCode_ReturnsTheSameCheckout",
			change{{checkoutGo, `nick.Compared == request.Nick.Compared && c.Product`, `(nick.Compared == request.Nick.Compared || true) && c.Product`}},
		},
		{
			"replays a checkout that was replaced", pkgCheckout, "TestOpen_KeyOfAReplacedCheckout_IsInUse",
			change{{openGo, `kept.Order != nil || kept.Released ||`, `kept.Order != nil ||`}},
		},
		{
			"shares the holds of all strangers", pkgCheckout, "TestShared",
			change{{openGo, `nick.Compared != "" && held.Nick.Compared`, `held.Nick.Compared`}},
		},
		{
			"shares a lapsed hold", pkgCheckout, "TestShared",
			change{{openGo, `if isOwn && !held.HasLapsed(at) {`, `if isOwn {`}},
		},
		{
			"shares the hold of another code", pkgCheckout, "TestShared",
			change{{openGo, `o.Replaces.Hold != nil && o.Replaces.Code == v.Written {`, `o.Replaces.Hold != nil {`}},
		},
		{
			"rounds a discount up", pkgVoucher, "TestReward_Discount",
			change{{rewardGo, `subtotal.Minor * int64(r.PercentOff) / 100`, `(subtotal.Minor*int64(r.PercentOff) + 99) / 100`}},
		},
		{
			"takes more off than a checkout costs", pkgVoucher, "TestReward_Discount",
			change{{rewardGo, `min(r.AmountOff.Minor, subtotal.Minor)`, `r.AmountOff.Minor`}},
		},
		{
			"takes an amount off in another currency", pkgVoucher, "TestReward_Discount",
			change{{rewardGo, `r.AmountOff.Currency == subtotal.Currency:`, `r.AmountOff.Currency != "":`}},
		},
		{
			"accepts a code that takes nothing off", pkgVoucher, "TestReward_Discount",
			change{{rewardGo, `if discount.Minor == 0 {`, `if discount.Minor < 0 {`}},
		},
		{
			"tells strangers why a code is refused", pkgHTTP, refusedTheSame,
			change{{problemGo, "if r.caller.IsServer() {\n\t\t\trefused.reason", "if !r.caller.IsServer() || r.caller.IsServer() {\n\t\t\trefused.reason"}},
		},
		{
			"tells the shop's server no reason", pkgHTTP, refusedTheSame,
			change{{problemGo, "if r.caller.IsServer() {\n\t\t\trefused.reason", "if r.caller.IsServer() && false {\n\t\t\trefused.reason"}},
		},
		{
			"undoes redemptions for strangers", pkgHTTP, serversOnly,
			change{{redemptionsGo, admitted + "request.By", "request.By"}},
		},
		{
			"lists redemptions for strangers", pkgHTTP, serversOnly,
			change{{redemptionsGo, admitted + "redemptions, end", "redemptions, end"}},
		},
		inSimulation("stores one counted hold for all customers", keysGo, `CounterKey(customer, code, hold.Counter).Partition`, `CounterKey("all", code, hold.Counter).Partition`),
		forAll("list of a source's holds", "TestOpenHeld_SourceAtAnotherCustomer_HasALimitOfItsOwn", `Bucket(customer, hashBucket(source)), HoldsPrefix`),
	}
}

const admitted = "if err := c.admitServer(); err != nil {\n\t\t\t\treturn answer{}, err\n\t\t\t}\n\t\t\t"

// inSimulation is a mutation that the simulation of holds must find. It replaces a string in the source.
func inSimulation(name, file, old, mutated string) tested {
	return tested{name, pkgDynamo, theSimulation, change{{file, old, mutated}}}
}

// insertingAlways puts an item even if one has its key.
func insertingAlways() replacement {
	const condition = `ConditionExpression: aws.String("attribute_not_exists(" + table.SortKey + ")"),`
	return replacement{transactionGo, "Item: it, " + condition, "Item: it,"}
}
