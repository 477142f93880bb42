// Command record-events is the Lambda function that records changes of the tables as events. The streams of the tables
// invoke it, and a schedule invokes it every minute.
package main

import (
	"context"

	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
	"shopfront/pkg/lambdahttp/eventfunction"
)

func main() { lambdahttp.StartHandler(build) }

func build(ctx context.Context, env lambdahttp.Environment) any {
	client := dynamoclient.Connect(ctx, env, env.VouchersTable(), dynamoclient.ForStream)
	return eventfunction.New(env, client).Handle
}
