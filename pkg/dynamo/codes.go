package dynamo

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// UsesAPI lists the DynamoDB operations of stores that take uses. Only Orders and RedemptionRecords query.
type UsesAPI interface {
	table.Getter
	table.BatchGetter
	table.TransactGetter
	transactor
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// codes takes uses of vouchers, by rules that it remembers.
type codes struct {
	ledger

	vouchers string // the table
	rules    *rememberedRules
}

func newCodes(api UsesAPI, vouchers string, random func(n int64) int64) codes {
	return codes{ledger{api, random}, vouchers, &rememberedRules{rules: make(map[codeKey]rules)}}
}

// RulesAge is how long a process remembers the rules of a code. A request that begins later than that after an edit
// follows the edit.
const RulesAge = 10 * time.Second

// soldOutAge is how long a process remembers that a code with parts was used up, because finding that out reads all of
// them.
const soldOutAge = time.Second

// maxRules bounds how many codes one process remembers. A function's process handles far fewer at a time.
const maxRules = 4096

type codeKey struct {
	shop catalog.ShopID
	code voucher.Code
}

// rules are a voucher as a request read it that was received at a time.
type rules struct {
	voucher.Voucher

	at      time.Time
	soldOut time.Time // when a request was received that found no use free; zero: none did
}

type rememberedRules struct {
	mu    sync.Mutex
	rules map[codeKey]rules
}

// of returns the rules that a request may follow. fresh is false if there are none, or if they are too old.
func (m *rememberedRules) of(request voucher.Request) (r rules, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.rules[codeKey{request.Shop, request.Code}]
	return r, known && request.At.Sub(r.at) < RulesAge
}

// hasManyUses reports whether a code is remembered as one with many uses, which no edit changes.
func (m *rememberedRules) hasManyUses(request voucher.Request) bool {
	r, _ := m.of(request)
	return r.Code != "" && !r.SingleUse()
}

// remember remembers the rules that the request has just read, unless the code is used up: undoing its redemption is no
// edit that anybody waits for.
func (m *rememberedRules) remember(request voucher.Request, v voucher.Voucher) {
	if v.Redeemed != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.rules) >= maxRules {
		clear(m.rules)
	}
	key := codeKey{request.Shop, request.Code}
	m.rules[key] = rules{v, request.At, m.rules[key].soldOut}
}

// sellOut remembers that a request found no use free.
func (m *rememberedRules) sellOut(request voucher.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.rules[codeKey{request.Shop, request.Code}]; known && r.Parts > 0 {
		r.soldOut = request.At
		m.rules[codeKey{request.Shop, request.Code}] = r
	}
}

// isSoldOut reports whether another request has just found no use free.
func (m *rememberedRules) isSoldOut(request voucher.Request) bool {
	r, _ := m.of(request)
	return !r.soldOut.IsZero() && request.At.Sub(r.soldOut) < soldOutAge
}

// Rules returns the rules of the request's code, at most RulesAge old. For an unknown code, the error is a
// *voucher.RefusalError. Rules that refuse the request are read again: so a refusal takes as many calls as that of an
// unknown code.
func (s codes) Rules(ctx context.Context, request voucher.Request) (voucher.Voucher, error) {
	if r, fresh := s.rules.of(request); fresh && r.Refuse(request) == nil {
		return r.Voucher, nil
	}
	return s.read(ctx, request)
}

// read reads the rules of the request's code.
func (s codes) read(ctx context.Context, request voucher.Request) (voucher.Voucher, error) {
	stored, err := table.ReadVoucher(ctx, s.api, s.vouchers, request.Shop, request.Code)
	if err != nil {
		return voucher.Voucher{}, table.Outcome(err)
	}
	s.rules.remember(request, stored.Voucher)
	return stored.Voucher, nil
}

// errRulesChanged means that the voucher was edited or deleted since its rules were read. Nothing was written.
var errRulesChanged = errors.New("the rules of the code have changed")

