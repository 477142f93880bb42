package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// The endpoints of redemptions are for the shop's own server only.

// RedemptionUndoer undoes redemptions. Errors: voucher.ErrRedemptionNotFound, voucher.ErrRedemptionOfOrder. After an error with
// Unavailable() it is unknown whether the redemption was undone.
type RedemptionUndoer interface {
	Undo(ctx context.Context, request voucher.UndoRequest) (redemption voucher.Redemption, replayed bool, err error)
}

// UndoRedemption is POST /shop/{customer}/redemptions/{id}/undo (docs/interface.md). It gives the voucher its use back. It is idempotent: a
// retry gets the same redemption, with the header Idempotency-Replayed.
func (s Service) UndoRedemption(undoer RedemptionUndoer) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/redemptions/{id}/undo", methods: []string{http.MethodPost}, notFound: problemRedemptionNotFound.new,
		answer: admitted(undoRequest, (*call).admitServer, func(c *call, request voucher.UndoRequest) (answer, error) {
			request.By = voucher.UndoneByKey + string(c.caller.Key)
			undone, replayed, err := undoer.Undo(c.Context(), request)
			if err != nil {
				return answer{}, err
			}
			return c.replayable(representRedemption(undone), replayed, "undone", metricUndoneRedemptions)
		}),
	})
}

func undoRequest(c *call) (request voucher.UndoRequest, err error) {
	request.Customer, request.At = c.customer, c.received
	if request.ID, err = voucher.ParseRedemptionID(c.path["id"]); err != nil {
		return voucher.UndoRequest{}, problemRedemptionNotFound.new()
	}
	if err := c.parseQuery(); err != nil {
		return voucher.UndoRequest{}, err
	}
	members, err := readTextMembers(c.Request, "code", "nick", "reason")
	if err != nil {
		return voucher.UndoRequest{}, err
	}
	if request.Nick, err = voucher.ParseNick(members["nick"]); err != nil {
		return voucher.UndoRequest{}, err
	}
	if request.Reason, err = voucher.ParseUndoReason(members["reason"]); err != nil {
		return voucher.UndoRequest{}, err
	}
	if members["code"] == "" {
		return voucher.UndoRequest{}, &checkout.MemberError{Pointer: "/code", Reason: "is required"}
	}
	request.Code, err = voucher.ParseCode(members["code"])
	if _, refused := voucher.IsRefusal(err); refused { // no voucher has such a code, so it has no redemption
		return voucher.UndoRequest{}, voucher.ErrRedemptionNotFound
	}
	return request, err
}

// RedemptionLister lists redemptions. voucher.UndoStore describes the results. A *voucher.FieldError means that no page ended at the
// filter's After.
type RedemptionLister interface {
	List(ctx context.Context, customer catalog.CustomerID, code voucher.Code, filter voucher.RedemptionFilter) (
		page []voucher.Redemption, next string, err error)
}

// ListRedemptions is GET /shop/{customer}/redemptions (docs/interface.md). It lists the redemptions of a code in pages.
func (s Service) ListRedemptions(lister RedemptionLister) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/redemptions", methods: []string{http.MethodGet, http.MethodHead}, notFound: problemNotFound.new,
		answer: admitted(redemptionsRequest, (*call).admitServer, func(c *call, wanted redemptionsOfCode) (answer, error) {
			redemptions, end, err := lister.List(c.Context(), c.customer, wanted.code, wanted.filter)
			if _, misplaced := errors.AsType[*voucher.FieldError](err); misplaced {
				return answer{}, malformedCursor()
			}
			if err != nil {
				return answer{}, err
			}
			c.record.note("listed")
			page := redemptionPageJSON{Redemptions: make([]redemptionJSON, len(redemptions))}
			for i, redemption := range redemptions {
				page.Redemptions[i] = representRedemption(redemption)
			}
			if end != "" {
				page.Next = c.nextPage(string(wanted.code) + "/" + end)
			}
			return jsonAnswer(http.StatusOK, page)
		}),
	})
}

type redemptionPageJSON struct {
	Redemptions []redemptionJSON `json:"redemptions"`
	Next        *string          `json:"next"`
}

// redemptionsOfCode asks for a page of the redemptions of a code.
type redemptionsOfCode struct {
	code   voucher.Code
	filter voucher.RedemptionFilter
}

func redemptionsRequest(c *call) (wanted redemptionsOfCode, err error) {
	if err := c.parseQuery("code", "nick", "from", "to", "limit", "cursor"); err != nil {
		return redemptionsOfCode{}, err
	}
	if !c.query.Has("code") {
		return redemptionsOfCode{}, problemInvalid.because("The code is required.").of("code")
	}
	if wanted.code, err = voucher.ParseCode(c.query.Get("code")); err != nil {
		return redemptionsOfCode{}, problemInvalid.because("The code must have 1 to %d letters and digits. Spaces and dashes are ignored; other characters are not allowed.", voucher.MaxCodeLength).of("code")
	}
	filter := &wanted.filter
	if filter.Limit, err = pageLimit(c.query, maxLimit); err != nil {
		return redemptionsOfCode{}, err
	}
	if filter.Nick, err = wantedNick(c.query); err != nil {
		return redemptionsOfCode{}, err
	}
	if filter.From, filter.Until, err = timeSpan(c.query); err != nil {
		return redemptionsOfCode{}, err
	}
	filter.After, err = parseCursor(c, func(end string) (string, error) {
		after, isOfCode := strings.CutPrefix(end, string(wanted.code)+"/")
		if !isOfCode || after == "" {
			return "", voucher.ErrRedemptionNotFound
		}
		return after, nil
	})
	return wanted, err
}
