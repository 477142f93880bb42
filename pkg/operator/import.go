package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Import says how to import a file of vouchers.
type Import struct {
	Bulk

	SkipInvalid bool // write the other rows if some cannot be imported
	DryRun      bool // write nothing, but count what would be written
	Now         time.Time
	Random      io.Reader // of cryptographic quality
	// Reject is called for each row that is not imported. err is either one or more *voucher.FieldError, joined, or wraps
	// voucher.ErrCodeTaken. Calls do not overlap. An error of Reject ends the import.
	Reject func(row csvfile.Row, err error) error
}

// Imported is the result of an import. It counts rows.
type Imported struct {
	Invalid int
	Created int
	Existed int // the voucher exists with the same terms and the same past
	Differ  int // the voucher exists with other terms or another past, and is not changed
}

// ErrInvalidRows means that rows of a file cannot be imported, and that nothing was written.
var ErrInvalidRows = errors.New("rows cannot be imported")

// InvalidFileError means that the file is not a valid list of vouchers, for example because of its header, or cannot be read to its end.
type InvalidFileError struct{ Err error }

func (e *InvalidFileError) Error() string { return e.Err.Error() }

func (e *InvalidFileError) Unwrap() error { return e.Err }

// Import creates the vouchers of a file of at most csvfile.MaxRows rows. It reads the file twice. The first time it checks every row and
// writes nothing. If a row cannot be imported and how.SkipInvalid is not set, it returns ErrInvalidRows. If Import ends early, calling it
// again completes it and changes nothing twice. Other errors are *InvalidFileError and those of the store and of how.Reject.
func (s *Shop) Import(ctx context.Context, file io.ReadSeeker, how Import) (Imported, error) {
	i := &importing{Import: how, shop: s}
	stored, err := s.catalogue.Shop(ctx, s.Customer.ID)
	if err != nil {
		return Imported{}, err
	}
	i.goods = goodsOf(stored)
	valid := 0
	for row, err := range i.rows(file) {
		switch {
		case err != nil:
		case row.Err != nil:
			i.result.Invalid++
			err = how.Reject(row.Row, row.Err)
		default:
			valid++
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return Imported{}, err
		}
	}
	if i.result.Invalid > 0 && !how.SkipInvalid {
		return i.result, ErrInvalidRows
	}
	how.begin(valid)
	err = inParallel(ctx, s.pace(how.Bulk), i.rows(file), i.write)
	return i.result, err
}

// importing is one run of Import.
type importing struct {
	Import

	shop  *Shop
	goods map[voucher.Good]bool // in the catalogue, each with the amount 1

	mu     sync.Mutex
	result Imported
}

// importRow is a row with its voucher. If the row has an Err, the voucher is not valid.
type importRow struct {
	csvfile.Row

	voucher voucher.Voucher
}

func goodsOf(shop catalog.Shop) map[voucher.Good]bool {
	goods := make(map[voucher.Good]bool)
	for _, product := range shop.Products {
		for _, variant := range product.Variants {
			goods[voucher.Good{Product: product.ID, Variant: variant.ID, Amount: 1}] = true
		}
	}
	return goods
}

// rows yields the rows of the file from its beginning.
func (i *importing) rows(file io.ReadSeeker) iter.Seq2[importRow, error] {
	return func(yield func(importRow, error) bool) {
		_, err := file.Seek(0, io.SeekStart)
		if err != nil {
			yield(importRow{}, err)
			return
		}
		reader, err := csvfile.NewVoucherReader(file, i.shop.Customer.Currency)
		if err != nil {
			yield(importRow{}, &InvalidFileError{err})
			return
		}
		seed := maphash.MakeSeed()
		lines := make(map[uint64]int32) // by the hash of the code; two of a million codes have the same hash in one of 37 million files
		for row, err := range reader.Rows() {
			if err != nil {
				yield(importRow{}, &InvalidFileError{err})
				return
			}
			checked := i.check(row)
			if checked.Err == nil {
				hash := maphash.String(seed, string(checked.voucher.Code))
				if line, twice := lines[hash]; twice {
					checked.Err = &voucher.FieldError{Field: "code", Err: fmt.Errorf("is the same code as on line %d", line)}
				} else {
					lines[hash] = int32(row.Line) //nolint:gosec // at most csvfile.MaxRows rows of csvfile.MaxRecordBytes
				}
			}
			if !yield(checked, nil) {
				return
			}
		}
	}
}

