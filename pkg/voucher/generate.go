package voucher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shopfront/pkg/catalog"
)

const (
	// MaxGenerated bounds how many vouchers a batch is generated to.
	MaxGenerated = 1_000_000
	// GenerateWriters is how many vouchers are stored at a time.
	GenerateWriters = 16
)

// Errors of creating and generating, after which nothing was changed. Those of a batch come with its name.
var (
	// ErrCodeTaken says that a code is another voucher's already: codes that are compared as equal are one.
	ErrCodeTaken = errors.New("the code exists already")
	// ErrBatchTaken says that a batch that was to be begun has vouchers already.
	ErrBatchTaken = errors.New("it has vouchers already")
	// ErrBatchUnknown says that a batch that was to be completed has no vouchers.
	ErrBatchUnknown = errors.New("it has no vouchers")
	// ErrBatchLarger says that a batch has more vouchers than it was to be completed to.
	ErrBatchLarger = errors.New("it has more vouchers than are wanted")
)

// OtherTermsError says that a batch has a voucher that differs, in what no edit changes, from those that it was to be
// completed with; nothing was changed.
type OtherTermsError struct {
	Written string // one such code
	Field   string // in which it differs, named as in FieldError
}

func (e *OtherTermsError) Error() string {
	return fmt.Sprintf("it has vouchers with other terms: %s differs in %s", e.Written, e.Field)
}

// BatchStore is what generating needs of the kept vouchers.
type BatchStore interface {
	// Create keeps a new voucher, or returns ErrCodeTaken and changes nothing. Any other error leaves open whether it was kept.
	Create(ctx context.Context, customer catalog.CustomerID, v Voucher) error
	// Batch yields the vouchers of a batch in no order, and stops at the first error.
	Batch(ctx context.Context, customer catalog.CustomerID, batch string) iter.Seq2[Voucher, error]
}

// BatchOrder asks for a batch: vouchers that differ in nothing but their codes, which cannot be guessed.
type BatchOrder struct {
	Customer catalog.CustomerID
	Terms    Terms // of each voucher. Batch names the batch; Written is not used
	Count    int   // how many vouchers the batch is to have, 1 to MaxGenerated
	// Resume completes a batch that was begun, instead of beginning one.
	Resume bool
}

// BatchResult tells how many vouchers a batch had and how many were added.
type BatchResult struct{ Found, Created int }

// Generator generates vouchers.
type Generator struct {
	Store  BatchStore
	Random io.Reader // of cryptographic quality
	Now    func() time.Time
}

// Generate begins or completes a batch and hands each of its vouchers to issue once it is kept: first those that it had,
// oldest first, then the new ones as they come. Calls of issue do not overlap; an error of it ends the work.
//
// Where it ends early, each voucher that was issued is kept, and each that is kept is found by completing the batch. Writes
// that are still on their way then, GenerateWriters at most, may be applied once the batch was completed: it has that many
// more than were wanted, which were not issued. Completing it again returns ErrBatchLarger, and to that many it issues all.
// Errors are *FieldError, ErrBatchTaken, ErrBatchUnknown, ErrBatchLarger, *OtherTermsError, and the store's and issue's own.
func (g Generator) Generate(ctx context.Context, order BatchOrder, issue func(Voucher) error) (BatchResult, error) {
	if err := order.Validate(); err != nil {
		return BatchResult{}, err
	}
	sample, err := g.newVoucher(order.Terms)
	if err != nil {
		return BatchResult{}, err
	}
	found, err := g.find(ctx, order, sample)
	if err != nil {
		return BatchResult{}, fmt.Errorf("batch %s: %w", order.Terms.Batch, err)
	}
	result := BatchResult{Found: len(found)}
	for _, v := range found {
		if err := issue(v); err != nil {
			return result, err
		}
	}
	result.Created, err = g.create(ctx, order, order.Count-len(found), issue)
	return result, err
}

// Validate returns what is wrong with the order itself as *FieldError, joined where it is the terms.
func (o BatchOrder) Validate() error {
	if o.Count < 1 || o.Count > MaxGenerated {
		return &FieldError{"count", fmt.Errorf("must be 1 to %d", MaxGenerated)}
	}
	if o.Terms.Batch == "" {
		return &FieldError{"batch", errors.New("must not be empty")}
	}
	terms := o.Terms
	terms.Written = "SAMPLE"
	_, err := New(terms, time.Time{})
	return err
}

func (g Generator) newVoucher(terms Terms) (Voucher, error) {
	var err error
	if terms.Written, err = GenerateCode(g.Random); err != nil {
		return Voucher{}, err
	}
	return New(terms, g.Now())
}

// find returns what the batch has, oldest first, if the order may go on from there.
func (g Generator) find(ctx context.Context, order BatchOrder, sample Voucher) ([]Voucher, error) {
	var found []Voucher
	for v, err := range g.Store.Batch(ctx, order.Customer, order.Terms.Batch) {
		if err != nil {
			return nil, err
		}
		if !order.Resume {
			return nil, ErrBatchTaken
		}
		if field := differingTerm(v, sample); field != "" {
			return nil, &OtherTermsError{Written: v.Written, Field: field}
		}
		found = append(found, v)
	}
	switch {
	case order.Resume && len(found) == 0:
		return nil, ErrBatchUnknown
	case len(found) > order.Count:
		return nil, fmt.Errorf("%w: %d", ErrBatchLarger, len(found))
	}
	slices.SortFunc(found, func(a, b Voucher) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Code, b.Code))
	})
	return found, nil
}

// differingTerm names a field that no edit changes, and in which the vouchers differ, or none. What an edit does change may
// have been edited since the batch was begun.
func differingTerm(a, b Voucher) string {
	switch {
	case a.Reward != b.Reward:
		return "reward"
	case a.MaxUses != b.MaxUses && (isFixed(a.MaxUses) || isFixed(b.MaxUses)):
		return "max-uses"
	case (a.MaxUsesPerNick == NoLimit) != (b.MaxUsesPerNick == NoLimit):
		return "max-uses-per-nick"
	default:
		return ""
	}
}

// create stores count new vouchers, several at a time, until the first error.
func (g Generator) create(ctx context.Context, order BatchOrder, count int, issue func(Voucher) error) (created int, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	run := &batchRun{Generator: g, order: order, issue: issue}
	var writers sync.WaitGroup
	var begun atomic.Int64
	for range min(GenerateWriters, count) {
		writers.Go(func() {
			for ctx.Err() == nil && begun.Add(1) <= int64(count) {
				if err := run.createOne(ctx); err != nil {
					stop(err)
				}
			}
		})
	}
	writers.Wait()
	return run.created, context.Cause(ctx)
}

// batchRun is the making of one batch by several writers.
type batchRun struct {
	Generator
	order BatchOrder

	mu      sync.Mutex // for what follows and for Random
	issue   func(Voucher) error
	created int
}

// createOne keeps a voucher under a code that no other has, and issues it.
func (r *batchRun) createOne(ctx context.Context) error {
	for {
		r.mu.Lock()
		v, err := r.newVoucher(r.order.Terms)
		r.mu.Unlock()
		if err != nil {
			return err
		}
		err = r.Store.Create(ctx, r.order.Customer, v)
		if errors.Is(err, ErrCodeTaken) {
			continue
		}
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.created++
		return r.issue(v)
	}
}
