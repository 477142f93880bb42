package backoffice

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// CreateVoucher creates a voucher. For invalid terms it returns a *voucher.FieldError for each fault, joined. For a
// code that exists it returns a *voucher.CodeTakenError.
func (s *Shop) CreateVoucher(ctx context.Context, terms voucher.Terms, now time.Time) (voucher.Voucher, error) {
	v, err := voucher.New(terms, now)
	if err != nil {
		return voucher.Voucher{}, err
	}
	return v, s.Create(ctx, v)
}

// Create stores a new voucher. If another voucher has the code, the error is a *voucher.CodeTakenError.
func (s *Shop) Create(ctx context.Context, v voucher.Voucher) error {
	existing, taken, err := s.createOrFind(ctx, v)
	if err == nil && taken && !createdAs(existing.Voucher, v) {
		return &voucher.CodeTakenError{Existing: existing.Voucher}
	}
	return err
}

// createOrFind stores a new voucher and the items of its parts. Only the put of the voucher has a condition, and it
// guards all of them. If the code is taken, createOrFind stores nothing and returns the voucher that has the code. That
// is v itself if an earlier attempt was applied and its response was lost.
func (s *Shop) createOrFind(ctx context.Context, v voucher.Voucher) (stored table.Voucher, taken bool, err error) {
	var actions []types.TransactWriteItem
	for _, it := range table.EncodeVoucher(s.Profile.ID, v) {
		put := putNew(s.Tables.Vouchers, it)
		if len(actions) > 0 {
			put = &types.Put{TableName: put.TableName, Item: it}
		}
		actions = append(actions, types.TransactWriteItem{Put: put})
	}
	failed, old, err := s.write(ctx, actions...)
	switch {
	case err != nil:
		return table.Voucher{}, false, table.Outcome(err)
	case failed == noConditionFailed:
		return table.Voucher{}, false, nil
	}
	stored, err = table.DecodeVoucher(old)
	return stored, true, err
}

// find reads a voucher. An unknown code is no error.
func (s *Shop) find(ctx context.Context, code voucher.Code) (stored table.Voucher, found bool, err error) {
	stored, err = table.ReadVoucher(ctx, s.api, s.Tables.Vouchers, s.Profile.ID, code)
	if _, unknown := voucher.IsRefusal(err); unknown {
		return table.Voucher{}, false, nil
	}
	return stored, err == nil, table.Outcome(err)
}

// createdAs reports whether a stored voucher was created as v. If the stored voucher was edited after its creation,
// createdAs compares only the fields that edits cannot change.
func createdAs(stored, v voucher.Voucher) bool {
	if v.Redeemed != nil && stored.Redeemed != nil && stored.Redeemed.ID != v.Redeemed.ID {
		return false
	}
	if stored.Version == v.Version {
		return sameTerms(stored, v)
	}
	return stored.Written == v.Written && stored.Created.Equal(v.Created)
}

// voucher reads a voucher without its uses. For an unknown code, the error is a *voucher.RefusalError.
func (s *Shop) voucher(ctx context.Context, code voucher.Code) (voucher.Voucher, error) {
	stored, err := table.ReadVoucher(ctx, s.api, s.Tables.Vouchers, s.Profile.ID, code)
	return stored.Voucher, table.Outcome(err)
}

// Voucher reads a voucher with its uses as of the given time. The uses of a code without a limit are not counted. For
// an unknown code, the error is a *voucher.RefusalError.
func (s *Shop) Voucher(ctx context.Context, code voucher.Code, at time.Time) (voucher.Standing, error) {
	stored, items, err := s.allowance(ctx, code)
	if err != nil {
		return voucher.Standing{}, err
	}
	counted := tally{voucher: stored.Voucher, at: at}
	for _, item := range items {
		counted.add(entry{allowance: item})
	}
	return counted.standing(), nil
}

// allowance reads a voucher and the items of its allowance, the head first. For an unknown code, the error is a
// *voucher.RefusalError.
func (s *Shop) allowance(
	ctx context.Context, code voucher.Code,
) (v table.Voucher, items []table.Allowance, err error) {
	defer func() { err = table.Outcome(err) }()
	if v, err = table.ReadVoucher(ctx, s.api, s.Tables.Vouchers, s.Profile.ID, code); err != nil {
		return table.Voucher{}, nil, err
	}
	var keys []table.Key
	for number := range min(v.Parts, voucher.MaxParts) { // the attribute may be damaged
		keys = append(keys, table.PartKey(s.Profile.ID, code, number))
	}
	found, err := table.BatchGet(ctx, s.api, s.random, s.Tables.Vouchers, keys...)
	items = []table.Allowance{v.Allowance}
	for _, key := range keys {
		var part table.Allowance
		if err == nil {
			part, err = table.DecodeAllowance(found[key])
		}
		items = append(items, part)
	}
	return v, items, err
}
