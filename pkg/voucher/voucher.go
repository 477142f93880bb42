package voucher

import "time"

// Limit is an upper bound, or NoLimit.
type Limit int

// NoLimit means that there is no upper bound.
const NoLimit Limit = 0

// Voucher is a code that gives a reward.
type Voucher struct {
	Code    Code
	Written string // the code as created
	Reward  Reward

	// MaxUses is 1 for a single-use code. No edit changes it from or to 1, or from or to NoLimit.
	MaxUses Limit
	// MaxUsesPerNick is NoLimit for a single-use code. No edit changes it from or to NoLimit. Unless it is NoLimit,
	// requests need a nick.
	MaxUsesPerNick Limit

	ValidFrom  time.Time // inclusive, UTC, whole milliseconds; zero: no start
	ValidUntil time.Time // exclusive, UTC, whole milliseconds; zero: no end
	Disabled   bool
	Nick       Nick // the only nick that may redeem the code; zero: any

	Batch string // at most MaxBatchBytes
	Note  string // at most MaxNoteBytes

	Created time.Time // UTC, whole milliseconds

	// Redeemed is the redemption of a single-use code, or nil. Held is its hold, or nil. At most one of them is set.
	Redeemed *Redemption
	Held     *Hold
	Undone   int // how many redemptions of a single-use code were ever undone
	// Imported is how many uses were made in another system before the voucher was imported. For a single-use code,
	// Redeemed holds the imported redemption, and Imported becomes 0 when that redemption is undone. For other codes,
	// the imported uses have no records, but the counters of a code with a limit above one include them.
	Imported int

	// Counters is the number of counters that share the uses of a code with a limit above one.
	Counters int
	// FullUntil is set when a request finds that every use of a code with a limit above one is taken. Before FullUntil
	// no use is free. Zero: unknown.
	FullUntil time.Time // UTC, whole milliseconds
	// Over is how many uses are taken beyond the limit, because the limit was lowered.
	Over int
	// Returns counts the uses that were given back, including those that were dropped because Over was above zero. It
	// never falls.
	Returns int64
	// Version is raised by each edit.
	Version int64
}

// Redemption is the permanent record that a voucher was used.
type Redemption struct {
	ID     string // 22 characters of base64url: the token of the request or of the checkout, see Claim
	Code   string // as the voucher was created
	Nick   string // as the request sent it; empty: none
	At     time.Time
	Reward Reward // what was given

	Attempt    string    // the Claim's; empty: an order made it, or it was imported
	ByOrder    bool      // made by an order
	Imported   bool      // made in another system, before the voucher was imported
	Undone     time.Time // zero: not undone
	UndoReason string    // empty: none was given
	// as UndoRequest.By; empty: not undone, or undone by a version of Shopfront that did not store it
	UndoneBy string
}

// SingleUse reports whether the code can be redeemed only once.
func (v Voucher) SingleUse() bool { return v.MaxUses == 1 }

// Limited reports whether the code has a limit above one, and therefore counters.
func (v Voucher) Limited() bool { return v.MaxUses != NoLimit && v.MaxUses != 1 }

// Reason is why a voucher was refused. It goes to logs, metrics and the shop's own server, never to a stranger.
type Reason string

// The reasons for refusal.
const (
	ReasonUnknown     Reason = "unknown"      // the shop has no such code, or the shop does not exist
	ReasonDisabled    Reason = "disabled"     // switched off by the operator
	ReasonNotStarted  Reason = "not_started"  // before ValidFrom
	ReasonExpired     Reason = "expired"      // at or after ValidUntil
	ReasonNickMissing Reason = "nick_missing" // the code needs a nick, but the request has none
	ReasonOtherNick   Reason = "other_nick"   // bound to another nick
	ReasonUsedUp      Reason = "used_up"      // every use is taken
	ReasonNickLimit   Reason = "nick_limit"   // the nick has taken every use that it may take
	ReasonPaused      Reason = "paused"       // the shop's owner has paused the code's batch, or all codes
	// at a checkout: the reward is goods, in another currency, or too small to take anything off
	ReasonNoDiscount Reason = "no_discount"
)

// RefusalError is the error of a refused request. Strangers cannot tell the reasons apart.
type RefusalError struct{ Reason Reason }

func (e *RefusalError) Error() string { return "voucher not found: " + string(e.Reason) }

// closed returns why the voucher is closed to everybody at the given time, or "".
func (v Voucher) closed(at time.Time) Reason {
	switch {
	case v.Disabled:
		return ReasonDisabled
	case at.Before(v.ValidFrom):
		return ReasonNotStarted
	case !v.ValidUntil.IsZero() && !at.Before(v.ValidUntil):
		return ReasonExpired
	default:
		return ""
	}
}

// usedUp reports whether the voucher's own item says that no use is free. A limited code may be used up before its item
// says so.
func (v Voucher) usedUp(at time.Time) bool {
	return v.Redeemed != nil || v.Held != nil && !v.Held.HasLapsed(at) || at.Before(v.FullUntil)
}

// Refuse applies every rule that needs only the voucher and the request. It returns a *RefusalError, or nil if the
// request passes. It checks neither the uses left in counters nor the limit per nick.
func (v Voucher) Refuse(request Request) error { return v.refuse(request, v.usedUp(request.At)) }

// RefuseShare is Refuse for a request that shares a hold and therefore needs no free use.
func (v Voucher) RefuseShare(request Request) error { return v.refuse(request, v.Redeemed != nil) }

func (v Voucher) refuse(request Request, usedUp bool) error {
	if reason := v.closed(request.At); reason != "" {
		return &RefusalError{reason}
	}
	switch {
	case request.Nick == Nick{} && (v.Nick != Nick{} || v.MaxUsesPerNick != NoLimit):
		return &RefusalError{ReasonNickMissing}
	case v.Nick != Nick{} && v.Nick.Compared != request.Nick.Compared:
		return &RefusalError{ReasonOtherNick}
	case usedUp:
		return &RefusalError{ReasonUsedUp}
	case request.Paused.Covers(v.Batch): // last, because the other reasons would apply without the pause, too
		return &RefusalError{ReasonPaused}
	default:
		return nil
	}
}

// RefuseNick checks the limit per nick. The nick's lapsed holds do not count. RefuseNick returns a *RefusalError or
// nil.
func (v Voucher) RefuseNick(uses NickUses, at time.Time) error {
	if v.MaxUsesPerNick != NoLimit && uses.Taken-len(uses.Lapsed(at)) >= int(v.MaxUsesPerNick) {
		return &RefusalError{ReasonNickLimit}
	}
	return nil
}
