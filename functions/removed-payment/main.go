// Command removed-payment is the Lambda function of the payment providers' paths, which are gone.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/function"
)

func main() { function.Start(build) }

func build(_ context.Context, env function.Environment) (http.Handler, error) {
	return env.Service().RemovedPayment(), nil
}
