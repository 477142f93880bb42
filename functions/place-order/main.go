// Command place-order is the Lambda function of POST /shop/{customer}/orders.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/checkout"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/orderfunction"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	vouchers, err := env.VouchersTable()
	if err != nil {
		return nil, err
	}
	service, store, err := orderfunction.New(ctx, env, vouchers)
	if err != nil {
		return nil, err
	}
	return service.PlaceOrder(checkout.Orders{Store: store}), nil
}
