package torture_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/audit"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/wire"
)

// feedPause is how long a poller waits between two polls.
const feedPause = 20 * time.Millisecond

// poller follows a shop's feed.
type poller struct {
	round *eventRound
	shop  catalog.ShopID
	feed  event.Feed
	id    string   // of the feed
	seen  [][]byte // the events by sequence, from 1
}

// follow polls until it is stopped. Some polls begin at the oldest event, or at an event in between.
func (p *poller) follow(stop *atomic.Bool, random *mathrand.Rand) {
	ticker := time.NewTicker(feedPause)
	defer ticker.Stop()
	for !stop.Load() && !p.round.Failed() {
		<-ticker.C
		cursor := event.Cursor{After: int64(len(p.seen)), Feed: p.id}
		switch random.IntN(4) {
		case 0:
			cursor = event.Cursor{After: random.Int64N(cursor.After + 1)}
		case 1:
			cursor = event.Cursor{After: event.FromOldest}
		}
		p.poll(p.round.Context(), cursor, 1+random.IntN(event.MaxPerPage))
	}
}

// poll reads a page, and compares its events with those of earlier pages.
func (p *poller) poll(ctx context.Context, cursor event.Cursor, limit int) (more bool) {
	page, err := p.feed.Read(ctx, p.shop, cursor, limit)
	if err != nil {
		p.round.violate("%s: a poll after %d failed: %v", p.shop, cursor.After, err)
		return false
	}
	if p.id != "" && page.Feed != p.id || len(page.Events) > limit {
		p.round.violate("%s: the feed %s is now %s, and its page has %d events; the limit is %d", p.shop, p.id,
			page.Feed, len(page.Events), limit)
	}
	p.id = page.Feed
	for i, e := range page.Events {
		text, err := wire.Encode(e)
		sequence := max(cursor.After, 0) + 1 + int64(i)
		switch {
		case err != nil || e.Sequence != sequence || e.Shop != p.shop || e.ID == "":
			p.round.violate("%s: a page after %d has at place %d the event %s, %v; want the sequence number %d",
				p.shop, cursor.After, i, text, err, sequence)
		case sequence == int64(len(p.seen))+1:
			p.seen = append(p.seen, text)
		case sequence > int64(len(p.seen)) || !bytes.Equal(p.seen[sequence-1], text):
			p.round.violate("%s: the event %d was %s, and is now %s", p.shop, sequence,
				p.seen[min(sequence, int64(len(p.seen)))-1], text)
		}
	}
	return page.More
}

// stored holds the facts that the items of the tables show. The facts of a redemption or an order are in the order in
// which they happened.
type stored struct {
	facts [][]event.Fact      // of each item
	of    map[event.ID]string // the key of the item that shows an event
}

// scan returns all items of a table.
func (r *eventRound) scan(table string) (items []map[string]types.AttributeValue) {
	pages := dynamodb.NewScanPaginator(r.client,
		&dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		items = append(items, page.Items...)
	}
	return items
}

// inTables reads the facts from the tables.
func (r *eventRound) inTables() stored {
	s := stored{of: make(map[event.ID]string)}
	vouchers := r.scan(r.tables.Vouchers)
	for i, it := range slices.Concat(vouchers, r.scan(r.tables.Checkouts)) {
		partition, sort := textOf(it["customer"]), textOf(it["sk"])
		shop, _, _ := strings.Cut(partition, "#")
		in := event.Vouchers
		if i >= len(vouchers) {
			in = event.Checkouts
		}
		facts, err := dynamo.Facts(catalog.ShopID(shop), in, it)
		if err != nil {
			r.violate("the item %s/%s cannot be read: %v", partition, sort, err)
		}
		s.facts = append(s.facts, facts)
		for _, fact := range facts {
			if of, twice := s.of[fact.ID()]; twice {
				r.violate("%s of %s is in the items %s and %s/%s", fact.Type, shop, of, partition, sort)
			}
			s.of[fact.ID()] = partition + "/" + sort
		}
	}
	return s
}

