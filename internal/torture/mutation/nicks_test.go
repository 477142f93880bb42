package mutation_test

const (
	nicksGo         = "pkg/dynamo/event_nicks.go"
	nickIndexGo     = "pkg/dynamo/internal/table/nick_index.go"
	nickReaderGo    = "pkg/dynamo/backoffice/nicks.go"
	operatorNicksGo = "pkg/operator/nicks.go"
	pkgOperator     = "./pkg/operator"
)

// ofNicks lists the guards of the index of nicks.
func ofNicks() []tested {
	const (
		inAnyOrder   = "TestIndex_ChangesInAnyOrder_UndoneStaysUndone"
		others       = "TestIndex_OtherCustomersAndNicks_AreInvisible"
		manyPages    = "TestRedemptionsOf_ManyPages_AreInTheOrderOfTime"
		recordedOnce = "TestRecord_UndoneBeforeCreated_IsIndexedOnceAsUndone"
		endsEarly    = "TestRebuildNicks_InterruptedOrWithAnUnreadItem_DoesNotNoteThatTheIndexIsComplete"
		filters      = "TestRedemptionsOfNick_Filters_Apply"
	)
	return []tested{
		byTest("appends events although the index failed", pkgEvent, "TestRecord_IndexFails_ChangesAreSetAsideAndNothingIsAppended", recordGo,
			`if err := r.IndexNicks(ctx, customer, facts); err != nil {`, `if err := r.IndexNicks(ctx, customer, facts); err != nil && ctx == nil {`),
		byTest("indexes an undone redemption as it was before", pkgEvent, recordedOnce, recordGo,
			`!known || fact.Type == RedemptionUndone`, `!known`),
		byTest("tells the shop's server of imports", pkgEvent, "TestRecord_ImportedRedemption_IsIndexedAndNotInTheFeed", recordGo, `fact.Silent() || `, ``),
		byTest("overwrites a redemption that was undone", pkgDynamo, inAnyOrder, nicksGo,
			`if r.Undone.IsZero() {`, `if r.Undone.IsZero() && customer == "" {`),
		byTest("does not index that a redemption was undone", pkgDynamo, inAnyOrder, nicksGo, `if r.Undone.IsZero() {`, `if r.ID != "" {`),
		byTest("sets aside changes that are already indexed", pkgDynamo, inAnyOrder, nicksGo, `; exists {`, `; exists && r.ID == "" {`),
		byTest("forgets that a redemption was not indexed", pkgDynamo, "TestIndex_OneWriteFails_IsAnError", eventLogGo,
			`err = errors.Join(err, putErr)`, `err = putErr`),
		byTest("indexes redemptions without a nick", pkgDynamo, "TestIndex_EveryKindOfRedemption_IsReadBack", nickIndexGo,
			`if err != nil || nick == (voucher.Nick{}) {`, `if err != nil {`),
		byTest("indexes the nicks of all customers together", pkgDynamo, others, nickIndexGo,
			`Bucket(customer, hashBucket(hash))`, `Bucket("all"+customer[:0], hashBucket(hash))`),
		byTest("indexes all nicks of a bucket together", pkgDynamo, others, nickIndexGo, `hash := HashNick(nick)`, `hash := HashNick(nick)[:0]`),
		byTest("lists in the order of the IDs", pkgDynamo, manyPages, nickIndexGo,
			`at.UnixMilli(), id)}`, `at.UnixMilli()/1e9, id)}`),
		byTest("ends after the first page", pkgDynamo, manyPages, nickReaderGo,
			`pages := dynamodb.NewQueryPaginator(s.api, query); pages.HasMorePages(); {`,
			`pages, first := dynamodb.NewQueryPaginator(s.api, query), true; first; first = false {`),
		byTest("notes an index as complete although something could not be read", pkgOperator, endsEarly, operatorNicksGo,
			`|| result.Unread > 0 {`, `|| result.Unread < 0 {`),
		byTest("lists redemptions that are a millisecond too early", pkgOperator, filters, operatorNicksGo,
			`filter.picks(r))`, `filter.Batch == "" || filter.Batch == r.Batch)`),
		byTest("lists every batch", pkgOperator, filters, "pkg/operator/redemptions.go", `return (f.Batch == "" || f.Batch == r.Batch) && `, `return `),
		byTest("adds imports to the feed", pkgOperator, "TestRebuildNicks_ImportedRedemption_IsListedAndNotInTheFeed", "pkg/operator/events.go",
			`!known[id] && !fact.Silent() && (`, `!known[id] && (`),
	}
}
