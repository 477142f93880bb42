package voucher

import "time"

// Status says whether the voucher can be redeemed now, by a nick that is allowed to redeem it, and if not, why.
type Status string

// The statuses of a voucher.
const (
	StatusRedeemable Status = "redeemable"
	StatusDisabled   Status = Status(ReasonDisabled)
	StatusNotStarted Status = Status(ReasonNotStarted)
	StatusExpired    Status = Status(ReasonExpired)
	StatusUsedUp     Status = Status(ReasonUsedUp)
)

// Statuses returns all statuses.
func Statuses() []Status {
	return []Status{StatusRedeemable, StatusDisabled, StatusNotStarted, StatusExpired, StatusUsedUp}
}

// Standing is a voucher with its uses.
type Standing struct {
	Voucher

	UsesLeft int       // 0 for a code without a limit; uses with a lapsed hold count as left
	Used     int       // redeemed or held; 0 if the code has no limit and its redemptions were not read
	UsesHeld int       // how many of Used are held by checkouts
	Lapse    time.Time // when the next hold lapses; zero: none
}

// Status returns the status at the given time.
func (s Standing) Status(at time.Time) Status {
	switch reason := s.closed(at); {
	case reason != "":
		return Status(reason)
	case s.MaxUses != NoLimit && s.UsesLeft == 0:
		return StatusUsedUp
	default:
		return StatusRedeemable
	}
}
