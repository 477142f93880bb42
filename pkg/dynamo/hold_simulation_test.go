package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Names of simulated tables.
const (
	simulatedCheckouts = "checkouts"
	simulatedRefusals  = "refusals"
)

// Shoppers redeem one code, hold it for checkouts and change their carts. They pay in time, late or never. The shop
// cancels orders and undoes redemptions. Somebody releases checkouts. An operator edits the limits. Clocks differ by a second. Whatever fails, and
// in whatever order the steps happen, every use is either free, held or redeemed.
func TestHolds_ConcurrentRequestsAndFaults_KeepEveryUseInOnePlace(t *testing.T) {
	t.Parallel()
	holdTrials().simulate(t, 40)
}

func holdTrials() trials {
	all := trials{}
	limit := func(n int) *voucher.Limit { return new(voucher.Limit(n)) }
	kinds := map[string]voucher.Terms{
		"single-use": {},
		"single-use, for a nick": {
			Nick: "Alder", ValidFrom: noon().Add(time.Second), ValidUntil: noon().Add(4 * time.Second),
		},
		"limited":                    {MaxUses: limit(4), MaxUsesPerNick: limit(0), Parts: new(2)},
		"limited, one for each nick": {MaxUses: limit(3), MaxUsesPerNick: limit(1), Parts: new(2)},
		"limited, two for each nick": {MaxUses: limit(4), MaxUsesPerNick: limit(2), Parts: new(3)},
		"one for each nick":          {MaxUses: limit(0), MaxUsesPerNick: limit(1)},
		"two for each nick":          {MaxUses: limit(0), MaxUsesPerNick: limit(2)},
		"limited, in one item":       {MaxUses: limit(3), MaxUsesPerNick: limit(1)},
		"no limit":                   {MaxUses: limit(0), MaxUsesPerNick: limit(0)},
	}
	for what, terms := range kinds {
		for _, edits := range []bool{false, true} {
			for name, faults := range map[string]memdynamo.Rates{"reliable": {}, "every fault": everyFault(0.03)} {
				all[fmt.Sprintf("%s/edits %t/%s", what, edits, name)] = func(s *simulation) {
					s.faults = faults
					newFair(s, terms).run(edits)
				}
			}
		}
	}
	return all
}

// fair is a trial in which shoppers, a shop and an operator use one code.
type fair struct {
	*simulation

	v        voucher.Voucher
	opener   checkout.Opener
	orders   checkout.Orders
	redeemer voucher.Redeemer
	undoer   voucher.Redemptions
	owner    *backoffice.Shop

	edited   bool                              // an edit of the voucher has begun
	note     string                            // that the voucher must have; empty: a new one is being written
	before   table.Voucher                     // as the last check saw it
	taken    string                            // who had taken a single-use code then
	nicks    map[string]table.Allowance        // as the last check saw them, by voucher.NickID
	sawNone  time.Time                         // when a request in flight last saw that no use was free
	asked    map[string]bool                   // requests about checkouts that had the right ID
	stored   map[checkout.ID]checkout.Checkout // as the last check saw them
	holds    map[heldIn]table.Hold             // as the last check saw them
	inFlight map[*asking]bool
	redeemed map[string]bool // IDs of redemptions that a response showed
	opened   []checkout.Checkout
}

// asking is a request in flight that wants a use.
type asking struct {
	request  voucher.Request
	mayShare bool // whether the request may share the nick's own hold
	sawNone  bool // whether, at some moment, no use was free
	sawLimit bool // whether, at some moment, the nick had reached its limit
}

// owner returns emberforge's shop as its owner works on it.
func (s *simulation) owner(api backoffice.API) *backoffice.Shop {
	deployment := backoffice.NewDeployment(api, backoffice.Tables{Vouchers: simulatedVouchers}, s.random.Int64N)
	return deployment.Open(catalog.Profile{ID: emberforge})
}

