// Command checkout-variant is the Lambda function of the older GET /shop/{customer}/checkout/{product}/variant/{variant}.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/checkoutdesk"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	desk, err := checkoutdesk.New(ctx, env)
	if err != nil {
		return nil, err
	}
	return env.Service().CheckoutVariant(desk), nil
}
