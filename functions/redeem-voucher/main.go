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
	vouchers := env.VouchersTable()
	client := dynamoclient.New(ctx, env, vouchers)
	service := dynamoclient.Service(env, client)
	service.Refusals = access.NewRefusals(dynamo.NewRefusals(client, env.RefusalsTable()))
	store := dynamo.NewRedeemer(client, vouchers, mathrand.Int64N)
	return service.RedeemVoucher(voucher.Redeemer{Store: store, Random: rand.Reader})
}