func newFair(s *simulation, terms voucher.Terms) *fair {
	terms.Written, terms.Reward = "SUMMER20", voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	v, err := voucher.New(terms, s.now())
	must(s.t, err)
	tables := dynamo.Tables{Checkouts: simulatedCheckouts, Vouchers: simulatedVouchers, Refusals: simulatedRefusals}
	f := &fair{
		simulation: s, v: v,
		opener: checkout.Opener{
			Catalogue: coinsOnSale{},
			Store:     dynamo.NewCheckouts(restricted{s.dynamodb, s.t, simulatedVouchers}, tables, s.random.Int64N),
			Random:    s.random,
		},
		orders: checkout.Orders{Store: dynamo.NewOrders(s.dynamodb, simulatedCheckouts, simulatedVouchers,
			s.random.Int64N)},
		redeemer: voucher.Redeemer{
			Store:  dynamo.NewRedeemer(s.dynamodb, tables, s.random.Int64N),
			Random: s.random,
		},
		undoer: voucher.Redemptions{Store: dynamo.NewRedemptionRecords(s.dynamodb, tables, s.random.Int64N)},
		owner:  s.owner(s.dynamodb),
		holds:  map[heldIn]table.Hold{}, inFlight: map[*asking]bool{}, redeemed: map[string]bool{},
		asked: map[string]bool{}, stored: map[checkout.ID]checkout.Checkout{},
	}
	must(s.t, s.owner(s.setup).Create(s.t.Context(), v))
	return f
}

// coinsOnSale sells coins for 5 euros.
type coinsOnSale struct{}

func (coinsOnSale) Offer(
	context.Context, catalog.ShopID, catalog.ProductID, catalog.VariantID,
) (catalog.Offer, error) {
	price := money.Money{Minor: 500, Currency: "EUR"}
	return catalog.Offer{Variant: catalog.Variant{ID: "500", Price: price, MinAmount: 1, MaxAmount: 64}}, nil
}

func (f *fair) run(edits bool) {
	f.afterCommit = f.check
	f.check(f.setup)
	for i := range 7 {
		f.request(f.t.Context(), fmt.Sprintf("shopper %d", i), func(ctx context.Context) {
			for range 3 {
				f.shop(ctx, []string{"", "Alder", "Birch", "ALDER"}[f.random.Int64N(4)])
				f.rest()
			}
		})
	}
	if edits {
		for name, edit := range map[string]func(context.Context){
			"operator": f.edit, "other operator": f.edit, "annotator": f.annotate,
		} {
			f.request(f.t.Context(), name, func(ctx context.Context) {
				for range 3 {
					edit(ctx)
					f.rest()
					edit(ctx)
				}
			})
		}
	}
	f.simulation.run()
	f.takeTheRest()
}

// rest lets some time pass: a moment, or until holds are about to lapse. Half of the moments are so short that requests
// meet.
func (f *fair) rest() {
	longest := []time.Duration{3 * time.Second, 30 * time.Millisecond}[f.random.Int64N(2)]
	pause := time.Duration(f.random.Int64N(int64(longest)))
	if f.random.Int64N(3) == 0 {
		pause += checkout.Lifetime + time.Duration(f.random.Int64N(int64(24*time.Second)))
	}
	time.Sleep(pause)
}

// clock returns the time of a function's clock, which may be off by a second.
func (f *fair) clock() time.Time {
	return f.now().Add(time.Duration(f.random.Int64N(int64(2*time.Second))) - time.Second).Truncate(time.Millisecond)
}

// inTime limits a request to the time that a function has.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}

func (f *fair) shop(ctx context.Context, nick string) {
	request := voucher.Request{Shop: emberforge, Code: f.v.Code, Nick: mustNick(f.t, nick), At: f.clock()}
	if f.random.Int64N(2) == 0 {
		request.Key = idempotency.Key(fmt.Sprint("basket-", f.random.Int64N(6)))
	}
	switch f.random.Int64N(4) {
	case 0:
		f.redeem(ctx, request)
	default:
		f.checkOut(ctx, request)
	}
}

func (f *fair) redeem(ctx context.Context, request voucher.Request) {
	limited, cancel := inTime(ctx)
	a := f.begin(request, false)
	redemption, _, err := f.redeemer.Redeem(limited, request)
	cancel()
	f.end(a, "redeem", err)
	if err != nil {
		return
	}
	f.alone(func() { f.redeemed[redemption.ID] = true })
	for range f.random.Int64N(3) {
		f.request(ctx, "undo "+redemption.ID, func(ctx context.Context) {
			f.undo(ctx, redemption.ID)
		})
	}
	if request.Key != "" {
		f.request(ctx, "redeem again "+redemption.ID, func(ctx context.Context) { f.retry(ctx, request, redemption) })
	}
}

