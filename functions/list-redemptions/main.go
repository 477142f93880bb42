// Command list-redemptions is the Lambda function of GET /shop/{customer}/redemptions.
package main

import (
	"context"
	"math/rand/v2"
	"net/http"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
	"shopfront/pkg/voucher"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) http.Handler {
	vouchers := env.VouchersTable()
	client := dynamoclient.Connect(ctx, env, vouchers)
	store := dynamo.NewRedemptionRecords(client, dynamo.Tables{Vouchers: vouchers}, rand.Int64N)
	return dynamoclient.GuardedService(env, client).ListRedemptions(voucher.Redemptions{Store: store})
}
