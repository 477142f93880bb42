package backoffice

import (
	"context"
	"fmt"
	"slices"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// Shop is one shop of a deployment. Its methods read and change that shop only.
type Shop struct {
	Profile catalog.Profile
	Zone    *time.Location // of dates that the operator writes, and of the days of reports
	store
}

// Shop opens a shop, or returns catalog.ErrNotFound.
func (d *Deployment) Shop(ctx context.Context, id catalog.ShopID) (*Shop, error) {
	shop := d.Open(catalog.Profile{ID: id})
	profile, err := shop.profile(ctx)
	if err != nil {
		return nil, fmt.Errorf("shop %s: %w", id, err)
	}
	shop.Profile = profile
	if shop.Zone, err = profile.Location(); err != nil {
		return nil, fmt.Errorf("shop %s: time-zone: %w", id, err)
	}
	return shop, nil
}

// Open returns a shop whose profile the caller has read or is about to create. Its Zone is UTC.
func (d *Deployment) Open(profile catalog.Profile) *Shop { return &Shop{profile, time.UTC, d.store} }

// ShopAccess is a shop's settings with the number of its live keys.
type ShopAccess struct {
	Shop catalog.ShopID
	access.Settings

	LiveKeys int
}

// Access returns the settings and the number of live keys of one shop. If the ID is empty, it returns those of all
// shops, in ID order. If the shop does not exist, it returns catalog.ErrNotFound.
func (d *Deployment) Access(ctx context.Context, id catalog.ShopID, now time.Time) ([]ShopAccess, error) {
	if id != "" {
		shop, err := d.Shop(ctx, id)
		if err != nil {
			return nil, err
		}
		one, err := shop.access(ctx, now)
		return []ShopAccess{one}, err
	}
	shops, err := d.Shops(ctx)
	var all []ShopAccess
	for _, profile := range shops {
		one, err := d.Open(profile).access(ctx, now)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, err
}

func (s *Shop) access(ctx context.Context, now time.Time) (ShopAccess, error) {
	settings, err := s.Settings(ctx)
	if err != nil {
		return ShopAccess{}, err
	}
	records, err := s.Keys(ctx)
	return ShopAccess{s.Profile.ID, settings, access.CountLive(records, now)}, err
}

// Reward parses a reward as an operator writes it. If the catalogue lacks a good of the reward, it returns
// catalog.ErrNotFound. offSale reports whether a good of the reward, or the shop, is off sale.
func (s *Shop) Reward(ctx context.Context, text string) (reward voucher.Reward, offSale bool, err error) {
	reward, err = voucher.ParseReward(text, s.Profile.Currency)
	for _, good := range reward.Goods() {
		product, err := s.product(ctx, good.Product)
		at := slices.IndexFunc(product.Variants, func(v catalog.Variant) bool { return v.ID == good.Variant })
		if err == nil && at < 0 {
			err = catalog.ErrNotFound
		}
		if err != nil {
			return voucher.Reward{}, false,
				fmt.Errorf("shop %s, variant %s/%s: %w", s.Profile.ID, good.Product, good.Variant, err)
		}
		offSale = offSale || s.Profile.OffSale || product.OffSale || product.Variants[at].OffSale
	}
	return reward, offSale, err
}

// orders returns the rules of orders on the shop's tables.
func (s *Shop) orders() checkout.Orders {
	return checkout.Orders{Store: dynamo.NewOrders(s.api, s.Tables.Checkouts, s.Tables.Vouchers, s.random)}
}
