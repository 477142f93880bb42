package dynamo

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Tables names the tables that a store uses together.
type Tables struct{ Checkouts, Vouchers, Refusals string }

// HeldCheckouts stores checkouts that hold a use of a voucher, or replace another checkout. It implements
// checkout.HoldStore. Create it with NewHeldCheckouts.
type HeldCheckouts struct {
	codes

	tables Tables
}

// NewHeldCheckouts returns a store of held checkouts. random is as in NewRedeemer.
func NewHeldCheckouts(api UsesAPI, tables Tables, random func(n int64) int64) *HeldCheckouts {
	return &HeldCheckouts{newCodes(api, tables.Vouchers, random), tables}
}

// OpenHeld stores a checkout and its hold in one transaction. If the checkout replaces another one, the transaction
// also marks that one as replaced. If a checkout with the same key is still open or has ended, OpenHeld returns that
// checkout and changes nothing.
func (s *HeldCheckouts) OpenHeld(ctx context.Context, opening checkout.Opening) (checkout.Checkout, error) {
	var lost lostAttempt
	h := &holding{Opening: opening, token: opening.Checkout.ID.Token(), until: voucher.HeldUntil(opening.Checkout.Expires)}
	h.shareReplaced()
	err := s.openHeld(ctx, h, &lost)
	if lost.mayContradict(err) {
		err = &UnavailableError{Err: errMayBeApplied}
	}
	if err != nil {
		return checkout.Checkout{}, table.Outcome(err)
	}
	return h.result, nil
}

