// Command release-checkout is the Lambda function of POST /shop/{customer}/checkouts/{id}/release.
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
	return service.ReleaseCheckout(checkout.Orders{Store: store})
}
