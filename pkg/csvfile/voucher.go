package csvfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

const byteOrderMark = "\ufeff"

// None stands for voucher.NoLimit in a cell.
const None = "none"

// voucherHeader returns the columns of an export. Columns are never renamed or removed, because existing files have
// them.
func voucherHeader() []string {
	return []string{
		"code", "reward", "max-uses", "max-uses-per-nick", "valid-from", "valid-until", "disabled", "nick", "batch",
		"note", "parts",
		"created_at", "status", "uses", "held", "left", "redeemed_at", "redeemed_by", "redemption_id", "reward_minor",
		"reward_currency",
	}
}

// WholeRow is the Field of a mistake that concerns the whole row.
const WholeRow = "row"

// reasonColumn is the first column of a file of rejected rows. It is first because the rest of a row may be malformed.
const reasonColumn = "reason"

// Row is one row of a file of vouchers. Its terms and its past are not checked against the rules of vouchers.
type Row struct {
	Line  int    // where the row begins
	Text  []byte // as in the file, with its line break
	Terms voucher.Terms
	Past  voucher.Past
	// Err is nil, or every *voucher.FieldError found, joined. Field is the name of a column, or WholeRow.
	Err error

	header []byte // of the file
}

// VoucherReader reads a file of vouchers.
type VoucherReader struct {
	records  *recordReader
	currency money.Currency
	zone     *time.Location
	header   []byte
	columns  []string // in the order of the file, named as in voucherHeader
}

// NewVoucherReader reads the header of a file. The parameter currency is the currency of the rewards, and zone is the
// time zone of dates. The error lists every mistake in the header.
func NewVoucherReader(file io.Reader, currency money.Currency, zone *time.Location) (*VoucherReader, error) {
	r := &VoucherReader{records: newRecordReader(file), currency: currency, zone: zone}
	if start, _ := r.records.file.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		r.header = []byte(byteOrderMark)
		_, _ = r.records.file.Discard(len(byteOrderMark)) // cannot fail, because Peek has read these bytes
	}
	header, err := r.records.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: begin it with a header such as code,reward")
	case err != nil:
		return nil, err
	case !utf8.Valid(header.text):
		return nil, errors.New("the file is not in UTF-8")
	case separatedOnlyBy(header.text, ";"):
		return nil, errors.New("the file uses semicolons: save it with commas")
	case separatedOnlyBy(header.text, "\t"):
		return nil, errors.New("the file uses tabs: save it with commas")
	case header.err != nil:
		return nil, fmt.Errorf("the header %w", header.err)
	}
	r.header = append(r.header, header.text...)
	return r, r.nameColumns(header.cells)
}

func separatedOnlyBy(header []byte, separator string) bool {
	return bytes.Contains(header, []byte(separator)) && !bytes.Contains(header, []byte(","))
}

// nameColumns finds the columns of a header.
func (r *VoucherReader) nameColumns(header []string) error {
	// the command voucher generate writes the column link
	known := append(voucherHeader(), "link", reasonColumn)
	unknown := false
	var errs []error
	for _, written := range header {
		at := slices.IndexFunc(
			known, func(column string) bool { return comparedColumn(column) == comparedColumn(written) },
		)
		if at < 0 {
			unknown = true
			errs = append(errs, fmt.Errorf("unknown column %.40q", written))
			continue
		}
		if slices.Contains(r.columns, known[at]) && known[at] != reasonColumn { // a row can be rejected again
			errs = append(errs, fmt.Errorf("the column %s appears twice", written))
		}
		r.columns = append(r.columns, known[at])
	}
	requiredColumns := []string{"code", "reward"}
	for _, column := range requiredColumns {
		if !slices.Contains(r.columns, column) {
			errs = append(errs, fmt.Errorf("the column %s is missing", column))
		}
	}
	if unknown {
		errs = append(errs, fmt.Errorf("the columns are %s; code and reward are required", strings.Join(known, ", ")))
	}
	return errors.Join(errs...)
}

// comparedColumn returns a column's name in the form in which names are compared. Max Uses, max_uses and max-uses are
// the same column.
func comparedColumn(name string) string {
	return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// RejectedHeader returns the header for a file of rejected rows: that of the row's file, with one more column for the
// reason.
func (r Row) RejectedHeader() []byte {
	names, hasMark := bytes.CutPrefix(r.header, []byte(byteOrderMark))
	header := slices.Concat([]byte(reasonColumn+","), names)
	if hasMark {
		header = append([]byte(byteOrderMark), header...)
	}
	return header
}

// Rejected returns the row for a file of rejected rows: the reason, and the row as it is in its file.
func (r Row) Rejected(reason string) []byte {
	// the last row of a file may lack its line break
	return slices.Concat([]byte(encode(reason)+","), bytes.TrimRight(r.Text, "\r\n"), []byte("\r\n"))
}

// Rows yields the rows after the header. It can be called only once. Rows of empty cells are left out. An error means
// that the file cannot be read any further.
func (r *VoucherReader) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for rows := 0; ; {
			read, err := r.records.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && len(bytes.Trim(read.text, ",\r\n")) == 0 {
				continue
			}
			if rows++; err == nil && rows > MaxRows {
				err = fmt.Errorf("the file has more than %d rows: split it", MaxRows)
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yield(r.row(read), nil) {
				return
			}
		}
	}
}

