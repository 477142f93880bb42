package mutation_test

import (
	"slices"
	"strings"
)

const (
	newsGo        = "pkg/event/event.go"
	feedGo        = "pkg/event/feed.go"
	recordGo      = "pkg/event/record.go"
	eventLogGo    = "pkg/dynamo/event_log.go"
	eventSourceGo = "pkg/dynamo/event_source.go"
	parkingGo     = "pkg/dynamo/event_parking.go"
	eventItemGo   = "pkg/dynamo/internal/table/event.go"
	pkgEvent      = "./pkg/event"
	theLog        = "TestAppend_ConcurrentBatchesAndFaults_KeepTheSequence"
	acrossPages   = "TestAppend_AcrossPages_KeepsTheSequence"
	farAway       = "TestAppend_EventStoredSixPagesAgo_IsAddedOnce"
	fullPage      = "TestAppend_Pages_ExpireAfterTheirEventsButTheLastNever"
	unreadable    = "TestChanges_UnreadableRecord_FailsAlone"
	othersEvents  = "TestEvents_OtherCustomersEvents_AreInvisible"
)

// ofEvents lists the guards of recording, storing and listing events, and of the index of nicks.
func ofEvents() []tested {
	return slices.Concat(ofRecording(), ofRetrying(), ofFeeds(), ofLogs(), ofPages(), ofSources(), ofNicks())
}

func ofRecording() []tested {
	return []tested{
		byTest("records the end of something without its creation", pkgEvent, "TestNews", newsGo,
			`news = append(news, facts...)`, `news = append(news, facts[len(facts)-1])`),
		byTest("records the end of something again", pkgEvent, "TestNews", newsGo,
			`known[facts[len(facts)-1].ID()] = true`, `known[facts[0].ID()] = true`),
		byTest("records every edit of a redeemed voucher", pkgEvent, "TestNews", newsGo,
			`if !known[facts[len(facts)-1].ID()] {`, `if !known[facts[len(facts)-1].ID()] || len(facts) > 0 {`),
		byTest("gives two customers' events one ID", pkgEvent, "TestFactID_DependsOnTypeCustomerAndSubjectOnly", newsGo,
			`string(f.Type), string(f.Customer), f.subject())`, `string(f.Type), f.subject())`),
		byTest("records a fact of two records twice", pkgEvent, "TestRecord_RepeatsInABatch_AreRecordedOnce", recordGo,
			"known[id] = true\n\t\tdata", "known[id] = false\n\t\tdata"),
		byTest("waits for a log that stalls", pkgEvent, "TestRecord_LogsStall_TheirChangesAreSetAsideAndOthersRecorded", recordGo,
			`const shopTime = 5 * time.Second`, `const shopTime = 5 * time.Minute`),
		byTest("waits for a stalled log in every batch", pkgEvent, "TestRecord_LogStalled_GetsHalfASecondForAMinute", recordGo,
			`patience = stalledTime`, `patience = shopTime`),
		byTest("never again gives time to a log that stalled", pkgEvent, "TestRecord_LogStalled_GetsHalfASecondForAMinute", recordGo,
			`if patience == shopTime && errors`, `if errors`),
		byTest("logs every error of a batch", pkgEvent, "TestRecord_ManyErrors_JoinsTen", recordGo, `maxCauses = 10`, `maxCauses = 1000`),
		byTest("records a creation that has expired", pkgEvent, "TestRecord_FactOlderThanTheRetention_IsLeftOutIfALaterOneFollows", recordGo,
			`fact.At.Before(r.Now().Add(-r.Retention))`, `fact.At.Before(r.Now().Add(-1000*r.Retention))`),
		byTest("records one customer after another", pkgEvent, "TestRecord_LogsStall_TheirChangesAreSetAsideAndOthersRecorded", recordGo,
			`all.Go(func() {`, `func(record func()) { record() }(func() {`),
		byTest("forgets the changes of a log that fails", pkgEvent, "TestRecord_LogsStall_TheirChangesAreSetAsideAndOthersRecorded", recordGo,
			`if len(change.Facts) > 0 {`, `if len(change.Facts) > 0 && change.Err != nil {`),
		byTest("forgets unreadable changes", pkgEvent, "TestRecord_UnreadableChange_IsSetAsideAndTheOthersRecorded", recordGo,
			`if reason == nil {`, `if reason == nil || change.Err != nil {`),
		byTest("forgets changes that cannot be set aside", pkgEvent, "TestRecord_NothingCanBeSetAside_ReportsTheIDs", recordGo,
			`outcome.Failed = append(outcome.Failed, change.ID)`, ``),
		byTest("keeps setting changes aside while nothing responds", pkgEvent, "TestRecord_NothingResponds_EndsAfter10Seconds", recordGo,
			`if len(outcome.Failed) == 0 {`, `if len(outcome.Failed) >= 0 {`),
		byTest("does not tell Lambda which records could not be set aside", "./pkg/lambdahttp/eventfunction",
			"TestHandle_NothingCanBeStored_LambdaDeliversTheRecordsAgain", "pkg/lambdahttp/eventfunction/eventfunction.go",
			`response.BatchItemFailures[i].ItemIdentifier = id`, `response.BatchItemFailures[i].ItemIdentifier = id[:0]`),
	}
}

