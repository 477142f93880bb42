package backoffice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"shopfront/pkg/csvfile"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// ImportOptions says how to import a file of vouchers.
type ImportOptions struct {
	Bulk

	SkipInvalid bool // write the other rows if some cannot be imported
	DryRun      bool // write nothing, but count what would be written
	Now         time.Time
	Random      io.Reader // of cryptographic quality
	// Reject is called for each row that is not imported. err is either one or more *voucher.FieldError, joined, or
	// wraps voucher.ErrCodeTaken. Calls do not overlap. An error of Reject ends the import.
	Reject func(row csvfile.Row, err error) error
	// OverLimit, unless it is nil, is called for each row that is imported with more uses than its limit allows.
	OverLimit func(row csvfile.Row)
}

// ImportResult counts the rows of an import.
type ImportResult struct {
	Rejected   int // cannot be imported
	Created    int
	Existed    int // the voucher exists with the same terms and the same past
	OtherTerms int // the voucher exists with other terms or another past, and is not changed
}

// ErrInvalidRows means that rows of a file cannot be imported, and that nothing was written.
var ErrInvalidRows = errors.New("rows cannot be imported")

// InvalidFileError means that the file is not a valid list of vouchers, for example because of its header, or cannot be
// read to its end.
type InvalidFileError struct{ Err error }

func (e *InvalidFileError) Error() string { return e.Err.Error() }

func (e *InvalidFileError) Unwrap() error { return e.Err }

// Import creates the vouchers of a file of at most csvfile.MaxRows rows. It reads the file twice. The first time it
// checks every row and writes nothing. If a row cannot be imported and how.SkipInvalid is not set, it returns
// ErrInvalidRows. If Import ends early, calling it again completes it and changes nothing twice. Other errors are
// *InvalidFileError and those of the store and of how.Reject.
func (s *Shop) Import(ctx context.Context, file io.ReadSeeker, how ImportOptions) (ImportResult, error) {
	i := &importing{ImportOptions: how, shop: s}
	stored, err := s.Catalogue(ctx)
	if err != nil {
		return ImportResult{}, err
	}
	i.goods = goodsOf(stored)
	valid, err := i.validate(ctx, file)
	if err != nil {
		return ImportResult{}, err
	}
	if i.result.Rejected > 0 && !i.SkipInvalid {
		return i.result, ErrInvalidRows
	}
	i.begin(valid)
	err = inParallel(ctx, s.pace(i.Bulk), i.rows(file), i.importOne)
	return i.result, err
}

// importing is one run of Import.
type importing struct {
	ImportOptions

	shop  *Shop
	goods map[voucher.Good]bool // in the catalogue, each with the amount 1

	mu     sync.Mutex
	result ImportResult
}

// validate checks every row, and rejects those that cannot be imported. It returns the number of the others.
func (i *importing) validate(ctx context.Context, file io.ReadSeeker) (valid int, err error) {
	for row, err := range i.rows(file) {
		if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if row.Err == nil {
			valid++
			v := row.voucher
			if v.MaxUses != voucher.NoLimit && v.Imported > int(v.MaxUses) && i.OverLimit != nil {
				i.OverLimit(row.Row)
			}
			continue
		}
		i.result.Rejected++
		if err := i.Reject(row.Row, row.Err); err != nil {
			return 0, err
		}
	}
	return valid, nil
}

// importOne creates the voucher of a row. If the code is taken, importOne compares the row with the stored voucher.
func (i *importing) importOne(ctx context.Context, row importRow) error {
	if row.Err != nil {
		return nil // the first reading of the file rejected the row
	}
	var existing table.Voucher
	var taken bool
	var err error
	if i.DryRun {
		existing, taken, err = i.shop.find(ctx, row.voucher.Code)
	} else {
		existing, taken, err = i.shop.createOrFind(ctx, row.voucher)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", row.Line, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wrote()
	if !taken {
		i.result.Created++
		return nil
	}
	differing := append(differingFields(row.Terms, row.voucher, existing.Voucher),
		differingPast(row.Past, row.voucher, existing)...)
	if len(differing) == 0 {
		if row.isOwn(existing.Voucher) {
			i.result.Created++
		} else {
			i.result.Existed++
		}
		return nil
	}
	i.result.OtherTerms++
	return i.Reject(row.Row, fmt.Errorf("%w, but differs in %s; it stays as it is", voucher.ErrCodeTaken,
		strings.Join(differing, ", ")))
}
