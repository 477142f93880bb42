// Command checkout-area is the Lambda function of GET /shop/{customer}/checkout.
package main

import (
	"context"
	"math/rand/v2"
	"net/http"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/function"
	"shopfront/pkg/function/dynamoclient"
)

func main() { function.Start(build) }

func build(ctx context.Context, env function.Environment) (http.Handler, error) {
	table, err := env.CatalogueTable()
	if err != nil {
		return nil, err
	}
	client, err := dynamoclient.New(ctx, env, table)
	if err != nil {
		return nil, err
	}
	shop := catalog.Catalogue{Store: dynamo.NewCatalogue(client, table, rand.Int64N)}
	return env.Service().CheckoutArea(shop), nil
}