// retry sends a request again that was redeemed. Whatever has happened since, it is not refused.
func (f *fair) retry(ctx context.Context, request voucher.Request, first voucher.Redemption) {
	time.Sleep(time.Duration(f.random.Int64N(int64(time.Second))))
	ctx, cancel := inTime(ctx)
	defer cancel()
	again, _, err := f.redeemer.Redeem(ctx, request)
	if err == nil && again != first {
		f.t.Errorf("redeemed as %+v and as %+v", first, again)
	}
	f.want(err, "redeem again", []error{voucher.ErrUndone})
}

func (f *fair) undo(ctx context.Context, id string) {
	ctx, cancel := inTime(ctx)
	defer cancel()
	request := voucher.UndoRequest{Shop: emberforge, Code: f.v.Code, ID: id, At: f.clock(), Reason: "charged twice"}
	r, _, err := f.undoer.Undo(ctx, request)
	if err == nil && (r.ID != id || r.Undone.IsZero()) {
		f.t.Errorf("Undo of %s = %+v; want this redemption, undone", id, r)
	}
	f.want(err, "undo", nil)
}

func (f *fair) checkOut(ctx context.Context, request voucher.Request) {
	wanted := checkout.Request{
		Shop: emberforge, Product: "coins", Variant: "500", Code: request.Code, Nick: request.Nick, At: request.At,
		Key:    request.Key,
		Amount: 1 + f.random.Int64N(2),
	}
	if f.random.Int64N(6) == 0 {
		wanted.Code = ""
	}
	f.alone(func() {
		if len(f.opened) > 0 && f.random.Int64N(4) == 0 {
			wanted.Replaces = f.opened[f.random.Int64N(int64(len(f.opened)))].ID
		}
	})
	limited, cancel := inTime(ctx)
	a := f.begin(request, true)
	c, _, err := f.opener.Open(limited, wanted)
	cancel()
	f.end(a, "check out", err)
	if err != nil {
		return
	}
	until := c.Expires
	if wanted.Code != "" {
		until = c.Hold.Until
	}
	if wanted.Code != "" && c.Discount.Minor != c.Subtotal.Minor/5 || (c.Hold == nil) != (c.Code == "") {
		f.t.Errorf("checked out %+v", c)
	}
	f.alone(func() { f.opened = append(f.opened, c) })
	switch f.random.Int64N(4) {
	case 0: // never paid
		return
	case 1: // paid about when the hold lapses, or when the checkout can no longer be ordered
		latest := []time.Time{until, c.Expires.Add(checkout.LateOrders)}[f.random.Int64N(8)/7]
		time.Sleep(latest.Sub(f.now()) - time.Duration(f.random.Int64N(int64(4*time.Second))) + time.Second)
	default:
		time.Sleep(time.Duration(f.random.Int64N(int64(2 * time.Second))))
	}
	// undo while the checkout is ordered: only cancelling the order may undo its redemption
	if c.Hold != nil && f.random.Int64N(4) == 0 {
		f.request(ctx, "undo order "+string(c.ID[:8]), func(ctx context.Context) {
			ctx, cancel := inTime(ctx)
			defer cancel()
			time.Sleep(time.Duration(f.random.Int64N(int64(20 * time.Millisecond))))
			request := voucher.UndoRequest{
				Shop: emberforge, Code: f.v.Code, ID: string(c.ID.Token()), At: f.clock(),
			}
			// a cancellation has a reason
			if r, _, err := f.undoer.Undo(ctx, request); err == nil && r.UndoReason == "" {
				f.t.Errorf("the redemption of the order %s was undone: %+v", c.ID, r)
			}
		})
	}
	for range f.random.Int64N(6) / 3 {
		f.request(ctx, "release "+string(c.ID[:8]), func(ctx context.Context) { f.release(ctx, c) })
	}
	for range 1 + f.random.Int64N(2) {
		f.request(ctx, "order "+string(c.ID[:8]), func(ctx context.Context) { f.order(ctx, c) })
	}
}

// ask returns the ID for a request about a checkout. Some requests have a wrong ID, and must change nothing.
func (f *fair) ask(what string, id checkout.ID) checkout.ID {
	if f.random.Int64N(8) == 0 {
		return checkout.ID(id.Token()) + checkout.ID(id.Token())
	}
	f.alone(func() { f.asked[what+string(id)] = true })
	return id
}

