// Command undo-redemption is the Lambda function of POST /shop/{customer}/redemptions/{id}/undo.
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
	tables := dynamo.Tables{Checkouts: env.CheckoutsTable(), Vouchers: env.VouchersTable()}
	client := dynamoclient.Connect(ctx, env, tables.Vouchers)
	store := dynamo.NewRedemptionRecords(client, tables, rand.Int64N)
	return dynamoclient.GuardedService(env, client).UndoRedemption(voucher.Redemptions{Store: store})
}
