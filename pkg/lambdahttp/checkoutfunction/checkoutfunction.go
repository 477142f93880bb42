// Package checkoutfunction wires what both checkout functions share. It is separate from package lambdahttp because it links
// the JSON Schema validator, which no other function needs.
package checkoutfunction

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

// New wires the HTTP layer and a checkout.Opener from a function's environment, or returns an error that names the missing
// setting.
func New(ctx context.Context, env lambdahttp.Environment) (httpapi.Service, checkout.Opener, error) {
	catalogue, err := env.CatalogueTable()
	if err != nil {
		return httpapi.Service{}, checkout.Opener{}, err
	}
	checkouts, err := env.CheckoutsTable()
	if err != nil {
		return httpapi.Service{}, checkout.Opener{}, err
	}
	client, err := dynamoclient.New(ctx, env, checkouts)
	if err != nil {
		return httpapi.Service{}, checkout.Opener{}, err
	}
	service, err := dynamoclient.Service(env, client)
	return service, checkout.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(client, catalogue, mathrand.Int64N)},
		Store:     dynamo.NewCheckouts(client, checkouts),
		Data:      new(dataschema.Validator),
		Random:    rand.Reader,
	}, err
}
