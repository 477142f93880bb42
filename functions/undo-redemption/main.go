// Command undo-redemption is the Lambda function of POST /shop/{customer}/redemptions/{id}/undo.
package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
	"shopfront/pkg/voucher"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	checkouts, noCheckouts := env.CheckoutsTable()
	vouchers, noVouchers := env.VouchersTable()
	if err := cmp.Or(noCheckouts, noVouchers); err != nil {
		return nil, err
	}
	client, err := dynamoclient.New(ctx, env, vouchers)
	if err != nil {
		return nil, err
	}
	service, err := dynamoclient.Service(env, client)
	if err != nil {
		return nil, err
	}
	tables := dynamo.Tables{Checkouts: checkouts, Vouchers: vouchers}
	return service.UndoRedemption(voucher.Undoer{Store: dynamo.NewRedemptionRecords(client, tables, rand.Int64N)}), nil
}
