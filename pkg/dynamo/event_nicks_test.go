package dynamo_test

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// nicks is a bureau that indexes redemptions by nick, with the table of the redeemed vouchers.
type nicks struct {
	*bureau

	vouchers string
}

func newNicks(t testing.TB) *nicks {
	b := newBureau(t)
	vouchers := dynamotest.Table(t, "VouchersTable")
	return &nicks{b, vouchers}
}

// owner returns a shop as its owner works on it.
func (n *nicks) owner(shop catalog.ShopID, client *dynamodb.Client) *backoffice.Shop {
	return ownerOf(shop, client, backoffice.Tables{Vouchers: n.vouchers, Events: n.table})
}

// index indexes redemptions, one after the other. It fails the test on an error.
func (n *nicks) index(shop catalog.ShopID, redemptions ...voucher.Redemption) {
	n.t.Helper()
	for _, r := range redemptions {
		must(n.t, n.log.Index(within(n.t), shop, []voucher.Redemption{r}))
	}
}

// indexed returns the indexed redemptions of a nick in a period.
func (n *nicks) indexed(shop catalog.ShopID, nick string, from, until time.Time) (found []voucher.Redemption) {
	n.t.Helper()
	parsed, err := voucher.ParseNick(nick)
	must(n.t, err)
	for r, err := range n.owner(shop, n.client).RedemptionsOfNick(within(n.t),
		backoffice.RedemptionFilter{Nick: parsed, From: from, Until: until}) {
		must(n.t, err)
		found = append(found, r.Redemption)
	}
	return found
}

func (n *nicks) want(shop catalog.ShopID, nick string, want ...voucher.Redemption) {
	n.t.Helper()
	got := n.indexed(shop, nick, time.Time{}, time.Time{})
	if len(got) != len(want) {
		n.t.Fatalf("%s of %s has %d redemptions, want %d", nick, shop, len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			n.t.Fatalf("redemption %d of %s of %s is %+v, want %+v", i, nick, shop, got[i], want[i])
		}
	}
}

// redeemedBy returns a redemption of SUMMER-20 by a nick, some seconds after noon.
func redeemedBy(nick string, second int) voucher.Redemption {
	return voucher.Redemption{
		ID: string(idempotency.Digest(nick, fmt.Sprint(second))), Code: "SUMMER-20", Nick: nick,
		At:     noon().Add(time.Duration(second) * time.Second),
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
}

func undoneLater(r voucher.Redemption) voucher.Redemption {
	r.Undone, r.UndoReason = r.At.Add(time.Hour), "granted twice"
	return r
}

// The streams deliver each change at least once, and the changes of two items in any order. Undoing a single-use
// redemption moves it to another item. So the undone redemption may arrive first.
func TestIndex_ChangesInAnyOrder_UndoneStaysUndone(t *testing.T) {
	t.Parallel()
	created := redeemedBy("Alder", 1)
	undone := undoneLater(created)
	for what, changes := range map[string][]voucher.Redemption{
		"in order": {created, undone}, "undone first": {undone, created},
		"delivered again": {created, undone, created, undone, created},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := newNicks(t)
			n.index(emberforge, changes...)
			n.want(emberforge, "Alder", undone)
		})
	}
}

func TestIndex_EveryKindOfRedemption_IsReadBack(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	off, err := money.Parse("5.00", "EUR")
	must(t, err)
	var want []voucher.Redemption
	for i, reward := range []voucher.Reward{
		{Kind: voucher.RewardAmountOff, AmountOff: off},
		{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 3},
		{Kind: voucher.RewardBundle, Items: [voucher.MaxBundleItems]voucher.Good{{
			Product: "coins", Variant: "500",
			Amount: 1,
		}, {Product: "rank", Variant: "vip", Amount: 2}}},
	} {
		r := redeemedBy("#Alder ~ Ash 桜", i)
		r.Reward = reward
		want = append(want, r)
	}
	want[0].Imported = true
	want[1] = undoneLater(want[1])
	want[2].Undone = want[2].At.Add(time.Hour) // without a reason
	n.index(emberforge, append(want, redeemedBy("", 3))...)
	n.want(emberforge, "#Alder ~ Ash 桜", want...)
	out, err := n.client.Scan(within(t), &dynamodb.ScanInput{TableName: aws.String(n.table)})
	if err != nil || len(out.Items) != len(want) {
		t.Errorf("%d items, %v; want %d, because a redemption without a nick has no item", len(out.Items), err,
			len(want))
	}
}

