package torture_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// The size of a round.
const (
	eventWriters = 32
	eventWrites  = 5 // of each writer, three times a round
	mostRounds   = 20
	enoughParked = 5
	// shortDuration is the duration of the short form, which has two rounds.
	shortDuration = 10 * time.Second
)

// Whatever happens to the function and to the streams, each redemption, undo and order in the tables is in its
// shop's feed exactly once.
func TestEvents(t *testing.T) {
	tally := &eventTally{counts: make(map[string]int)}
	missing := func() []string { // in the short form, some calls may see no crash
		if *injections == 1 {
			return nil
		}
		return tally.uncrashed()
	}
	for number, end := 1, time.Now().Add(*duration-shortDuration); number <= 2 || time.Now().Before(end) ||
		len(missing()) > 0; number++ {
		if number > mostRounds && time.Now().After(end) {
			t.Errorf("no crash happened %s", strings.Join(missing(), ", "))
			break
		}
		playEvents(t, tally, number)
		t.Logf("after round %d: %v", number, tally.counts)
		if t.Failed() {
			t.Logf("to repeat: go test ./internal/torture -count=1 -run '^TestEvents$' -seed %d", *seed)
			break
		}
	}
	row := func(name, count string) torture.Row {
		return torture.Row{Fault: "events: " + name, Injected: tally.of(count)}
	}
	first := row("consumer crashes", "crash")
	first.Redemptions, first.Refusals, first.Unknown = tally.of(string(event.RedemptionCreated)), tally.of("refusals"),
		tally.of("unknown")
	first.Violations = tally.of("violations")
	torture.Tell(t, *table, []torture.Row{
		first, row("taken for dead, works on", "overlap"), row("records delivered again", "again"),
		row("shard held back", "held"),
		row("stream read from its start", "restarted"), row("consumers paused", "paused"),
		row("changes parked", "parked"),
		row("records lost by a restore", "unread"), row("calls disturbed", "disturbed"),
	})
}

// eventRound is a set of tables with their writers and consumers.
type eventRound struct {
	*testing.T

	number    int
	tally     *eventTally
	client    *dynamodb.Client // without faults
	endpoint  string
	hostile   *memdynamo.Endpoint
	faulty    string // the URL of hostile
	vouchers  samtemplate.Table
	tables    dynamo.Tables
	events    string
	catalogue string
	shops     []*eventShop
	actors    int

	pause   sync.RWMutex // while locked, no consumer works
	trouble atomic.Pointer[trouble]
	working sync.WaitGroup // invocations that were taken for dead
}

func (r *eventRound) violate(format string, args ...any) {
	r.tally.add("violations", 1)
	r.Errorf("seed %d, round %d: %s", *seed, r.number, fmt.Sprintf(format, args...))
}

// source returns the random source of one of the round's actors.
func (r *eventRound) source(actor int) *mathrand.Rand {
	return mathrand.New(mathrand.NewPCG(*seed<<8+uint64(r.number), uint64(actor)))
}

