package voucher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"
)

// MaxGenerated bounds the number of vouchers in a generated batch.
const MaxGenerated = 1_000_000

// Errors of creating and generating. They mean that nothing was changed. Errors about a batch are wrapped with its
// name.
var (
	// ErrCodeTaken means that another voucher has the code. Codes are the same if they are equal when normalized.
	ErrCodeTaken = errors.New("the code exists already")
	// ErrBatchTaken means that the batch to begin already has vouchers.
	ErrBatchTaken = errors.New("it has vouchers already")
	// ErrBatchUnknown means that the batch to complete has no vouchers.
	ErrBatchUnknown = errors.New("it has no vouchers")
	// ErrBatchLarger means that the batch to complete has more vouchers than wanted.
	ErrBatchLarger = errors.New("it has more vouchers than are wanted")
)

// CodeTakenError is ErrCodeTaken with the voucher that has the code.
type CodeTakenError struct{ Existing Voucher }

func (e *CodeTakenError) Error() string {
	return fmt.Sprintf("%v: it is %s, created %s", ErrCodeTaken, e.Existing.Written,
		e.Existing.Created.Format(time.RFC3339))
}

// Is reports whether target is ErrCodeTaken.
func (*CodeTakenError) Is(target error) bool { return target == ErrCodeTaken }

// OtherTermsError means that a voucher of the batch to complete differs from the request in a term that no edit can
// change. Nothing was changed.
type OtherTermsError struct {
	Written string // the code of one such voucher
	Field   string // the field that differs, named as in FieldError
}

func (e *OtherTermsError) Error() string {
	return fmt.Sprintf("it has vouchers with other terms: %s differs in %s", e.Written, e.Field)
}

// BatchStore is the part of a shop's voucher store that generating needs.
type BatchStore interface {
	// Create stores a new voucher, or returns ErrCodeTaken. After any other error it may or may not be stored.
	Create(ctx context.Context, v Voucher) error
	// Batch yields the vouchers of a batch in any order, and stops at the first error.
	Batch(ctx context.Context, batch string) iter.Seq2[Voucher, error]
	// InParallel calls the function do as often as the parameter count says, with several calls at a time. It stops at
	// the first error or at the end of the context. Calls that are still running then may succeed.
	InParallel(ctx context.Context, count int, do func(context.Context) error) error
}

// BatchRequest asks for a batch of vouchers. They differ only in their codes, which cannot be guessed.
type BatchRequest struct {
	Terms Terms // of each voucher; Batch names the batch, Written is ignored
	Count int   // the size of the batch, 1 to MaxGenerated
	// Format is the format of new codes. The zero CodeFormat stands for DefaultCodeFormat.
	Format CodeFormat
	// Resume completes a batch instead of beginning one.
	Resume bool
}

// BatchResult holds how many vouchers a batch had and how many were added.
type BatchResult struct{ Found, Created int }

// Generator generates vouchers.
type Generator struct {
	Store  BatchStore
	Random io.Reader // of cryptographic quality
	Now    func() time.Time
}

// Generate begins or completes a batch. It calls issue with every voucher of the batch: first with the vouchers that
// the batch already had, then with each new voucher once it is stored. Calls of issue do not overlap. If issue returns
// an error, Generate stops.
//
// If Generate ends early, every issued voucher is stored, and completing the batch issues every stored voucher. A write
// whose response was lost may be applied late, even after the batch was completed. The batch then has vouchers that
// were not issued. Completing the batch again returns ErrBatchLarger with the number of vouchers; completing it to that
// number issues them all. Errors are *FieldError, ErrBatchTaken, ErrBatchUnknown, ErrBatchLarger, *OtherTermsError, and
// those of the store and of issue.
func (g Generator) Generate(ctx context.Context, request BatchRequest, issue func(Voucher) error) (BatchResult, error) {
	sample, err := request.sample()
	if err != nil {
		return BatchResult{}, err
	}
	var result BatchResult
	if result.Found, err = g.count(ctx, request, sample); err != nil {
		return BatchResult{}, fmt.Errorf("batch %s: %w", request.Terms.Batch, err)
	}
	if result.Found > 0 {
		for v, err := range g.Store.Batch(ctx, request.Terms.Batch) {
			if err != nil {
				return result, err
			}
			if err := issue(v); err != nil {
				return result, err
			}
		}
	}
	run := &batchRun{Generator: g, request: request, issue: issue}
	err = g.Store.InParallel(ctx, request.Count-result.Found, run.createOne)
	result.Created = run.created
	return result, err
}

// Validate returns a *FieldError if the request is invalid. If several terms are invalid, their errors are joined.
func (r BatchRequest) Validate() error {
	_, err := r.sample()
	return err
}

// sample validates the request and returns a voucher with its terms. The sample is never stored.
func (r BatchRequest) sample() (Voucher, error) {
	if r.Count < 1 || r.Count > MaxGenerated {
		return Voucher{}, &FieldError{"count", fmt.Errorf("must be 1 to %d", MaxGenerated)}
	}
	if r.Terms.Batch == "" {
		return Voucher{}, &FieldError{"batch", errors.New("must not be empty")}
	}
	if err := r.format().Validate(); err != nil {
		return Voucher{}, err
	}
	r.Terms.Written = "SAMPLE"
	return New(r.Terms, time.Time{})
}

func (r BatchRequest) format() CodeFormat { return cmp.Or(r.Format, DefaultCodeFormat()) }

func (g Generator) newVoucher(request BatchRequest) (Voucher, error) {
	var err error
	if request.Terms.Written, err = request.format().Generate(g.Random); err != nil {
		return Voucher{}, err
	}
	return New(request.Terms, g.Now())
}

// count returns how many vouchers the batch has, or an error if the request does not fit the batch.
func (g Generator) count(ctx context.Context, request BatchRequest, sample Voucher) (found int, err error) {
	for v, err := range g.Store.Batch(ctx, request.Terms.Batch) {
		if err != nil {
			return 0, err
		}
		if !request.Resume {
			return 0, ErrBatchTaken
		}
		if field := differingTerm(v, sample); field != "" {
			return 0, &OtherTermsError{Written: v.Written, Field: field}
		}
		found++
	}
	switch {
	case request.Resume && found == 0:
		return 0, ErrBatchUnknown
	case found > request.Count:
		return 0, fmt.Errorf("%w: %d", ErrBatchLarger, found)
	}
	return found, nil
}

// differingTerm returns the name of a field that differs and that no edit can change, or "". It ignores other fields,
// because they may have been edited since the batch was begun.
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

// batchRun is one run of Generate, shared by its writers.
type batchRun struct {
	Generator
	request BatchRequest

	mu      sync.Mutex // guards the fields below, and Random
	issue   func(Voucher) error
	created int
}

// createOne stores a voucher with a code that no other voucher has, and issues it.
func (r *batchRun) createOne(ctx context.Context) error {
	for {
		r.mu.Lock()
		v, err := r.newVoucher(r.request)
		r.mu.Unlock()
		if err != nil {
			return err
		}
		err = r.Store.Create(ctx, v)
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