// check makes the voucher of a row. If the row cannot be imported, check sets the Err of the result.
func (i *importing) check(row csvfile.Row) importRow {
	checked := importRow{Row: row}
	unread := make(map[string]bool) // the columns of the row's cells that cannot be read
	for _, field := range voucher.FieldErrors(row.Err) {
		unread[field.Field] = true
	}
	if unread[csvfile.WholeRow] {
		return checked
	}
	id, err := idempotency.NewToken(i.Random)
	if err == nil {
		checked.voucher, err = voucher.Import(row.Terms, row.Past, string(id), i.Now)
	}
	for _, good := range row.Terms.Reward.Goods() {
		good.Amount = 1
		if !i.goods[good] {
			err = errors.Join(err, &voucher.FieldError{Field: "reward", Err: fmt.Errorf("the shop has no %s/%s", good.Product, good.Variant)})
		}
	}
	if unread["redeemed_at"] {
		unread["redeemed_by"] = true // otherwise redeemed_by would seem to lack its redeemed_at
	}
	for _, field := range voucher.FieldErrors(err) {
		if !unread[field.Field] {
			checked.Err = errors.Join(checked.Err, field)
		}
	}
	if checked.Err == nil {
		checked.Err = err
	}
	return checked
}

// write creates the voucher of a row. If the code is taken, write compares the row with the stored voucher.
func (i *importing) write(ctx context.Context, row importRow) error {
	if row.Err != nil {
		return nil // the first reading of the file rejected the row
	}
	write := i.shop.vouchers.CreateOrFind
	if i.DryRun {
		write = i.shop.vouchers.Find
	}
	existing, taken, err := write(ctx, i.shop.Customer.ID, row.voucher)
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
	differing := append(differingFields(row.Terms, row.voucher, existing), differingPast(row.Past, row.voucher, existing)...)
	if len(differing) == 0 {
		if row.isOwn(existing) {
			i.result.Created++
		} else {
			i.result.Existed++
		}
		return nil
	}
	i.result.Differ++
	return i.Reject(row.Row, fmt.Errorf("%w, but differs in %s; it stays as it is", voucher.ErrCodeTaken, strings.Join(differing, ", ")))
}

// isOwn reports whether the row created a stored voucher with the same terms: an earlier attempt was applied, but its response was lost. An
// unused voucher with a known time of creation may also come from an earlier import, so it does not count as the row's own.
func (r importRow) isOwn(v voucher.Voucher) bool {
	if r.voucher.Redeemed != nil {
		return v.Redeemed != nil && v.Redeemed.ID == r.voucher.Redeemed.ID
	}
	return r.Past.Created.IsZero() && v.Created.Equal(r.voucher.Created)
}

// differingPast names the columns in which the past of the row's voucher differs from that of the stored voucher. Redemptions that were
// made or undone since the import do not count.
func differingPast(said voucher.Past, wanted, kept voucher.Voucher) []string {
	var columns []string
	if !said.Created.IsZero() && !kept.Created.Equal(wanted.Created) {
		columns = append(columns, "created_at")
	}
	switch {
	case !wanted.SingleUse():
		if wanted.Imported != kept.Imported {
			columns = append(columns, "uses")
		}
	case wanted.Redeemed == nil && kept.Imported == 0, wanted.Redeemed != nil && kept.Undone > 0:
	case wanted.Redeemed == nil || kept.Redeemed == nil || !kept.Redeemed.At.Equal(wanted.Redeemed.At):
		columns = append(columns, "redeemed_at")
	case kept.Redeemed.Nick != wanted.Redeemed.Nick:
		columns = append(columns, "redeemed_by")
	}
	return columns
}
