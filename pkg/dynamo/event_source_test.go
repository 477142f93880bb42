package dynamo_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// attributes returns an item in the form that records of streams have.
func attributes(it table.Item) map[string]map[string]any {
	shown := make(map[string]map[string]any, len(it))
	for name, value := range it {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			shown[name] = map[string]any{"S": v.Value}
		case *types.AttributeValueMemberN:
			shown[name] = map[string]any{"N": v.Value}
		case *types.AttributeValueMemberB:
			shown[name] = map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}
		case *types.AttributeValueMemberBOOL:
			shown[name] = map[string]any{"BOOL": v.Value}
		default:
			panic(fmt.Sprintf("%T", value))
		}
	}
	return shown
}

// record returns the record of a change, as Lambda delivers it from a stream of DynamoDB Local. An image without
// attributes is left out.
func record(sequence int, tableName string, key table.Key, old, now table.Item) json.RawMessage {
	change := map[string]any{
		"ApproximateCreationDateTime": 1795348800, "Keys": attributes(key.Attributes()),
		"SequenceNumber": fmt.Sprintf("%021d", sequence),
		"SizeBytes":      120, "StreamViewType": "NEW_AND_OLD_IMAGES",
	}
	if len(old) > 0 {
		change["OldImage"] = attributes(old)
	}
	if len(now) > 0 {
		change["NewImage"] = attributes(now)
	}
	text, err := json.Marshal(map[string]any{
		"awsRegion": "eu-central-1", "eventID": "6d2f5f4c", "eventName": "UNKNOWN_TO_SDK_VERSION",
		"eventSource": "aws:dynamodb", "eventVersion": "1.1",
		"eventSourceARN": "arn:aws:dynamodb:ddblocal:000000000000:table/" + tableName +
			"/stream/2026-11-22T12:00:00.000", "dynamodb": change,
	})
	if err != nil {
		panic(err)
	}
	return text
}

// journal is a stall that reads the changes of its tables as facts.
type journal struct {
	*stall

	source   *dynamo.EventSource
	sequence int
	seen     map[string]map[table.Key]table.Item // items by table, as they were at the last look
	found    map[event.ID]event.Fact
}

func newJournal(t testing.TB) *journal {
	s := newStall(t)
	return &journal{
		stall: s, source: dynamo.NewEventSource(s.client, s.tables, mathrand.Int64N),
		seen:  map[string]map[table.Key]table.Item{s.tables.Vouchers: {}, s.tables.Checkouts: {}},
		found: map[event.ID]event.Fact{},
	}
}

func (j *journal) items(name string) map[table.Key]table.Item {
	j.t.Helper()
	out, err := j.client.Scan(within(j.t),
		&dynamodb.ScanInput{TableName: aws.String(name), ConsistentRead: aws.Bool(true)})
	if err != nil || len(out.LastEvaluatedKey) > 0 {
		j.t.Fatal(len(out.LastEvaluatedKey), err)
	}
	items := make(map[table.Key]table.Item)
	for _, it := range out.Items {
		items[table.KeyOf(it)] = it
	}
	return items
}

// records returns a record for each item that has changed since the last look.
func (j *journal) records() (records []json.RawMessage) {
	j.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(j.seen)) {
		before, after := j.seen[name], j.items(name)
		j.seen[name] = after
		all := maps.Clone(after)
		maps.Copy(all, before)
		for key := range all {
			if !reflect.DeepEqual(before[key], after[key]) {
				j.sequence++
				records = append(records, record(j.sequence, name, key, before[key], after[key]))
			}
		}
	}
	return records
}

// describe returns the type of a fact, and the ID of its redemption or order.
func describe(fact event.Fact) string {
	if fact.Redemption != nil {
		return fmt.Sprint(fact.Type, " ", fact.Redemption.ID)
	}
	return fmt.Sprint(fact.Type, " ", fact.Order.ID)
}