func TestIndex_OtherShopsAndNicks_AreInvisible(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	mine, spelled, other, theirs := redeemedBy("Alder", 1), redeemedBy("ＡＬＤＥＲ", 2), redeemedBy("Alde", 3),
		redeemedBy("alder", 4)
	cherokee, small := redeemedBy("\u13A0\u13B5", 5), redeemedBy("\uAB70\uAB85", 6)
	n.index(emberforge, mine, spelled, other, cherokee, small)
	n.index(sakura, theirs)
	n.want(emberforge, "aLDER", mine, spelled)
	n.want(emberforge, "\uAB70\u13B5", cherokee, small)
	n.want(sakura, "Alder", theirs)
	n.want(sakura, "Alde")
}

func TestRedemptionsOfNick_ManyPages_AreInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	all := make([]voucher.Redemption, 250)
	for i := range all {
		all[i] = redeemedBy("Alder", i-100)
	}
	shuffled := slices.Clone(all)
	mathrand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	must(t, n.log.Index(within(t), emberforge, shuffled))
	n.want(emberforge, "Alder", all...)
	second := func(s int) time.Time { return noon().Add(time.Duration(s) * time.Second) }
	farFuture := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	for what, test := range map[string]struct {
		from, until time.Time
		want        []voucher.Redemption
	}{
		"one second":              {second(7), second(7).Add(time.Millisecond), all[107:108]},
		"the end is not included": {second(-3), second(131), all[97:231]},
		"between two redemptions": {second(7).Add(time.Millisecond), second(8).Add(-time.Millisecond), nil},
		"from long ago":           {time.Date(1903, 1, 1, 0, 0, 0, 0, time.UTC), second(-98), all[:2]},
		"until the far future":    {second(148), farFuture, all[248:]},
		"without an end":          {second(149), time.Time{}, all[249:]},
	} {
		if got := n.indexed(emberforge, "Alder", test.from, test.until); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %d redemptions, want %d", what, len(got), len(test.want))
		}
	}
}

// In the year 2286, a time in milliseconds gets one more digit. The index must still sort the redemptions by time.
func TestRedemptionsOfNick_TimesOfMoreDigits_KeepTheOrder(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	early, late := redeemedBy("Alder", 0), redeemedBy("Alder", 0)
	early.At, late.At = time.UnixMilli(9_999_999_999_999).UTC(), time.UnixMilli(10_000_000_000_000).UTC()
	n.index(emberforge, late, early)
	n.want(emberforge, "Alder", early, late)
}

