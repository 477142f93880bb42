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
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

// Opener wires a checkout.Opener from a function's environment, or returns an error that names the missing setting.
func Opener(ctx context.Context, env lambdahttp.Environment) (checkout.Opener, error) {
	catalogue, err := env.CatalogueTable()
	if err != nil {
		return checkout.Opener{}, err
	}
	checkouts, err := env.CheckoutsTable()
	if err != nil {
		return checkout.Opener{}, err
	}
	client, err := dynamoclient.New(ctx, env, checkouts)
	if err != nil {
		return checkout.Opener{}, err
	}
	return checkout.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(client, catalogue, mathrand.Int64N)},
		Store:     dynamo.NewCheckouts(client, checkouts),
		Data:      new(dataschema.Validator),
		Random:    rand.Reader,
	}, nil
}
