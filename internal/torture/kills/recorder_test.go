package kills_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

const (
	recordEvents = "record-events"
	deleteItem   = "DeleteItem"
	eventsKept   = 90 * 24 * time.Hour
	// almostAPage is a number of events that almost fills a page of the log, so that the next events need a new page.
	almostAPage = 48
)

// recorderBench is the function that records events, with its own tables. The test invokes it with records from the
// tables' streams.
type recorderBench struct {
	t         *testing.T
	trap      *trap
	command   runtimeapi.Command
	client    *dynamodb.Client // bypasses the trap
	tables    dynamo.Tables
	events    string
	streams   []*eventsource.Source
	delivered []json.RawMessage // all records so far
	customers int
}

// recorderWork is a kind of work of the function. prepare returns the event that invokes the function, and the facts
// that the function records.
type recorderWork struct {
	kind    string
	prepare func(b *recorderBench, customer catalog.CustomerID) (invoke []byte, facts []event.Fact)
	parks   bool // the function parks a change, because its voucher is missing for some time
}

// scheduled is the event with which the schedule invokes the function.
const scheduled = `{"source":"aws.events","detail-type":"Scheduled Event"}`

func recorderWorks() []recorderWork {
	return []recorderWork{
		{kind: "recording", prepare: (*recorderBench).changes},
		{kind: "recording again", prepare: func(b *recorderBench, customer catalog.CustomerID) ([]byte, []event.Fact) {
			b.t.Helper()
			invoke, facts := b.changes(customer)
			b.run(invoke)
			return invoke, facts
		}},
		{
			kind: "recording on a new page",
			prepare: func(b *recorderBench, customer catalog.CustomerID) ([]byte, []event.Fact) {
				b.t.Helper()
				var earlier []event.Event
				for i := range almostAPage {
					id := idempotency.Digest("event", string(customer), fmt.Sprint(i))
					earlier = append(earlier, event.Event{
						ID: id, Type: event.RedemptionCreated, Customer: customer,
						At: began(), Data: []byte(`{}`),
					})
				}
				if _, err := b.log().Append(b.t.Context(), customer, earlier); err != nil {
					b.t.Fatal(err)
				}
				return b.changes(customer)
			},
		},
		{kind: "parking", parks: true, prepare: (*recorderBench).orphan},
		{kind: "retrying", prepare: func(b *recorderBench, customer catalog.CustomerID) ([]byte, []event.Fact) {
			b.t.Helper()
			invoke, facts := b.orphan(customer)
			b.run(invoke)
			b.create(customer, voucher.Terms{Written: summer20, MaxUses: new(voucher.Limit(6))})
			return []byte(scheduled), facts
		}},
	}
}

// killRecorder kills the function before, after and during each call of each kind of work, and then delivers the same
// event again. It returns a row for each operation and fate.
func killRecorder(t *testing.T, programs testshop.Programs) (rows []torture.Row) {
	t.Helper()
	b := newRecorderBench(t, programs)
	works, records := recorderWorks(), make(map[string]*recorder)
	steps := make([][]step, len(works))
	for i, work := range works {
		steps[i] = b.steps(work)
	}
	needsMore := func(r *recorder) bool { return r.row.Injected < wantedKills(t) }
	for pass := 0; pass == 0 || slices.ContainsFunc(slices.Collect(maps.Values(records)), needsMore) &&
		!t.Failed(); pass++ {
		for i, work := range works {
			for _, at := range steps[i] {
				name := "killed: event, " + at.fate.relativeTo(at.operation)
				if records[name] == nil {
					records[name] = &recorder{torture.Row{Fault: name}}
				}
				if pass == 0 || needsMore(records[name]) {
					b.kill(records[name], work, at)
				}
			}
		}
	}
	for _, record := range records {
		rows = append(rows, record.row)
	}
	return rows
}