// wantLost checks that a checkout whose order expired has lost what it held, unless a limit was edited.
func (f *fair) wantLost(c checkout.Checkout) {
	f.alone(func() {
		stored := table.DecodeCheckout(f.setup.item(simulatedCheckouts, table.CheckoutKey(emberforge, c.ID.Token())))
		b, isHeld := f.read(f.setup), stored.ID == c.ID // another ID: the key has made a new checkout
		if c.Hold != nil {
			for _, take := range c.Hold.Takes {
				_, found := f.holds[heldIn{b.keyOf(f, c, take), string(c.Hold.Holder)}]
				isHeld = isHeld && found
			}
		}
		if isHeld && !f.edited {
			f.t.Errorf("order of %s: expired, but its hold %+v is stored", c.ID, c.Hold)
		}
	})
}

func (f *fair) order(ctx context.Context, c checkout.Checkout) {
	limited, cancel := inTime(ctx)
	defer cancel()
	id, at := f.ask("order", c.ID), f.clock()
	ordered, _, err := f.orders.Place(limited, emberforge, id,
		checkout.Payment{Provider: "stripe", Reference: "pi_" + string(c.ID[:8])}, at)
	if err != nil {
		if errors.Is(err, checkout.ErrExpired) && id == c.ID && at.Before(c.Expires.Add(checkout.LateOrders)) {
			f.wantLost(c)
		}
		f.want(err, "order", []error{
			checkout.ErrExpired, checkout.ErrReplaced, checkout.ErrReleased, checkout.ErrOrderCancelled,
		})
		return
	}
	if ordered.Order == nil || ordered.Total != c.Total {
		f.t.Errorf("ordered %+v", ordered)
	}
	for range f.random.Int64N(3) {
		f.request(ctx, "cancel "+string(c.ID[:8]), func(ctx context.Context) {
			ctx, cancel := inTime(ctx)
			defer cancel()
			_, _, err := f.orders.Cancel(ctx, emberforge, f.ask("cancel", c.ID), "changed their mind", f.clock())
			f.want(err, "cancel", []error{checkout.ErrOrderNotFound})
		})
		f.request(ctx, "fulfil "+string(c.ID[:8]), func(ctx context.Context) {
			ctx, cancel := inTime(ctx)
			defer cancel()
			_, _, err := f.orders.Fulfil(ctx, emberforge, f.ask("fulfil", c.ID), f.clock())
			f.want(err, "fulfil", []error{checkout.ErrOrderNotFound, checkout.ErrOrderCancelled})
		})
	}
}

func (f *fair) release(ctx context.Context, c checkout.Checkout) {
	ctx, cancel := inTime(ctx)
	defer cancel()
	released, _, err := f.orders.Release(ctx, emberforge, f.ask("release", c.ID), false)
	f.want(err, "release", []error{checkout.ErrNotFound, checkout.ErrOrdered})
	if err == nil && released.Status(f.now()) != checkout.StatusReleased {
		f.t.Errorf("released %+v", released)
	}
}

func (f *fair) edit(ctx context.Context) {
	ctx, cancel := inTime(ctx)
	defer cancel()
	f.alone(func() { f.edited = true })
	var edit voucher.Edit
	switch {
	case f.v.Limited() && (f.v.MaxUsesPerNick == voucher.NoLimit || f.random.Int64N(2) == 0):
		edit.MaxUses = new(voucher.Limit(2 + f.random.Int64N(6)))
	case f.v.MaxUsesPerNick != voucher.NoLimit:
		edit.MaxUsesPerNick = new(voucher.Limit(1 + f.random.Int64N(3)))
	default:
		edit.Disabled = new(f.random.Int64N(2) == 0)
	}
	f.write(ctx, edit)
}

// annotate writes a note to the voucher, which only another note may replace. It also tries to create the code again.
func (f *fair) annotate(ctx context.Context) {
	ctx, cancel := inTime(ctx)
	defer cancel()
	note := fmt.Sprint("seen at the fair at ", f.now())
	f.alone(func() { f.note = "" })
	if f.write(ctx, voucher.Edit{Note: &note}) {
		f.alone(func() { f.note = note })
	}
	again := f.v
	again.Created = f.now().Add(time.Hour)
	err := f.owner.Create(ctx, again)
	if _, isTaken := errors.AsType[*voucher.CodeTakenError](err); !isTaken {
		f.want(err, "create again", nil)
	}
}

// write edits the voucher, and reports whether the edit was made.
func (f *fair) write(ctx context.Context, edit voucher.Edit) bool {
	_, err := f.owner.EditVoucher(ctx, f.v.Code, edit)
	if _, unavailable := errors.AsType[*dynamo.UnavailableError](err); err != nil && !unavailable &&
		!strings.Contains(err.Error(), "another edit") {
		f.t.Errorf("edit: %v", err)
	}
	return err == nil
}

