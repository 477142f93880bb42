// Command checkout-variant is the Lambda function of the deprecated GET /shop/{customer}/checkout/{product}/variant/{variant}.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/checkoutfunction"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	service, opener, err := checkoutfunction.New(ctx, env)
	if err != nil {
		return nil, err
	}
	return service.CheckoutVariant(opener), nil
}