// want fails the test unless the changes since the last look show exactly these facts. Several records may show the
// same fact.
func (j *journal) want(step string, facts ...event.Fact) {
	j.t.Helper()
	got := make(map[event.ID]bool)
	for _, change := range j.source.Changes(j.records()) {
		if change.Err != nil || change.Shop != emberforge || change.ID == "" {
			j.t.Errorf("%s: change %+v; want a change of emberforge without an error", step, change)
		}
		for _, fact := range change.Facts {
			got[fact.ID()] = true
			if before, is := j.found[fact.ID()]; is && !reflect.DeepEqual(before, fact) {
				j.t.Errorf("%s: two records show %s differently: %+v and %+v", step, describe(fact), before, fact)
			}
			j.found[fact.ID()] = fact
		}
	}
	for _, fact := range facts {
		if found := j.found[fact.ID()]; !got[fact.ID()] || !reflect.DeepEqual(found, fact) {
			j.t.Errorf("%s: %s is %+v, want %+v", step, describe(fact), found, fact)
		}
		delete(got, fact.ID())
	}
	for id := range got {
		j.t.Errorf("%s: the changes also show %s", step, describe(j.found[id]))
	}
}

// wantRebuilt fails the test unless the stored items show the same facts as all their changes did.
func (j *journal) wantRebuilt() {
	j.t.Helper()
	rebuilt := make(map[event.ID]event.Fact)
	for name, items := range j.seen {
		in := event.Vouchers
		if name != j.table {
			in = event.Checkouts
		}
		for key, item := range items {
			facts, err := dynamo.Facts(emberforge, in, item)
			if err != nil {
				j.t.Errorf("facts of item %s in table %s: %v", key.Sort, name, err)
			}
			for _, fact := range facts {
				rebuilt[fact.ID()] = fact
			}
		}
	}
	if !reflect.DeepEqual(rebuilt, j.found) {
		j.t.Errorf("the tables show %d events, their changes showed %d", len(rebuilt), len(j.found))
	}
}

func (j *journal) mustHave(c checkout.Checkout, _ bool, err error) checkout.Checkout {
	j.t.Helper()
	must(j.t, err)
	return c
}

func TestChanges_EveryKindOfCode_ShowsExactlyWhatHappened(t *testing.T) {
	t.Parallel()
	for kind, limits := range kindsOfLimits() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			j := newJournal(t)
			v := j.percent20(limits.uses, limits.ofNick)
			j.want("create the code")
			j.redeemAndUndo(v)
			j.orderAndCancel()
			j.wantRebuilt()
		})
	}
}

func (j *journal) redeemAndUndo(v voucher.Voucher) {
	of := func(r voucher.Redemption) []event.Fact { return event.OfRedemption(emberforge, r) }
	first := request(j.t, "SUMMER-20", "Alder", "order-1047")
	redeemed := j.mustRedeem(first)
	j.want("redeem", of(redeemed)...)
	if _, replayed, err := j.redeemer.Redeem(within(j.t), first); !replayed || err != nil {
		j.t.Errorf("the same request again: replayed %t, %v; want a replay", replayed, err)
	}
	j.want("redeem again")
	j.mustEdit(v, voucher.Edit{Note: new("seen at the fair")})
	j.want("edit the note")
	undone, _, err := j.undo(v.Code, redeemed.ID)
	must(j.t, err)
	j.want("undo", of(undone)...)
	if v.Limited() {
		j.mustEdit(v, voucher.Edit{MaxUses: new(voucher.Limit(50))})
		j.want("lower the limit")
	}
}

