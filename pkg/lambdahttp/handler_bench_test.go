package lambdahttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/api"
	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/process"
	"shopfront/internal/measure/reference"
	"shopfront/internal/memdynamo"
	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/storefront"
	"shopfront/pkg/voucher"
)

const root = "../.."

// cart is an Idempotency-Key that no stored checkout has.
const cart = "8fXq2b0nQnKzv1oH4yJtRw"

// measured is a kind of request that Shopfront handles. If the request needs the store, a reference function with the
// same calls also handles it.
type measured struct {
	name      string
	shopfront func(wiring) http.Handler
	reference func(*dynamodb.Client, string) reference.Handler
	table     string
	event     func(testing.TB) []byte // the request, as Lambda passes it
	answer    string                  // a part of Shopfront's response
	calls     int                     // calls to the store per request
}

// wiring is a function's environment and its DynamoDB client.
type wiring struct {
	lambdahttp.Environment

	client *dynamodb.Client
}

// guarded wires the HTTP layer as dynamoclient does.
func (s wiring) guarded() httpapi.Service {
	service := s.Service()
	service.Guard = access.NewGuard(dynamo.NewAccess(s.client, fixture.CatalogueTable, rand.Int64N))
	return service
}

func allMeasured() []measured {
	redeemVoucher := func(s wiring) http.Handler {
		store := dynamo.NewRedeemer(s.client, fixture.VouchersTable, rand.Int64N)
		service := s.guarded()
		service.Refusals = access.NewRefusals(dynamo.NewRefusals(s.client, fixture.RefusalsTable))
		return service.RedeemVoucher(voucher.Redeemer{Store: store, Random: zeros{}})
	}
	return []measured{
		{
			name: "redeem-single-use", shopfront: redeemVoucher, reference: reference.Redeem,
			table:  fixture.VouchersTable,
			event:  func(tb testing.TB) []byte { return redemption(tb, fixture.SingleUse, "") },
			answer: `status\":\"redeemed`, calls: 1,
		},
		{
			name: "redeem-many-uses", shopfront: redeemVoucher, reference: reference.RedeemManyUses,
			table:  fixture.VouchersTable,
			event:  func(tb testing.TB) []byte { return redemption(tb, fixture.ManyUses, "") },
			answer: `status\":\"redeemed`, calls: 2,
		},
		{
			name: "check", shopfront: redeemVoucher, reference: reference.Check, table: fixture.VouchersTable,
			event:  func(tb testing.TB) []byte { return redemption(tb, fixture.SingleUse, "check=true") },
			answer: `status\":\"redeemable`, calls: 1,
		},
		{
			name: "checkout-area", reference: reference.Area, table: fixture.CatalogueTable,
			shopfront: func(s wiring) http.Handler { return s.guarded().CheckoutArea(s.area()) },
			event:     func(tb testing.TB) []byte { return encode(tb, sample(tb, "checkout-area")) },
			answer:    "bento-box", calls: 2,
		},
		{
			name: "storefront", reference: reference.Area, table: fixture.CatalogueTable,
			shopfront: func(s wiring) http.Handler {
				return s.guarded().Storefront(s.area(), storefront.NewSite(),
					"")
			},
			event: func(tb testing.TB) []byte { return encode(tb, sample(tb, "storefront")) }, answer: "bento-box",
			calls: 2,
		},
		{
			name: "checkout", reference: reference.Checkout, table: fixture.CatalogueTable,
			shopfront: func(s wiring) http.Handler { return s.guarded().Checkout(s.opener()) },
			event:     func(tb testing.TB) []byte { return encode(tb, sample(tb, "checkout").WithKey(cart)) },
			answer:    `status\":\"open`, calls: 2,
		},
		{
			name: "checkout-variant", reference: reference.Checkout, table: fixture.CatalogueTable,
			shopfront: func(s wiring) http.Handler { return s.guarded().CheckoutVariant(s.opener()) },
			event:     func(tb testing.TB) []byte { return encode(tb, sample(tb, "checkout-variant").WithKey(cart)) },
			answer:    `status\":\"open`, calls: 2,
		},
		{
			name: "show-checkout", reference: reference.ShowOrder, table: fixture.CheckoutsTable,
			shopfront: func(s wiring) http.Handler {
				return s.guarded().ShowCheckout(
					checkout.Checkouts{Store: s.orders()},
				)
			},
			event:  func(tb testing.TB) []byte { return fromServer(tb, "show-checkout") },
			answer: `status\":\"ordered`, calls: 1,
		},
		{
			name: "place-order", reference: reference.ChangeOrder, table: fixture.CheckoutsTable,
			shopfront: func(s wiring) http.Handler {
				return s.guarded().PlaceOrder(
					checkout.Orders{Store: s.orders()},
				)
			},
			event: func(tb testing.TB) []byte {
				return bytes.ReplaceAll(fromServer(tb, "place-order"), []byte(fixture.Order), []byte(fixture.Checkout))
			},
			answer: `status\":\"placed`, calls: 1,
		},
		{
			name: "list-orders", reference: reference.ListOrders, table: fixture.CheckoutsTable,
			shopfront: func(s wiring) http.Handler {
				return s.guarded().ListOrders(
					checkout.Orders{Store: s.orders()},
				)
			},
			event: func(tb testing.TB) []byte { return fromServer(tb, "list-orders") }, answer: `status\":\"placed`,
			calls: 1,
		},
		{
			name: "show-order", reference: reference.ShowOrder, table: fixture.CheckoutsTable,
			shopfront: func(s wiring) http.Handler { return s.guarded().ShowOrder(checkout.Orders{Store: s.orders()}) },
			event:     func(tb testing.TB) []byte { return fromServer(tb, "show-order") }, answer: `status\":\"placed`,
			calls: 1,
		},
		{
			name: "fulfil-order", reference: reference.ChangeOrder, table: fixture.CheckoutsTable,
			shopfront: func(s wiring) http.Handler {
				return s.guarded().FulfilOrder(
					checkout.Orders{Store: s.orders()},
				)
			},
			event:  func(tb testing.TB) []byte { return fromServer(tb, "fulfil-order") },
			answer: `status\":\"fulfilled`, calls: 1,
		},
		{
			name: "cancel-order", reference: reference.ChangeOrder, table: fixture.CheckoutsTable,
			shopfront: func(s wiring) http.Handler {
				return s.guarded().CancelOrder(
					checkout.Orders{Store: s.orders()},
				)
			},
			event:  func(tb testing.TB) []byte { return fromServer(tb, "cancel-order") },
			answer: `status\":\"cancelled`, calls: 1,
		},
		{
			name: "api-docs",
			shopfront: func(s wiring) http.Handler {
				return s.Service().Documents(api.Policy(),
					httpapi.Document{
						Path: "/changelog", ContentType: "text/html; charset=utf-8",
						Content: api.ChangelogPage(),
					})
			},
			event: func(tb testing.TB) []byte { return encode(tb, sample(tb, "api-docs")) }, answer: `"statusCode":200`,
		},
		{
			name:      "removed-payment",
			shopfront: func(s wiring) http.Handler { return s.Service().RemovedPayment() },
			event:     func(tb testing.TB) []byte { return encode(tb, sample(tb, "removed-payment")) },
			answer:    "urn:problem:shopfront:gone",
		},
	}
}