func newRecorderBench(t *testing.T, programs testshop.Programs) *recorderBench {
	t.Helper()
	trap := newTrap()
	dynamotest.InMemory(t)
	url := dynamotest.Serve(t, trap.front(dynamotest.Memory().Endpoint(memdynamo.Dials{})))
	template := testshop.LoadTemplate(t, url)
	b := &recorderBench{
		t: t, trap: trap, client: dynamotest.Client(t), events: dynamotest.Table(t, "EventsTable"),
		tables: dynamo.Tables{
			Vouchers:  dynamotest.TableWithStream(t, "VouchersTable"),
			Checkouts: dynamotest.TableWithStream(t, "CheckoutsTable"),
		},
		command: runtimeapi.Command{
			Path:    programs.Path(recordEvents),
			Timeout: patience,
		},
	}
	b.command.Env = []string{
		"AWS_REGION=" + dynamotest.Region, "AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
	}
	at := slices.IndexFunc(template.Functions, func(f samtemplate.Function) bool { return f.Name == recordEvents })
	for name, value := range template.Functions[at].Environment {
		own := map[string]string{
			"VOUCHERS_TABLE": b.tables.Vouchers, "CHECKOUTS_TABLE": b.tables.Checkouts,
			"EVENTS_TABLE": b.events,
		}[name]
		if own != "" {
			value = own
		}
		b.command.Env = append(b.command.Env, name+"="+value)
	}
	for _, name := range []string{b.tables.Vouchers, b.tables.Checkouts} {
		b.streams = append(b.streams, testshop.Stream(t, name,
			func(record json.RawMessage) { b.delivered = append(b.delivered, record) }))
	}
	return b
}

func (b *recorderBench) log() *dynamo.EventLog {
	return dynamo.NewEventLog(b.client, b.events, eventsKept, time.Now, mathrand.Int64N, rand.Reader)
}

