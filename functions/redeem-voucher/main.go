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

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	table, err := env.VouchersTable()
	if err != nil {
		return nil, err
	}
	refusals, err := env.RefusalsTable()
	if err != nil {
		return nil, err
	}
	client, err := dynamoclient.New(ctx, env, table)
	if err != nil {
		return nil, err
	}
	service, err := dynamoclient.Service(env, client)
	if err != nil {
		return nil, err
	}
	service.Refusals = access.NewRefusals(dynamo.NewRefusals(client, refusals))
	redeemer := voucher.Redeemer{Store: dynamo.NewRedemptions(client, table, mathrand.Int64N), Random: rand.Reader}
	return service.RedeemVoucher(redeemer), nil
}
