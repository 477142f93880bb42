// Package areafunction wires the functions that show what is on sale: one as JSON, and one as the shop's page. It must
// not link package storefront, because only one of the functions shows the page.
package areafunction

import (
	"context"
	"math/rand/v2"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

// New wires the HTTP layer and the checkout area from a function's environment.
func New(ctx context.Context, env lambdahttp.Environment) (httpapi.Service, *catalog.Area) {
	catalogue := env.CatalogueTable()
	client := dynamoclient.Connect(ctx, env, catalogue)
	area := catalog.NewArea(dynamo.NewCatalogue(client, catalogue, rand.Int64N), env.Now)
	return dynamoclient.GuardedService(env, client), area
}