// want accepts success, the allowed errors and, if calls fail, an unknown outcome. Any other error fails the test.
func (f *fair) want(err error, what string, allowed []error) {
	_, unavailable := errors.AsType[*dynamo.UnavailableError](err)
	if err != nil && (!unavailable || len(f.faults) == 0) && !slices.ContainsFunc(allowed, func(e error) bool { return errors.Is(err, e) }) {
		f.t.Errorf("%s: %v", what, err)
	}
}

func (f *fair) begin(request voucher.Request, mayShare bool) *asking {
	a := &asking{request: request, mayShare: mayShare}
	f.alone(func() {
		f.inFlight[a] = true
		f.look(f.setup, a)
	})
	return a
}

// end checks that a refusal was right at some moment while the request was in flight. It does not check this after an
// edit has begun, or if faults let requests see half of a transaction or read items at different moments.
func (f *fair) end(a *asking, what string, err error) {
	var edited bool
	f.alone(func() {
		delete(f.inFlight, a)
		edited = f.edited
	})
	reason, isRefused := voucher.IsRefusal(err)
	if !isRefused {
		f.want(err, what, []error{voucher.ErrUndone, checkout.ErrKeyInUse, checkout.ErrNotReplaceable})
	}
	if edited || f.faults[memdynamo.Halves] > 0 || f.faults[memdynamo.Torn] > 0 {
		return
	}
	switch {
	case reason == voucher.ReasonUsedUp && !a.sawNone, reason == voucher.ReasonNickLimit && !a.sawLimit:
		f.t.Errorf("%s by %q at %s: refused as %s, but that was never true while the request was in flight",
			what, a.request.Nick.Written, a.request.At.Format("15:04:05.000"), reason)
	}
}

// look records whether the items that are stored now justify a refusal of a request in flight.
func (f *fair) look(stored *simulatedDynamoDB, a *asking) {
	b := f.read(stored)
	nick := voucher.NickID(emberforge, f.v.Code, a.request.Nick)
	ofNick := b.nicks[nick]
	none := f.v.MaxUses != voucher.NoLimit && b.free(a.request.At) <= 0
	if none {
		f.sawNone = f.now()
	}
	if _, isHolder := ofNick.Live(a.request.At); isHolder && a.mayShare {
		return
	}
	if a.mayShare && f.v.SingleUse() && slices.ContainsFunc(b.items[table.Head].Holds,
		func(h table.Hold) bool { return h.Note == nick }) {
		return // the request can use this hold, even if it has lapsed
	}
	// With parts, that none is left is remembered for a second, by clocks that differ by two.
	a.sawNone = a.sawNone || none || f.v.Parts > 0 && f.now().Sub(f.sawNone) < 3*time.Second
	a.sawLimit = a.sawLimit || ofNick.Limit-ofNick.Free(a.request.At) >= int64(b.voucher.MaxUsesPerNick)
}

// heldIn is the place of a hold: an item, and a holder.
type heldIn struct {
	item   table.Key
	holder string
}

// books is everything that is stored about the code.
type books struct {
	voucher         table.Voucher
	items           map[int]table.Allowance    // of the code: the head and the parts
	nicks           map[string]table.Allowance // by voucher.NickID
	apart           map[string]bool            // by voucher.NickID
	holds           map[heldIn]table.Hold
	records, undone map[string]voucher.Redemption // by token
	redeemedBy      map[string]int                // redemptions that are not undone, by voucher.NickID
	checkouts       []checkout.Checkout
}

// free returns how many uses of the code can be taken at a time.
func (b books) free(at time.Time) (free int64) {
	for _, item := range b.items {
		free += item.Free(at)
	}
	return free
}

// keyOf returns the key of the item that a checkout takes from.
func (books) keyOf(f *fair, c checkout.Checkout, take voucher.Take) table.Key {
	if take.Of == voucher.OfNick {
		return table.NickKey(emberforge, f.v.Code, voucher.NickID(emberforge, f.v.Code, mustNick(f.t, c.Nick)))
	}
	return table.PartKey(emberforge, f.v.Code, take.Item)
}

