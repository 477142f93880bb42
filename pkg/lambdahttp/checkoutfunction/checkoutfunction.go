// Package checkoutfunction wires what both checkout functions share. It is separate from package lambdahttp because it links
// the JSON Schema validator, which no other function needs.
package checkoutfunction

import (
	"cmp"
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

// New wires the HTTP layer and a checkout.Opener from a function's environment, or returns an error that names the missing
// setting.
func New(ctx context.Context, env lambdahttp.Environment) (httpapi.Service, checkout.Opener, error) {
	catalogue, noCatalogue := env.CatalogueTable()
	checkouts, noCheckouts := env.CheckoutsTable()
	vouchers, noVouchers := env.VouchersTable()
	refusals, noRefusals := env.RefusalsTable()
	if err := cmp.Or(noCatalogue, noCheckouts, noVouchers, noRefusals); err != nil {
		return httpapi.Service{}, checkout.Opener{}, err
	}
	client, err := dynamoclient.New(ctx, env, checkouts)
	if err != nil {
		return httpapi.Service{}, checkout.Opener{}, err
	}
	service, err := dynamoclient.Service(env, client)
	service.Refusals = access.NewRefusals(dynamo.NewRefusals(client, refusals))
	tables := dynamo.Tables{Checkouts: checkouts, Vouchers: vouchers, Refusals: refusals}
	return service, checkout.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(client, catalogue, mathrand.Int64N)},
		Store:     dynamo.NewCheckouts(client, checkouts),
		Holds:     dynamo.NewHeldCheckouts(client, tables, mathrand.Int64N),
		Data:      new(dataschema.Validator),
		Random:    rand.Reader,
	}, err
}
