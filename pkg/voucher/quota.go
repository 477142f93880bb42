package voucher

import "time"

// Quota limits how many redemptions of codes with many uses a source can have in a window. The zero Quota is no limit.
// A redemption that is undone still counts.
type Quota struct {
	Source  string // of requests; it may be a network of several subnets
	Subnet  string // of the source that the request came from; empty: the source has no subnets
	Limit   int    // for a subnet, or for a source without subnets
	Network int    // the limit for all subnets of the source
	Start   time.Time
	End     time.Time // of the window, exclusive
}

// TooManyRedemptionsError means that a source has reached its Quota. Nothing was redeemed.
type TooManyRedemptionsError struct{ Until time.Time } // the end of the window

func (*TooManyRedemptionsError) Error() string {
	return "the source has reached its limit of redemptions"
}