// area returns a catalog.Area that reads the store for every request, because its clock advances by MaxAge on each
// call.
func (s wiring) area() *catalog.Area {
	clock := time.Now()
	return catalog.NewArea(dynamo.NewCatalogue(s.client, fixture.CatalogueTable, rand.Int64N), func() time.Time {
		clock = clock.Add(catalog.MaxAge)
		return clock
	})
}

func (s wiring) opener() checkout.Opener {
	return checkout.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(s.client, fixture.CatalogueTable, rand.Int64N)},
		Store:     dynamo.NewCheckouts(s.client, fixture.CheckoutsTable),
		Data:      new(dataschema.Validator), Random: zeros{},
	}
}

func (s wiring) orders() *dynamo.Orders {
	return dynamo.NewOrders(s.client, fixture.CheckoutsTable, "", rand.Int64N)
}

// zeros gives every redemption the same ID, so that the store's recorded response fits every redemption.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// side is one handler of a comparison. As in Lambda, it gets the event's JSON and returns the response's JSON.
type side struct {
	name    string
	handler lambda.Handler
	answer  string
	store   *replayer
}

// sides returns Shopfront's handler and, if there is one, the reference's.
func (m measured) sides(tb testing.TB) []side {
	tb.Helper()
	shopfront := side{name: "shopfront", answer: m.answer, store: replay(tb)}
	// This is the functions' own client, but without a network.
	client := dynamo.NewClient(dynamo.Settings{
		Region: "us-east-1", Endpoint: "https://stub.invalid", Jitter: rand.Int64N,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	client = dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = shopfront.store })
	env := lambdahttp.Environment{
		Lookup: func(string) string { return "shopfront-prod" }, Now: time.Now,
		Log: io.Discard,
	}
	shopfront.handler = lambda.NewHandler(lambdahttp.NewHandler(m.shopfront(wiring{env, client}), time.Now).Handle)
	if m.reference == nil {
		return []side{shopfront}
	}
	compared := side{name: "reference", answer: `read\":`, store: replay(tb)}
	comparedClient := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("https://stub.invalid"), HTTPClient: compared.store,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	compared.handler = lambda.NewHandler(m.reference(comparedClient, m.table))
	return []side{shopfront, compared}
}

