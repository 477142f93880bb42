package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// The endpoints of redemptions are for the shop's own server only.

// Redemptions undoes and lists redemptions. A voucher.Redemptions implements it and describes the results and errors.
type Redemptions interface {
	Undo(ctx context.Context, request voucher.UndoRequest) (undone voucher.Redemption, replayed bool, err error)
	List(ctx context.Context, shop catalog.ShopID, code voucher.Code, filter voucher.RedemptionFilter) (
		page []voucher.Redemption, next string, err error)
}

// UndoRedemption is POST /shop/{customer}/redemptions/{id}/undo. It gives the voucher its use back. It is idempotent: a
// retry gets the same redemption, with the header Idempotency-Replayed.
func (s Service) UndoRedemption(redemptions Redemptions) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/redemptions/{id}/undo", methods: []string{http.MethodPost},
		notFound: problemRedemptionNotFound.new,
		respond: admitted(undoRequest, (*call).admitServer,
			func(c *call, request voucher.UndoRequest) (response, error) {
				request.By = voucher.UndoneByKey + string(c.caller.Key)
				undone, replayed, err := redemptions.Undo(c.Context(), request)
				if err != nil {
					return response{}, err
				}
				return c.replayable(wire.OfRedemption(undone), replayed, "undone", metricUndoneRedemptions)
			}),
	})
}

func undoRequest(c *call) (request voucher.UndoRequest, err error) {
	request.Shop, request.At = c.shop, c.received
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
	if _, err = voucher.ParseNick(members["nick"]); err != nil { // unused, but released
		return voucher.UndoRequest{}, err
	}
	if request.Reason, err = voucher.ParseUndoReason(members["reason"]); err != nil {
		return voucher.UndoRequest{}, err
	}
	if members["code"] == "" {
		return voucher.UndoRequest{}, problemInvalid.because("code is required.").at("/code")
	}
	request.Code, err = voucher.ParseCode(members["code"])
	if _, refused := voucher.IsRefusal(err); refused { // no voucher has such a code, so it has no redemption
		return voucher.UndoRequest{}, voucher.ErrRedemptionNotFound
	}
	return request, err
}

// ListRedemptions is GET /shop/{customer}/redemptions. It lists the redemptions of a code in pages.
func (s Service) ListRedemptions(redemptions Redemptions) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/redemptions",
		respond: admitted(redemptionsRequest, (*call).admitServer,
			func(c *call, wanted redemptionsOfCode) (response, error) {
				listed, next, err := redemptions.List(c.Context(), c.shop, wanted.code, wanted.filter)
				// List has no other FieldError: the rest of the filter is validated
				if _, misplaced := errors.AsType[*voucher.FieldError](err); misplaced {
					return response{}, malformedCursor()
				}
				if err != nil {
					return response{}, err
				}
				c.record.note("listed")
				page := redemptionPageJSON{Redemptions: make([]wire.Redemption, len(listed))}
				for i, redemption := range listed {
					page.Redemptions[i] = wire.OfRedemption(redemption)
				}
				if next != "" {
					page.Next = c.nextPage(string(wanted.code) + "/" + next)
				}
				return jsonResponse(http.StatusOK, page)
			}),
	})
}

type redemptionPageJSON struct {
	Redemptions []wire.Redemption `json:"redemptions"`
	Next        *string           `json:"next"`
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
		return redemptionsOfCode{}, problemInvalid.because("The code must have 1 to %d letters and digits. Spaces "+
			"and dashes are ignored; other characters are not allowed.", voucher.MaxCodeLength).of("code")
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