func (j *journal) orderAndCancel() {
	of := event.OfOrder
	c := j.hold(j.wanted("Alder", "203.0.113.7", noon()))
	j.want("check out")
	changed := j.wanted("Alder", "", noon().Add(time.Minute))
	changed.Replaces, changed.Amount = c.ID, 3
	c = j.hold(changed)
	j.want("change the cart")
	placed := j.mustHave(j.orders.Place(within(j.t), emberforge, c.ID, stripe("pi_1047"), noon().Add(2*time.Minute)))
	redemption := voucher.Redemption{
		ID: string(c.ID.Token()), Code: "SUMMER-20", Nick: "Alder", At: noon().Add(2 * time.Minute), ByOrder: true,
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
	j.want("order", slices.Concat(of(emberforge, placed), event.OfRedemption(emberforge, redemption))...)
	j.mustHave(j.orders.Place(within(j.t), emberforge, c.ID, stripe("pi_1047"), noon().Add(3*time.Minute)))
	j.want("order again")
	fulfilled := j.mustHave(j.orders.Fulfil(within(j.t), emberforge, c.ID, noon().Add(4*time.Minute)))
	j.want("fulfil", of(emberforge, fulfilled)...)
	cancelled := j.mustHave(j.orders.Cancel(within(j.t), emberforge, c.ID, "chargeback", noon().Add(5*time.Minute)))
	redemption.Undone, redemption.UndoReason, redemption.UndoneBy = noon().Add(5*time.Minute), "chargeback",
		voucher.UndoneByOrder
	j.want("cancel", slices.Concat(of(emberforge, cancelled), event.OfRedemption(emberforge, redemption))...)
	j.want("nothing more")

	plain := j.wanted("Birch", "", noon())
	plain.Code = ""
	c = j.hold(plain)
	j.want("check out without a code")
	placed = j.mustHave(j.orders.Place(within(j.t), emberforge, c.ID, stripe("pi_1048"), noon()))
	j.want("order without a code", of(emberforge, placed)...)
	cancelled = j.mustHave(j.orders.Cancel(within(j.t), emberforge, c.ID, "changed their mind", noon()))
	j.want("cancel without a code", of(emberforge, cancelled)...)
	second := j.mustRedeem(request(j.t, "SUMMER-20", "Alder", ""))
	j.want("redeem after an undone redemption", event.OfRedemption(emberforge, second)...)
}

// recordItem returns the item of a redemption of a code without limits.
func recordItem(t testing.TB, shop catalog.ShopID, code, seed string) table.Item {
	t.Helper()
	r := request(t, code, "Alder", "")
	token := eventsOf(shop, seed, 1)[0].ID
	it := table.RedemptionKey(shop, r.Code, token).Attributes()
	it[table.AttrCode] = table.Str(code)
	it[table.RecordPrefix+string(token)] = table.EncodeRecord(voucher.Redemption{
		At: noon(), Nick: "Alder", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	})
	return it
}

// The error of an unreadable record must not affect the other records of the batch, and must not show IDs or codes.
func TestChanges_UnreadableRecord_FailsAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	v := s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.NoLimit)})
	source := dynamo.NewEventSource(s.client, dynamo.Tables{Vouchers: s.table, Checkouts: "orders"}, mathrand.Int64N)
	good := recordItem(t, emberforge, "SUMMER-20", "redemption 1")
	token := strings.TrimPrefix(table.KeyOf(good).Sort, string(v.Code)+table.RedemptionInfix)
	single := table.EncodeVoucher(emberforge,
		voucher.Voucher{Code: "ONE", Written: "ONE", MaxUses: 1, Reward: v.Reward, Created: noon()})
	order := table.EncodeCheckout(emberforge, checkout.Checkout{
		ID: checkout.ID(token + token), Product: "coins", Variant: "500", Amount: 1, Created: noon(),
		Expires: noon().Add(time.Hour),
	})
	order[table.AttrStatus], order[table.AttrOrdered] = table.Str(table.StatusOrdered),
		table.Str(table.OrderedAt(noon(), eventsOf(emberforge, "o", 1)[0].ID))
	with := func(it table.Item, changes table.Item) table.Item {
		changed := maps.Clone(it)
		maps.Copy(changed, changes)
		return changed
	}
	key := func(partition, sort string) table.Item {
		return table.Key{Partition: partition, Sort: sort}.Attributes()
	}
	redeemed := table.Item{table.RecordPrefix + token: table.EncodeRecord(voucher.Redemption{At: noon()})}
	records := map[string]json.RawMessage{
		"not JSON":          json.RawMessage(`{"dynamodb":`),
		"N is not a string": json.RawMessage(`{"dynamodb":{"Keys":{"customer":{"N":7}}}}`),
		"no key":            record(1, s.table, table.Key{}, nil, good),
		"no table": json.RawMessage(strings.Replace(string(record(1, s.table, table.KeyOf(good), nil, good)),
			"/stream/", "/", 1)),
		"another table": record(1, "refusals", table.KeyOf(good), nil, good),
	}
	for what, it := range map[string]table.Item{
		"a partition without a shop":    with(good, key("#07", table.KeyOf(good).Sort)),
		"an item of an unknown kind":    key("emberforge#07", "SUMMER20#x#7"),
		"no code":                       with(good, key("emberforge#07", "#r#"+token)),
		"a malformed record":            with(good, table.Item{table.RecordPrefix + token: table.Str(token)}),
		"an empty record":               with(good, table.Item{table.RecordPrefix + token: table.Str("")}),
		"a record without a code":       with(good, table.Item{table.AttrCode: table.Str("")}),
		"a record without a time":       with(good, table.Item{table.RecordPrefix + token: table.Str("0|||20%|")}),
		"a record without a reward":     with(good, table.Item{table.RecordPrefix + token: table.Str("mi8c1k00||||")}),
		"a record with a malformed ID":  with(good, table.Item{table.RecordPrefix + "x": good[table.RecordPrefix+token]}),
		"a redemption without a reward": with(single, with(redeemed, table.Item{table.AttrReward: table.Str("")})),
		"a redemption without a shop":   with(single, with(redeemed, key("#07", "ONE"))),
		"a redemption without its code": with(single, with(redeemed, table.Item{table.AttrCode: table.Str("")})),
	} {
		records[what] = record(1, s.table, table.KeyOf(it), nil, it)
	}
	for what, it := range map[string]table.Item{
		"an unknown status":        with(order, table.Item{table.AttrStatus: table.Str("lost")}),
		"an order without a time":  with(order, table.Item{table.AttrOrdered: table.Str("")}),
		"an order with another ID": with(order, table.Item{table.AttrID: table.Str("x" + token[1:] + token)}),
		"an order with a short ID": with(order, table.Item{table.AttrID: table.Str(token)}),
		"a cancelled order without a time": with(order,
			table.Item{table.AttrStatus: table.Str(table.StatusCancelled)}),
		"a placed order that was cancelled": with(order, table.Item{table.AttrCancelled: table.Millis(noon())}),
	} {
		records[what] = record(1, "orders", table.KeyOf(it), nil, it)
	}
	names := slices.Sorted(maps.Keys(records))
	batch := []json.RawMessage{
		record(1, s.table, table.KeyOf(good), nil, good),
		record(2, "orders", table.KeyOf(order), nil, order),
	}
	for _, name := range names {
		batch = append(batch, records[name])
	}
	changes := source.Changes(batch)
	for i, readable := range changes[:2] {
		if readable.Err != nil || len(readable.Facts) != 1 || readable.Shop != emberforge {
			t.Errorf("readable record %d: %+v; want one fact of emberforge", i, readable)
		}
	}
	for i, change := range changes[2:] {
		if change.Err == nil || len(change.Facts) > 0 {
			t.Errorf("%s: %+v; want an error and no facts", names[i], change)
		}
		if strings.Contains(fmt.Sprint(change.Err), token) || strings.Contains(fmt.Sprint(change.Err), "SUMMER") {
			t.Errorf("%s: the error shows an ID or a code: %v", names[i], change.Err)
		}
	}
}