func textOf(value types.AttributeValue) string {
	text, is := value.(*types.AttributeValueMemberS)
	if !is {
		return ""
	}
	return text.Value
}

// missing returns the facts of each item of the shop that shows at least one fact which is not in the feed.
func (s stored) missing(shop catalog.ShopID, named map[event.ID]int) (missing [][]event.Fact) {
	for _, facts := range s.facts {
		if len(facts) > 0 && facts[0].Shop == shop &&
			slices.ContainsFunc(facts, func(f event.Fact) bool { return named[f.ID()] == 0 }) {
			missing = append(missing, facts)
		}
	}
	return missing
}

// rebuild rebuilds the feeds as the operator does. Before the rebuild, an event may be missing only if no consumer has
// read its record.
func (r *eventRound) rebuild(unread map[string]bool) {
	s := r.inTables()
	for _, shop := range r.shops {
		for _, facts := range s.missing(shop.shop, r.named(shop.shop)) {
			if of := s.of[facts[0].ID()]; !unread[of] {
				r.violate("before the rebuild: a %s from %s is missing, although its record was read",
					facts[len(facts)-1].Type, of)
			}
		}
		if len(unread) > 0 {
			rebuilt, err := r.deployedEvents().Rebuild(r.Context(), r.deployedShop(shop.shop),
				backoffice.Rebuilding{Progress: func(int) {}})
			if err != nil || rebuilt.Unread > 0 {
				r.violate("rebuild: %d items could not be read, %v", rebuilt.Unread, err)
			}
			r.tally.add("rebuilt", rebuilt.Added)
		}
	}
}

// verify verifies a shop as the operator does. It sets the clock ahead, to a time by which each event must have been
// recorded.
func (r *eventRound) verify(shop catalog.ShopID) {
	late := func() time.Time { return time.Now().Add(audit.RecordingTime + time.Second) }
	report, err := r.deployedShop(shop).Verify(r.Context(),
		backoffice.Verification{Now: late, Settle: time.Millisecond})
	if err != nil || len(report.Findings) > 0 {
		r.violate("verify %s: %+v, %v", shop, report.Findings, err)
	}
}

func (r *eventRound) deployed() *backoffice.Deployment {
	tables := backoffice.Tables{
		Catalogue: r.catalogue, Vouchers: r.tables.Vouchers, Checkouts: r.tables.Checkouts,
		Events: r.events,
	}
	return backoffice.Local(backoffice.Deployment{Region: dynamotest.Region}, tables, r.endpoint, mathrand.Int64N)
}

func (r *eventRound) deployedShop(shopID catalog.ShopID) *backoffice.Shop {
	shop, err := r.deployed().Shop(r.Context(), shopID)
	if err != nil {
		r.Fatal(err)
	}
	return shop
}

func (r *eventRound) deployedEvents() *backoffice.Events {
	events, err := r.deployed().Events(time.Now, rand.Reader)
	if err != nil {
		r.Fatal(err)
	}
	return events
}

func (r *eventRound) eventOf(fact event.Fact) event.Event {
	e, err := fact.Event()
	if err != nil {
		r.violate("the data of a %s cannot be encoded: %v", fact.Type, err)
	}
	return e
}

// named returns the sequence numbers of the events in a shop's log. It reads them from the stored pages.
func (r *eventRound) named(shop catalog.ShopID) map[event.ID]int {
	numbers := make(map[event.ID]int)
	var last int
	for _, it := range r.scanPages(shop) {
		ids, is := it["events"].(*types.AttributeValueMemberB)
		if last%eventsPerPage != 0 || !is || len(ids.Value)%eventIDBytes != 0 {
			r.violate("%s: the page %s is malformed, or follows after %d events", shop, textOf(it["sk"]), last)
			return numbers
		}
		for id := range slices.Chunk(ids.Value, eventIDBytes) {
			last++
			id := event.ID(base64.RawURLEncoding.EncodeToString(id))
			if before := numbers[id]; before > 0 {
				r.violate("%s: the event %s is at %d and at %d", shop, id, before, last)
			}
			numbers[id] = last
		}
	}
	return numbers
}

