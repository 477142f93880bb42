// Command checkout is the Lambda function of GET /shop/{customer}/checkout/{product}/{variant}.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/function"
	"shopfront/pkg/function/checkoutdesk"
)

func main() { function.Start(build) }

func build(ctx context.Context, env function.Environment) (http.Handler, error) {
	desk, err := checkoutdesk.New(ctx, env)
	if err != nil {
		return nil, err
	}
	return env.Service().Checkout(desk), nil
}
