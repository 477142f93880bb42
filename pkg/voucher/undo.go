package voucher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"shopfront/pkg/catalog"
)

// Errors about undoing. After each of them nothing was changed.
var (
	// ErrUndone is an error of redeeming. An earlier request with the same key made a redemption, and that redemption
	// was undone. It stays undone.
	ErrUndone = errors.New("the redemption was undone")
	// ErrRedemptionNotFound means that the code has no redemption with that ID.
	ErrRedemptionNotFound = errors.New("no such redemption")
	// ErrRedemptionOfOrder means that an order made the redemption. Cancelling the order undoes it.
	ErrRedemptionOfOrder = errors.New("an order made the redemption: cancel the order instead")
)

// The values of UndoRequest.By and Redemption.UndoneBy. They are stored, so they never change.
const (
	UndoneByOperator = "operator" // with shopctl
	UndoneByOrder    = "order"    // by cancelling the order that had made it
	UndoneByKey      = "key:"     // the shop's own server, with the key whose ID follows
)

// MaxUndoReasonBytes bounds the reason for undoing a redemption.
const MaxUndoReasonBytes = 400

// ParseUndoReason accepts the reason for undoing a redemption: at most MaxUndoReasonBytes bytes of UTF-8 without
// control characters. It may be empty. Anything else is a *FieldError.
func ParseUndoReason(text string) (string, error) {
	switch {
	case len(text) > MaxUndoReasonBytes || !utf8.ValidString(text):
		return "", &FieldError{"reason", fmt.Errorf("must have at most %d bytes of UTF-8", MaxUndoReasonBytes)}
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", &FieldError{"reason", errors.New("must have no control characters")}
	}
	return text, nil
}

// ParseRedemptionID accepts 22 characters of base64url. For any other text it returns ErrRedemptionNotFound, because no
// redemption can have such an ID.
func ParseRedemptionID(text string) (string, error) {
	isForeign := func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && r != '_' && r != '-'
	}
	if len(text) != 22 || strings.ContainsFunc(text, isForeign) {
		return "", ErrRedemptionNotFound
	}
	return text, nil
}

// UndoRequest asks for a redemption to be undone.
type UndoRequest struct {
	Shop   catalog.ShopID
	Code   Code
	ID     string
	Reason string    // from ParseUndoReason
	By     string    // who asks: UndoneByOperator, UndoneByOrder, or UndoneByKey and the ID of a key
	At     time.Time // UTC, whole milliseconds
}

// RedemptionStore is the part of the voucher store that Redemptions needs.
type RedemptionStore interface {
	// Undo marks the redemption as undone, once, and gives its use back. It returns the redemption as it is stored
	// afterwards. Errors: ErrRedemptionNotFound, ErrRedemptionOfOrder. After any other error the redemption may or may
	// not be undone.
	Undo(ctx context.Context, request UndoRequest) (Redemption, error)
	// List returns a page of a code's redemptions. next says where the next page begins; it is empty after the last
	// page. A page may be empty. An unknown code has no redemptions.
	List(ctx context.Context, shop catalog.ShopID, code Code, filter RedemptionFilter) (page []Redemption,
		next string, err error)
}

// MaxRedemptionsPerPage bounds a page of a list.
const MaxRedemptionsPerPage = 200

// RedemptionFilter selects redemptions. A zero Nick, From or Until selects all.
type RedemptionFilter struct {
	Nick        Nick
	From, Until time.Time // bounds of Redemption.At; From is inclusive, Until exclusive
	Limit       int       // from 1 to MaxRedemptionsPerPage
	After       string    // where the page begins: next of the previous page; empty for the first page
}

// Selects reports whether the filter selects a redemption.
func (f RedemptionFilter) Selects(r Redemption) bool {
	if r.At.Before(f.From) || !f.Until.IsZero() && !r.At.Before(f.Until) {
		return false
	}
	nick, err := ParseNick(r.Nick)
	return f.Nick.Compared == "" || err == nil && f.Nick.Compared == nick.Compared
}

// Redemptions undoes and lists redemptions for the shop's server.
type Redemptions struct{ Store RedemptionStore }

// Undo undoes a redemption once. A retry changes nothing: it returns the undone redemption and sets replayed. Errors:
// ErrRedemptionNotFound, ErrRedemptionOfOrder. After any other error it is unknown whether the redemption was undone.
func (r Redemptions) Undo(ctx context.Context, request UndoRequest) (undone Redemption, replayed bool, err error) {
	undone, err = r.Store.Undo(ctx, request)
	return undone, err == nil && !undone.Undone.Equal(request.At), err
}

// List lists redemptions, as RedemptionStore.List does.
func (r Redemptions) List(
	ctx context.Context, shop catalog.ShopID, code Code, filter RedemptionFilter,
) (page []Redemption, next string, err error) {
	return r.Store.List(ctx, shop, code, filter)
}
