// Command list-events is the Lambda function of GET /shop/{customer}/events.
package main

import (
	"context"
	"net/http"

	"shopfront/pkg/event"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
	"shopfront/pkg/lambdahttp/eventfunction"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) http.Handler {
	client := dynamoclient.Connect(ctx, env, env.EventsTable())
	return dynamoclient.GuardedService(env, client).ListEvents(event.Feed{Store: eventfunction.Log(env, client)})
}
