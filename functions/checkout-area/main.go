// Command checkout-area is the Lambda function of GET /shop/{customer}/checkout.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/areafunction"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) http.Handler {
	service, area := areafunction.New(ctx, env)
	return service.CheckoutArea(area)
}