// takings returns what a request takes by the rules of a voucher, for good or as a hold: a use of the code and a use of
// the nick, as far as they are limited.
func (s codes) takings(
	request voucher.Request, v voucher.Voucher, holder idempotency.Token, until time.Time,
) (takings []*taking) {
	nick := voucher.NickID(request.Shop, v.Code, request.Nick)
	add := func(of voucher.Allowance, short voucher.Reason) *taking {
		t := &taking{
			of: of, table: s.vouchers, item: table.Head, parts: v.Parts, amount: 1, at: request.At,
			holder: string(holder), until: until, short: &voucher.RefusalError{Reason: short},
		}
		takings = append(takings, t)
		return t
	}
	if v.MaxUses != voucher.NoLimit {
		t := add(voucher.OfCode, voucher.ReasonUsedUp)
		t.key = func(item int) table.Key { return table.PartKey(request.Shop, v.Code, item) }
		if v.SingleUse() && request.Nick != (voucher.Nick{}) {
			t.note = func() string { return nick }
		}
		if v.Parts == 0 { // the code's item is written anyway, so an edit of it holds at once
			t.with = func(u *table.Update) {
				u.RequireEqual(table.AttrVersion, table.Num(v.Version))
				u.RequireEqual(table.AttrCreated, table.Millis(v.Created)) // it may have been deleted and created again
			}
			t.judge = func(old table.Item) error {
				if old.Num(table.AttrVersion) != v.Version || !old.Time(table.AttrCreated).Equal(v.Created) {
					return errRulesChanged
				}
				return errLookAgain
			}
		}
	}
	if v.MaxUsesPerNick != voucher.NoLimit {
		t := add(voucher.OfNick, voucher.ReasonNickLimit)
		t.key = func(int) table.Key { return table.NickKey(request.Shop, v.Code, nick) }
		t.limit, t.parts = int64(v.MaxUsesPerNick), 0
		if ofCode := takings[0]; ofCode != t {
			t.note = func() string { return strconv.Itoa(ofCode.item) }
		}
	}
	return takings
}

// Available returns the voucher as it is stored now, if a use of it could be taken for the request. Otherwise the error
// is a *voucher.RefusalError.
func (s codes) Available(ctx context.Context, request voucher.Request) (voucher.Voucher, error) {
	v, err := s.available(ctx, request, false)
	return v, table.Outcome(err)
}

// available is like Available. If mayShare is true, a live hold of the nick suffices.
func (s codes) available(ctx context.Context, request voucher.Request, mayShare bool) (voucher.Voucher, error) {
	id := voucher.NickID(request.Shop, request.Code, request.Nick)
	head, nick := table.VoucherKey(request.Shop, request.Code), table.NickKey(request.Shop, request.Code, id)
	keys := []table.Key{head, nick}
	if r, _ := s.rules.of(request); r.Parts > 0 { // one part most likely has a use left
		keys = append(keys, table.PartKey(request.Shop, request.Code, int(s.random(int64(r.Parts)))))
	}
	found, err := table.BatchGet(ctx, s.api, s.random, s.vouchers, keys...)
	if err != nil {
		return voucher.Voucher{}, err
	}
	if found[head] == nil {
		return voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	stored, err := table.DecodeVoucher(found[head])
	if err != nil {
		return voucher.Voucher{}, err
	}
	s.rules.remember(request, stored.Voucher)
	v := stored.Voucher
	if err := v.Refuse(request); err != nil {
		return voucher.Voucher{}, err
	}
	ofNick, err := table.DecodeAllowance(found[nick])
	if err != nil {
		return voucher.Voucher{}, err
	}
	_, isShared := ofNick.Live(request.At)
	for _, hold := range stored.Holds {
		isShared = isShared || hold.Note == id && !hold.HasLapsed(request.At)
	}
	if mayShare && isShared {
		return v, nil
	}
	taken := ofNick.Limit - ofNick.Free(request.At)
	if v.MaxUsesPerNick != voucher.NoLimit && taken >= int64(v.MaxUsesPerNick) {
		return voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonNickLimit}
	}
	if v.MaxUses == voucher.NoLimit {
		return v, nil
	}
	var one table.Item
	if len(keys) > 2 {
		one = found[keys[2]]
	}
	return v, s.refuseUsedUp(ctx, request, stored, one)
}

// refuseUsedUp returns a *voucher.RefusalError if no use of a code is free. one is the item of one of its parts, or
// empty.
func (s codes) refuseUsedUp(ctx context.Context, request voucher.Request, v table.Voucher, one table.Item) error {
	part, err := table.DecodeAllowance(one)
	switch {
	case err != nil:
		return err
	case v.Free(request.At) > 0 || v.Parts > 0 && v.Left >= 0 && part.Free(request.At) > 0:
		return nil
	case v.Parts == 0:
		return &voucher.RefusalError{Reason: voucher.ReasonUsedUp}
	}
	items, err := s.readAll(ctx, &posting{}, s.takings(request, v.Voucher, "", time.Time{})[0])
	if err != nil {
		return err
	}
	var free int64
	for _, item := range items {
		free += item.Free(request.At)
	}
	if free <= 0 {
		return &voucher.RefusalError{Reason: voucher.ReasonUsedUp}
	}
	return nil
}
