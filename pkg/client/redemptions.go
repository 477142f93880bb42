package client

import (
	"context"
	"iter"
	"slices"
	"time"
)

// RedemptionStatus is the state of a redemption. New states may be added: grant nothing for a state that you do not
// know.
type RedemptionStatus string

// The states of a redemption.
const (
	RedemptionRedeemed RedemptionStatus = "redeemed"
	RedemptionUndone   RedemptionStatus = "undone" // for good
)

// RedemptionRecord is a redemption as it is now.
type RedemptionRecord struct {
	Redemption

	Status     RedemptionStatus `json:"status"`
	UndoneAt   time.Time        `json:"undoneAt"`   // zero: not undone
	UndoReason string           `json:"undoReason"` // empty: not undone, or no reason was given
}

func (r RedemptionRecord) isComplete() bool {
	isUndone := !r.UndoneAt.IsZero()
	return isRandomID(r.ID) && r.Code != "" && !r.RedeemedAt.IsZero() && r.Reward.isComplete() &&
		r.Status != "" && isUndone == (r.Status == RedemptionUndone)
}

// UndoRedemption undoes a redemption for good, so that its use is free again. Only the first call sets UndoneAt and
// UndoReason. The redemption must have its ID and Code. With the Nick, the service finds the redemption faster. The
// reason has at most 400 bytes and can be empty. The call needs WithServerKey.
//
// UndoRedemption takes nothing back from the shopper: do that yourself, before the call. ErrRedemptionNotFound means
// that the code has no redemption with this ID. ErrRedemptionOfOrder means that an order made the redemption: call
// CancelOrder instead. If the outcome of Redeem was unknown, repeat Redeem with its key first, to get the ID.
//
// After an *OutcomeUnknownError the redemption may be undone: repeat the call with the same arguments. The call needs
// no Idempotency-Key. Once the redemption is undone, Redeem with the key that made the redemption returns
// ErrRedemptionUndone.
func (c *Client) UndoRedemption(ctx context.Context, redemption Redemption, reason string) (RedemptionRecord, error) {
	r := c.change("undo redemption", "/redemptions/"+redemption.ID+"/undo", redemption.ID, struct {
		Code   string `json:"code"`
		Nick   string `json:"nick,omitzero"`
		Reason string `json:"reason,omitzero"`
	}{redemption.Code, redemption.Nick, reason})
	return receive(ctx, c, r, "the undone redemption", func(undone *RedemptionRecord, resp response) bool {
		undone.Replayed = resp.isReplayed()
		return undone.ID == redemption.ID && undone.isComplete() && undone.Status == RedemptionUndone
	})
}

// RedemptionFilter selects redemptions of one code. All fields except Code are optional: a zero field selects all.
type RedemptionFilter struct {
	Code  string // required
	Nick  string // compared as when redeeming
	From  time.Time
	Until time.Time // exclusive
	// PageSize is how many redemptions a page has at most, from 1 to 200; 0: the service decides.
	PageSize int
}

// Redemptions iterates over pages of redemptions of one code, in no particular order. The list includes undone
// redemptions and those that orders made, but not the uses that checkouts hold. Each page is requested when the loop
// needs it. The first error ends the iteration. A page can be empty although more pages follow. ErrInvalid means that
// the filter is not valid. Do not grant rewards from this list: the goods of an order are delivered with the order.
// Redemptions needs WithServerKey.
func (c *Client) Redemptions(ctx context.Context, filter RedemptionFilter) iter.Seq2[[]RedemptionRecord, error] {
	return func(yield func([]RedemptionRecord, error) bool) {
		query := listQuery(map[string]string{"code": filter.Code, "nick": filter.Nick}, filter.From, filter.Until,
			filter.PageSize)
		eachPage(query, yield, func(query string) ([]RedemptionRecord, string, error) {
			page, err := c.redemptionPage(ctx, query, filter)
			return page.Redemptions, page.next, err
		})
	}
}

type redemptionPage struct {
	Redemptions []RedemptionRecord `json:"redemptions"`
	pageEnd
}

func (c *Client) redemptionPage(ctx context.Context, query string, filter RedemptionFilter) (redemptionPage, error) {
	// A proxy that drops the query would pass off other redemptions as those of the nick.
	isForeign := func(r RedemptionRecord) bool { return !r.isComplete() || filter.Nick != "" && r.Nick == "" }
	r := c.getPage("redemptions", "/redemptions", query)
	r.isServersOnly = true
	return receive(ctx, c, r, "a page of the redemptions", func(p *redemptionPage, _ response) bool {
		return p.readNext(r) && p.Redemptions != nil && !slices.ContainsFunc(p.Redemptions, isForeign)
	})
}
