package budget_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/checkoutfunction"
	"shopfront/pkg/lambdahttp/dynamoclient"
	"shopfront/pkg/lambdahttp/eventfunction"
	"shopfront/pkg/lambdahttp/orderfunction"
	"shopfront/pkg/storefront"
	"shopfront/pkg/voucher"
)

// functions are the functions behind the HTTP API that use the store. They run in this process, each wired as in its
// main, but several functions share a client.
type functions struct {
	handlers map[string]*lambdahttp.Handler
	timeouts map[string]time.Duration
}

func newFunctions(t *testing.T, template *samtemplate.Template, endpoint string) functions {
	t.Helper()
	variables := map[string]string{
		"AWS_REGION": dynamotest.Region, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "CATALOGUE_TABLE": "CatalogueTable",
		"VOUCHERS_TABLE": "VouchersTable", "CHECKOUTS_TABLE": "CheckoutsTable", "REFUSALS_TABLE": "RefusalsTable",
		"EVENTS_TABLE": "EventsTable", "EVENT_RETENTION_DAYS": "90",
	}
	env := lambdahttp.Environment{
		Lookup: func(name string) string { return variables[name] }, Now: time.Now,
		Log: io.Discard,
	}
	client := dynamoclient.Connect(t.Context(), env, variables["VOUCHERS_TABLE"])
	redemptions := voucher.Redeemer{
		Store:  dynamo.NewRedeemer(client, dynamo.Tables{Vouchers: variables["VOUCHERS_TABLE"]}, mathrand.Int64N),
		Random: rand.Reader,
	}
	client = dynamoclient.Connect(t.Context(), env, variables["CATALOGUE_TABLE"])
	var shown atomic.Int64
	// The clock runs so fast that every request reads the store.
	clock := func() time.Time { return time.Now().Add(time.Duration(shown.Add(1)) * catalog.MaxAge) }
	products := dynamo.NewCatalogue(client, variables["CATALOGUE_TABLE"], mathrand.Int64N)
	_, desk := checkoutfunction.New(t.Context(), env)
	service, older := checkoutfunction.New(t.Context(), env)
	_, till := orderfunction.New(t.Context(), env, variables["VOUCHERS_TABLE"])
	orders := checkout.Orders{Store: till}
	tables := dynamo.Tables{Checkouts: variables["CHECKOUTS_TABLE"], Vouchers: variables["VOUCHERS_TABLE"]}
	records := voucher.Redemptions{Store: dynamo.NewRedemptionRecords(client, tables, mathrand.Int64N)}
	log := eventfunction.Log(env, client)
	service.Refusals = access.NewRefusals(dynamo.NewRefusals(client, variables["REFUSALS_TABLE"]))
	f := functions{
		handlers: map[string]*lambdahttp.Handler{
			"redeem-voucher": lambdahttp.NewHandler(service.RedeemVoucher(redemptions), env.Now),
			"checkout-area":  lambdahttp.NewHandler(service.CheckoutArea(catalog.NewArea(products, clock)), env.Now),
			"storefront": lambdahttp.NewHandler(service.Storefront(catalog.NewArea(products, clock),
				storefront.NewSite(), ""), env.Now),
			"checkout":         lambdahttp.NewHandler(service.Checkout(desk), env.Now),
			"checkout-variant": lambdahttp.NewHandler(service.CheckoutVariant(older), env.Now),
			"show-checkout":    lambdahttp.NewHandler(service.ShowCheckout(checkout.Checkouts{Store: till}), env.Now),
			"release-checkout": lambdahttp.NewHandler(service.ReleaseCheckout(orders), env.Now),
			"place-order":      lambdahttp.NewHandler(service.PlaceOrder(orders), env.Now),
			"list-orders":      lambdahttp.NewHandler(service.ListOrders(orders), env.Now),
			"show-order":       lambdahttp.NewHandler(service.ShowOrder(orders), env.Now),
			"fulfil-order":     lambdahttp.NewHandler(service.FulfilOrder(orders), env.Now),
			"cancel-order":     lambdahttp.NewHandler(service.CancelOrder(orders), env.Now),
			"undo-redemption":  lambdahttp.NewHandler(service.UndoRedemption(records), env.Now),
			"list-redemptions": lambdahttp.NewHandler(service.ListRedemptions(records), env.Now),
			"list-events":      lambdahttp.NewHandler(service.ListEvents(event.Feed{Store: log}), env.Now),
		},
		timeouts: make(map[string]time.Duration),
	}
	for _, declared := range template.Functions {
		f.timeouts[declared.Name] = declared.Timeout
	}
	return f
}

// Invoke responds to an event, or fails after the function's timeout, as Lambda does.
func (f functions) Invoke(ctx context.Context, name string, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeouts[name])
	defer cancel()
	var request events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(event, &request); err != nil {
		return nil, err
	}
	response, err := f.handlers[name].Handle(ctx, request)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s responded too late: %w", name, ctx.Err())
	}
	return json.Marshal(response)
}
