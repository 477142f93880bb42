// Package orderfunction wires the functions that read checkouts, and the functions that read and change orders. Unlike
// checkoutfunction, it does not link the JSON Schema validator.
package orderfunction

import (
	"context"
	"math/rand/v2"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

// New wires the HTTP layer and the store of orders from a function's environment. Only a function that places or
// cancels orders needs the name of the vouchers table; the others pass "".
func New(ctx context.Context, env lambdahttp.Environment, vouchers string) (httpapi.Service, *dynamo.Orders) {
	checkouts := env.CheckoutsTable()
	client := dynamoclient.Connect(ctx, env, checkouts)
	return dynamoclient.GuardedService(env, client), dynamo.NewOrders(client, checkouts, vouchers, rand.Int64N)
}