func (f *fair) read(stored *simulatedDynamoDB) books {
	b := books{
		items: map[int]table.Allowance{}, nicks: map[string]table.Allowance{}, apart: map[string]bool{},
		holds: map[heldIn]table.Hold{}, records: map[string]voucher.Redemption{},
		undone: map[string]voucher.Redemption{}, redeemedBy: map[string]int{},
	}
	for key, it := range stored.items(simulatedVouchers) {
		rest := strings.TrimPrefix(key.Sort, string(f.v.Code))
		a, err := table.DecodeAllowance(it)
		must(f.t, err)
		number, isPart := strings.CutPrefix(rest, table.PartInfix)
		nick, isNick := strings.CutPrefix(rest, table.NickInfix)
		switch {
		case rest == "":
			b.voucher, err = table.DecodeVoucher(it)
			must(f.t, err)
			b.items[table.Head] = a
		case isPart:
			part, err := strconv.Atoi(number)
			must(f.t, err)
			b.items[part] = a
		case isNick:
			b.nicks[nick], b.apart[nick] = a, it.Bool(table.AttrApart)
		}
		for _, hold := range a.Holds {
			b.holds[heldIn{key, hold.Holder}] = hold
		}
		redemptions, err := table.Records(it)
		must(f.t, err)
		for _, r := range redemptions {
			if r.Undone.IsZero() {
				b.records[r.ID] = r
				b.redeemedBy[voucher.NickID(emberforge, f.v.Code, mustNick(f.t, r.Nick))]++
			} else {
				b.undone[r.ID] = r
			}
		}
	}
	for _, it := range stored.items(simulatedCheckouts) {
		if it.Has(table.AttrID) {
			b.checkouts = append(b.checkouts, table.DecodeCheckout(it))
		}
	}
	return b
}

// check checks what must be true after every write.
func (f *fair) check(stored *simulatedDynamoDB) {
	f.alone(func() {
		b := f.read(stored)
		f.checkBooks(b)
		f.checkTerms(b)
		f.checkOrders(b)
		f.checkLostHolds(b)
		f.before = b.voucher
		for a := range f.inFlight {
			f.look(stored, a)
		}
	})
}

// checkBooks checks the equation of the ledger: left + holds + used = limit, and used is what bookings have taken.
func (f *fair) checkBooks(b books) {
	var left, holds, used int64
	for item, a := range b.items {
		left, holds, used = left+a.Left, holds+a.Held(), used+a.Used
		if a.Counted != int64(len(a.Holds)) || item != table.Head && a.Left < 0 {
			f.t.Errorf("item %d has %+v", item, a)
		}
	}
	if v := b.voucher; v.MaxUses != voucher.NoLimit && (left+holds+used != int64(v.MaxUses) ||
		used != int64(len(b.records))) {
		f.t.Errorf("%d left, %d held and %d used of %d, with %d redemptions", left, holds, used, v.MaxUses,
			len(b.records))
	}
	for nick, a := range b.nicks {
		if a.Left+a.Held()+a.Used != a.Limit || a.Used != int64(b.redeemedBy[nick]) || a.Counted != int64(len(a.Holds)) {
			f.t.Errorf("nick %s has %+v, with %d redemptions", nick, a, b.redeemedBy[nick])
		}
		f.checkDebt("nick "+nick, f.nicks[nick], a)
	}
	if f.v.Parts == 0 {
		f.checkDebt("the code", f.before.Allowance, b.voucher.Allowance)
	}
	f.nicks = b.nicks
	isApart := b.voucher.Apart
	for _, apart := range b.apart {
		isApart = isApart || apart
	}
	if tells := f.v.SingleUse() || f.v.MaxUsesPerNick != voucher.NoLimit; tells && isApart != (len(b.undone) > 0) {
		f.t.Errorf("%d redemptions are undone, but apart is %t", len(b.undone), isApart)
	}
}

// checkDebt checks that an allowance without parts gives nothing while it is in debt.
func (f *fair) checkDebt(whose string, was, is table.Allowance) {
	if is.Left < 0 && is.Used+is.Held() > was.Used+was.Held() {
		f.t.Errorf("%s gives in spite of a debt: %+v", whose, is)
	}
}

// taker returns the token and the nick of the redemption or the hold of a single-use code, and when it was taken.
func (b books) taker() (token string, nick voucher.Nick, at time.Time) {
	if r := b.voucher.Redeemed; r != nil {
		nick, _ = voucher.ParseNick(r.Nick)
		return r.ID, nick, r.At
	}
	for _, c := range b.checkouts {
		if _, holds := b.items[table.Head].Hold(string(c.ID.Holder())); holds {
			nick, _ = voucher.ParseNick(c.Nick)
			return string(c.ID.Holder()), nick, c.Created
		}
	}
	return "", nick, at
}

