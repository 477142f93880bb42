// Command cancel-order is the Lambda function of POST /shop/{customer}/orders/{id}/cancel.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/checkout"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/orderfunction"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) http.Handler {
	service, store := orderfunction.New(ctx, env, env.VouchersTable())
	return service.CancelOrder(checkout.Orders{Store: store})
}