func (r *VoucherReader) row(read record) Row {
	row := Row{Line: read.line, Text: read.text, header: r.header}
	if read.err == nil && len(read.cells) != len(r.columns) {
		read.err = fmt.Errorf("has %d cells, but the header has %d", len(read.cells), len(r.columns))
	}
	if read.err != nil {
		row.Err = &voucher.FieldError{Field: WholeRow, Err: read.err}
		return row
	}
	var errs []error
	for i, column := range r.columns {
		if read.cells[i] == "" {
			continue
		}
		err := r.set(&row, column, undefuse(read.cells[i]))
		if !utf8.ValidString(read.cells[i]) {
			err = errors.New("must be in UTF-8")
		}
		if _, is := errors.AsType[*voucher.FieldError](err); err != nil && !is {
			err = &voucher.FieldError{Field: column, Err: err}
		}
		errs = append(errs, err)
	}
	row.Err = errors.Join(errs...)
	return row
}

// set reads a cell that is not empty. It ignores the columns of an export that an import does not need, such as status.
func (r *VoucherReader) set(row *Row, column, cell string) (err error) {
	terms, past := &row.Terms, &row.Past
	switch column {
	case "code":
		terms.Written = cell
	case "reward":
		terms.Reward, err = voucher.ParseReward(cell, r.currency)
	case "max-uses":
		terms.MaxUses, err = ParseLimit(cell)
	case "max-uses-per-nick":
		terms.MaxUsesPerNick, err = ParseLimit(cell)
	case "valid-from":
		terms.ValidFrom, err = voucher.ParseTime(cell, r.zone)
	case "valid-until":
		terms.ValidUntil, err = voucher.ParseEnd(cell, r.zone)
	case "disabled":
		if terms.Disabled, err = strconv.ParseBool(cell); err != nil {
			err = errors.New("must be true or false")
		}
	case "nick":
		terms.Nick = cell
	case "batch":
		terms.Batch = cell
	case "note":
		terms.Note = cell
	case "parts":
		var parts int
		parts, err = ParseWhole(cell, 0)
		terms.Parts = &parts
	case "created_at":
		past.Created, err = voucher.ParseTime(cell, r.zone)
	case "redeemed_at":
		past.RedeemedAt, err = voucher.ParseTime(cell, r.zone)
	case "redeemed_by":
		past.RedeemedBy = cell
	case "uses":
		past.Uses, err = ParseWhole(cell, 0)
	case "reward_currency":
		if cell != string(r.currency) {
			err = fmt.Errorf("is %.40q, but the shop's currency is %s", cell, r.currency)
		}
	}
	return err
}

// ParseLimit reads a whole number above 0, or None.
func ParseLimit(text string) (*voucher.Limit, error) {
	if text == None {
		return new(voucher.NoLimit), nil
	}
	n, err := ParseWhole(text, 1)
	if err != nil {
		return nil, errors.New("must be a whole number above 0, or none")
	}
	return new(voucher.Limit(n)), nil
}

// ParseWhole reads a whole number that is at least the parameter least.
func ParseWhole(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("must be a whole number of at least %d", least)
	}
	return n, nil
}

// VoucherWriter writes a file of vouchers.
type VoucherWriter struct{ Writer }

// NewVoucherWriter begins a file with its header.
func NewVoucherWriter(file io.Writer) VoucherWriter {
	return VoucherWriter{NewWriter(file, voucherHeader()...)}
}

// Write writes a voucher with its uses, and its status at the given time.
func (w VoucherWriter) Write(v voucher.Standing, at time.Time) error {
	var redemption voucher.Redemption
	if v.Redeemed != nil {
		redemption = *v.Redeemed
	}
	parts, held, left := "", "", None
	if v.MaxUses != voucher.NoLimit { // without a limit, holds are not counted
		held, left = strconv.Itoa(v.UsesHeld), strconv.Itoa(v.UsesLeft)
	}
	if v.Limited() {
		parts = strconv.Itoa(v.Parts)
	}
	minor, currency := amountOff(v.Reward)
	return w.Row(
		v.Written, v.Reward.String(), FormatLimit(v.MaxUses), FormatLimit(v.MaxUsesPerNick), wire.Time(v.ValidFrom),
		wire.Time(v.ValidUntil),
		strconv.FormatBool(v.Disabled), v.Nick.Written, v.Batch, v.Note, parts,
		wire.Time(v.Created), string(v.Status(at)), strconv.Itoa(v.Used-v.UsesHeld), held, left,
		wire.Time(redemption.At), redemption.Nick, redemption.ID, minor, currency,
	)
}

// FormatLimit is the inverse of ParseLimit.
func FormatLimit(limit voucher.Limit) string {
	if limit == voucher.NoLimit {
		return None
	}
	return strconv.Itoa(int(limit))
}

// amountOff returns the cells of an amount off in minor units. They are empty for other rewards.
func amountOff(r voucher.Reward) (minor, currency string) {
	if r.Kind != voucher.RewardAmountOff {
		return "", ""
	}
	return formatMinor(r.AmountOff), string(r.AmountOff.Currency)
}

func formatMinor(m money.Money) string { return strconv.FormatInt(m.Minor, 10) }
