package dynamo_test

import (
	mathrand "math/rand/v2"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
)

// ownerOf returns a shop as its owner works on it.
func ownerOf(shop catalog.ShopID, api backoffice.API, tables backoffice.Tables) *backoffice.Shop {
	return backoffice.NewDeployment(api, tables, mathrand.Int64N).Open(catalog.Profile{ID: shop})
}
