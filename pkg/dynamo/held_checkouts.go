package dynamo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// openTogether stores a checkout, holds a use for it, and replaces another one, as Open says.
func (s *Checkouts) openTogether(ctx context.Context, opening checkout.Opening) (checkout.Checkout, error) {
	var lost lostAttempt
	c := opening.Checkout
	h := &holding{Opening: opening, token: c.ID.Token(), until: voucher.HeldUntil(c.Expires)}
	if old := h.Replaces; old != nil && old.Hold != nil && old.Code == h.Voucher.Written &&
		!old.Hold.HasLapsed(h.Request.At) {
		h.shared, h.isOwn = old.Hold, true
	}
	err := s.openHeld(ctx, h, &lost)
	return h.result, lost.outcome(err)
}

// Holdable returns a *voucher.RefusalError if no use could be held now for the request, which may replace a checkout.
func (s *Checkouts) Holdable(ctx context.Context, request voucher.Request, replaces *checkout.Checkout) error {
	if replaces != nil && replaces.Hold != nil && !replaces.Hold.HasLapsed(request.At) {
		if code, _ := voucher.ParseCode(replaces.Code); code == request.Code {
			v, err := s.Rules(ctx, request)
			if err == nil {
				err = v.Refuse(request)
			}
			return err
		}
	}
	_, err := s.available(ctx, request, true)
	return table.Outcome(err)
}

// holding is a checkout that is being opened.
type holding struct {
	checkout.Opening

	token  idempotency.Token
	until  time.Time     // when a new hold lapses
	shared *voucher.Hold // the hold that the checkout shares; nil: it takes a use of its own
	// isOwn means that the shared hold is that of the replaced checkout, which no open checkout has any more.
	isOwn  bool
	result checkout.Checkout
}

// openHeld decides which use the checkout holds. If it replaces a checkout with a live hold of the same code, it shares
// that hold. If not, it takes a free use. If it cannot get one, it shares another live hold of the nick, if there is
// one.
func (s *Checkouts) openHeld(ctx context.Context, h *holding, lost *lostAttempt) error {
	return s.again(ctx, func() error {
		p := s.opening(h)
		var err error
		isSoldOut := h.shared == nil && h.Checkout.Code != "" && s.rules.isSoldOut(h.Request)
		if isSoldOut {
			err = &shortError{p.takings[0]}
		} else {
			err = s.post(ctx, p, lost)
		}
		short, isShort := errors.AsType[*shortError](err)
		if isShort && !isSoldOut && short.taking.of == voucher.OfCode {
			s.rules.sellOut(h.Request)
		}
		switch {
		case errors.Is(err, errHoldGone):
			h.shared, err = nil, errLookAgain
		case errors.Is(err, errRulesChanged):
			err = cmp.Or(s.follow(ctx, h), errLookAgain)
		case isShort && h.shared == nil:
			err = cmp.Or(s.shareOther(ctx, h, short.taking), errLookAgain)
		case isShort:
			err = refusalOf(short.taking)
		}
		return err
	})
}