func newEventRound(t *testing.T, tally *eventTally, number int) *eventRound {
	t.Helper()
	template := testshop.LoadTemplate(t, dynamotest.Endpoint(t))
	dynamotest.InMemory(t)
	hostile := dynamotest.Memory().Endpoint(memdynamo.Dials{
		Seed: *seed + uint64(number), Delay: 200 * time.Millisecond,
		Hold: time.Millisecond,
		Rates: memdynamo.Rates{
			memdynamo.Conflict: 0.02, memdynamo.Halves: 0.01, memdynamo.Throttle: 0.01, memdynamo.ServerError: 0.02,
			memdynamo.SlowResponse: 0.01,
			memdynamo.LateRequest:  0.01, memdynamo.LostRequest: 0.02, memdynamo.LostResponse: 0.03,
			memdynamo.CutResponse: 0.01,
			memdynamo.Unprocessed: 0.1, memdynamo.ShortPage: 0.1,
		},
	})
	r := &eventRound{
		T: t, number: number, tally: tally, client: dynamotest.Client(t), endpoint: dynamotest.Endpoint(t),
		hostile: hostile, faulty: dynamotest.Serve(t, hostile),
		tables: dynamo.Tables{
			Vouchers:  dynamotest.TableWithStream(t, "VouchersTable"),
			Checkouts: dynamotest.TableWithStream(t, "CheckoutsTable"),
		},
		events: dynamotest.Table(t, "EventsTable"), catalogue: dynamotest.Table(t, "CatalogueTable"),
	}
	at := slices.IndexFunc(template.Tables, func(table samtemplate.Table) bool { return table.Name == "VouchersTable" })
	r.vouchers = template.Tables[at]
	text := "shops:\n"
	for _, shopID := range []catalog.ShopID{"emberforge", "minecave", "northwind"} {
		text += fmt.Sprintf("  - {id: %s, name: Coins, currency: EUR}\n", shopID)
		shop := &eventShop{shop: shopID, vouchers: eventVouchers(t)}
		for _, v := range shop.vouchers {
			r.create(shopID, v)
		}
		r.shops = append(r.shops, shop)
	}
	plan, err := r.deployed().PlanCatalogue(t.Context(),
		[]catalogfile.File{{Name: "catalogue.yaml", Text: []byte(text)}}, false, time.Now())
	if err == nil {
		err = plan.Apply(t.Context(), func() {})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// playEvents plays a round. In odd rounds, the vouchers are restored into a table with a new stream. In even rounds, a
// shard of the stream is read from its start again.
func playEvents(t *testing.T, tally *eventTally, number int) {
	t.Helper()
	r := newEventRound(t, tally, number)
	var stopped atomic.Bool
	var following sync.WaitGroup
	var pollers []*poller
	for i, shop := range r.shops {
		p := &poller{round: r, shop: shop.shop, feed: event.Feed{Store: r.log(r.client)}}
		pollers = append(pollers, p)
		following.Go(func() { p.follow(&stopped, r.source(100+i)) })
	}
	checkouts, vouchers := r.read(r.tables.Checkouts, 1), r.read(r.tables.Vouchers, 2)
	running := r.start(vouchers, checkouts)
	var disturbing sync.WaitGroup
	disturbing.Go(func() { r.disturb(vouchers, r.source(1)) })
	r.write(0)
	disturbing.Wait()
	lost := make(map[string]bool)
	if number%2 == 1 {
		running.stop()
		r.write(1)
		r.mark(vouchers, checkouts)
		for _, s := range vouchers.shards {
			for _, record := range s.unread() {
				lost[decodeRecord(record).key] = true
			}
		}
		tally.add("unread", len(lost))
		vouchers.stop()
		r.restore()
		vouchers = r.read(r.tables.Vouchers, 2)
		running = r.start(vouchers, checkouts)
	} else {
		r.write(1)
		tally.add("restarted", vouchers.shards[0].restart())
	}
	r.write(2)
	r.mark(vouchers, checkouts)
	running.finish(vouchers, checkouts)
	r.settle()
	r.rebuild(lost)
	stopped.Store(true)
	following.Wait()
	r.judge(pollers)
	r.count()
}

// eventStream is a table's stream, cut into shards by key. The database in memory has only one shard.
type eventStream struct {
	shards []*eventShard
	stop   func() // stops reading

	mu   sync.Mutex
	more *sync.Cond
	seen map[string]bool // by the sort key of the item
}

// read begins to read the stream of a table.
func (r *eventRound) read(table string, shards int) *eventStream {
	s := &eventStream{seen: make(map[string]bool)}
	s.more = sync.NewCond(&s.mu)
	for range shards {
		s.shards = append(s.shards, &eventShard{})
	}
	source := testshop.Stream(r, table, func(record json.RawMessage) {
		s.mu.Lock()
		defer s.mu.Unlock()
		shardOf(record, s.shards).add(record)
		s.seen[decodeRecord(record).sort] = true
		s.more.Broadcast()
	})
	ctx, cancel := context.WithCancel(r.Context())
	var reading sync.WaitGroup
	reading.Go(func() {
		for ticker := time.NewTicker(25 * time.Millisecond); ctx.Err() == nil; <-ticker.C {
			source.Poll(ctx)
		}
	})
	s.stop = func() {
		cancel()
		reading.Wait()
	}
	return s
}

// mark writes an item to each table, and waits until the records of these items were read from the streams.
func (r *eventRound) mark(vouchers, checkouts *eventStream) {
	v, err := voucher.New(voucher.Terms{
		Written: "END-" + rand.Text(), Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}, time.Now())
	if err != nil {
		r.Fatal(err)
	}
	r.create("emberforge", v)
	vouchers.await(string(v.Code))
	w := newEventWriter(r.endpoint, r.tables, r.source(0))
	// like in the functions; a finer time would not match the item's time to live
	at := time.Now().Truncate(time.Millisecond)
	request := checkout.Request{Shop: "emberforge", Product: "coins", Variant: "500", At: at}
	c, _, err := w.opener.Open(r.Context(), request)
	if err != nil {
		r.Fatal(err)
	}
	checkouts.await(checkout.NumberGroup(c.ID.Token()) + "#" + string(c.ID.Token()))
}

func (s *eventStream) await(sort string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.seen[sort] {
		s.more.Wait()
	}
}

func (r *eventRound) create(shop catalog.ShopID, v voucher.Voucher) {
	r.Helper()
	deployment := backoffice.NewDeployment(r.client, backoffice.Tables{Vouchers: r.tables.Vouchers}, mathrand.Int64N)
	if err := deployment.Open(catalog.Profile{ID: shop}).Create(r.Context(), v); err != nil {
		r.Fatal(err)
	}
}

// consumers are the consumers of all shards, and the schedule.
type consumers struct {
	shards, schedule               sync.WaitGroup
	stoppedShards, stoppedSchedule atomic.Bool
}

func (r *eventRound) start(streams ...*eventStream) *consumers {
	c := &consumers{}
	r.actors++
	for i, s := range streams {
		for j, shard := range s.shards {
			reader := &consumer{eventRound: r, shard: shard, random: r.source(1000*r.actors + 10*i + j)}
			c.shards.Go(func() { reader.consume(&c.stoppedShards) })
		}
	}
	c.schedule.Go(func() { r.schedule(&c.stoppedSchedule, r.source(200+r.actors)) })
	return c
}

// stop stops the consumers where they are.
func (c *consumers) stop() {
	c.stoppedShards.Store(true)
	c.stoppedSchedule.Store(true)
	c.shards.Wait()
	c.schedule.Wait()
}

// finish lets the consumers read the streams to their ends.
func (c *consumers) finish(streams ...*eventStream) {
	for _, s := range streams {
		s.stop()
		for _, shard := range s.shards {
			shard.end()
		}
	}
	c.shards.Wait()
	c.stop()
}

// write lets all writers write at the same time.
func (r *eventRound) write(stage int) {
	var writing sync.WaitGroup
	for i := range eventWriters {
		writing.Go(func() {
			endpoint := r.endpoint
			if i%4 == 0 {
				endpoint = r.faulty
			}
			newEventWriter(endpoint, r.tables, r.source(10000+eventWriters*stage+i)).write(r.T, r.shops, eventWrites)
		})
	}
	writing.Wait()
}

// disturb makes a shop's log fail until changes are parked, holds a shard back, and pauses all consumers.
func (r *eventRound) disturb(vouchers *eventStream, random *mathrand.Rand) {
	ticker := time.NewTicker(feedPause)
	defer ticker.Stop()
	const patience = time.Minute // giving up on a log that does not respond takes 2.5 seconds
	shop := pickEvent(random, r.shops)
	r.trouble.Store(&trouble{shop: shop.shop, stalls: r.number%3 == 0})
	for began := time.Now(); time.Since(began) < patience; <-ticker.C {
		parked, err := r.parked(shop)
		if err != nil {
			r.violate("the parked changes cannot be read: %v", err)
		}
		if len(parked) >= enoughParked && r.tally.of(crashed(parks, "before")) > 0 &&
			r.tally.of(crashed(parks, "after")) > 0 {
			r.tally.add("parked", len(parked))
			break
		}
	}
	troubled := r.trouble.Load()
	for _, state := range []*trouble{nil, troubled, nil, troubled, nil} { // while the schedule retries parked changes
		r.trouble.Store(state)
		<-ticker.C
		<-ticker.C
	}

	shard := pickEvent(random, vouchers.shards)
	shard.held.Lock()
	for range 10 {
		<-ticker.C
	}
	r.tally.add("held", len(shard.unread()))
	shard.held.Unlock()

	r.pause.Lock()
	for range 3 { // longer than a poller waits
		<-ticker.C
	}
	r.tally.add("paused", 1)
	r.pause.Unlock()
}

// restore copies the vouchers into a new table, like the restore of a backup, and then enables the stream of the new
// table.
func (r *eventRound) restore() {
	items := r.scan(r.tables.Vouchers)
	r.tables.Vouchers = "VouchersTable-restored-" + rand.Text()
	restored := r.vouchers
	restored.Stream = ""
	if err := restored.Create(r.Context(), r.client, r.tables.Vouchers); err != nil {
		r.Fatal(err)
	}
	for _, it := range items {
		if _, err := r.client.PutItem(r.Context(),
			&dynamodb.PutItemInput{TableName: aws.String(r.tables.Vouchers), Item: it}); err != nil {
			r.Fatal(err)
		}
	}
	if _, err := r.client.UpdateTable(r.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String(r.tables.Vouchers), StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: r.vouchers.Stream,
		},
	}); err != nil {
		r.Fatal(err)
	}
}

