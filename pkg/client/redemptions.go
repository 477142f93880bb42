package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// RedemptionStatus is the state of a redemption. New states may be added: grant nothing for a state that you do not know.
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

// UndoRedemption undoes a redemption for good, once: the first time and reason stay. Then its use can be taken again. It needs the
// ID and the Code of the redemption; with the Nick the service finds it faster. The reason has at most 400 bytes and can be empty.
// Like the list of redemptions, the call needs WithServerKey.
//
// UndoRedemption takes nothing back from the shopper: do that yourself, before the call. ErrRedemptionNotFound means that the code has no
// redemption with this ID, and ErrRedemptionOfOrder that an order made it: call CancelOrder instead. If the outcome of Redeem was unknown,
// there may be no ID yet: repeat Redeem with its key first.
//
// After an *OutcomeUnknownError the redemption may be undone: repeat the call with the same arguments. It needs no key. From then
// on, Redeem with the key of the redemption returns ErrRedemptionUndone.
func (c *Client) UndoRedemption(ctx context.Context, redemption Redemption, reason string) (RedemptionRecord, error) {
	record, err := c.undo(ctx, redemption, reason)
	if err != nil {
		return RedemptionRecord{}, fmt.Errorf("undo redemption: %w", err)
	}
	return record, nil
}

func (c *Client) undo(ctx context.Context, redemption Redemption, reason string) (RedemptionRecord, error) {
	if c.serverKey == nil {
		return RedemptionRecord{}, ErrNoServerKey
	}
	if !isRandomID(redemption.ID) {
		return RedemptionRecord{}, ErrMalformedID
	}
	body, _ := json.Marshal(struct { // encoding strings cannot fail
		Code   string `json:"code"`
		Nick   string `json:"nick,omitzero"`
		Reason string `json:"reason,omitzero"`
	}{redemption.Code, redemption.Nick, reason})
	var received RedemptionRecord
	r := request{
		method: http.MethodPost, path: c.redemptionsPath() + "/" + redemption.ID + "/undo", contentType: "application/json", body: body,
		isChange: true, isRepeated: true, maxBytes: maxAnswerBytes,
	}
	r.read = func(a answer) error {
		understood := a.decode("application/json", &received) && received.isComplete()
		if !understood || received.ID != redemption.ID || received.Status != RedemptionUndone {
			return a.notUnderstood("it is not the undone redemption")
		}
		received.Replayed = a.isReplayed()
		return nil
	}
	err := c.do(ctx, r)
	return received, err
}

func (c *Client) redemptionsPath() string { return "/shop/" + c.customer + "/redemptions" }

// RedemptionFilter selects redemptions of one code. Another field that is zero selects all.
type RedemptionFilter struct {
	Code  string // required
	Nick  string // compared as when redeeming
	From  time.Time
	Until time.Time // exclusive
	// PageSize is how many redemptions a page has at most, from 1 to 200; 0: as many as the service likes.
	PageSize int
}

// Redemptions iterates over pages of redemptions of one code, in no particular order. Those that were undone, and those that orders
// made, are among them; uses that checkouts only hold are not. It requests each page when the loop gets there and ends at the first
// error. A page can be empty although more pages follow. ErrInvalid means that the filter is not valid. Grant nothing because of
// this list: the redemption of an order is delivered with the order.
func (c *Client) Redemptions(ctx context.Context, filter RedemptionFilter) iter.Seq2[[]RedemptionRecord, error] {
	return func(yield func([]RedemptionRecord, error) bool) {
		query := listQuery(map[string]string{"code": filter.Code, "nick": filter.Nick}, filter.From, filter.Until, filter.PageSize)
		for more := true; more; more = query != "" {
			page, next, err := c.nextRedemptions(ctx, query, filter)
			if err != nil {
				yield(nil, fmt.Errorf("redemptions: %w", err))
				return
			}
			if !yield(page, nil) {
				return
			}
			query = next
		}
	}
}

// nextRedemptions returns a page of redemptions, and the query of the next page, which is empty on the last page.
func (c *Client) nextRedemptions(ctx context.Context, query string, filter RedemptionFilter) (page []RedemptionRecord, next string, err error) {
	if c.serverKey == nil {
		return nil, "", ErrNoServerKey
	}
	r := request{method: http.MethodGet, path: c.redemptionsPath(), query: query, maxBytes: maxPageBytes}
	r.read = func(a answer) error {
		var received struct {
			Redemptions []RedemptionRecord `json:"redemptions"`
			Next        json.RawMessage    `json:"next"` // a path or null; if it is missing, the response may be cut off
		}
		understood := a.decode("application/json", &received) && received.Redemptions != nil
		if understood {
			page = received.Redemptions
			next, understood = r.readNext(received.Next)
		}
		for _, record := range page { // a proxy that drops the query would pass off other redemptions as those of the nick
			understood = understood && record.isComplete() && (filter.Nick == "" || record.Nick != "")
		}
		if !understood || next != "" && next == query {
			return a.notUnderstood("it is not a page of the redemptions")
		}
		return nil
	}
	err = c.do(ctx, r)
	return page, next, err
}