// isOrdered reports whether an order has taken a single-use code: no rule applies to an order.
func (b books) isOrdered() bool { return b.voucher.Redeemed != nil && b.voucher.Redeemed.ByOrder }

// checkTerms checks that no edit is lost, that the voucher as it was before allowed a new redemption or hold of a
// single-use code, and that no request is redeemed again after its redemption was undone.
func (f *fair) checkTerms(b books) {
	if b.voucher.Version < f.before.Version || f.note != "" && b.voucher.Note != f.note {
		f.t.Errorf("%+v has become %+v; want a later version with the note %q", f.before, b.voucher, f.note)
	}
	if token, nick, at := b.taker(); f.v.SingleUse() && token != "" && token != f.taken && !b.isOrdered() {
		request := voucher.Request{Nick: nick, At: at}
		if err := f.before.Refuse(request); err != nil && f.before.Version > 0 {
			f.t.Errorf("taken by %s for %+v, but the code was refused: %v", token, request, err)
		}
	}
	f.taken, _, _ = b.taker()
	for token := range b.undone {
		if again, is := b.records[token]; is {
			f.t.Errorf("the undone redemption %s was made again: %+v", token, again)
		}
	}
}

// checkLostHolds checks that a hold ends early only if one of the checkouts that hold it is ordered, or if one was
// released and no other one needs it.
func (f *fair) checkLostHolds(b books) {
	for place, before := range f.holds {
		after, isHeld := b.holds[place]
		isEarly := f.now().Add(time.Second).Before(before.Until)
		isOrdered := slices.ContainsFunc(b.checkouts, func(c checkout.Checkout) bool {
			return c.Order != nil && c.Hold != nil && string(c.Hold.Holder) == before.Holder
		})
		isLost := !isHeld && !isOrdered && isEarly && !f.mayFree(before.Holder)
		if isHeld && after.Until.Before(before.Until) || isLost {
			f.t.Errorf("the hold %+v ended early: it is now %+v", before, after)
		}
	}
	f.holds = b.holds
}

// mayFree reports whether a checkout that had the hold was released, and no open one has it.
func (f *fair) mayFree(hold string) bool {
	isReleased := false
	for _, c := range f.stored {
		if c.Hold != nil && string(c.Hold.Holder) == hold {
			if c.Status(f.now()) == checkout.StatusOpen {
				return false
			}
			isReleased = isReleased || c.Released
		}
	}
	return isReleased
}

// checkOrders checks that every order with a code has its redemption.
func (f *fair) checkOrders(b books) {
	for _, c := range b.checkouts {
		f.checkOrder(c)
		if c.Hold == nil {
			continue
		}
		_, isRecorded := b.records[string(c.ID.Token())]
		_, isUndone := b.undone[string(c.ID.Token())]
		switch {
		case c.Order == nil && isRecorded:
			f.t.Errorf("checkout %s was not ordered, but it was redeemed", c.ID)
		case c.Order != nil && c.Order.Status() != checkout.OrderCancelled && !isRecorded:
			f.t.Errorf("order %s has no redemption", c.ID)
		case c.Order != nil && c.Order.Status() == checkout.OrderCancelled && (!isUndone || isRecorded):
			f.t.Errorf("order %s is cancelled, but its redemption is not undone", c.ID)
		}
	}
}

// checkOrder checks that a checkout changed only as requests with its ID asked, and each of its dates only once.
func (f *fair) checkOrder(c checkout.Checkout) {
	before := f.stored[c.ID]
	f.stored[c.ID] = c
	var was, is checkout.Order
	if before.Order != nil {
		was = *before.Order
	}
	if c.Order != nil {
		is = *c.Order
	}
	for what, at := range map[string][2]time.Time{
		"order": {was.Placed, is.Placed}, "fulfil": {was.Fulfilled, is.Fulfilled},
		"cancel": {was.Cancelled, is.Cancelled},
	} {
		asked := f.asked[what+string(c.ID)]
		if !at[0].IsZero() && at[1] != at[0] || !at[1].IsZero() && !asked {
			f.t.Errorf("%s of %s at %s, and then at %s; asked for: %t", what, c.ID, at[0], at[1], asked)
		}
	}
	if before.Replaced && !c.Replaced || before.Released && !c.Released ||
		c.Order != nil && (c.Replaced || c.Released) || c.Released && !f.asked["release"+string(c.ID)] ||
		!is.Placed.Before(c.Expires.Add(checkout.LateOrders)) || was.Fulfilled.IsZero() && !is.Fulfilled.IsZero() &&
		!was.Cancelled.IsZero() {
		f.t.Errorf("checkout %+v has become %+v", before, c)
	}
}

