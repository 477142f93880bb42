package operator

import (
	"context"
	"slices"
)

// SomeBatches returns names of batches, sorted, for shell completion. The names are those of the paused batches, and of the batches in a
// small sample of vouchers. When the context ends, SomeBatches returns the names that it has found.
func (s *Shop) SomeBatches(ctx context.Context) []string {
	settings, _ := s.Settings(ctx) // without the settings, the sample is still useful
	batches := slices.Concat(settings.Paused.Batches, s.vouchers.SampleBatches(ctx, s.Customer.ID))
	slices.Sort(batches)
	return slices.Compact(batches)
}