// The stored form of a page. It must never change.
const (
	eventsPerPage = 50
	eventIDBytes  = 16
)

// scanPages returns the pages of a shop's log in order.
func (r *eventRound) scanPages(shop catalog.ShopID) (pages []map[string]types.AttributeValue) {
	for _, it := range r.scan(r.events) {
		if textOf(it["customer"]) == string(shop) {
			pages = append(pages, it)
		}
	}
	slices.SortFunc(pages, func(a, b map[string]types.AttributeValue) int {
		return strings.Compare(textOf(a["sk"]), textOf(b["sk"]))
	})
	return pages
}

// judge compares the feeds with the tables, with the responses, and with the pages that the pollers read.
func (r *eventRound) judge(pollers []*poller) {
	s, recorded := r.inTables(), 0
	for i, shop := range r.shops {
		p, named := pollers[i], r.named(shop.shop)
		for p.poll(r.Context(), event.Cursor{After: int64(len(p.seen)), Feed: p.id}, event.MaxPerPage) {
		}
		if len(p.seen) != len(named) || len(named) == 0 {
			r.violate("%s: the feed shows %d events, the log names %d", shop.shop, len(p.seen), len(named))
			continue
		}
		for _, facts := range s.missing(shop.shop, named) {
			r.violate("%s: an event of %s is not in the feed: %s", shop.shop, s.of[facts[0].ID()],
				facts[len(facts)-1].Type)
		}
		for id, at := range named {
			if s.of[id] == "" {
				r.violate("%s: no item shows the event %d: %s", shop.shop, at, p.seen[at-1])
			}
		}
		for _, facts := range append([][]event.Fact{slices.DeleteFunc(shop.confirmed, isHasty)}, s.facts...) {
			r.judgeFacts(p, named, facts)
		}
		recorded += len(named)
		r.verify(shop.shop)
	}
	r.judgeStored(recorded)
}

// judgeStored checks that every stored event is in a feed, and that nothing is parked.
func (r *eventRound) judgeStored(recorded int) {
	var kept int
	for _, it := range r.scan(r.events) {
		if strings.HasPrefix(textOf(it["sk"]), "e#") {
			kept++
		}
		if strings.HasPrefix(textOf(it["customer"]), "#parked#") {
			r.violate("still parked: %s: %s", textOf(it["sk"]), textOf(it["reason"]))
		}
	}
	if kept != recorded {
		r.violate("%d events are stored, %d are in the feeds", kept, recorded)
	}
}

// isHasty reports whether a fact is a cancellation that shows no fulfilment. If the order was fulfilled meanwhile, the
// response may not show that.
func isHasty(f event.Fact) bool {
	return f.Type == event.OrderCancelled && f.Order.Order.Fulfilled.IsZero()
}

// judgeFacts checks that the feed shows each fact correctly, and has the facts of each redemption and order in the
// right order.
func (r *eventRound) judgeFacts(p *poller, named map[event.ID]int, facts []event.Fact) {
	before := make(map[string]int) // the last event of a redemption or an order
	for _, fact := range facts {
		at := named[fact.ID()]
		if fact.Shop != p.shop || at == 0 {
			if fact.Shop == p.shop {
				r.violate("%s: %s is not in the feed: %s", p.shop, fact.Type, r.eventOf(fact).Data)
			}
			continue
		}
		e := r.eventOf(fact)
		e.Sequence = int64(at)
		want, err := wire.Encode(e)
		if err != nil || !bytes.Equal(p.seen[at-1], want) {
			r.violate("%s: the event %d is %s, want %s, %v", p.shop, at, p.seen[at-1], want, err)
		}
		subject := subjectOf(fact)
		if fact.Type == event.RedemptionCreated || fact.Type == event.OrderCreated {
			before[subject] = 0
		}
		if at < before[subject] {
			r.violate("%s: %s of %s is at %d, before its earlier event at %d", p.shop, fact.Type, subject, at,
				before[subject])
		}
		before[subject] = at
	}
}

func subjectOf(fact event.Fact) string {
	if fact.Redemption != nil {
		return fact.Redemption.ID
	}
	return string(fact.Order.ID)
}
