package backoffice

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"

	"shopfront/pkg/catalog"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

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
		reader, err := csvfile.NewVoucherReader(file, i.shop.Profile.Currency, i.shop.Zone)
		if err != nil {
			yield(importRow{}, &InvalidFileError{err})
			return
		}
		seen := codeLines{maphash.MakeSeed(), make(map[uint64]int32)}
		for row, err := range reader.Rows() {
			if err != nil {
				yield(importRow{}, &InvalidFileError{err})
				return
			}
			id, err := idempotency.NewToken(i.Random)
			if err != nil {
				yield(importRow{}, err)
				return
			}
			checked := i.check(row, string(id))
			if checked.Err == nil {
				checked.Err = seen.add(checked.voucher.Code, row.Line)
			}
			if !yield(checked, nil) {
				return
			}
		}
	}
}

// codeLines has the line of each code, by the hash of the code. Two of a million codes have the same hash in one of 37
// million files.
type codeLines struct {
	seed  maphash.Seed
	lines map[uint64]int32
}

// add returns a *voucher.FieldError if an earlier line has the code.
func (c codeLines) add(code voucher.Code, line int) error {
	hash := maphash.String(c.seed, string(code))
	if earlier, twice := c.lines[hash]; twice {
		return &voucher.FieldError{Field: "code", Err: fmt.Errorf("is the same code as on line %d", earlier)}
	}
	c.lines[hash] = int32(line) //nolint:gosec // at most csvfile.MaxRows rows of csvfile.MaxRecordBytes
	return nil
}

// check makes the voucher of a row. If the row cannot be imported, check sets the Err of the result. The ID is for the
// redemption of the row's past.
func (i *importing) check(row csvfile.Row, id string) importRow {
	checked := importRow{Row: row}  // with row.Err
	unread := make(map[string]bool) // the columns of the row's cells that cannot be read
	for _, field := range voucher.FieldErrors(row.Err) {
		unread[field.Field] = true
	}
	if unread[csvfile.WholeRow] {
		return checked
	}
	v, err := voucher.Import(row.Terms, row.Past, id, i.Now)
	checked.voucher = v
	for _, good := range row.Terms.Reward.Goods() {
		good.Amount = 1
		if !i.goods[good] {
			err = errors.Join(err, &voucher.FieldError{
				Field: "reward",
				Err:   fmt.Errorf("the shop has no %s/%s", good.Product, good.Variant),
			})
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
	return checked
}

// isOwn reports whether the row created a stored voucher with the same terms: an earlier attempt was applied, but its
// response was lost. An unused voucher with a known time of creation may also come from an earlier import, so it does
// not count as the row's own.
func (r importRow) isOwn(v voucher.Voucher) bool {
	if r.voucher.Redeemed != nil {
		return v.Redeemed != nil && v.Redeemed.ID == r.voucher.Redeemed.ID
	}
	return r.Past.Created.IsZero() && v.Created.Equal(r.voucher.Created)
}

// differingPast names the columns in which the past of the row's voucher differs from that of the stored voucher.
func differingPast(said voucher.Past, wanted voucher.Voucher, stored table.Voucher) []string {
	var columns []string
	if !said.Created.IsZero() && !stored.Created.Equal(wanted.Created) {
		columns = append(columns, "created_at")
	}
	switch {
	case !wanted.SingleUse():
		if wanted.Imported != stored.Imported {
			columns = append(columns, "uses")
		}
	case wanted.Redeemed == nil && stored.Imported == 0:
		// Both were imported unused. A redemption since then does not count.
	case wanted.Redeemed != nil && stored.Apart:
		// The imported redemption may be the one that was undone.
	case wanted.Redeemed == nil || stored.Redeemed == nil || !stored.Redeemed.At.Equal(wanted.Redeemed.At):
		columns = append(columns, "redeemed_at")
	case stored.Redeemed.Nick != wanted.Redeemed.Nick:
		columns = append(columns, "redeemed_by")
	}
	return columns
}
