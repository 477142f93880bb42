// Command removed-payment is the Lambda function that responds 410 to the five removed payment paths.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/lambdahttp"
)

func main() { lambdahttp.Start(build) }

func build(_ context.Context, env lambdahttp.Environment) http.Handler {
	return env.Service().RemovedPayment()
}