// If the old image is unreadable, all facts of the new image count as new. Recording a fact twice does nothing.
func TestChanges_UnreadableOldImage_AllFactsCountAsNew(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.NoLimit)})
	source := dynamo.NewEventSource(s.client, dynamo.Tables{Vouchers: s.table, Checkouts: "orders"}, mathrand.Int64N)
	good := recordItem(t, emberforge, "SUMMER-20", "redemption 1")
	bad := maps.Clone(good)
	bad[table.RecordPrefix+"x"] = table.Str("malformed")
	for i, change := range source.Changes([]json.RawMessage{
		record(1, s.table, table.KeyOf(good), bad, good), record(2, s.table, table.KeyOf(good), good, good),
		record(3, s.table, table.KeyOf(good), good, nil),
	}) {
		if want := []int{1, 0, 0}[i]; change.Err != nil || len(change.Facts) != want {
			t.Errorf("record %d: %+v; want %d facts", i, change, want)
		}
	}
}

// The record has strings, numbers, bytes and booleans in the form of DynamoDB Local's streams.
func TestChanges_RecordOfDynamoDBLocal_IsRead(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	source := dynamo.NewEventSource(s.client, dynamo.Tables{Vouchers: "VouchersTable", Checkouts: "CheckoutsTable"},
		mathrand.Int64N)
	text := `{"eventID":"0d0b","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"ddblocal",
	  "eventSourceARN":"arn:aws:dynamodb:ddblocal:000000000000:table/VouchersTable/stream/2026-11-22T01:35:00.000",
	  "dynamodb":{"ApproximateCreationDateTime":1795311300,"SequenceNumber":"000000000000000000042","SizeBytes":300,"StreamViewType":"NEW_AND_OLD_IMAGES",
	    "Keys":{"customer":{"S":"emberforge#17"},"sk":{"S":"EVTONE"}},
	    "NewImage":{"customer":{"S":"emberforge#17"},"sk":{"S":"EVTONE"},"code":{"S":"EVT-ONE"},"reward":{"S":"coins/500"},"maxUses":{"N":"1"},
	      "disabled":{"BOOL":false},"from":{"N":"0"},"until":{"N":"253402300799999"},"created":{"N":"1795310000000"},"version":{"N":"1"},
	      "seal":{"B":"3q2+7w=="},"used":{"N":"1"},"b#3CqS0o1wm6_VInM79wKfDQ":{"S":"MILLIS|aV5kXo|||A.l|der"}}}}`
	text = strings.Replace(text, "MILLIS", strconv.FormatInt(1795311352130, 36), 1)
	got := source.Changes([]json.RawMessage{json.RawMessage(text)})
	redemption := voucher.Redemption{
		ID: "3CqS0o1wm6_VInM79wKfDQ", Code: "EVT-ONE", Nick: "A.l|der", At: time.UnixMilli(1795311352130).UTC(), Attempt: "aV5kXo",
		Reward: voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1},
	}
	want := []event.Change{{
		ID: "000000000000000000042", Place: event.Place{
			Table: event.Vouchers, Partition: "emberforge#17",
			Sort: "EVTONE",
		},
		Shop: emberforge, Facts: event.OfRedemption(emberforge, redemption),
	}}
	if got[0].Err != nil || !reflect.DeepEqual(got, want) { //nolint:govet // the errors are nil
		t.Errorf("Changes = %+v; want %+v", got, want)
	}
}

