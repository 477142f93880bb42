package operator

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// Settings returns the policies, the limit on refused codes, and what is paused.
func (s *Shop) Settings(ctx context.Context) (access.Settings, error) {
	return s.access.Settings(ctx, s.Customer.ID)
}

// Pause pauses batches, or all codes if no batch is named, and returns the new pause. It writes only the settings. Running it again is
// safe. It returns a *voucher.FieldError for batches that cannot be paused.
func (s *Shop) Pause(ctx context.Context, batches ...string) (voucher.Pause, error) {
	return s.access.ChangePause(ctx, s.Customer.ID, func(p voucher.Pause) (voucher.Pause, error) { return p.With(batches...) })
}

// Resume lifts the pause of batches, or of all codes if no batch is named, and returns the pause before and after.
// Batches that were paused by name stay paused until Resume names them.
func (s *Shop) Resume(ctx context.Context, batches ...string) (before, after voucher.Pause, err error) {
	after, err = s.access.ChangePause(ctx, s.Customer.ID, func(p voucher.Pause) (voucher.Pause, error) {
		before = p
		return p.Without(batches...), nil
	})
	return before, after, err
}

// ShopAccess is a customer's settings with the number of its live keys.
type ShopAccess struct {
	Customer catalog.CustomerID
	access.Settings

	LiveKeys int
}

// Access returns the settings and the number of live keys of one customer. If the ID is empty, it returns those of all customers, in ID
// order. If the customer does not exist, it returns catalog.ErrNotFound.
func (d *Deployment) Access(ctx context.Context, id catalog.CustomerID, now time.Time) ([]ShopAccess, error) {
	var customers []catalog.Customer
	var err error
	if id == "" {
		customers, err = d.Customers(ctx)
	} else {
		var shop *Shop
		if shop, err = d.Shop(ctx, id); err == nil {
			customers = []catalog.Customer{shop.Customer}
		}
	}
	var shops []ShopAccess
	for _, customer := range customers {
		settings, err := d.access().Settings(ctx, customer.ID)
		if err != nil {
			return nil, err
		}
		records, err := d.access().Keys(ctx, customer.ID)
		if err != nil {
			return nil, err
		}
		shops = append(shops, ShopAccess{customer.ID, settings, access.CountLive(records, now)})
	}
	return shops, err
}

// WithoutVouchers returns those of the given batches that have no vouchers. It may read all of the customer's vouchers.
func (s *Shop) WithoutVouchers(ctx context.Context, batches []string) ([]string, error) {
	missing := slices.Clone(batches)
	for entry, err := range s.vouchers.Entries(ctx, s.Customer.ID, "") {
		if err != nil || len(missing) == 0 {
			return missing, err
		}
		if entry.Voucher != nil {
			missing = slices.DeleteFunc(missing, func(batch string) bool { return batch == entry.Voucher.Batch })
		}
	}
	return missing, nil
}

// CreateKey creates a key for the shop's server. expires may be zero. random must be of cryptographic quality. Errors are
// access.ErrTooManyKeys and those of the store. After an error of the store the key may exist, so CreateKey returns it even then.
func (s *Shop) CreateKey(ctx context.Context, name string, expires time.Time, random io.Reader, now time.Time) (access.Key, access.KeyRecord, error) {
	key, err := access.NewKey(random)
	if err != nil {
		return access.Key{}, access.KeyRecord{}, err
	}
	record := access.KeyRecord{ID: key.ID, Name: name, Digest: key.Digest(), Created: asStored(now), Expires: expires}
	return key, record, s.access.CreateKey(ctx, s.Customer.ID, record)
}

// Keys lists all keys, including revoked ones, oldest first.
func (s *Shop) Keys(ctx context.Context) ([]access.KeyRecord, error) {
	records, err := s.access.Keys(ctx, s.Customer.ID)
	slices.SortStableFunc(records, func(a, b access.KeyRecord) int { return a.Created.Compare(b.Created) })
	return records, err
}

// RevokeKey revokes a key and returns its record. If the key was already revoked, RevokeKey changes nothing, and the record says when it
// was revoked. For an unknown key it returns access.ErrKeyUnknown.
func (s *Shop) RevokeKey(ctx context.Context, id access.KeyID, now time.Time) (access.KeyRecord, error) {
	record, err := s.access.RevokeKey(ctx, s.Customer.ID, id, now)
	if err != nil {
		return access.KeyRecord{}, fmt.Errorf("key %s: %w", id, err)
	}
	return record, nil
}