// Holdable returns a *voucher.RefusalError if no use could be held now for the request, which may replace a checkout.
func (s *HeldCheckouts) Holdable(ctx context.Context, request voucher.Request, replaces *checkout.Checkout) error {
	if replaces != nil && replaces.Hold != nil && !replaces.Hold.HasLapsed(request.At) {
		if code, _ := voucher.ParseCode(replaces.Code); code == request.Code {
			v, err := s.Rules(ctx, request)
			if err == nil {
				err = v.Refuse(request)
			}
			return err
		}
	}
	nick := voucher.NickID(request.Shop, request.Code, request.Nick)
	_, err := s.available(ctx, request, func(ofNick bool, hold table.Hold) bool { return ofNick || hold.Note == nick })
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

// shareReplaced lets the checkout share the live hold of the checkout that it replaces.
func (h *holding) shareReplaced() {
	if h.Replaces == nil || h.Replaces.Hold == nil || h.Replaces.Code != h.Voucher.Written ||
		h.Replaces.Hold.HasLapsed(h.Request.At) {
		return
	}
	h.shared, h.isOwn = h.Replaces.Hold, true
}

// openHeld decides which use the checkout holds. If it replaces a checkout with a live hold of the same code, it shares
// that hold. If not, it takes a free use. If it cannot get one, it shares another live hold of the nick, if the nick has
// one.
func (s *HeldCheckouts) openHeld(ctx context.Context, h *holding, lost *lostAttempt) error {
	for attempt := 0; ; attempt++ {
		p := s.opening(h)
		var err error
		if h.shared == nil && h.Checkout.Code != "" && s.rules.isSoldOut(h.Request) {
			err = &shortError{p.takings[0]}
		} else {
			err = s.post(ctx, p, lost)
		}
		short, isShort := errors.AsType[*shortError](err)
		switch {
		case errors.Is(err, errHoldGone):
			h.shared = nil
		case errors.Is(err, errRulesChanged):
			if err := s.follow(ctx, h); err != nil {
				return err
			}
		case isShort && h.shared == nil:
			if err := s.shareOther(ctx, h, short.taking); err != nil {
				return err
			}
		case isShort:
			return refusalOf(short.taking)
		default:
			return err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return err
		}
	}
}

// follow reads the rules again, because they have changed. If the voucher was deleted and its code was created again,
// the checkout is refused, because it was priced by the old voucher. If only the reward was edited, the checkout keeps
// its price, because its request began before the edit ended.
func (s *HeldCheckouts) follow(ctx context.Context, h *holding) error {
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
func (s *HeldCheckouts) shareOther(ctx context.Context, h *holding, short *taking) error {
	refusal := refusalOf(short)
	if reason, _ := voucher.IsRefusal(refusal); reason == voucher.ReasonUsedUp {
		s.rules.sellOut(h.Request)
	}
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
	switch {
	case !isLive || v.SingleUse() && hold.Note != nick:
		return s.unlessRaised(ctx, h, refusal)
	case v.SingleUse():
		h.share(hold, voucher.Take{Of: voucher.OfCode, Item: table.Head})
	case v.Limited():
		item, err := strconv.Atoi(hold.Note)
		h.share(hold, voucher.Take{Of: voucher.OfCode, Item: item}, voucher.Take{Of: voucher.OfNick, Item: table.Head})
		return err
	default:
		h.share(hold, voucher.Take{Of: voucher.OfNick, Item: table.Head})
	}
	return nil
}

func (h *holding) share(hold table.Hold, takes ...voucher.Take) {
	h.shared = &voucher.Hold{Holder: idempotency.Token(hold.Holder), Until: hold.Until, Takes: takes}
	h.isOwn = false
}

// unlessRaised returns the refusal, or nil if it was for the nick's limit and that rule has been raised since it was
// read.
func (s *HeldCheckouts) unlessRaised(ctx context.Context, h *holding, refusal error) error {
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
func (s *HeldCheckouts) opening(h *holding) *posting {
	p := &posting{}
	hold := &voucher.Hold{Holder: h.token, Until: h.until}
	if h.shared != nil {
		// Whoever shares a hold makes it last longer, so that the others notice.
		hold.Holder, hold.Until = h.shared.Holder, later(h.until, h.shared.Until.Add(time.Millisecond))
	}
	var ofCode, ofNick *taking
	if h.Checkout.Code != "" {
		ofCode, ofNick = s.takings(h.Request, h.Voucher, hold.Holder, hold.Until)
		hold.Apart = !h.Voucher.SingleUse() && ofNick == nil
		for _, t := range []*taking{ofCode, ofNick} {
			if t != nil {
				p.takings = append(p.takings, t)
			}
		}
		if h.shared != nil {
			sharing(h.shared, ofCode, ofNick)
		}
		if len(p.takings) > 0 {
			p.takings = append(p.takings, s.ofSource(h, hold)...)
		}
	}
	p.bookings = func() []action {
		h.result = h.Checkout
		if h.Checkout.Code != "" {
			hold.Takes = nil
			if ofCode != nil {
				hold.Takes = append(hold.Takes, voucher.Take{Of: voucher.OfCode, Item: ofCode.item})
			}
			if ofNick != nil {
				hold.Takes = append(hold.Takes, voucher.Take{Of: voucher.OfNick, Item: ofNick.item})
			}
			h.result.Hold = hold
			h.result.SharesUse = h.shared != nil && (!h.isOwn || h.Replaces.SharesUse) || ofCode.isExtended() ||
				ofNick.isExtended()
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
	return p
}

// sharing makes takings share a hold.
func sharing(hold *voucher.Hold, ofCode, ofNick *taking) {
	code := table.Head
	for _, take := range hold.Takes {
		if take.Of == voucher.OfCode {
			code = take.Item
		}
	}
	if ofCode != nil {
		ofCode.item = code
	}
	for _, t := range []*taking{ofCode, ofNick} {
		if t == nil {
			continue
		}
		if t == ofNick {
			t.item = table.Head
		}
		t.from = &table.Hold{Holder: t.holder, Amount: t.amount, Until: hold.Until, Note: t.note()}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// keep sets the result to the checkout that is already stored.
func (h *holding) keep(old table.Item) error {
	h.result = table.DecodeCheckout(old)
	return nil
}

// sourceRetention is how long the item of a source is stored after its last hold has lapsed.
const sourceRetention = time.Hour

// ofSource returns what a hold takes of its source's live holds, and of those of the network, for an IPv6 address.
func (s *HeldCheckouts) ofSource(h *holding, hold *voucher.Hold) []*taking {
	if h.Source == (access.Source{}) {
		return nil
	}
	limits := map[access.Source]int64{h.Source: checkout.MaxHoldsPerSource}
	sources := []access.Source{h.Source}
	if h.Source.Subnet != "" {
		network := access.Source{Name: h.Source.Name}
		sources, limits[network] = append(sources, network), checkout.MaxHoldsPerNetwork
	}
	takings := make([]*taking, len(sources))
	for i, source := range sources {
		takings[i] = &taking{
			table: s.tables.Refusals, amount: 1, at: h.Request.At, holder: string(hold.Holder), until: hold.Until,
			limit: limits[source],
			key:   func(int) table.Key { return table.SourceHoldsKey(h.Shop, source) },
			note:  func() string { return "" },
			with: func(u *table.Update) {
				u.Set(table.AttrExpiresAt, table.Num(hold.Until.Add(sourceRetention).Unix()))
			},
		}
	}
	return takings
}

// RecallSettled reads the checkout that is stored under a token, or returns checkout.ErrNotFound. It waits for a
// transaction in flight, because the hold may be visible before its checkout.
func (s *HeldCheckouts) RecallSettled(
	ctx context.Context, shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	return readCheckoutSettled(ctx, s.api, s.random, s.tables.Checkouts, shop, token)
}
