// Package areafunction wires the functions that show what is on sale: one as JSON, and one as the shop's page. It must not link package
// storefront, because only one of the functions shows the page.
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

// New wires the HTTP layer and the checkout area from a function's environment, or returns an error that names the missing setting.
func New(ctx context.Context, env lambdahttp.Environment) (httpapi.Service, *catalog.Area, error) {
	catalogue, err := env.CatalogueTable()
	if err != nil {
		return httpapi.Service{}, nil, err
	}
	client, err := dynamoclient.New(ctx, env, catalogue)
	if err != nil {
		return httpapi.Service{}, nil, err
	}
	service, err := dynamoclient.Service(env, client)
	return service, catalog.NewArea(dynamo.NewCatalogue(client, catalogue, rand.Int64N), env.Now), err
}
