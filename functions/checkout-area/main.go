// Command checkout-area is the Lambda function of GET /shop/{customer}/checkout.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/areafunction"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	service, area, err := areafunction.New(ctx, env)
	if err != nil {
		return nil, err
	}
	return service.CheckoutArea(area), nil
}
