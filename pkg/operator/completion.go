package operator

import (
	"context"
	"slices"
)

// SomeBatches returns names of batches for a shell to complete, sorted: the paused batches, and those of a small sample of vouchers. When
// the context ends it returns what it has found.
func (s *Shop) SomeBatches(ctx context.Context) []string {
	settings, _ := s.Settings(ctx) // without them, the sample remains
	batches := slices.Concat(settings.Paused.Batches, s.vouchers.SampleBatches(ctx, s.Customer.ID))
	slices.Sort(batches)
	return slices.Compact(batches)
}