func ofRetrying() []tested {
	const (
		retention     = "TestRetry_SetAsideForLongerThanTheRetention_IsRecorded"
		parkedPages   = "TestParked_SeveralPages_ReturnsUpTo10000Changes"
		setAsideAgain = "TestRelease_ParkedAgainMeanwhile_Stays"
	)
	return []tested{
		byTest("releases a change that is still unreadable", pkgEvent, "TestRetry_StillUnreadable_StaysAndIsCounted", recordGo,
			"if err == nil {\n\t\treleased,", "if err == nil || recorded == 0 {\n\t\treleased,"),
		byTest("retries no change after an unreadable one", pkgEvent, "TestRetry_OneUnreadableChange_OthersOfItsCustomerAreRecorded", recordGo,
			`stalled := errors.Is(err, context.DeadlineExceeded)`, `stalled := err != nil`),
		byTest("waits for a log that stalls again and again", pkgEvent, "TestRetry_LogOfACustomerStalls_IsTriedOnce", recordGo,
			`stalled := errors.Is(err, context.DeadlineExceeded)`, `stalled := err == nil`),
		byTest("retries until Lambda ends the function", pkgEvent, "TestRetry_NothingResponds_EndsBeforeTheDeadline", recordGo, `deadline.Add(-2*shopTime)`, `deadline.Add(0*shopTime)`),
		byTest("tries a stalled item first in each run", pkgEvent, "TestRetry_ItemStalls_ComesLastInTheNextRun", recordGo,
			`cmp.Compare(a.Attempts, b.Attempts)`, `cmp.Compare(b.Attempts, a.Attempts)`),
		byTest("does not count a change that was set aside again", pkgEvent, "TestRetry_SetAsideAgainMeanwhile_IsCounted", recordGo,
			`err == nil && !released`, `err != nil && !released`),
		byTest("forgets a change that waited for longer than the retention", pkgEvent, retention, recordGo,
			`if followed && r.Retention`, `if (followed || i >= 0) && r.Retention`),
		byTest("records a fact that had expired before the item was set aside", pkgEvent, retention, recordGo,
			`|| fact.At.Before(from) {`, `|| fact.At.Before(from) && i < 0 {`),
		byTest("does not report that parked changes cannot be read", "./pkg/lambdahttp/eventfunction",
			"TestHandle_ParkedChangesCannotBeRead_IsAnErrorAndCounted", "pkg/lambdahttp/eventfunction/eventfunction.go",
			`return outcome.Err != nil && outcome.Recorded`, `return outcome.Err == nil && outcome.Recorded`),
		byTest("reads only the first page of the parked changes", pkgDynamo, parkedPages, parkingGo,
			`len(out.LastEvaluatedKey) == 0 || `, `len(out.LastEvaluatedKey) >= 0 || `),
		byTest("holds any number of parked changes in memory", pkgDynamo, parkedPages, parkingGo, `maxParked = 10000`, `maxParked = 100000`),
		byTest("releases a change that was set aside again meanwhile", pkgDynamo, setAsideAgain, parkingGo,
			`" = :attempts AND `, `" >= :attempts AND `),
		byTest("releases a change that was released and set aside again", pkgDynamo, setAsideAgain, parkingGo,
			`#first = :first`, `#first >= :first`),
		byTest("reports that a change is forgotten although it stays", pkgDynamo, setAsideAgain, parkingGo,
			`return len(now) == 0, nil`, `return len(now) >= 0, nil`),
		byTest("forgets since when a change is set aside", pkgDynamo, "TestPark_SamePlaceAgain_CountsAndKeepsTheFirstTime", parkingGo,
			`call.SetOnce(table.AttrFirst,`, `call.Set(table.AttrFirst,`),
	}
}

