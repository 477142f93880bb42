package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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

// UndoRedemption is POST /shop/{customer}/redemptions/{id}/undo (docs/interface.md). It gives a use back. It is idempotent: a retry
// gets the same redemption, with the header Idempotency-Replayed.
func (s Service) UndoRedemption(undoer RedemptionUndoer) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/redemptions/{id}/undo", methods: []string{http.MethodPost}, notFound: problemRedemptionNotFound.new,
		answer: func(c *call) (answer, error) {
			request, err := undoRequest(c)
			if err != nil {
				return answer{}, err
			}
			if err := c.admitServer(); err != nil {
				return answer{}, err
			}
			request.By = voucher.UndoneByKey + string(c.record.keyID)
			undone, replayed, err := undoer.Undo(c.Context(), request)
			if err != nil {
				return answer{}, err
			}
			return c.replayable(representRedemption(undone), replayed, "undone", metricUndoneRedemptions)
		},
	})
}

// undoRequest validates the request's form.
func undoRequest(c *call) (request voucher.UndoRequest, err error) {
	request.Customer, request.At = c.customer, c.received
	if request.ID, err = voucher.ParseRedemptionID(c.path["id"]); err != nil || c.customer == "" {
		return voucher.UndoRequest{}, problemRedemptionNotFound.new()
	}
	if _, err := parseQuery(c.Request); err != nil {
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

// RedemptionLister lists redemptions, as voucher.UndoStore says. A *voucher.FieldError means that no page ended at the filter's After.
type RedemptionLister interface {
	List(ctx context.Context, customer catalog.CustomerID, code voucher.Code, filter voucher.RedemptionFilter) (
		page []voucher.Redemption, next string, err error)
}

// ListRedemptions is GET /shop/{customer}/redemptions (docs/interface.md). It lists the redemptions of a code in pages.
func (s Service) ListRedemptions(lister RedemptionLister) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/redemptions", methods: []string{http.MethodGet, http.MethodHead}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			query, code, filter, err := redemptionsRequest(c)
			if err != nil {
				return answer{}, err
			}
			if err := c.admitServer(); err != nil {
				return answer{}, err
			}
			redemptions, end, err := lister.List(c.Context(), c.customer, code, filter)
			if _, misplaced := errors.AsType[*voucher.FieldError](err); misplaced {
				return answer{}, problemMalformedRequest.because("The cursor is malformed, or belongs to another list.").of("cursor")
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
				query.Set("cursor", encodeCursor(c.customer, string(code)+"/"+end))
				next := fmt.Sprintf("/shop/%s/redemptions?%s", c.customer, query.Encode())
				page.Next = &next
			}
			return jsonAnswer(http.StatusOK, page)
		},
	})
}

type redemptionPageJSON struct {
	Redemptions []redemptionJSON `json:"redemptions"`
	Next        *string          `json:"next"`
}

func redemptionsRequest(c *call) (query url.Values, code voucher.Code, filter voucher.RedemptionFilter, err error) {
	fail := func(err error) (url.Values, voucher.Code, voucher.RedemptionFilter, error) {
		return nil, "", voucher.RedemptionFilter{}, err
	}
	if c.customer == "" {
		return fail(problemNotFound.new())
	}
	if query, err = parseQuery(c.Request, "code", "nick", "from", "to", "limit", "cursor"); err != nil {
		return fail(err)
	}
	if !query.Has("code") {
		return fail(problemInvalid.because("The code is required.").of("code"))
	}
	if code, err = voucher.ParseCode(query.Get("code")); err != nil {
		return fail(problemInvalid.because("The code must have 1 to %d letters and digits. Spaces and dashes are ignored; other characters are not allowed.", voucher.MaxCodeLength).of("code"))
	}
	if filter.Limit, err = pageLimit(query, maxLimit); err != nil {
		return fail(err)
	}
	if filter.Nick, err = wantedNick(query); err != nil {
		return fail(err)
	}
	if filter.From, filter.Until, err = timeSpan(query); err != nil {
		return fail(err)
	}
	if query.Has("cursor") {
		filter.After, err = parseCursor(query.Get("cursor"), c.customer, func(end string) (string, error) {
			after, isOfCode := strings.CutPrefix(end, string(code)+"/")
			if !isOfCode || after == "" {
				return "", voucher.ErrRedemptionNotFound
			}
			return after, nil
		})
	}
	return query, code, filter, err
}
