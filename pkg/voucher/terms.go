package voucher

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"shopfront/pkg/money"
)

// Bounds of the fields that an operator sets.
const (
	MaxBatchBytes       = 64
	MaxNoteBytes        = 128
	MaxMaxUses    Limit = 1_000_000_000
	MaxPerNick    Limit = 10
	// MaxParts is how many parts can be read together with the code's own item and one more.
	MaxParts     = 98
	usesPerPart  = 100
	mostUnspread = 500 // the highest limit that gets no parts by default
)

// Terms are what an operator sets when creating a voucher. A nil field gets its default.
type Terms struct {
	Written        string // the code; at most MaxWrittenCodeBytes
	Reward         Reward
	MaxUses        *Limit // 1 to MaxMaxUses or NoLimit; default 1
	MaxUsesPerNick *Limit // 1 to MaxPerNick or NoLimit, for codes with more than one use; default 1 for those
	ValidFrom      time.Time
	ValidUntil     time.Time
	Disabled       bool
	Nick           string
	Batch          string
	Note           string
	Parts          *int // 0 to MaxParts; nil: chosen from MaxUses
}

// New returns a voucher with the terms, or every *FieldError found, joined.
func New(terms Terms, now time.Time) (Voucher, error) {
	v := Voucher{
		Written: terms.Written, Reward: terms.Reward, Disabled: terms.Disabled, Batch: terms.Batch, Note: terms.Note,
		ValidFrom: storable(terms.ValidFrom), ValidUntil: storable(terms.ValidUntil), Created: storable(now),
		MaxUses: 1, Version: 1,
	}
	set(&v.MaxUses, terms.MaxUses)
	if !v.SingleUse() {
		v.MaxUsesPerNick = 1
	}
	set(&v.MaxUsesPerNick, terms.MaxUsesPerNick)
	var codeErr, nickErr, partsErr error
	v.Code, codeErr = parseNewCode(terms.Written)
	v.Nick, nickErr = ParseNick(terms.Nick)
	v.Parts, partsErr = chooseParts(v.MaxUses, terms.Parts)
	if err := errors.Join(codeErr, nickErr, partsErr, v.validate(), checkNewBatch(v.Batch)); err != nil {
		return Voucher{}, err
	}
	return v, nil
}

func parseNewCode(written string) (Code, error) {
	if len(written) > MaxWrittenCodeBytes {
		return "", &FieldError{"code", fmt.Errorf("must have at most %d bytes", MaxWrittenCodeBytes)}
	}
	code, err := ParseCode(written)
	if _, refused := IsRefusal(err); refused {
		return "", &FieldError{"code", errors.New("may have letters A to Z, digits, spaces and dashes")}
	}
	if err == nil && !isShowable(written) {
		return "", &FieldError{"code", errors.New("must not have control characters")}
	}
	return code, err
}

// chooseParts returns the number of parts: the one that was set, or one for every 100 uses of a limit above 500, but at
// most MaxParts. Only a code with a limit above one has parts.
func chooseParts(maxUses Limit, set *int) (int, error) {
	limited := Voucher{MaxUses: maxUses}.Limited()
	switch {
	case set == nil && limited && maxUses > mostUnspread:
		return min(int(maxUses)/usesPerPart, MaxParts), nil
	case set == nil || *set == 0:
		return 0, nil
	case !limited:
		return 0, &FieldError{"parts", errors.New("only a code with a limit above one has parts")}
	case *set < 0 || *set > MaxParts:
		return 0, &FieldError{"parts", fmt.Errorf("must be 0 to %d", MaxParts)}
	default:
		return *set, nil
	}
}

// checkNewBatch rejects a name of white space only, because no command accepts such a name. Vouchers that already have
// one can still be edited.
func checkNewBatch(name string) error {
	if name != "" && strings.TrimSpace(name) == "" {
		return &FieldError{"batch", errors.New("must not be only white space")}
	}
	return nil
}

func (v Voucher) validate() error {
	var errs []error
	add := func(field, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Errorf(format, args...)})
	}
	if v.MaxUses != NoLimit && (v.MaxUses < 1 || v.MaxUses > MaxMaxUses) {
		add("max-uses", "must be 1 to %d, or none", MaxMaxUses)
	}
	if v.MaxUsesPerNick != NoLimit {
		if v.SingleUse() {
			add("max-uses-per-nick", "is only for codes with more than one use")
		}
		if v.MaxUsesPerNick < 1 || v.MaxUsesPerNick > MaxPerNick {
			add("max-uses-per-nick", "must be 1 to %d, or none", MaxPerNick)
		}
	}
	if !isStorable(v.ValidFrom) {
		add("valid-from", "%w", errTimeOutOfRange)
	}
	if !isStorable(v.ValidUntil) {
		add("valid-until", "%w", errTimeOutOfRange)
	}
	if !v.ValidFrom.IsZero() && !v.ValidUntil.IsZero() && !v.ValidFrom.Before(v.ValidUntil) {
		add("valid-until", "must be after valid-from")
	}
	if len(v.Batch) > MaxBatchBytes || !isShowable(v.Batch) {
		add("batch", "must be at most %d bytes of text without control characters", MaxBatchBytes)
	}
	if len(v.Note) > MaxNoteBytes || !isShowable(v.Note) {
		add("note", "must be at most %d bytes of text without control characters", MaxNoteBytes)
	}
	if err := v.Reward.validate(); err != nil {
		errs = append(errs, &FieldError{"reward", err})
	}
	return errors.Join(errs...)
}