func ofFeeds() []tested {
	const reads = "TestRead"
	return []tested{
		byTest("skips deleted pages silently", pkgEvent, reads, feedGo, `w.First > after+1 || `, ``),
		byTest("lists events that are gone", pkgEvent, reads, feedGo, `after+1 || lastGone(w.Events) > 0)`, `after+1)`),
		byTest("begins with events that are gone", pkgEvent, reads, feedGo, `case oldest && lastGone(w.Events) > 0:`, `case oldest && lastGone(w.Events) < 0:`),
		byTest("goes on in a new feed as if it were the old one", pkgEvent, reads, feedGo,
			`case cursor.Feed != "" && cursor.Feed != w.Feed:`, `case cursor.Feed != "" && w.Feed == "":`),
		byTest("skips the beginning of a new feed", pkgEvent, reads, feedGo, `customer, 1, w.Feed)`, `customer, after+1, w.Feed)`),
		byTest("waits beyond the end of the feed", pkgEvent, reads, feedGo, `case after > w.Last:`, `case after > w.Last+1000:`),
		byTest("sends pollers to a gap", pkgEvent, "TestRead_PollerThatContinuesAtEarliest_ReachesTheEnd", feedGo,
			`if err != nil || gone == 0 {`, `if err != nil || gone >= 0 {`),
		byTest("shows expired events", pkgDynamo, "TestWindow_ExpiredEvent_IsGoneBeforeItIsDeleted", eventItemGo,
			`it.Num(AttrExpiresAt) <= now.Unix()`, `it.Num(AttrExpiresAt) > now.Unix()+1<<40`),
		byTest("closes a gap between pages", pkgDynamo, "TestWindow", eventLogGo,
			`i > 0 && pages[i].First() != pages[i-1].Last()+1`, `i > len(pages)`),
	}
}

func ofLogs() []tested {
	return []tested{
		byTest("adds events to a page that has changed", pkgDynamo, theLog, eventLogGo,
			`call.RequireEqual(table.AttrEventIDs, &types.AttributeValueMemberB{Value: tail.IDs})`, ``),
		byTest("overwrites a page that another batch began", pkgDynamo, theLog, eventLogGo,
			`call.RequireEqual(table.AttrEventIDs, nil)`, `call.Require("attribute_exists(" + table.SortKey + ") OR attribute_not_exists(" + table.SortKey + ")")`),
		byTest("treats a stored event as one that is not in the log", pkgDynamo, farAway, eventLogGo,
			`from = min(from, at.page)`, ``),
		byTest("adds events that are already in the log", pkgDynamo, farAway, eventLogGo,
			`if !named[e.ID] {`, `if !named[e.ID] || len(named) > 0 {`),
		byTest("looks for an event only after its page", pkgDynamo, acrossPages, eventLogGo,
			`l.store(ctx, events, tail.Number)`, `l.store(ctx, events, tail.Number+1)`),
		byTest("stores an event again", pkgDynamo, acrossPages, eventLogGo,
			`aws.String("attribute_not_exists(" + table.SortKey + ")"),`, `aws.String("attribute_not_exists(" + table.SortKey + "s)"),`),
		byTest("misses events of a page that fills up", pkgDynamo, "TestAppend_PageFillsUpAfterItWasRead_AddsEachEventOnce", eventLogGo,
			`if torn {`, `if torn && from < 0 {`),
		byTest("stores one event for all customers", pkgDynamo, othersEvents, eventItemGo,
			`Bucket(customer, hashBucket(string(id)))`, `Bucket("all", hashBucket(string(id)))`),
		byTest("stores one log for all customers", pkgDynamo, othersEvents, eventItemGo,
			`Key{string(customer), fmt.Sprintf("%s%012d"`, `Key{string(customer[:0]) + "all", fmt.Sprintf("%s%012d"`),
		byTest("searches one log for all customers", pkgDynamo, othersEvents, eventItemGo,
			`":customer": Str(customer),`, `":customer": Str("emberforge" + customer[:0]),`),
	}
}

