package voucher

import "errors"

// Errors of deleting. After each of them the voucher is still stored.
var (
	// ErrUsed means that the voucher was redeemed or held, so its record must stay.
	ErrUsed = errors.New("it was redeemed or held")
	// ErrEdited means that somebody edited the voucher while it was being deleted.
	ErrEdited = errors.New("somebody edited it meanwhile")
)
