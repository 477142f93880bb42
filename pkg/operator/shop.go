package operator

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// Shop is one customer's shop. Its methods read and change that customer only.
type Shop struct {
	Customer catalog.Customer

	access    *backoffice.Access
	catalogue *backoffice.Catalogue
	vouchers  *backoffice.Vouchers
	checkouts *backoffice.Checkouts
	orders    checkout.Orders
	records   voucher.Undoer

	events         *backoffice.Events // nil: the deployment has no events
	eventRetention time.Duration

	throttled *atomic.Int64 // how many calls DynamoDB has throttled
}

// Shop opens the shop of a customer, or returns catalog.ErrNotFound.
func (d *Deployment) Shop(ctx context.Context, id catalog.CustomerID) (*Shop, error) {
	catalogue := d.shops()
	customer, err := catalogue.Customer(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("customer %s: %w", id, err)
	}
	tables := dynamo.Tables{Checkouts: d.Tables.Checkouts, Vouchers: d.Tables.Vouchers}
	shop := &Shop{
		Customer: customer, access: d.access(), catalogue: catalogue, throttled: d.throttled,
		vouchers:  backoffice.NewVouchers(d.client, d.Tables.Vouchers, d.random),
		checkouts: backoffice.NewCheckouts(d.client, d.Tables.Checkouts),
		orders:    checkout.Orders{Store: dynamo.NewOrders(d.client, d.Tables.Checkouts, d.Tables.Vouchers, d.random)},
		records:   voucher.Undoer{Store: dynamo.NewRedemptionRecords(d.client, tables, d.random)},
	}
	if d.Tables.Events != "" {
		shop.events, shop.eventRetention = backoffice.NewEvents(d.client, tables, d.Tables.Events, d.random), d.EventRetention
	}
	return shop, nil
}

// Reward parses a reward as an operator writes it. If the catalogue lacks a good of the reward, it returns catalog.ErrNotFound. offSale
// reports whether a good of the reward, or the shop, is off sale.
func (s *Shop) Reward(ctx context.Context, text string) (reward voucher.Reward, offSale bool, err error) {
	reward, err = voucher.ParseReward(text, s.Customer.Currency)
	for _, good := range reward.Goods() {
		product, err := s.catalogue.Product(ctx, s.Customer.ID, good.Product)
		at := slices.IndexFunc(product.Variants, func(v catalog.Variant) bool { return v.ID == good.Variant })
		if err == nil && at < 0 {
			err = catalog.ErrNotFound
		}
		if err != nil {
			return voucher.Reward{}, false, fmt.Errorf("customer %s, variant %s/%s: %w", s.Customer.ID, good.Product, good.Variant, err)
		}
		offSale = offSale || s.Customer.OffSale || product.OffSale || product.Variants[at].OffSale
	}
	return reward, offSale, err
}