func ofPages() []tested {
	return []tested{
		byTest("lets the last page expire", pkgDynamo, fullPage, eventLogGo,
			`call.Set(table.AttrFeed, table.Str(page.Feed))`,
			`call.Set(table.AttrFeed, table.Str(page.Feed)); call.Set(table.AttrExpiresAt, table.Num(l.expiry().Unix()))`),
		byTest("lets a page expire before its events", pkgDynamo, fullPage, eventLogGo,
			`expiryMargin + 24*time.Hour`, `expiryMargin - 24*time.Hour`),
		byTest("keeps full pages for ever", pkgDynamo, fullPage, eventLogGo,
			`closed.Set(table.AttrExpiresAt,`, `closed.Set(table.AttrExpiresAt+"s",`),
		byTest("begins a new feed with each page", pkgDynamo, fullPage, eventLogGo,
			`Number: tail.Number + 1, Feed: tail.Feed}`, `Number: tail.Number + 1}`),
		byTest("lets events that waited expire early", pkgDynamo, "TestAppend_EventStoredLongAgo_IsKeptForTheWholeRetention", eventLogGo,
			`if !known[e.ID].isStale {`, `if !known[e.ID].isStale || len(known) > 0 {`),
	}
}

func ofSources() []tested {
	const kinds = "TestChanges_EveryKindOfCode_ShowsExactlyWhatHappened"
	sharedTerms := tested{"shows a redemption with the terms of another customer", pkgDynamo, unreadable, nil}
	for _, use := range []string{`s.terms[%s]; hasRecords`, `s.terms[%s] = v.Voucher`} {
		sharedTerms.removed = append(sharedTerms.removed, replacement{
			eventSourceGo, strings.Replace(use, "%s", "key", 1), strings.Replace(use, "%s", "table.Key{Sort: key.Sort}", 1),
		})
	}
	sharedTerms.removed = append(sharedTerms.removed, replacement{
		eventSourceGo, `terms, known := s.terms[table.VoucherKey(customer, code)]`, `terms, known := s.terms[table.Key{Sort: string(code)}]`,
	})
	return []tested{
		sharedTerms,
		byTest("treats any partition as a customer", pkgDynamo, unreadable, eventSourceGo,
			"(customer); err == nil {\n\t\t\tc.Customer = id", "(customer); err == nil || id == \"\" {\n\t\t\tc.Customer = id"),
		byTest("treats an unknown item as a counter", pkgDynamo, unreadable, eventSourceGo,
			`if isCounterOrHold(place.Sort, code) {`, `if isCounterOrHold(place.Sort, code) || !hasRecords {`),
		byTest("treats an unknown status as an open checkout", pkgDynamo, unreadable, eventSourceGo,
			`return nil, errors.New("checkout item: unknown status")`, `return nil, nil`),
		byTest("records the order of another ID", pkgDynamo, unreadable, eventSourceGo,
			`err != nil || string(c.ID.Token()) != it.Str(table.SortKey) {`, `err != nil {`),
		byTest("records orders without a time", pkgDynamo, unreadable, eventSourceGo, `c.Order == nil || c.Order.Placed.UnixMilli() <= 0 || `, `c.Order == nil || `),
		byTest("records a cancellation without a time", pkgDynamo, unreadable, eventSourceGo,
			` || (it.Str(table.AttrStatus) == table.StatusCancelled) == c.Order.Cancelled.IsZero()`, ``),
		byTest("records redemptions without a time", pkgDynamo, unreadable, eventSourceGo, ` || r.At.UnixMilli() <= 0`, ``),
		byTest("records redemptions without a code", pkgDynamo, unreadable, eventSourceGo, ` || r.Code == ""`, ``),
		byTest("fails a whole batch because of one item", pkgDynamo, unreadable, eventSourceGo, `return code, code != "" && (`, `return code, (`),
		byTest("waits for terms that cannot be read", pkgDynamo, "TestChanges_TermsCannotBeRead_GivesUpAfter5Seconds", eventSourceGo,
			`termsTime = 5 * time.Second`, `termsTime = 5 * time.Hour`),
		byTest("sets aside the changes of all shops if one shop's terms cannot be read", pkgDynamo,
			"TestChanges_TermsOfOneShopCannotBeRead_OthersAreRead",
			readGo, "if err := Wait(ctx, Backoff(attempt, random)); err != nil {\n\t\t\treturn found, err", "if err := Wait(ctx, Backoff(attempt, random)); err != nil {\n\t\t\treturn nil, err"),
		byTest("treats a hold as a redemption", pkgDynamo, kinds, voucherItemGo,
			`case it.Has(AttrHeldUntil):`, `case it.Has(AttrHeldUntil) && it.Has(AttrFirst):`),
		byTest("forgets that a redemption was undone", pkgDynamo, kinds, voucherItemGo,
			`RedemptionInfix) && it.Has(AttrUndone) {`, `RedemptionInfix) && it.Has(AttrUndone) && false {`),
	}
}
