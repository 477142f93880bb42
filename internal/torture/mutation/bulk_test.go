package mutation_test

import "slices"

const (
	deleteItemGo = "pkg/dynamo/backoffice/delete.go"
	newItemGo    = "pkg/dynamo/backoffice/vouchers.go"
	deleteGo     = "pkg/operator/delete.go"
	importGo     = "pkg/operator/import.go"
	pastGo       = "pkg/voucher/import.go"
	accountGo    = "pkg/reconciliation/account.go"
	csvGo        = "pkg/csvfile/csvfile.go"
	pkgCSV       = "./pkg/csvfile"
)

// ofBulk lists the guards of imports and deletions, and of what an import leaves behind.
func ofBulk() []tested {
	return slices.Concat(ofDeletedItems(), ofDeletions(), ofImports(), ofPasts(), ofImportedUses(), ofCells())
}

func ofDeletedItems() []tested {
	const changed = "TestDelete_ChangedSinceItWasRead_StaysWhole"
	return []tested{
		byTest("deletes what was edited", pkgOperator, changed, deleteItemGo, `condition.RequireEqual(table.AttrVersion, table.Num(v.Version))`, ``),
		byTest("deletes what was redeemed or is held", pkgOperator, changed, deleteItemGo, `{table.AttrRedemption, table.AttrUndone,`, `{table.AttrUndone,`),
		byTest("deletes what was undone", pkgOperator, changed, deleteItemGo, `table.AttrUndone, table.AttrReturns,`, `table.AttrReturns,`),
		byTest("deletes a limited code that was undone", pkgOperator, changed, deleteItemGo, `table.AttrReturns, table.AttrImported}`, `table.AttrImported}`),
		byTest("deletes imported uses", pkgOperator, changed, deleteItemGo, `table.AttrReturns, table.AttrImported}`, `table.AttrReturns}`),
		byTest("deletes a counter that was used", pkgOperator, changed, deleteItemGo, `unused.RequireEqual(table.AttrUsed, table.Num(0))`,
			`unused.Require("attribute_exists(" + unused.Alias(table.AttrUsed) + ")")`),
		byTest("deletes a counter that had a hold", pkgOperator, changed, deleteItemGo, `unused.RequireEqual(table.AttrLapse, nil)`, ``),
		byTest("deletes a voucher that was created again with the same code", pkgOperator,
			"TestDelete_CodeCreatedAgainMeanwhile_StaysAsCreated", deleteItemGo,
			`condition.RequireEqual(table.AttrCreated, table.Millis(v.Created))`, ``),
		byTest("leaves counters behind", pkgOperator, "TestDeleteVoucher_NeverUsed_LeavesNothingAndFreesTheCode", deleteItemGo,
			`range v.Counters {`, `range min(v.Counters, 1) {`),
	}
}

func ofDeletions() []tested {
	const (
		inFlight  = "TestDeleteVoucher_RedeemedDuringTheWait_IsRefusedAndEnabledAgain"
		checkedIn = "TestDeleteVoucher_CheckoutDuringTheWait_IsRefusedAndStaysAsItWas"
	)
	return []tested{
		byTest("waits without disabling the code", pkgOperator, inFlight, deleteGo, `voucher.Edit{Disabled: new(true)}`, `voucher.Edit{}`),
		byTest("does not wait for requests in flight", pkgOperator, inFlight, deleteGo, `d.Wait(ctx, Draining); err`, `ctx.Err(); err`),
		byTest("waits for a shorter time than a function may run", pkgOperator, inFlight, deleteGo,
			`d.Wait(ctx, Draining); err`, `d.Wait(ctx, Draining/2); err`),
		byTest("deletes codes that have records of redemptions", pkgOperator, inFlight, deleteGo,
			`isUsed, err = d.shop.vouchers.IsUsed(ctx, customer, v.Code)`, `isUsed, err = false, ctx.Err()`),
		byTest("overlooks redemptions", pkgOperator, inFlight, deleteItemGo, `if isRecord || `, `if isRecord && customer == "" || `),
		byTest("leaves a code disabled that is not deleted", pkgOperator, inFlight, deleteGo,
			`if v.wasEnabled {`, `if v.wasEnabled && !isUsed {`),
		byTest("enables a code that was disabled before", pkgOperator, checkedIn, deleteGo, `if v.wasEnabled {`, `if v.wasEnabled || isUsed {`),
		byTest("deletes codes that are held by checkouts", pkgOperator, checkedIn, deleteGo, `d.deleteDisabled(ctx, v, inCheckouts[v.Code])`,
			`d.deleteDisabled(ctx, v, inCheckouts[v.Code] && err != nil)`),
		byTest("disables a code that shoppers use", pkgOperator, "TestDeleteVoucher_WasRedeemed_StaysRedeemableMeanwhile", deleteGo,
			`if err != nil || used {`, `if err != nil || used && v.SingleUse() {`),
		byTest("enables what another operator has disabled", pkgOperator,
			"TestDeleteVoucher_UsedAndDisabledByAnotherDuringTheWait_StaysDisabled", deleteGo, `now.Version != v.Version {`, `now.Version < v.Version {`),
		byTest("deletes other batches", pkgOperator, "TestDeleteBatch_KeepsWhatWasUsed", "pkg/operator/batches.go",
			`entry.Voucher != nil && entry.Voucher.Batch == batch && `, `entry.Voucher != nil && `),
	}
}

