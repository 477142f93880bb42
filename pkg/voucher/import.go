package voucher

import (
	"errors"
	"fmt"
	"time"
)

// Past is what happened to a voucher elsewhere, before it is imported.
type Past struct {
	Created    time.Time // zero: unknown
	RedeemedAt time.Time // of a single-use code; zero: it was not redeemed
	RedeemedBy string    // the nick; empty: unknown
	Uses       int       // how often the code was redeemed, at most its limit; 0 and RedeemedAt stand for 1
}

// Import returns a voucher with the terms and its past, or every *FieldError found, joined. id is the ID of its redemption, if it has one:
// 22 characters of base64url, random.
func Import(terms Terms, past Past, id string, now time.Time) (Voucher, error) {
	created := past.Created
	if created.IsZero() {
		created = now
	}
	v, err := New(terms, created)
	if err := errors.Join(err, past.validate(v, now)); err != nil {
		return Voucher{}, err
	}
	v.Imported = past.Uses
	if !past.RedeemedAt.IsZero() {
		v.Imported = 1
		v.Redeemed = &Redemption{
			ID: id, Code: v.Written, Nick: past.RedeemedBy, At: storable(past.RedeemedAt), Reward: v.Reward, Imported: true,
		}
	}
	return v, nil
}

func (p Past) validate(v Voucher, now time.Time) error {
	var errs []error
	add := func(field, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Errorf(format, args...)})
	}
	redeemed := !p.RedeemedAt.IsZero()
	switch {
	case redeemed && !v.SingleUse():
		add("redeemed_at", "is for codes of one use; give the number of uses in the column uses")
	case p.RedeemedBy != "" && !redeemed:
		add("redeemed_by", "needs redeemed_at")
	case v.SingleUse() && redeemed != (p.Uses > 0) && (p.Uses > 0 || p.Uses < 0):
		add("redeemed_at", "is missing, but the code was used")
	}
	if p.Uses < 0 || v.MaxUses != NoLimit && p.Uses > int(v.MaxUses) || p.Uses > int(MaxMaxUses) {
		add("uses", "must be 0 or more, and at most max-uses")
	}
	nick, err := ParseNick(p.RedeemedBy)
	if err != nil || nick.Written != p.RedeemedBy {
		add("redeemed_by", "must be a nick: at most %d characters in %d bytes, without space around it", MaxNickLength, MaxNickBytes)
	}
	for field, at := range map[string]time.Time{"created_at": p.Created, "redeemed_at": p.RedeemedAt} {
		if !isStorable(at) {
			add(field, "%w", errTimeOutOfRange)
		}
		if at.After(now) {
			add(field, "is in the future")
		}
	}
	return errors.Join(errs...)
}

// IsImportOf reports whether a stored voucher may come from the same import as v, which was just made: its terms and its past are the same.
// What happened since its import makes no difference, but an edit does. knownCreation says that v.Created is part of its past.
func (v Voucher) IsImportOf(stored Voucher, knownCreation bool) bool {
	if v.Redeemed != nil && stored.Undone == 0 {
		if stored.Redeemed == nil || stored.Redeemed.Nick != v.Redeemed.Nick || !stored.Redeemed.At.Equal(v.Redeemed.At) {
			return false
		}
	}
	if knownCreation && !stored.Created.Equal(v.Created) {
		return false
	}
	return v.terms() == stored.terms() && (v.SingleUse() || v.Imported == stored.Imported)
}

// terms returns the voucher without what redemptions, holds and edits change besides its terms.
func (v Voucher) terms() Voucher {
	v.Redeemed, v.Held, v.Undone, v.FullUntil, v.Over, v.Returns = nil, nil, 0, time.Time{}, 0, 0
	v.Created, v.Version, v.Imported = time.Time{}, 0, 0
	return v
}
