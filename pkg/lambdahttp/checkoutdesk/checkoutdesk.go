// Package checkoutdesk wires the desk at which both forms of the checkout path check out. It is apart from package function
// because it links the JSON Schema validator, which no other function needs.
package checkoutdesk

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

// New wires a desk from a function's environment, or says which setting is missing.
func New(ctx context.Context, env lambdahttp.Environment) (checkout.Desk, error) {
	catalogue, err := env.CatalogueTable()
	if err != nil {
		return checkout.Desk{}, err
	}
	checkouts, err := env.CheckoutsTable()
	if err != nil {
		return checkout.Desk{}, err
	}
	client, err := dynamoclient.New(ctx, env, checkouts)
	if err != nil {
		return checkout.Desk{}, err
	}
	return checkout.Desk{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(client, catalogue, mathrand.Int64N)},
		Store:     dynamo.NewCheckouts(client, checkouts),
		Data:      new(dataschema.Validator),
		Random:    rand.Reader,
	}, nil
}
