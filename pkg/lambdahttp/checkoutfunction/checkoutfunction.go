// Package checkoutfunction wires what both checkout functions share. It is separate from package lambdahttp because it
// links the JSON Schema validator, which no other function needs.
package checkoutfunction

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

// New wires the HTTP layer and a checkout.Opener from a function's environment.
func New(ctx context.Context, env lambdahttp.Environment) (httpapi.Service, checkout.Opener) {
	tables := dynamo.Tables{
		Checkouts: env.CheckoutsTable(), Vouchers: env.VouchersTable(), Refusals: env.RefusalsTable(),
	}
	client := dynamoclient.Connect(ctx, env, tables.Checkouts)
	service := dynamoclient.GuardedService(env, client)
	service.Refusals = access.NewRefusals(dynamo.NewRefusals(client, tables.Refusals))
	return service, checkout.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(client, env.CatalogueTable(), mathrand.Int64N)},
		Store:     dynamo.NewCheckouts(client, tables, mathrand.Int64N),
		Data:      new(dataschema.Validator),
		Random:    rand.Reader,
	}
}
