// Command checkout-variant is the Lambda function of the deprecated GET
// /shop/{customer}/checkout/{product}/variant/{variant}.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/checkoutfunction"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) http.Handler {
	service, opener := checkoutfunction.New(ctx, env)
	return service.CheckoutVariant(opener)
}