// settle ends the faults, waits for stalled processes, and retries the parked changes, as the schedule does. One run may
// not do on a busy machine, because a run gives up on a log that takes seconds.
func (r *eventRound) settle() {
	r.working.Wait()
	r.hostile.SetRates(nil)
	r.hostile.Settle()
	const patience = 30 // runs; the schedule never stops
	for range patience {
		_, ended := r.newProcess(r.source(2)).begin(r.Context(), recorderFate{}, nil)
		<-ended
		if !r.hasParked() {
			return
		}
	}
}

func (r *eventRound) hasParked() bool {
	return slices.ContainsFunc(r.shops, func(shop *eventShop) bool {
		parked, err := r.parked(shop)
		return err != nil || len(parked) > 0
	})
}

func (r *eventRound) parked(shop *eventShop) ([]event.Parked, error) {
	return dynamo.NewEventParking(r.client, r.events, nil, time.Now).Parked(r.Context(), shop.shop)
}

// count adds the round to the table of results, and deletes its tables.
func (r *eventRound) count() {
	for _, facts := range r.inTables().facts {
		for _, fact := range facts {
			r.tally.add(string(fact.Type), 1)
		}
	}
	for _, shop := range r.shops {
		r.tally.add("refusals", shop.outcomes.refused)
		r.tally.add("unknown", shop.outcomes.unknown)
	}
	for _, times := range r.hostile.Injected() {
		r.tally.add("disturbed", times)
	}
	// hours of rounds would fill the memory
	for _, name := range []string{r.tables.Vouchers, r.tables.Checkouts, r.events, r.catalogue} {
		if _, err := r.client.DeleteTable(r.Context(),
			&dynamodb.DeleteTableInput{TableName: aws.String(name)}); err != nil {
			r.Error(err)
		}
	}
}