func TestRedemptionsOfNick_EachRedemption_HasTheBatchOfItsVoucher(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	first, second, gone := redeemedBy("Alder", 1), redeemedBy("Alder", 2), redeemedBy("Alder", 3)
	second.Code, gone.Code = "WINTER-10", "GONE"
	n.index(emberforge, first, second, gone)
	for _, r := range []voucher.Redemption{first, second} {
		code, err := voucher.ParseCode(r.Code)
		must(t, err)
		it := table.EncodeVoucher(emberforge,
			voucher.Voucher{Code: code, Written: r.Code, Reward: r.Reward, Batch: "of " + r.Code})[0]
		if _, err := n.client.PutItem(within(t),
			&dynamodb.PutItemInput{TableName: aws.String(n.vouchers), Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	ofAlder := backoffice.RedemptionFilter{Nick: request(t, "ANY", "Alder", "").Nick}
	var batches []string
	for r, err := range n.owner(emberforge, n.client).RedemptionsOfNick(within(t), ofAlder) {
		must(t, err)
		batches = append(batches, r.Batch)
	}
	if want := []string{"of SUMMER-20", "of WINTER-10", ""}; !slices.Equal(batches, want) {
		t.Errorf("the batches are %q, want %q", batches, want)
	}
}

func TestIndex_LostResponse_Succeeds(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	network := losingResponses("PutItem", 2)
	r := redeemedBy("Alder", 1)
	err := n.logOver(newClient(t, over(network))).Index(within(t), emberforge, []voucher.Redemption{r})
	if err != nil || network.calls.Load() != 3 {
		t.Errorf("Index = %v after %d calls, want success after 3", err, network.calls.Load())
	}
	n.want(emberforge, "Alder", r)
}

func TestIndex_OneWriteFails_IsAnError(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	network := losingRequests("PutItem", 1)
	log := n.logOver(newClient(t, over(network), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }))
	if err := log.Index(within(t), emberforge,
		[]voucher.Redemption{redeemedBy("Alder", 1), redeemedBy("Alder", 2)}); err == nil {
		t.Errorf("indexed %d of 2 redemptions, but returned no error",
			len(n.indexed(emberforge, "Alder", time.Time{}, time.Time{})))
	}
}

func TestRedemptionsOfNick_StoreFails_EndsWithItsError(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	n.index(emberforge, redeemedBy("Alder", 1))
	for _, operation := range []string{"Query", "BatchGetItem"} {
		network := losingRequests(operation, 1)
		client := newClient(t, over(network), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		ofAlder := backoffice.RedemptionFilter{Nick: request(t, "ANY", "Alder", "").Nick}
		steps, failures := 0, 0
		for _, err := range n.owner(emberforge, client).RedemptionsOfNick(within(t), ofAlder) {
			if steps++; err != nil {
				failures++
			}
		}
		if steps != 1 || failures != 1 {
			t.Errorf("%s fails: yielded %d times, with %d errors; want one error and nothing else", operation, steps,
				failures)
		}
	}
}

func TestRedemptionsOfNick_DamagedItem_IsAnError(t *testing.T) {
	t.Parallel()
	alder := request(t, "ANY", "Alder", "").Nick
	for attribute, value := range map[string]string{
		table.AttrReward: "120%", table.AttrCode: "*",
		table.SortKey: "n#" + table.HashNick(alder) + "#0001795abcdef00#MTCXgwWFAhhCzmYLdegdjw",
	} {
		n := newNicks(t)
		it, _ := table.EncodeIndexed(emberforge, redeemedBy("Alder", 1))
		it[attribute] = table.Str(value)
		if _, err := n.client.PutItem(within(t),
			&dynamodb.PutItemInput{TableName: aws.String(n.table), Item: it}); err != nil {
			t.Fatal(err)
		}
		failures := 0
		for _, err := range n.owner(emberforge, n.client).RedemptionsOfNick(within(t),
			backoffice.RedemptionFilter{Nick: alder}) {
			if err != nil {
				failures++
			}
		}
		if failures != 1 {
			t.Errorf("with the attribute %s = %q: %d errors, want 1", attribute, value, failures)
		}
	}
}

// The index shares its table with the feed. So the function that publishes events also gets the index's items from the
// table's stream.
func TestIndex_FeedOfTheSameTable_IsUnchanged(t *testing.T) {
	t.Parallel()
	n := newNicks(t)
	events := eventsOf(emberforge, "redemptions", 60)
	n.append(emberforge, events[:1], 1)
	n.index(emberforge, redeemedBy("Alder", 1), redeemedBy("Heron", 2))
	n.append(emberforge, events, len(events)-1)
	n.wantFeed(emberforge, events)
	it, _ := table.EncodeIndexed(emberforge, redeemedBy("Alder", 1))
	added, err := dynamo.EventAdditions([]json.RawMessage{record(1, "events", table.KeyOf(it), nil, it)})
	if err != nil || len(added) != 0 {
		t.Errorf("an item of the index was read as the events %+v, %v", added, err)
	}
}
