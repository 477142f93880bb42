// Command show-checkout is the Lambda function of GET /shop/{customer}/checkouts/{id}.
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
	service, store := orderfunction.New(ctx, env, "")
	return service.ShowCheckout(checkout.Checkouts{Store: store})
}
