package voucher

import "errors"

// Errors of deleting. After each of them the voucher is still stored.
var (
	// ErrUsed means that the voucher was redeemed or held, so its record must stay.
	ErrUsed = errors.New("it was redeemed or held")
	// ErrEdited means that somebody edited the voucher while it was being deleted.
	ErrEdited = errors.New("somebody edited it meanwhile")
)

// WasUsed reports whether the voucher's own item shows that it was ever redeemed or held. The item of a code with many
// uses does not show most of its uses, because other items record them.
func (v Voucher) WasUsed() bool {
	return v.Redeemed != nil || v.Held != nil || v.Undone > 0 || v.Returns > 0 || v.Imported > 0
}