func (r Reward) validate() error {
	if r == (Reward{}) {
		return errors.New("is missing")
	}
	again, err := parseReward(r.String(), r.AmountOff.Currency)
	if err == nil && again != r {
		err = errors.New("has fields that do not belong to its kind")
	}
	return err
}

var errTimeOutOfRange = errors.New("must be in the years 2000 to 9999")

// ParseTime reads a time in RFC 3339, or a date, which means the first moment of that day in the zone. Times must be in
// the years 2000 to 9999, in whole milliseconds.
func ParseTime(text string, zone *time.Location) (time.Time, error) { return parseTime(text, zone, 0) }

// ParseEnd is ParseTime for an end, which is exclusive: a date means the first moment of the next day.
func ParseEnd(text string, zone *time.Location) (time.Time, error) { return parseTime(text, zone, 1) }

func parseTime(text string, zone *time.Location, days int) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err == nil {
		t = dayIn(zone, t.AddDate(0, 0, days))
	} else {
		t, err = time.Parse(time.RFC3339, text)
	}
	t = t.UTC()
	switch {
	case err != nil:
		return time.Time{}, errors.New("must be a time such as 2026-12-24T18:00:00Z, or a date such as 2026-12-24")
	case t.IsZero() || !isStorable(t):
		return time.Time{}, errTimeOutOfRange
	case !t.Equal(t.Truncate(time.Millisecond)):
		return time.Time{}, errors.New("must not be finer than milliseconds")
	}
	return t, nil
}

// dayIn returns the first moment of a day in a zone.
func dayIn(zone *time.Location, day time.Time) time.Time {
	first := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	if first.Day() != day.Day() { // the clock skipped midnight, and first is before it
		_, first = first.ZoneBounds()
	}
	return first
}

// storable returns a time as it is stored: in UTC and whole milliseconds.
func storable(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// isStorable reports whether a time is in the years 2000 to 9999, or is the zero time, which means no time.
func isStorable(t time.Time) bool { return t.IsZero() || 2000 <= t.Year() && t.Year() <= 9999 }

func isShowable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// Edit holds an operator's changes to a voucher. Nil fields stay as they are.
type Edit struct {
	MaxUses        *Limit
	MaxUsesPerNick *Limit
	ValidFrom      *time.Time // the zero time: no start
	ValidUntil     *time.Time // the zero time: no end
	Disabled       *bool
	Nick           *string // empty: any nick
	Batch          *string
	Note           *string
	Parts          *int
	Reward         *Reward // for the future: what was given stays recorded
}

// Edited returns the voucher after an edit, or every *FieldError found, joined. An edit cannot change a limit from or
// to NoLimit, cannot change MaxUses from or to 1, and cannot remove parts.
func (v Voucher) Edited(edit Edit) (Voucher, error) {
	var errs []error
	set(&v.ValidFrom, edit.ValidFrom)
	set(&v.ValidUntil, edit.ValidUntil)
	v.ValidFrom, v.ValidUntil = storable(v.ValidFrom), storable(v.ValidUntil)
	set(&v.Disabled, edit.Disabled)
	set(&v.Batch, edit.Batch)
	set(&v.Note, edit.Note)
	set(&v.Reward, edit.Reward)
	if edit.Nick != nil {
		nick, err := ParseNick(*edit.Nick)
		v.Nick, errs = nick, append(errs, err)
	}
	if edit.MaxUses != nil && *edit.MaxUses != v.MaxUses {
		if isFixed(v.MaxUses) || isFixed(*edit.MaxUses) {
			errs = append(errs, &FieldError{
				"max-uses",
				errors.New("cannot change from or to 1, or from or to none; create another code instead"),
			})
		}
		v.MaxUses = *edit.MaxUses
	}
	if edit.MaxUsesPerNick != nil && *edit.MaxUsesPerNick != v.MaxUsesPerNick {
		if v.MaxUsesPerNick == NoLimit || *edit.MaxUsesPerNick == NoLimit {
			errs = append(errs, &FieldError{
				"max-uses-per-nick",
				errors.New("cannot change from or to none; create another code instead"),
			})
		}
		v.MaxUsesPerNick = *edit.MaxUsesPerNick
	}
	if edit.MaxUses != nil {
		parts, _ := chooseParts(v.MaxUses, nil)
		v.Parts = max(v.Parts, parts)
	}
	if edit.Parts != nil {
		parts, err := chooseParts(v.MaxUses, edit.Parts)
		if err == nil && parts < v.Parts {
			err = &FieldError{"parts", fmt.Errorf("cannot become fewer than %d", v.Parts)}
		}
		v.Parts, errs = parts, append(errs, err)
	}
	errs = append(errs, v.validate())
	if edit.Batch != nil {
		errs = append(errs, checkNewBatch(v.Batch))
	}
	if err := errors.Join(errs...); err != nil {
		return Voucher{}, err
	}
	return v, nil
}

func isFixed(limit Limit) bool { return limit == 1 || limit == NoLimit }

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// InCurrency returns a *FieldError if the reward is an amount in a currency other than the shop's.
func (r Reward) InCurrency(currency money.Currency) error {
	if r.Kind == RewardAmountOff && r.AmountOff.Currency != currency {
		return &FieldError{"reward", fmt.Errorf("%w: %s, but the shop's is %s", money.ErrMixedCurrencies,
			r.AmountOff.Currency, currency)}
	}
	return nil
}
