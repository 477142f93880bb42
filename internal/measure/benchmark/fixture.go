package benchmark

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// Tables are the names of the tables that functions are told.
const (
	CatalogueTable = "catalogue"
	VouchersTable  = "vouchers"
	CheckoutsTable = "checkouts"
)

// The codes of the demo shop's customer that requests redeem. They are written as they are compared: a reference function
// does not normalise.
const (
	Customer    catalog.CustomerID = "emberforge"
	SingleUse                      = "SUMMER20"
	ManyUses                       = "GRAND2026"
	manyUsesMax voucher.Limit      = 1_000_000
)

// Fill fills empty tables with the demo shop, and the codes SingleUse and ManyUses.
func Fill(ctx context.Context, client *dynamodb.Client, root string) error {
	name := filepath.Join(root, "examples", "demo.yaml")
	content, err := os.ReadFile(name) //nolint:gosec // a file of the checkout
	if err != nil {
		return err
	}
	shops, err := catalogfile.Parse(catalogfile.File{Name: name, Text: content})
	if err != nil {
		return err
	}
	kept := backoffice.NewCatalogue(client, CatalogueTable)
	for _, shop := range shops {
		if err := kept.PutCustomer(ctx, shop.Customer); err != nil {
			return err
		}
		for _, product := range shop.Products {
			if err := kept.PutProduct(ctx, shop.Customer.ID, product); err != nil {
				return err
			}
		}
	}
	if err := createVoucher(ctx, client, voucher.Terms{Written: SingleUse}); err != nil {
		return err
	}
	limit := manyUsesMax
	return createVoucher(ctx, client, voucher.Terms{Written: ManyUses, MaxUses: &limit})
}

// createVoucher creates a voucher that gives coins. Terms need a code only.
func createVoucher(ctx context.Context, client *dynamodb.Client, terms voucher.Terms) error {
	terms.Reward = voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
	v, err := voucher.New(terms, time.Now())
	if err != nil {
		return err
	}
	if err := backoffice.NewVouchers(client, VouchersTable, rand.Int64N).Create(ctx, Customer, v); err != nil {
		return fmt.Errorf("create voucher: %w", err)
	}
	return nil
}