func TestReread_ReturnsAllFactsOfTheItemAsItIsNow(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	v := j.percent20(100, 1)
	var redemptions []voucher.Redemption
	for _, nick := range []string{"Alder", "Birch"} {
		redemptions = append(redemptions, j.mustRedeem(request(t, "SUMMER-20", nick, "")))
	}
	undone, _, err := j.undo(v.Code, redemptions[1].ID)
	must(t, err)
	c := j.hold(checkout.Request{Shop: emberforge, Product: "coins", Variant: "500", At: noon()})
	placed := j.mustHave(j.orders.Place(within(t), emberforge, c.ID, stripe("pi_1047"), noon()))
	all := make(map[event.ID]bool)
	changes := j.source.Changes(j.records())
	var places []event.Place
	for _, change := range changes {
		places = append(places, change.Place)
	}
	source := dynamo.NewEventSource(j.client, j.tables, mathrand.Int64N)
	for i, again := range source.Reread(within(t), places) {
		change := changes[i]
		if again.Err != nil || again.Place != change.Place || again.Shop != emberforge ||
			len(again.Facts) != len(change.Facts) {
			t.Errorf("the change was %+v, but rereading its item = %+v", change, again)
		}
		for _, fact := range again.Facts {
			all[fact.ID()] = true
		}
	}
	for _, fact := range slices.Concat(event.OfRedemption(emberforge, redemptions[0]),
		event.OfRedemption(emberforge, undone), event.OfOrder(emberforge, placed)) {
		if !all[fact.ID()] {
			t.Errorf("%s is missing", describe(fact))
		}
		delete(all, fact.ID())
	}
	if len(all) > 0 {
		t.Errorf("%d unexpected facts", len(all))
	}
	again := j.source.Reread(within(t),
		[]event.Place{{Table: event.Checkouts, Partition: "emberforge", Sort: "gone"}, {}})
	if again[0].Err != nil || len(again[0].Facts) != 0 || again[1].Err == nil {
		t.Errorf("%+v; want no facts of an item that is gone, and an error for an unknown place", again)
	}
}