// follow reads the rules again, because they have changed. If the voucher was deleted and its code was created again,
// the checkout is refused, because it was priced by the old voucher. If only the reward was edited, the checkout keeps
// its price, because its request began before the edit ended.
func (s *Checkouts) follow(ctx context.Context, h *holding) error {
	v, err := s.read(ctx, h.Request)
	if err == nil {
		err = v.Refuse(h.Request)
	}
	if err == nil && !v.Created.Equal(h.Voucher.Created) {
		err = &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	h.Voucher = v
	return err
}

// shareOther lets the checkout share another live hold of its nick, because the taking has too little. If the nick has
// none, the error says what the taking has too little of.
func (s *Checkouts) shareOther(ctx context.Context, h *holding, short *taking) error {
	refusal := refusalOf(short)
	v, nick := h.Voucher, voucher.NickID(h.Shop, h.Voucher.Code, h.Request.Nick)
	key := table.NickKey(h.Shop, v.Code, nick)
	switch {
	case h.Request.Nick == (voucher.Nick{}) || !v.SingleUse() && v.MaxUsesPerNick == voucher.NoLimit:
		return refusal
	case v.SingleUse():
		key = table.VoucherKey(h.Shop, v.Code)
	}
	a := short.seen
	if short.key(table.Head) != key {
		it, err := table.GetSettled(ctx, s.api, s.random, s.vouchers, key)
		if err != nil {
			return err
		}
		read, err := table.DecodeAllowance(it)
		if err != nil {
			return err
		}
		a = &read
	}
	hold, isLive := a.Live(h.Request.At)
	if !isLive || v.SingleUse() && hold.Note != nick {
		return s.unlessRaised(ctx, h, refusal)
	}
	ofCode := voucher.Take{Of: voucher.OfCode, Item: table.Head}
	if v.Limited() {
		var err error
		if ofCode.Item, err = strconv.Atoi(hold.Note); err != nil {
			return err
		}
	}
	h.shared, h.isOwn = &voucher.Hold{
		Holder: idempotency.Token(hold.Holder), Until: hold.Until, Takes: []voucher.Take{ofCode},
	}, false
	return nil
}

// unlessRaised returns the refusal, or nil if it was for the nick's limit and that rule has been raised since it was
// read.
func (s *Checkouts) unlessRaised(ctx context.Context, h *holding, refusal error) error {
	if reason, _ := voucher.IsRefusal(refusal); reason != voucher.ReasonNickLimit {
		return refusal
	}
	before := h.Voucher.MaxUsesPerNick
	if err := s.follow(ctx, h); err != nil {
		return err
	}
	if h.Voucher.MaxUsesPerNick > before {
		return nil
	}
	return refusal
}

// refusalOf returns the error for an allowance that has too little.
func refusalOf(t *taking) error {
	if t.short == nil {
		return &checkout.TooManyHoldsError{Until: t.seen.FirstEnd(t.at)}
	}
	return t.short
}

// opening returns what opening a checkout writes and takes.
func (s *Checkouts) opening(h *holding) *posting {
	p := &posting{}
	hold := &voucher.Hold{Holder: h.Checkout.ID.Holder(), Until: h.until}
	if h.shared != nil {
		// Whoever shares a hold makes it last longer, so that the others notice.
		hold.Holder, hold.Until = h.shared.Holder, h.shared.Until.Add(time.Millisecond)
		if h.until.After(hold.Until) {
			hold.Until = h.until
		}
	}
	var ofVoucher []*taking
	if h.Checkout.Code != "" {
		ofVoucher = s.takings(h.Request, h.Voucher, hold.Holder, hold.Until)
		hold.Apart = !h.Voucher.SingleUse() && h.Voucher.MaxUsesPerNick == voucher.NoLimit
		for _, t := range ofVoucher {
			if h.shared != nil {
				t.share(h.shared)
			}
		}
		if p.takings = ofVoucher; len(p.takings) > 0 {
			p.takings = slices.Concat(p.takings, s.ofSource(h, hold))
		}
	}
	p.bookings = func() []action { return s.storing(h, hold, ofVoucher) }
	return p
}

// storing returns the writes of a checkout that holds what was taken, and of the one that it replaces.
func (s *Checkouts) storing(h *holding, hold *voucher.Hold, taken []*taking) []action {
	h.result = h.Checkout
	if h.Checkout.Code != "" {
		h.result.Hold, hold.Takes = hold, nil
		h.result.SharesUse = h.shared != nil && (!h.isOwn || h.Replaces.SharesUse)
		for _, t := range taken {
			hold.Takes = append(hold.Takes, voucher.Take{Of: t.of, Item: t.item})
			h.result.SharesUse = h.result.SharesUse || t.isExtended()
		}
	}
	put := putCheckout(s.tables.Checkouts, h.Shop, h.result)
	actions := []action{{write: types.TransactWriteItem{Put: &put}, rejected: h.keep}}
	// A replaced checkout with the same token needs no write of its own: the put overwrites it, or finds it open.
	if h.Replaces != nil && h.Replaces.ID.Token() != h.token {
		replace := updateWhile(h.Shop, h.Replaces.ID, table.StatusOpen)
		replace.Set(table.AttrStatus, table.Str(table.StatusReplaced))
		actions = append(actions, updating(s.tables.Checkouts, replace,
			func(table.Item) error { return checkout.ErrNotReplaceable }))
	}
	return actions
}

// share makes the taking share a hold.
func (t *taking) share(hold *voucher.Hold) {
	for _, take := range hold.Takes {
		if take.Of == t.of {
			t.item = take.Item
		}
	}
	t.from = &table.Hold{Holder: t.holder, Amount: t.amount, Until: hold.Until, Note: t.noted()}
}

// keep sets the result to the checkout that is already stored.
func (h *holding) keep(old table.Item) error {
	h.result = table.DecodeCheckout(old)
	return nil
}

// sourceRetention is how long the item of a source is stored after its last hold has lapsed.
const sourceRetention = time.Hour

// ofSource returns what a hold takes of its source's live holds, and of those of the network, for an IPv6 address.
func (s *Checkouts) ofSource(h *holding, hold *voucher.Hold) []*taking {
	if h.Source == (access.Source{}) {
		return nil
	}
	var takings []*taking
	add := func(source access.Source, limit int64) {
		takings = append(takings, &taking{
			table: s.tables.Refusals, amount: 1, at: h.Request.At, holder: string(hold.Holder), until: hold.Until,
			limit: limit,
			key:   func(int) table.Key { return table.SourceHoldsKey(h.Shop, source) },
			with: func(u *table.Update) {
				u.Set(table.AttrExpiresAt, table.Num(hold.Until.Add(sourceRetention).Unix()))
			},
		})
	}
	add(h.Source, checkout.MaxHoldsPerSource)
	if h.Source.Subnet != "" {
		add(access.Source{Name: h.Source.Name}, checkout.MaxHoldsPerNetwork)
	}
	return takings
}
