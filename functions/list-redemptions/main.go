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

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	vouchers, err := env.VouchersTable()
	if err != nil {
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
	tables := dynamo.Tables{Vouchers: vouchers}
	return service.ListRedemptions(voucher.Undoer{Store: dynamo.NewRedemptionRecords(client, tables, rand.Int64N)}), nil
}