// takeTheRest checks that all uses that are free in the end can be taken, and no others.
func (f *fair) takeTheRest() {
	f.afterCommit = func(*simulatedDynamoDB) {}
	b := f.read(f.setup)
	for id := range f.redeemed {
		if _, is := b.records[id]; !is && b.undone[id].ID == "" {
			f.t.Errorf("redemption %s is lost", id)
		}
	}
	if f.v.MaxUses == voucher.NoLimit || b.voucher.Refuse(f.later("Visitor")) != nil {
		return
	}
	want := int(max(b.free(f.later("").At), 0))
	redeemer := voucher.Redeemer{
		Store:  dynamo.NewRedeemer(f.setup, dynamo.Tables{Vouchers: simulatedVouchers}, f.random.Int64N),
		Random: f.random,
	}
	for taken := 0; ; taken++ {
		_, err := redeemer.Check(f.t.Context(), f.later(fmt.Sprint("Visitor", taken)))
		if (err == nil) != (taken < want) {
			f.t.Errorf("%d of %d uses are taken, but a check says %v", taken, want, err)
		}
		_, _, err = redeemer.Redeem(f.t.Context(), f.later(fmt.Sprint("Visitor", taken)))
		if _, is := voucher.IsRefusal(err); is && taken == want {
			return
		}
		if err != nil || taken == want {
			f.t.Errorf("%d uses can be taken, then %v; %d are free", taken, err, want)
			return
		}
	}
}

// later returns a request of a nick at a time when all holds have lapsed.
func (f *fair) later(nick string) voucher.Request {
	return voucher.Request{
		Shop: emberforge, Code: f.v.Code, Nick: mustNick(f.t, nick),
		At: f.now().Add(2 * time.Hour),
	}
}

func mustNick(t testing.TB, text string) voucher.Nick {
	t.Helper()
	nick, err := voucher.ParseNick(text)
	must(t, err)
	return nick
}

// A source that has 14 live holds, or none, opens 12 more checkouts at once, some of them with the same key. It never
// has more than 20 live holds.
func TestOpenHeld_SourceRacesAndFaults_HasAtMost20LiveHolds(t *testing.T) {
	t.Parallel()
	sourceTrials().simulate(t, 100)
}

func sourceTrials() trials {
	all := trials{}
	for name, faults := range map[string]memdynamo.Rates{"reliable": {}, "every fault": everyFault(0.05)} {
		all[name] = func(s *simulation) {
			s.faults = faults
			openFromOneSource(s)
		}
	}
	return all
}

func openFromOneSource(s *simulation) {
	f := newFair(s, voucher.Terms{
		MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.NoLimit),
		Parts: new(4),
	})
	open := func(ctx context.Context, client *simulatedDynamoDB, key string) error {
		opener := f.opener
		tables := dynamo.Tables{
			Checkouts: simulatedCheckouts, Vouchers: simulatedVouchers,
			Refusals: simulatedRefusals,
		}
		opener.Store = dynamo.NewCheckouts(client, tables, s.random.Int64N)
		_, _, err := opener.Open(ctx, checkout.Request{
			Shop: emberforge, Product: "coins", Variant: "500", Code: f.v.Code, At: s.now(),
			Source: access.Source{Name: "203.0.113.7"}, Key: idempotency.Key(key),
		})
		return err
	}
	for range 14 * s.random.Int64N(2) {
		must(s.t, open(s.t.Context(), s.setup, ""))
	}
	s.afterCommit = func(stored *simulatedDynamoDB) {
		a, err := table.DecodeAllowance(stored.item(simulatedRefusals,
			table.SourceHoldsKey(emberforge, access.Source{Name: "203.0.113.7"})))
		must(s.t, err)
		if holds := len(f.read(stored).holds); holds != len(a.Holds) || a.Limit != 0 &&
			a.Left+a.Held() != checkout.MaxHoldsPerSource || a.Left < 0 {
			s.t.Errorf("%d holds are stored, and the source has %+v", holds, a)
		}
	}
	for i := range 12 {
		s.request(s.t.Context(), fmt.Sprint("open ", i), func(ctx context.Context) {
			ctx, cancel := inTime(ctx)
			defer cancel()
			_ = open(ctx, s.dynamodb, fmt.Sprint("basket-", i*2/3))
		})
	}
	s.run()
}