// replay returns a store that responds at once, with the recorded responses for the demo shop.
func replay(tb testing.TB) *replayer {
	tb.Helper()
	store, err := fixture.NewStore(tb.Context(), root)
	if err != nil {
		tb.Fatal(err)
	}
	return &replayer{store: store.Endpoint(memdynamo.Dials{Sealed: true}), answers: make(map[string]recorded)}
}

func sample(tb testing.TB, name string) fixture.Event {
	tb.Helper()
	event, err := fixture.ReadEvent(root, name)
	if err != nil {
		tb.Fatal(err)
	}
	return event
}

func redemption(tb testing.TB, code, query string) []byte {
	tb.Helper()
	event := sample(tb, "redeem-voucher")
	event["rawQueryString"] = query
	encoded, err := event.Redemption(code, "Alder", "order-1047")
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// fromServer returns the sample event of a function, sent by the shop's server.
func fromServer(tb testing.TB, name string) []byte {
	tb.Helper()
	event, err := sample(tb, name).WithServerKey()
	if err != nil {
		tb.Fatal(err)
	}
	return encode(tb, event)
}

func encode(tb testing.TB, value any) []byte {
	tb.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// call handles the event once, and fails the test if the response is not the expected one.
func (s side) call(tb testing.TB, event []byte) {
	tb.Helper()
	answer, err := s.handler.Invoke(context.Background(), event)
	if err != nil || !strings.Contains(string(answer), s.answer) {
		tb.Fatalf("%s, %v; want %q in it", answer, err, s.answer)
	}
}

func (s side) benchmark(b *testing.B, event []byte) {
	b.ReportAllocs()
	began, err := process.CPUTime(os.Getpid())
	for b.Loop() {
		if _, err := s.handler.Invoke(b.Context(), event); err != nil {
			b.Fatal(err)
		}
	}
	ended, endErr := process.CPUTime(os.Getpid())
	if errors.Join(err, endErr) == nil { // CPU time is known only on Linux
		b.ReportMetric(float64(ended-began)/float64(b.N), "cpu-ns/op")
	}
}

// BenchmarkHandler compares Shopfront with the reference function, from the event's JSON to the response's JSON. The
// store is in the same process: the figures include the SDK, but no network.
func BenchmarkHandler(b *testing.B) {
	for _, m := range allMeasured() {
		sides, event := m.sides(b), m.event(b)
		for range 200 { // warm up both functions, so that growing the heap is not counted for the first alone
			for _, s := range sides {
				s.call(b, event)
			}
		}
		for _, s := range sides {
			b.Run("request="+m.name+"/function="+s.name, func(b *testing.B) { s.benchmark(b, event) })
		}
	}
}
