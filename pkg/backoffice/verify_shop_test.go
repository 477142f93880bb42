package backoffice_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/access"
	"shopfront/pkg/audit"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// tables are the tables of one deployment. Each test case has its own shop in them.
type tables struct {
	client     *dynamodb.Client
	names      backoffice.Tables
	deployment *backoffice.Deployment
	shops      atomic.Int32
}

func newTables(t *testing.T) *tables {
	t.Helper()
	names := backoffice.Tables{
		Catalogue: dynamotest.Table(t, "CatalogueTable"), Vouchers: dynamotest.Table(t, "VouchersTable"),
		Checkouts: dynamotest.Table(t, "CheckoutsTable"), Refusals: dynamotest.Table(t, "RefusalsTable"),
	}
	client := dynamotest.Client(t)
	return &tables{client: client, names: names, deployment: backoffice.NewDeployment(client, names, mathrand.Int64N)}
}

// shop is a shop, as its operator and its shoppers use it. Some of its methods write to the store without
// checking any rule.
type shop struct {
	*tables

	t        *testing.T
	opened   time.Time // the moment at which everything in the shop happens, unless a test changes it
	shop     catalog.ShopID
	operator *backoffice.Shop
	redeemer voucher.Redeemer
	source   access.Source // of checkouts
}

func (s *tables) newShop(t *testing.T) *shop {
	t.Helper()
	opened := &shop{
		tables: s, t: t, opened: time.Now().UTC().Truncate(time.Millisecond),
		shop: catalog.ShopID(fmt.Sprintf("emberforge-%d", s.shops.Add(1))),
	}
	opened.put(s.names.Catalogue, attributes{
		"customer": text(string(opened.shop)), "sk": text("customer"), "name": text("Emberforge"),
		"currency": text("EUR"),
	})
	var err error
	if opened.operator, err = s.deployment.Shop(t.Context(), opened.shop); err != nil {
		t.Fatal(err)
	}
	opened.redeemer = voucher.Redeemer{
		Store:  dynamo.NewRedeemer(s.client, dynamo.Tables{Vouchers: s.names.Vouchers}, mathrand.Int64N),
		Random: rand.Reader,
	}
	return opened
}

// over returns the shop as its owner works on it through another client.
func (s *shop) over(client backoffice.API) *backoffice.Shop {
	return backoffice.NewDeployment(client, s.names, mathrand.Int64N).Open(s.operator.Profile)
}

func (s *shop) create(terms voucher.Terms) voucher.Code {
	s.t.Helper()
	if terms.Reward == (voucher.Reward{}) {
		terms.Reward = voucher.Reward{
			Kind:      voucher.RewardAmountOff,
			AmountOff: money.Money{Minor: 500, Currency: "EUR"},
		}
	}
	v, err := s.operator.CreateVoucher(s.t.Context(), terms, s.opened)
	if err != nil {
		s.t.Fatal(err)
	}
	return v.Code
}

func (s *shop) request(code, nick, key string) voucher.Request {
	s.t.Helper()
	request := voucher.Request{Shop: s.shop, Key: idempotency.Key(key), At: s.opened}
	var err error
	if request.Code, err = voucher.ParseCode(code); err != nil {
		s.t.Fatal(err)
	}
	if request.Nick, err = voucher.ParseNick(nick); err != nil {
		s.t.Fatal(err)
	}
	return request
}

// redeem sends a shopper's request. The request may be refused, but must not fail.
func (s *shop) redeem(code, nick, key string) (redeemed bool) {
	s.t.Helper()
	_, _, err := s.redeemer.Redeem(s.t.Context(), s.request(code, nick, key))
	if _, refused := voucher.IsRefusal(err); err != nil && !refused {
		s.t.Fatal(err)
	}
	return err == nil
}

// edit edits a voucher. Afterwards it is so late that nobody remembers the voucher as it was.
func (s *shop) edit(code voucher.Code, edit voucher.Edit) {
	s.t.Helper()
	if _, err := s.operator.EditVoucher(s.t.Context(), code, edit); err != nil {
		s.t.Fatal(err)
	}
	s.opened = s.opened.Add(backoffice.RulesAge)
}

