package voucher

import (
	"fmt"
	"slices"
)

// MaxPausedBatches bounds the batches that a shop can pause by name.
const MaxPausedBatches = 50

// Pause stops the redemption of a shop's codes for a while. The vouchers themselves stay as they are.
type Pause struct {
	All     bool
	Batches []string // at most MaxPausedBatches, sorted; nil if none
}

// Covers reports whether a voucher of a batch is paused.
func (p Pause) Covers(batch string) bool {
	return p.All || batch != "" && slices.Contains(p.Batches, batch)
}

// With returns the pause extended to the given batches, or to all codes if no batch is given. It returns a *FieldError
// for a name that no batch can have, and for more than MaxPausedBatches batches.
func (p Pause) With(batches ...string) (Pause, error) {
	if len(batches) == 0 {
		return Pause{All: true, Batches: p.Batches}, nil
	}
	for _, batch := range batches {
		if batch == "" || len(batch) > MaxBatchBytes || !isShowable(batch) {
			return Pause{}, &FieldError{
				"batch",
				fmt.Errorf("%.80q is not the name of a batch: a name has 1 to %d bytes of text",
					batch, MaxBatchBytes),
			}
		}
	}
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.Batches, batches))))
	if len(all) > MaxPausedBatches {
		return Pause{}, &FieldError{"batch", fmt.Errorf(
			"then %d batches would be paused by name, and at most %d are allowed: resume some, or pause all codes",
			len(all), MaxPausedBatches,
		)}
	}
	return Pause{All: p.All, Batches: all}, nil
}

// Without returns the pause without the given batches. If no batch is given, it lifts the pause of all codes; batches
// that were paused by name stay paused.
func (p Pause) Without(batches ...string) Pause {
	if len(batches) == 0 {
		return Pause{Batches: p.Batches}
	}
	left := slices.DeleteFunc(slices.Clone(p.Batches),
		func(batch string) bool { return slices.Contains(batches, batch) })
	if len(left) == 0 {
		left = nil
	}
	return Pause{All: p.All, Batches: left}
}
