// Command removed-payment is the Lambda function of the payment providers' paths, which are gone.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
)

func main() { lambdahttp.Start(build) }

func build(_ context.Context, env lambdahttp.Environment) (http.Handler, error) {
	return env.Service().RemovedPayment(), nil
}