func ofImports() []tested {
	const (
		differs  = "TestImport_CodeWithOtherTermsOrAnotherPast_IsReportedAndStays"
		mistakes = "TestImport_Mistakes_AreAllReportedAndNothingIsWritten"
	)
	return []tested{
		byTest("treats different terms as the same", pkgOperator, differs, "pkg/operator/catalogue.go",
			`if term.isSaid && !term.same {`, `if term.isSaid && !term.same && term.field == "" {`),
		byTest("treats different times of creation as the same", pkgOperator, differs, importGo,
			`!kept.Created.Equal(wanted.Created)`, `kept.Created.IsZero()`),
		byTest("treats different numbers of uses as the same", pkgOperator, differs, importGo,
			`wanted.Imported != kept.Imported`, `wanted.Imported < 0`),
		byTest("treats used and unused codes as the same", pkgOperator, differs, importGo,
			`wanted.Redeemed == nil && kept.Imported == 0,`, `wanted.Redeemed == nil || kept.Redeemed == nil,`),
		byTest("treats uses at different times as the same", pkgOperator, differs, importGo,
			` || !kept.Redeemed.At.Equal(wanted.Redeemed.At):`, `:`),
		byTest("treats uses of different nicks as the same", pkgOperator, differs, importGo,
			`case kept.Redeemed.Nick != wanted.Redeemed.Nick:`, `case kept.Redeemed.Nick < "":`),
		byTest("treats a use that was undone since as another past", pkgOperator, "TestImport_UndoneUse_StaysKnownAsImported", importGo,
			`wanted.Redeemed != nil && kept.Undone > 0:`, `wanted.Redeemed != nil && kept.Undone < 0:`),
		byTest("writes the valid rows of a file with mistakes", pkgOperator, mistakes, importGo,
			`if i.result.Invalid > 0 && !how.SkipInvalid {`, `if i.result.Invalid > 0 && !how.SkipInvalid && valid == 0 {`),
		byTest("ends at the first mistake", pkgOperator, mistakes, importGo, `err = how.Reject(row.Row, row.Err)`,
			`err = how.Reject(row.Row, row.Err); return i.result, ErrInvalidRows`),
		byTest("accepts a code twice in a file", pkgOperator, mistakes, importGo, `; twice {`, `; twice && line < 0 {`),
		byTest("accepts goods that the shop lacks", pkgOperator, mistakes, importGo, `if !i.goods[good] {`, `if !i.goods[good] && i.DryRun {`),
		byTest("checks only one of several goods", pkgOperator, mistakes, importGo,
			`range row.Terms.Reward.Goods() {`, `range row.Terms.Reward.Goods()[:min(len(row.Terms.Reward.Goods()), 1)] {`),
		byTest("writes in a dry run", pkgOperator, "TestImport_DryRun_SaysWhatWouldHappenAndWritesNothing", importGo,
			`write = i.shop.vouchers.Find`, `_ = i.shop.vouchers.Find`),
		byTest("goes on after an interruption", pkgOperator, "TestImport_Interrupted_IsCompletedByRunningItAgain", "pkg/operator/pace.go",
			`if failed.Err() != nil {`, `if failed.Err() != nil && p.limit < 0 {`),
	}
}

