// Command publish-events is the Lambda function that sends events to an EventBridge bus. The stream of the events table
// invokes it.
package main

import (
	"context"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
	"shopfront/pkg/lambdahttp/publishfunction"
)

func main() { lambdahttp.StartHandler(build) }

func build(ctx context.Context, env lambdahttp.Environment) any {
	client := dynamoclient.Connect(ctx, env, env.EventsTable(), dynamoclient.ForStream)
	return publishfunction.New(env, client).Handle
}