// checkOut stores a checkout of three packs of coins, created at the given time.
func (s *shop) checkOut(at time.Time) {
	s.t.Helper()
	token, err := idempotency.NewToken(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	euro := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	c := checkout.Checkout{
		ID: checkout.ID(token + token), Product: "coins", Variant: "500", Amount: 3,
		UnitPrice: euro(499), Subtotal: euro(1497), Discount: euro(0), Total: euro(1497), Created: at,
		Expires: at.Add(checkout.Lifetime),
	}
	if _, err := dynamo.NewCheckouts(s.client, s.heldTables(), nil).Open(s.t.Context(),
		checkout.Opening{Shop: s.shop, Checkout: c}); err != nil {
		s.t.Fatal(err)
	}
}

// verify verifies the shop at the given time.
func (s *shop) verify(at time.Time) audit.Report {
	s.t.Helper()
	report, err := s.operator.Verify(s.t.Context(),
		backoffice.Verification{Now: func() time.Time { return at }, Settle: time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

func (s *shop) wantClean(what string) {
	s.t.Helper()
	if report := s.verify(s.opened); report.Found != 0 || len(report.InMotion) != 0 {
		s.t.Errorf("%s: %+v", what, report)
	}
}

// stock fills the shop with a voucher of each kind, some redeemed, and a checkout:
//
//	SUMMER-20  10 uses over 3 parts, 2 for each nick; Alder has 2, Birch has 1
//	AUTUMN     5 uses; Cedar has 1, and 1 is without a nick
//	GIFT-1     single-use; Alder has it
//	GIFT-2     single-use
//	NEWS       no limit, 1 for each nick; Alder has 1
//	ARIGATO    no limit; Birch has 1, and 1 is without a nick
func (s *shop) stock() {
	s.t.Helper()
	s.create(voucher.Terms{
		Written: "SUMMER-2O", MaxUses: new(voucher.Limit(10)), MaxUsesPerNick: new(voucher.Limit(2)),
		Parts: new(3),
	})
	s.create(voucher.Terms{Written: "AUTUMN", MaxUses: new(voucher.Limit(5)), MaxUsesPerNick: new(voucher.NoLimit)})
	s.create(voucher.Terms{Written: "GIFT-1"})
	s.create(voucher.Terms{Written: "GIFT-2"})
	s.create(voucher.Terms{Written: "NEWS", MaxUses: new(voucher.NoLimit)})
	s.create(voucher.Terms{Written: "ARIGATO", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})
	for _, redemption := range [][2]string{
		{"SUMMER-20", "Alder"},
		{"SUMMER-20", "alder"},
		{"SUMMER-20", "Birch"},
		{"AUTUMN", "Cedar"},
		{"AUTUMN", ""},
		{"GIFT-1", "Alder"},
		{"NEWS", "Alder"},
		{"ARIGATO", "Birch"},
		{"ARIGATO", ""},
	} {
		if !s.redeem(redemption[0], redemption[1], "") {
			s.t.Fatalf("%s was refused", redemption[0])
		}
	}
	s.checkOut(s.opened)
}

// The methods put, remove, change, move and changeCheckout write to the store without checking any rule. The functions
// below help them.

type attributes map[string]types.AttributeValue

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func number(value int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(value)}
}

func (a attributes) text(name string) string {
	value, _ := a[name].(*types.AttributeValueMemberS)
	return value.Value
}

func (a attributes) number(name string) (n int64) {
	if value, is := a[name].(*types.AttributeValueMemberN); is {
		_, _ = fmt.Sscan(value.Value, &n)
	}
	return n
}

func (a attributes) add(name string, n int64) { a[name] = number(a.number(name) + n) }

// record returns the name of an attribute with a redemption.
func (a attributes) record() string {
	for name := range a {
		if strings.HasPrefix(name, "b#") {
			return name
		}
	}
	return ""
}

// renameRecord moves a redemption to the attribute with the given name.
func (a attributes) renameRecord(name string) {
	old := a.record()
	a[name] = a[old]
	delete(a, old)
}

// rewrite replaces a part of a redemption's record.
func (a attributes) rewrite(old, by string) {
	a[a.record()] = text(strings.Replace(a.text(a.record()), old, by, 1))
}

func (s *tables) put(table string, it attributes) {
	_, err := s.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it})
	if err != nil {
		panic(err)
	}
}

func (s *tables) remove(table string, it attributes) {
	_, err := s.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: aws.String(table), Key: attributes{"customer": it["customer"], "sk": it["sk"]},
	})
	if err != nil {
		panic(err)
	}
}

// items returns the shop's items whose sort keys have the prefix, in key order. It fails the test if there are
// none.
func (s *shop) items(table, prefix string) []attributes {
	s.t.Helper()
	var found []attributes
	pages := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
		FilterExpression:          aws.String("begins_with(customer, :customer) AND begins_with(sk, :prefix)"),
		ExpressionAttributeValues: attributes{":customer": text(string(s.shop)), ":prefix": text(prefix)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, it := range page.Items {
			if shopID, _, _ := strings.Cut(attributes(it).text("customer"), "#"); shopID == string(s.shop) {
				found = append(found, it)
			}
		}
	}
	if len(found) == 0 {
		s.t.Fatalf("no item %s", prefix)
	}
	// a voucher sorts before its parts, nicks and redemptions
	slices.SortFunc(found, func(a, b attributes) int { return cmp.Compare(a.text("sk"), b.text("sk")) })
	return found
}

// change changes the first item in the vouchers table whose sort key has the prefix. If the change alters the key, the
// unchanged item stays, too.
func (s *shop) change(prefix string, change func(attributes)) {
	s.t.Helper()
	it := s.items(s.names.Vouchers, prefix)[0]
	change(it)
	s.put(s.names.Vouchers, it)
}

// move is like change, but removes the unchanged item.
func (s *shop) move(prefix string, change func(attributes)) {
	s.t.Helper()
	it := s.items(s.names.Vouchers, prefix)[0]
	s.remove(s.names.Vouchers, it)
	change(it)
	s.put(s.names.Vouchers, it)
}

func (s *shop) changeCheckout(change func(attributes)) {
	s.t.Helper()
	it := s.items(s.names.Checkouts, "")[0]
	s.remove(s.names.Checkouts, it)
	change(it)
	s.put(s.names.Checkouts, it)
}

// nextBucket changes an item's key to that of the next bucket.
func nextBucket(it attributes) {
	shop, bucket, _ := strings.Cut(it.text("customer"), "#")
	var n int
	_, _ = fmt.Sscan(strings.TrimPrefix(bucket, "0"), &n)
	it["customer"] = text(fmt.Sprintf("%s#%02d", shop, (n+1)%64))
}
