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

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	events, err := env.EventsTable()
	if err != nil {
		return nil, err
	}
	client, err := dynamoclient.New(ctx, env, events)
	if err != nil {
		return nil, err
	}
	log, err := eventfunction.Log(env, client)
	if err != nil {
		return nil, err
	}
	service, err := dynamoclient.Service(env, client)
	return service.ListEvents(event.Feed{Store: log}), err
}