func (b *recorderBench) start() *runtimeapi.Process {
	b.t.Helper()
	p, err := runtimeapi.Start(b.t.Context(), b.command)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// run invokes the function, which must succeed.
func (b *recorderBench) run(invoke []byte) {
	b.t.Helper()
	p := b.start()
	defer p.Stop()
	answer, _, err := p.Invoke(invoke)
	if err != nil || string(answer) != `{"batchItemFailures":[]}` {
		b.t.Fatalf("the function failed, %v: %s", err, answer)
	}
}

// steps returns the points at which work is killed: every call with every fate or, in the short form, some of them.
func (b *recorderBench) steps(work recorderWork) (steps []step) {
	b.t.Helper()
	invoke, facts := work.prepare(b, b.customer())
	p := b.start()
	b.trap.reset()
	if _, _, err := p.Invoke(invoke); err != nil {
		b.t.Fatal(err)
	}
	p.Stop()
	calls, counts := b.trap.calls(), make(map[string]int)
	b.trap.reset()
	b.complete(&recorder{}, work, facts)
	for i, operation := range calls {
		counts[operation]++
		for j, fate := range []fate{lost, unanswered, late} {
			isWriting := isWrite(operation) || operation == deleteItem
			if wantedKills(b.t) == 0 && (i+j)%3 != 0 || fate == late && !isWriting {
				continue
			}
			steps = append(steps, step{operation, counts[operation], fate})
		}
	}
	return steps
}

// kill kills the function at a step. Then it delivers the event twice more: before and after a late call of the killed
// function is applied.
func (b *recorderBench) kill(record *recorder, work recorderWork, at step) {
	b.t.Helper()
	invoke, facts := work.prepare(b, b.customer())
	p := b.start()
	b.trap.set(at, p.Stop)
	_, _, err := p.Invoke(invoke)
	sprung := b.trap.hasSprung()
	b.trap.reset()
	p.Stop()
	if !sprung || err == nil {
		record.violation(b.t, "%s never reached %s: %v", work.kind, at, err)
		return
	}
	record.row.Injected++
	record.row.Unknown++
	if err := b.trap.settle(); err != nil {
		b.t.Fatal(err)
	}
	b.run(invoke)
	if err := b.trap.letGo(); err != nil {
		b.t.Fatal(err)
	}
	b.run(invoke)
	b.complete(record, work, facts)
	if b.t.Failed() {
		b.t.Logf("%s was killed at %s", work.kind, at)
	}
}

// complete lets the schedule record the parked change, if there is one, and judges the feed.
func (b *recorderBench) complete(record *recorder, work recorderWork, facts []event.Fact) {
	b.t.Helper()
	customer := facts[0].Customer
	parking := dynamo.NewEventParking(b.client, b.events, nil)
	if work.parks {
		if parked, err := parking.Parked(b.t.Context()); err != nil || len(parked) != 1 ||
			parked[0].Customer != customer {
			record.violation(b.t, "the parked changes are %+v, %v; want one change of %s", parked, err, customer)
		}
		b.create(customer, voucher.Terms{Written: summer20, MaxUses: new(voucher.Limit(6))})
		b.run([]byte(scheduled))
	}
	if parked, err := parking.Parked(b.t.Context()); err != nil || len(parked) > 0 {
		record.violation(b.t, "still parked: %+v, %v", parked, err)
	}
	w, err := b.log().Window(b.t.Context(), customer, 0, event.MaxPerPage)
	if err != nil {
		b.t.Fatal(err)
	}
	at := make(map[event.ID]int64)
	for _, e := range w.Events {
		if at[e.ID] > 0 || e.ID == "" {
			record.violation(b.t, "the feed has %q at %d and at %d", e.ID, at[e.ID], e.Sequence)
		}
		at[e.ID] = e.Sequence
	}
	for i, fact := range facts {
		if at[fact.ID()] == 0 || fact.Type == event.RedemptionUndone && at[fact.ID()] < at[facts[i-1].ID()] {
			record.violation(b.t, "%s is missing from the feed, or precedes the event of the redemption: its "+
				"sequence number is %d",
				fact.Type, at[fact.ID()])
		}
	}
	if earlier := len(w.Events) - len(facts); earlier != 0 && earlier != almostAPage {
		record.violation(b.t, "the feed has %d events, want %d", len(w.Events), len(facts))
	}
	b.judgeNicks(record, facts)
	record.row.Redemptions++
}

// judgeNicks checks the index of nicks. All redemptions are Alder's.
func (b *recorderBench) judgeNicks(record *recorder, facts []event.Fact) {
	b.t.Helper()
	undone := make(map[string]bool)
	for _, fact := range facts {
		if fact.Redemption != nil {
			undone[fact.Redemption.ID] = fact.Type == event.RedemptionUndone
		}
	}
	ofAlder := backoffice.RedemptionFilter{Nick: nickOf(b.t, alder)}
	for r, err := range b.shop(facts[0].Customer).RedemptionsOfNick(b.t.Context(), ofAlder) {
		if err != nil {
			b.t.Fatal(err)
		}
		if isUndone, redeemed := undone[r.ID]; !redeemed || isUndone == r.Undone.IsZero() {
			record.violation(b.t, "the index of nicks has an unexpected entry: %+v", r)
		}
		delete(undone, r.ID)
	}
	if len(undone) > 0 {
		record.violation(b.t, "the index of nicks lacks %v", undone)
	}
}

// shop is a customer's shop as its owner works on it.
func (b *recorderBench) shop(customer catalog.CustomerID) *backoffice.Shop {
	tables := backoffice.Tables{Vouchers: b.tables.Vouchers, Events: b.events}
	return backoffice.NewDeployment(b.client, tables, mathrand.Int64N).Open(catalog.Customer{ID: customer})
}

func (b *recorderBench) customer() catalog.CustomerID {
	b.customers++
	return catalog.CustomerID(fmt.Sprintf("eventcave-%d", b.customers))
}

func (b *recorderBench) create(customer catalog.CustomerID, terms voucher.Terms) voucher.Voucher {
	b.t.Helper()
	terms.Reward = voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
	v, err := b.shop(customer).CreateVoucher(b.t.Context(), terms, began())
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// changes changes the tables: a code with many uses is redeemed, a single-use code is redeemed and undone, and an order
// is placed. It returns the batch of their records.
func (b *recorderBench) changes(customer catalog.CustomerID) (batch []byte, facts []event.Fact) {
	b.t.Helper()
	ctx := b.t.Context()
	many, single := b.create(customer, voucher.Terms{Written: summer20, MaxUses: new(voucher.Limit(6))}),
		b.create(customer, voucher.Terms{Written: "EVT-ONE"})
	for _, v := range []voucher.Voucher{many, single} {
		facts = append(facts, b.redeem(customer, v)...)
	}
	undoer := voucher.Redemptions{Store: dynamo.NewRedemptionRecords(b.client, b.tables, mathrand.Int64N)}
	id := facts[1].Redemption.ID
	r, _, err := undoer.Undo(ctx, voucher.UndoRequest{
		Customer: customer, Code: single.Code, ID: id, At: began(),
		Reason: "granted twice",
	})
	if err != nil {
		b.t.Fatal(err)
	}
	facts = append(facts, event.OfRedemption(customer, r)[1:]...)
	if _, err := dynamo.NewCheckouts(b.client, b.tables.Checkouts).Open(ctx, customer,
		openCheckout(began())); err != nil {
		b.t.Fatal(err)
	}
	orders := checkout.Orders{Store: dynamo.NewOrders(b.client, b.tables.Checkouts, b.tables.Vouchers, mathrand.Int64N)}
	c, _, err := orders.Place(ctx, customer, orderID, paid(), began())
	if err != nil {
		b.t.Fatal(err)
	}
	facts = append(facts, event.OfOrder(customer, c)...)
	return b.batch(customer, facts), facts
}

func (b *recorderBench) redeem(customer catalog.CustomerID, v voucher.Voucher) []event.Fact {
	b.t.Helper()
	redeemer := voucher.Redeemer{
		Store:  dynamo.NewRedeemer(b.client, b.tables.Vouchers, mathrand.Int64N),
		Random: rand.Reader,
	}
	r, _, err := redeemer.Redeem(b.t.Context(),
		voucher.Request{Customer: customer, Code: v.Code, Nick: nickOf(b.t, alder), At: began()})
	if err != nil {
		b.t.Fatal(err)
	}
	return event.OfRedemption(customer, r)
}

// orphan redeems a code with many uses and then deletes its voucher. The function cannot read the record until the
// voucher is back.
func (b *recorderBench) orphan(customer catalog.CustomerID) (batch []byte, facts []event.Fact) {
	b.t.Helper()
	facts = b.redeem(customer, b.create(customer, voucher.Terms{Written: summer20, MaxUses: new(voucher.Limit(6))}))
	batch = b.batch(customer, facts)
	for _, it := range b.items(customer) {
		sort, is := it["sk"].(*types.AttributeValueMemberS)
		if !is || strings.Contains(sort.Value, "#n#") {
			continue // the redemption stays
		}
		_, err := b.client.DeleteItem(b.t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(b.tables.Vouchers),
			Key:       map[string]types.AttributeValue{"customer": it["customer"], "sk": it["sk"]},
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return batch, facts
}

// items returns the customer's items in the table of vouchers.
func (b *recorderBench) items(customer catalog.CustomerID) []map[string]types.AttributeValue {
	b.t.Helper()
	out, err := b.client.Scan(b.t.Context(), &dynamodb.ScanInput{
		TableName: aws.String(b.tables.Vouchers), FilterExpression: aws.String("begins_with(customer, :customer)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":customer": &types.AttributeValueMemberS{Value: string(customer) + "#"}},
	})
	if err != nil || len(out.LastEvaluatedKey) > 0 {
		b.t.Fatalf("the items of %s cannot be read, or fill more than one page: %v", customer, err)
	}
	return out.Items
}

// batch reads the streams until they show the facts, and returns the batch of the customer's records.
func (b *recorderBench) batch(customer catalog.CustomerID, facts []event.Fact) []byte {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	source := dynamo.NewEventSource(b.client, b.tables, mathrand.Int64N)
	shown := make(map[event.ID]bool)
	var records []json.RawMessage
	for from := len(b.delivered); ctx.Err() == nil; {
		for _, stream := range b.streams {
			stream.Poll(ctx)
		}
		for i, change := range source.Changes(ctx, b.delivered[from:]) {
			if change.Customer != customer {
				continue
			}
			records = append(records, b.delivered[from+i])
			for _, fact := range change.Facts {
				shown[fact.ID()] = true
			}
		}
		from = len(b.delivered)
		if !slices.ContainsFunc(facts, func(f event.Fact) bool { return !shown[f.ID()] }) {
			batch, err := json.Marshal(map[string]any{"Records": records})
			if err != nil {
				b.t.Fatal(err)
			}
			return batch
		}
	}
	b.t.Fatalf("the streams of %s show %d of %d facts", customer, len(shown), len(facts))
	return nil
}
