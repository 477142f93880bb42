// Command checkout-area is the Lambda function of GET /shop/{customer}/checkout.
package main

import (
	"context"
	"math/rand/v2"
	"net/http"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

func main() { lambdahttp.Start(build) }

func build(ctx context.Context, env lambdahttp.Environment) (http.Handler, error) {
	table, err := env.CatalogueTable()
	if err != nil {
		return nil, err
	}
	client, err := dynamoclient.New(ctx, env, table)
	if err != nil {
		return nil, err
	}
	service, err := dynamoclient.Service(env, client)
	if err != nil {
		return nil, err
	}
	return service.CheckoutArea(catalog.NewArea(dynamo.NewCatalogue(client, table, rand.Int64N), env.Now)), nil
}
