package voucher

import (
	"errors"
	"fmt"
	"time"
)

// Past is a voucher's history in another system, before it was imported.
type Past struct {
	Created    time.Time // zero: unknown
	RedeemedAt time.Time // of a single-use code; zero: it was not redeemed
	RedeemedBy string    // the nick; empty: unknown
	// Uses is how often the code was redeemed. It may exceed a limit above one, because the limit may have been
	// lowered. If RedeemedAt is set, 0 means 1.
	Uses int
}

// Import returns a voucher with the given terms and past, or every *FieldError found, joined. The parameter id is 22
// random characters of base64url. If the past has a redemption, this becomes its ID.
func Import(terms Terms, past Past, id string, now time.Time) (Voucher, error) {
	created := past.Created
	if created.IsZero() {
		created = now
	}
	v, err := New(terms, created)
	limit := Limit(1)
	set(&limit, terms.MaxUses)
	if err := errors.Join(err, past.validate(limit, now)); err != nil {
		return Voucher{}, err
	}
	v.Imported = past.Uses
	if !past.RedeemedAt.IsZero() {
		v.Imported = 1
		v.Redeemed = &Redemption{
			ID: id, Code: v.Written, Nick: past.RedeemedBy, At: storable(past.RedeemedAt), Reward: v.Reward,
			Imported: true,
		}
	}
	return v, nil
}

func (p Past) validate(limit Limit, now time.Time) error {
	var errs []error
	add := func(field, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Errorf(format, args...)})
	}
	redeemed := !p.RedeemedAt.IsZero()
	switch {
	case redeemed && limit != 1:
		add("redeemed_at", "is for single-use codes: for this one, give the number of uses in the column uses")
	case p.RedeemedBy != "" && !redeemed:
		add("redeemed_by", "needs redeemed_at")
	case limit == 1 && p.Uses > 0 && !redeemed:
		add("redeemed_at", "is missing, but the code was used")
	}
	if most := MaxMaxUses; p.Uses < 0 || p.Uses > int(most) || limit == 1 && p.Uses > 1 {
		if limit == 1 {
			most = 1
		}
		add("uses", "must be a whole number from 0 to %d", most)
	}
	nick, err := ParseNick(p.RedeemedBy)
	if err != nil || nick.Written != p.RedeemedBy {
		add("redeemed_by", "must be a nick: at most %d characters in %d bytes, without space around it", MaxNickLength,
			MaxNickBytes)
	}
	for _, moment := range []struct {
		field string
		at    time.Time
	}{{"created_at", p.Created}, {"redeemed_at", p.RedeemedAt}} {
		if !isStorable(moment.at) {
			add(moment.field, "%w", errTimeOutOfRange)
		}
		if moment.at.After(now) {
			add(moment.field, "is in the future")
		}
	}
	return errors.Join(errs...)
}
