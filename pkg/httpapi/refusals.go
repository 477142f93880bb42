package httpapi

import (
	"context"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// RefusalLimiter limits how many refused codes a source may cause. An *access.Refusals implements it. Both methods
// report whether the source is above the limit, and until when. An error from Refused means that the store may not have
// counted the refusal. The other results are valid even then, because this process has counted it.
type RefusalLimiter interface {
	Blocked(shop catalog.ShopID, source access.Source, limit access.SourceLimit,
		at time.Time) (until time.Time, blocked bool)
	Refused(
		ctx context.Context, shop catalog.ShopID, source access.Source, limit access.SourceLimit, at time.Time,
	) (until time.Time, blocked bool, err error)
}

// limitRefusals rejects the request if its source is above the shop's limit on refused codes. If not, and if the form
// of the code is not refused already, it calls the parameter judge. It counts a refusal by either. Call limitRefusals
// after admit, which reads the limit.
func (s Service) limitRefusals(
	c *call, nick voucher.Nick, refusal error, judge func() (response, error),
) (resp response, err error) {
	source, limit := c.caller.Source(s.SourceAddress(c.Request), nick), c.settings.Refusals
	if until, blocked := s.Refusals.Blocked(c.shop, source, limit, c.received); blocked {
		return response{}, tooManyRefusals(until.Sub(c.received))
	}
	if err = refusal; err == nil {
		resp, err = judge()
	}
	reason, refused := voucher.IsRefusal(err)
	if !refused {
		return resp, err
	}
	until, blocked, uncounted := s.Refusals.Refused(c.Context(), c.shop, source, limit, c.received)
	if uncounted != nil {
		c.record.err = uncounted
		c.record.metrics = append(c.record.metrics, metricUncountedRefusals)
	}
	if blocked {
		c.record.noteRefusal(reason) // adds reason and metric; problemOf sets the outcome too-many-refusals
		return response{}, tooManyRefusals(until.Sub(c.received))
	}
	return response{}, err
}

// tooManyRefusals returns a problem that reveals nothing about the code, not even whether the code was looked up.
func tooManyRefusals(wait time.Duration) *problemError {
	return problemTooManyRefusals.new().after(wait)
}
