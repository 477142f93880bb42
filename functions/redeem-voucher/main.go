// Command redeem-voucher is the Lambda function of POST /shop/{customer}/voucher.
package main

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"net/http"

	"shopfront/pkg/access"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
	"shopfront/pkg/voucher"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) http.Handler {
	tables := dynamo.Tables{Vouchers: env.VouchersTable(), Refusals: env.RefusalsTable()}
	client := dynamoclient.Connect(ctx, env, tables.Vouchers)
	service := dynamoclient.GuardedService(env, client)
	service.Refusals = access.NewRefusals(dynamo.NewRefusals(client, tables.Refusals))
	store := dynamo.NewRedeemer(client, tables, mathrand.Int64N)
	return service.RedeemVoucher(voucher.Redeemer{Store: store, Random: rand.Reader})
}
