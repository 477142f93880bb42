package backoffice

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// maxAccessAttempts bounds how often a change of settings or keys starts over because another change overtook it.
const maxAccessAttempts = 20

// errOvertaken is the error of a change that other changes overtook maxAccessAttempts times.
var errOvertaken = errors.New("others keep changing the shop's settings: run the command again")

// Settings reads the shop's settings. If none are stored, it returns access.DefaultSettings.
func (s *Shop) Settings(ctx context.Context) (access.Settings, error) {
	it, err := table.Get(ctx, s.api, s.Tables.Catalogue, table.SettingsKey(s.Profile.ID), nil)
	return table.DecodeSettings(it), table.Outcome(err)
}

// PutSettings replaces the stored settings if their version is still settings.Version, and stores the next version. If
// another version is stored, it returns catalog.ErrChanged. There is one exception: if the stored settings equal the
// new ones, an earlier attempt was applied and its response was lost, and PutSettings succeeds. No attempt is applied
// once a later version is stored.
func (s *Shop) PutSettings(ctx context.Context, settings access.Settings) error {
	call := &table.Update{Key: table.SettingsKey(s.Profile.ID)}
	call.RequireCount(table.AttrVersion, settings.Version)
	settings.Version++
	table.SetSettings(call, settings)
	_, err := s.api.UpdateItem(ctx, call.Input(s.Tables.Catalogue, types.ReturnValueNone))
	old, failed := table.OldItem(err)
	switch {
	case !failed:
		return table.Outcome(err)
	case reflect.DeepEqual(table.DecodeSettings(old), settings):
		return nil
	default:
		return catalog.ErrChanged
	}
}

// Pause pauses batches, or all codes if no batch is named, and returns the new pause. It writes only the settings.
// Running it again is safe. It returns a *voucher.FieldError for batches that cannot be paused.
func (s *Shop) Pause(ctx context.Context, batches ...string) (voucher.Pause, error) {
	_, after, err := s.changePause(ctx, func(p voucher.Pause) (voucher.Pause, error) { return p.With(batches...) })
	return after, err
}

// Resume lifts the pause of batches, or of all codes if no batch is named, and returns the pause before and after.
// Batches that were paused by name stay paused until Resume names them.
func (s *Shop) Resume(ctx context.Context, batches ...string) (before, after voucher.Pause, err error) {
	return s.changePause(ctx, func(p voucher.Pause) (voucher.Pause, error) { return p.Without(batches...), nil })
}

// changePause applies a change to what the shop has paused, and returns the pause before and after. It starts over if
// somebody else changes the settings meanwhile. If the function change returns an error, changePause returns that error
// unwrapped.
//
// changePause writes the settings as a new version even if there is nothing to change. A write of an interrupted
// earlier command may still be in flight. That write requires the old version, so it can no longer undo the result that
// the caller got.
func (s *Shop) changePause(
	ctx context.Context, change func(voucher.Pause) (voucher.Pause, error),
) (before, after voucher.Pause, err error) {
	for attempt := range maxAccessAttempts {
		if err := s.backOff(ctx, attempt); err != nil {
			return voucher.Pause{}, voucher.Pause{}, err
		}
		settings, err := s.Settings(ctx)
		if err != nil {
			return voucher.Pause{}, voucher.Pause{}, err
		}
		former := settings.Paused
		settings.Paused, err = change(former)
		if err != nil {
			return voucher.Pause{}, voucher.Pause{}, err
		}
		if err := s.PutSettings(ctx, settings); !errors.Is(err, catalog.ErrChanged) {
			return former, settings.Paused, err
		}
	}
	return voucher.Pause{}, voucher.Pause{}, errOvertaken
}

// backOff waits before every attempt but the first.
func (s *Shop) backOff(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return nil
	}
	return table.Outcome(table.Wait(ctx, table.Backoff(attempt-1, s.random)))
}

// RequireVouchers returns voucher.ErrBatchUnknown for each batch without vouchers, joined. It may read all of the
// shop's vouchers.
func (s *Shop) RequireVouchers(ctx context.Context, batches []string) error {
	if len(batches) == 0 {
		return nil
	}
	missing := slices.Compact(slices.Sorted(slices.Values(batches)))
	for entry, err := range s.entries(ctx, "") {
		if err != nil || len(missing) == 0 {
			return err
		}
		if entry.voucher != nil {
			missing = slices.DeleteFunc(missing, func(batch string) bool { return batch == entry.voucher.Batch })
		}
	}
	var errs []error
	for _, batch := range missing {
		errs = append(errs, batchUnknown(batch))
	}
	return errors.Join(errs...)
}
