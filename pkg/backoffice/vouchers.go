package backoffice

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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
	if err == nil && taken && !createdAs(existing, v) {
		return &voucher.CodeTakenError{Existing: existing}
	}
	return err
}

// createOrFind stores a new voucher, and its counters if it has a limit above one. Only the put of the voucher has a
// condition, and it guards all of them. If the code is taken, createOrFind stores nothing and returns the voucher that
// has the code. That is v itself if an earlier attempt was applied and its response was lost.
func (s *Shop) createOrFind(ctx context.Context, v voucher.Voucher) (stored voucher.Voucher, taken bool, err error) {
	actions := []types.TransactWriteItem{{Put: putNew(s.Tables.Vouchers, table.EncodeVoucher(s.Profile.ID, v))}}
	for number := range v.Counters {
		counter := table.CounterKey(s.Profile.ID, v.Code, number).Attributes()
		used := share(v.Imported, v.Counters, number)
		counter[table.AttrLeft] = table.Num(max(share(int(v.MaxUses), v.Counters, number)-used, 0))
		counter[table.AttrUsed] = table.Num(used)
		counter[table.AttrVersion] = table.Num(0)
		actions = append(actions, types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String(s.Tables.Vouchers),
			Item:      counter,
		}})
	}
	failed, old, err := s.write(ctx, actions...)
	switch {
	case err != nil:
		return voucher.Voucher{}, false, table.Outcome(err)
	case failed == noConditionFailed:
		return voucher.Voucher{}, false, nil
	}
	existing, err := table.DecodeVoucher(old)
	return existing.Voucher, true, err
}

// find is like voucher, except that an unknown code is no error.
func (s *Shop) find(ctx context.Context, code voucher.Code) (stored voucher.Voucher, found bool, err error) {
	stored, err = s.voucher(ctx, code)
	if _, unknown := voucher.IsRefusal(err); unknown {
		return voucher.Voucher{}, false, nil
	}
	return stored, err == nil, err
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
	return stored.Written == v.Written && stored.Created.Equal(v.Created) && stored.Counters == v.Counters
}

// share divides whole into the given number of parts, as equal as possible, and returns the size of the part with the
// given number, from 0.
func share(whole, parts, number int) int {
	part := whole / parts
	if number < whole%parts {
		part++
	}
	return part
}

// voucher reads a voucher without its counters. For an unknown code, the error is a *voucher.RefusalError.
func (s *Shop) voucher(ctx context.Context, code voucher.Code) (voucher.Voucher, error) {
	stored, err := table.ReadVoucher(ctx, s.api, s.Tables.Vouchers, s.Profile.ID, code)
	return stored.Voucher, table.Outcome(err)
}

// Voucher reads a voucher with its uses as of the given time: its counters and their holds. If a code has only a limit
// per nick, Voucher does not count its holds. For an unknown code, the error is a *voucher.RefusalError.
func (s *Shop) Voucher(ctx context.Context, code voucher.Code, at time.Time) (voucher.Standing, error) {
	stored, err := table.ReadVoucher(ctx, s.api, s.Tables.Vouchers, s.Profile.ID, code)
	if err != nil {
		return voucher.Standing{}, table.Outcome(err)
	}
	counted := tally{voucher: stored.Voucher, at: at}
	if stored.Limited() {
		if err := s.countUses(ctx, stored, &counted); err != nil {
			return voucher.Standing{}, table.Outcome(err)
		}
	}
	standing := counted.standing()
	standing.Editing = stored.Editing
	return standing, nil
}

func (s *Shop) countUses(ctx context.Context, v table.Voucher, counted *tally) error {
	counters, err := table.ReadCounters(ctx, s.api, s.random, s.Tables.Vouchers, s.Profile.ID, v.Code, v.Counters)
	if err != nil {
		return err
	}
	for _, counter := range counters {
		counted.addCounter(counter)
		if counter.Lapse.IsZero() { // the counter never had a hold
			continue
		}
		query := table.HoldsQuery(s.Tables.Vouchers, s.Profile.ID, v.Code, counter.Number)
		for it, err := range items(ctx, s.api, query) {
			if err != nil {
				return err
			}
			hold, _, err := table.DecodeHoldItem(v.HoldKind(), it)
			if err != nil {
				return err
			}
			counted.addHold(hold)
		}
	}
	return nil
}