// ofPasts lists the guards against wrong pasts of imported codes.
func ofPasts() []tested {
	const past = "TestImport"
	return []tested{
		byTest("imports uses of the future", pkgVoucher, past, pastGo, `if moment.at.After(now) {`, `if moment.at.After(now.AddDate(1, 0, 0)) {`),
		byTest("imports times that it cannot store", pkgVoucher, past, pastGo, `if !isStorable(moment.at) {`, `if moment.at.Year() > 9999 {`),
		byTest("imports uses without a time", pkgVoucher, past, pastGo, `case limit == 1 && p.Uses > 0 && !redeemed:`, `case limit == 1 && p.Uses > 1 && !redeemed:`),
		byTest("imports a nick that did not redeem", pkgVoucher, past, pastGo, `case p.RedeemedBy != "" && !redeemed:`, `case p.RedeemedBy != "" && limit < 0:`),
		byTest("imports a redemption of many uses", pkgVoucher, past, pastGo, `case redeemed && limit != 1:`, `case redeemed && limit < 0:`),
		byTest("imports two uses of a single-use code", pkgVoucher, past, pastGo, `limit == 1 && p.Uses > 1 {`, `limit == 1 && p.Uses > 2 {`),
		byTest("imports more uses than any limit", pkgVoucher, past, pastGo, `p.Uses > int(most) ||`, ``),
		byTest("imports any nick", pkgVoucher, past, pastGo, `nick.Written != p.RedeemedBy {`, `nick.Written < "" {`),
		byTest("forgets by how much a lowered limit was exceeded", pkgVoucher, past, pastGo, `max(past.Uses-int(v.MaxUses), 0)`, `0`),
	}
}

func ofImportedUses() []tested {
	const (
		kept   = "TestImport_UsedCodes_AreStoredWithTheirPast"
		undone = "TestImport_UndoneUse_StaysKnownAsImported"
	)
	return []tested{
		byTest("gives imported uses away again", pkgOperator, kept, newItemGo, `used := share(v.Imported, v.Counters, number)`, `used := 0`),
		byTest("forgets imported uses", pkgOperator, kept, voucherItemGo, `it.setNum(AttrImported, int64(v.Imported))`, ``),
		byTest("redeems an imported code again", pkgOperator, kept, voucherItemGo, `it[AttrRedemption], it[AttrToken], it[AttrRedeemed] =`, `_, _, _ =`),
		byTest("reports imported uses as uses without records", pkgOperator, kept, accountGo,
			`n := v.Imported + len(j.redemptions)`, `n := len(j.redemptions)`),
		byTest("does not report imported uses that are lost", pkgOperator, "TestVerify_ImportedUsesAreLost_IsFound", accountGo,
			`v.SingleUse() && v.Imported > 0 && v.Redeemed == nil`, `v.SingleUse() && v.Imported > 1 && v.Redeemed == nil`),
		byTest("judges imported uses by terms that they did not have", pkgOperator, "TestImport_UsedAgainstItsTerms_VerifyFindsNothing", accountGo,
			`if redemption.Imported {`, `if redemption.Imported && !redemption.Undone.IsZero() {`),
		byTest("reports that imported uses lack events", pkgOperator, "TestVerify_RecentImportedUse_NeedsNoEvent", "pkg/reconciliation/feed.go",
			`if fact.Silent() {`, `if fact.Silent() && f.unread {`),
		byTest("rebuilds events of imported uses", pkgOperator, kept, "pkg/operator/events.go", ` && !fact.Silent() && (`, ` && (`),
		byTest("tells the shop's server of imported uses", pkgEvent, "TestRecord_ImportedRedemption_IsIndexedAndNotInTheFeed", recordGo,
			`known[id] || fact.Silent() || `, `known[id] || `),
		byTest("treats the next redemption as imported", pkgOperator, undone, undoGo,
			`table.AttrRedeemedBy, table.AttrImported} {`, `table.AttrRedeemedBy} {`),
		byTest("treats an undone import as redeemed here", pkgOperator, undone, undoGo,
			`if redemption.Imported {`, `if redemption.Imported && reason == "" {`),
	}
}

func ofCells() []tested {
	const cells = "TestWriter_Cells"
	return []tested{
		byTest("writes formulas", pkgCSV, cells, csvGo, `return "'" + cell`, `return cell`),
		byTest("writes formulas after a full-width sign", pkgCSV, cells, csvGo, `\uff1d\uff0b\uff0d\uff20`, ``),
		byTest("reads a defused formula as text", pkgCSV, "FuzzWriter", csvGo, `found && isArmed(rest)`, `found && !isArmed(rest)`),
		byTest("removes an apostrophe that the cell had before", pkgCSV, "TestVoucherReader_ForeignFile_IsRead", csvGo,
			`found && isArmed(rest)`, `found`),
	}
}
