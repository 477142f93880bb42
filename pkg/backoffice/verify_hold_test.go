package backoffice_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// coins is a catalogue that sells any variant for 4.99 EUR.
type coins struct{}

func (coins) Offer(
	_ context.Context, _ catalog.ShopID, product catalog.ProductID, variant catalog.VariantID,
) (catalog.Offer, error) {
	price := money.Money{Minor: 499, Currency: "EUR"}
	return catalog.Offer{
		Product: catalog.Product{ID: product},
		Variant: catalog.Variant{ID: variant, Price: price, MinAmount: 1, MaxAmount: 10},
	}, nil
}

// hold opens a checkout with a code at the given time. replaces may be empty.
func (s *shop) hold(code voucher.Code, nick string, at time.Time, replaces checkout.ID) checkout.Checkout {
	s.t.Helper()
	c, err := s.tryHold(code, nick, at, replaces)
	if err != nil {
		s.t.Fatalf("hold %s for %s: %v", code, nick, err)
	}
	return c
}

func (s *shop) tryHold(code voucher.Code, nick string, at time.Time, replaces checkout.ID) (checkout.Checkout, error) {
	s.t.Helper()
	opener := checkout.Opener{
		Catalogue: coins{}, Store: dynamo.NewCheckouts(s.client, s.heldTables(), mathrand.Int64N), Random: rand.Reader,
	}
	parsed := s.request(string(code), nick, "")
	c, _, err := opener.Open(s.t.Context(), checkout.Request{
		Shop: s.shop, Product: "coins", Variant: "500", Code: parsed.Code, Nick: parsed.Nick,
		Replaces: replaces, At: at, Source: s.source,
	})
	return c, err
}

func (s *shop) heldTables() dynamo.Tables {
	return dynamo.Tables{Checkouts: s.names.Checkouts, Vouchers: s.names.Vouchers, Refusals: s.names.Refusals}
}

func (s *shop) order(c checkout.Checkout) checkout.Checkout {
	s.t.Helper()
	ordered, _, err := s.operator.PlaceOrder(s.t.Context(), c.ID,
		checkout.Payment{Provider: "stripe", Reference: "pi_1047"}, s.opened)
	if err != nil {
		s.t.Fatal(err)
	}
	return ordered
}

func (s *shop) cancel(c checkout.Checkout) {
	s.t.Helper()
	if _, _, err := s.operator.CancelOrder(s.t.Context(), c.ID, "chargeback", s.opened); err != nil {
		s.t.Fatal(err)
	}
}

// undo redeems a code for Alder and undoes the redemption.
func (s *shop) undo(code voucher.Code) {
	s.t.Helper()
	redemption, _, err := s.redeemer.Redeem(s.t.Context(), s.request(string(code), "Alder", ""))
	if err != nil {
		s.t.Fatal(err)
	}
	undone, replayed, err := s.operator.UndoRedemption(s.t.Context(), code, redemption.ID, "bought twice", s.opened)
	if err != nil || replayed || undone.UndoReason != "bought twice" || !undone.Undone.Equal(s.opened) {
		s.t.Fatalf("undone as %+v, replayed %t, %v", undone, replayed, err)
	}
}

// kindsOfHolds returns terms of vouchers by kind. Each kind stores its holds in another way.
func kindsOfHolds() map[string]voucher.Terms {
	return map[string]voucher.Terms{
		"ONCE":  {},
		"BOTH":  {MaxUses: new(voucher.Limit(10)), MaxUsesPerNick: new(voucher.Limit(1)), Parts: new(3)},
		"MANY":  {MaxUses: new(voucher.Limit(5)), MaxUsesPerNick: new(voucher.NoLimit)},
		"NICKS": {MaxUses: new(voucher.NoLimit)},
		"FREE":  {MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)},
	}
}

// createKind creates a voucher with the terms of a kind. Its code is written like the kind.
func (s *shop) createKind(kind string) voucher.Code {
	s.t.Helper()
	terms := kindsOfHolds()[kind]
	terms.Written = kind
	return s.create(terms)
}

// lapsed returns a time early enough that holds made then have lapsed when the shop opens.
func (s *shop) lapsed() time.Time { return s.opened.Add(-2 * time.Hour) }

// livesOfHolds returns functions that use a code, by name. Together they bring a hold or a redemption into every state.
func livesOfHolds() map[string]func(s *shop, code voucher.Code) {
	return map[string]func(s *shop, code voucher.Code){
		"HELD":   func(s *shop, code voucher.Code) { s.hold(code, "Alder", s.opened, "") },
		"LAPSED": func(s *shop, code voucher.Code) { s.hold(code, "Alder", s.lapsed(), "") },
		"PASSED": func(s *shop, code voucher.Code) {
			s.hold(code, "Alder", s.lapsed(), "")
			s.hold(code, "Birch", s.opened, "")
		},
		"SWAPPED": func(s *shop, code voucher.Code) {
			s.hold(code, "Alder", s.lapsed(), "")
			s.redeem(string(code), "Alder", "")
		},
		"SHARED": func(s *shop, code voucher.Code) {
			s.hold(code, "Alder", s.opened.Add(-10*time.Minute), "")
			s.order(s.hold(code, "Alder", s.opened, ""))
		},
		"TOGETHER": func(s *shop, code voucher.Code) { // both holds end at the same time, so sharing adds a millisecond
			s.hold(code, "Alder", s.opened, "")
			s.hold(code, "Alder", s.opened, "")
		},
		"REPLACED": func(s *shop, code voucher.Code) {
			s.hold(code, "Alder", s.opened, s.hold(code, "Alder", s.opened.Add(-10*time.Minute), "").ID)
		},
		"ORDERED":   func(s *shop, code voucher.Code) { s.order(s.hold(code, "Alder", s.opened, "")) },
		"LATE":      func(s *shop, code voucher.Code) { s.order(s.hold(code, "Alder", s.lapsed(), "")) },
		"CANCELLED": func(s *shop, code voucher.Code) { s.cancel(s.order(s.hold(code, "Alder", s.opened, ""))) },
		"UNDONE":    func(s *shop, code voucher.Code) { s.undo(code) },
		"AGAIN": func(s *shop, code voucher.Code) {
			s.undo(code)
			s.cancel(s.order(s.hold(code, "Alder", s.opened, "")))
			s.redeem(string(code), "Alder", "")
		},
	}
}

func everyHold(s *shop) {
	s.t.Helper()
	for kind, terms := range kindsOfHolds() {
		for life, live := range livesOfHolds() {
			terms.Written = kind + "-" + life
			live(s, s.create(terms))
		}
	}
	orderedAfterTheEnd := voucher.Terms{Written: "ENDED", ValidUntil: s.opened.Add(-time.Hour)}
	s.order(s.hold(s.create(orderedAfterTheEnd), "Alder", s.lapsed(), ""))
}

// loweredBelowHolds takes five uses of a code, one of them with a hold that has lapsed, and lowers the limit to three.
func loweredBelowHolds(s *shop) voucher.Code {
	s.t.Helper()
	code := s.create(voucher.Terms{
		Written: "WINTER", MaxUses: new(voucher.Limit(5)),
		MaxUsesPerNick: new(voucher.NoLimit), Parts: new(2),
	})
	s.hold(code, "Alder", s.lapsed(), "")
	s.hold(code, "Birch", s.opened, "")
	s.order(s.hold(code, "Cedar", s.opened, ""))
	for range 2 {
		s.redeem("WINTER", "Dahlia", "")
	}
	s.edit(code, voucher.Edit{MaxUses: new(voucher.Limit(3))})
	return code
}

func loweredWithHolds(s *shop) {
	s.t.Helper()
	code := loweredBelowHolds(s)
	s.wantClean("lowered")
	s.redeem("WINTER", "Elder", "") // is refused
	s.wantClean("refused")
	for _, it := range s.items(s.names.Vouchers, string(code)+"#r#") {
		id := strings.TrimPrefix(it.record(), "b#")
		if _, _, err := s.operator.UndoRedemption(s.t.Context(), code, id, "", s.opened); err == nil {
			break // an order made the other one
		}
	}
	s.wantClean("undone")
	s.edit(code, voucher.Edit{MaxUses: new(voucher.Limit(6))})
}

// holdFromASource lets one source of an IPv6 network hold uses of two codes, and orders one of them.
func holdFromASource(s *shop) {
	s.t.Helper()
	s.source = access.Source{Name: "2001:db8::/48", Subnet: "1"}
	s.hold(s.createKind("MANY"), "Alder", s.opened, "")
	s.order(s.hold(s.createKind("ONCE"), "Alder", s.opened, ""))
}

func (s *shop) changeCheckoutOf(c checkout.Checkout, change func(attributes)) {
	s.t.Helper()
	it := s.items(s.names.Checkouts, string(c.ID.Number()[:5]))[0]
	change(it)
	s.put(s.names.Checkouts, it)
}

// If a use comes back during an edit of the limit, the edit must count it, whatever step it has reached.
func TestEdit_UseComesBackMeanwhile_UsesStillMatchTheLimit(t *testing.T) {
	tables := newTables(t)
	for what, test := range map[string]struct{ before, to voucher.Limit }{
		"raised": {10, 14}, "lowered": {10, 5}, "lowered below the uses": {10, 2}, "raised from below the uses": {2, 6},
		"unchanged, below the uses": {2, 2},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := tables.newShop(t)
			writes := 1
			for s.editAsUseComesBack(test.before, test.to, writes) {
				writes++
			}
			s.wantClean(what)
		})
	}
}

// editAsUseComesBack changes the limit of a new code that is redeemed four times, and undoes one of the redemptions
// after a number of the edit's writes. If the edit takes fewer writes, editAsUseComesBack returns false.
func (s *shop) editAsUseComesBack(before, to voucher.Limit, writes int) bool {
	s.t.Helper()
	written := fmt.Sprintf("MANY-%d", writes)
	code := s.create(voucher.Terms{
		Written: written, MaxUses: new(voucher.Limit(10)), MaxUsesPerNick: new(voucher.NoLimit), Parts: new(2),
	})
	redemption, _, err := s.redeemer.Redeem(s.t.Context(), s.request(written, "Alder", ""))
	if err != nil {
		s.t.Fatal(err)
	}
	for range 3 {
		s.redeem(written, "Birch", "")
	}
	if before != 10 {
		s.edit(code, voucher.Edit{MaxUses: &before})
	}
	api := &cutAfter{s.client, writes, func() {
		if _, _, err := s.operator.UndoRedemption(s.t.Context(), code, redemption.ID, "", s.opened); err != nil {
			s.t.Error(err)
		}
	}}
	if _, err := s.over(api).EditVoucher(s.t.Context(), code, voucher.Edit{MaxUses: &to}); err != nil {
		s.t.Fatal(err)
	}
	undone := api.writes <= 0
	used := 4
	if undone {
		used = 3
	}
	standing, err := s.operator.Voucher(s.t.Context(), code, s.opened)
	if err != nil || standing.Used != used || standing.UsesLeft != max(int(to)-used, 0) {
		s.t.Errorf("undone after write %d: %+v, %v", writes, standing, err)
	}
	return undone
}

// spoil changes the first item of a voucher whose sort key has the prefix. If change is nil, it
// deletes the item.
func (s *shop) spoil(prefix string, change func(attributes)) {
	s.t.Helper()
	if change == nil {
		s.remove(s.names.Vouchers, s.items(s.names.Vouchers, prefix)[0])
		return
	}
	s.move(prefix, change) // change may change the key
}

// hold returns the name of an attribute with a nick's hold.
func (a attributes) hold() string {
	for name := range a {
		if strings.HasPrefix(name, "h#") {
			return name
		}
	}
	return ""
}

func damagedHolds() []damage {
	// The function held creates a code of the kind and holds a use of it. Then it spoils the first item whose sort key
	// begins with the code and the suffix.
	held := func(kind, suffix string, change func(attributes)) func(*shop) {
		return func(s *shop) {
			code := s.createKind(kind)
			s.hold(code, "Alder", s.opened, "")
			s.spoil(string(code)+suffix, change)
		}
	}
	dropHold := func(it attributes) { delete(it, it.hold()) }
	return []damage{
		{what: "a hold is lost", want: []string{"allowance_differs MANY"}, do: held("MANY", "", dropHold)},
		{
			what: "a hold is lost with its number", want: []string{"allowance_differs 0NCE"},
			do: held("ONCE", "", func(it attributes) { dropHold(it); it.add("n", -1) }),
		},
		{
			what: "a nick's hold is lost", want: []string{"allowance_differs N1CKS#n#"},
			do: held("NICKS", "#n#", func(it attributes) { dropHold(it); it.add("n", -1) }),
		},
		{what: "a hold of somebody else", want: []string{"hold_unfounded MANY"}, do: held("MANY", "", func(it attributes) {
			hold := it[it.hold()]
			dropHold(it)
			it["h#LRLuWYz8-QoWsPfs4csHfg"] = hold
		})},
		{
			what: "a nick's hold without its checkout", want: []string{"hold_unfounded N1CKS#n#"}, do: func(s *shop) {
				held("NICKS", "", func(attributes) {})(s)
				for _, it := range s.items(s.names.Checkouts, "") {
					s.remove(s.names.Checkouts, it)
				}
			},
		},
		{
			what: "a hold that outlasts its checkout", want: []string{"hold_too_long MANY"},
			do: held("MANY", "", func(it attributes) { it[it.hold()] = text("1.zzzzzzzz.") }),
		},
		{
			what: "a source has one hold too few left", want: []string{"allowance_differs "}, do: func(s *shop) {
				holdFromASource(s)
				it := s.items(s.names.Refusals, "holds#")[0]
				it.add("left", -1)
				s.put(s.names.Refusals, it)
			},
		},
		{
			what: "holds of a source whose checkout is lost",
			want: []string{"hold_unfounded ", "hold_unfounded ", "hold_unfounded MANY"}, do: func(s *shop) {
				holdFromASource(s)
				for _, it := range s.items(s.names.Checkouts, "") {
					if it.text("status") == "open" {
						s.remove(s.names.Checkouts, it)
					}
				}
			},
		},
		{
			what: "a hold that cannot be read", want: []string{"malformed N1CKS#n#"},
			do: held("NICKS", "#n#", func(it attributes) { it["h#LRLuWYz8-QoWsPfs4csHfg"] = text("soon") }),
		},
	}
}

func damagedUndone() []damage {
	undone := func(kind, suffix string, change func(attributes)) func(*shop) {
		return func(s *shop) {
			code := s.createKind(kind)
			s.undo(code)
			s.spoil(string(code)+suffix, change)
		}
	}
	redone := func(it attributes) { delete(it, "undone"); delete(it, "reason") }
	without := func(name string) func(attributes) { return func(it attributes) { delete(it, name) } }
	return []damage{
		{
			what: "a single-use code does not state that it was undone", want: []string{"undone_differ 0NCE"},
			do: undone("ONCE", "", without("apart")),
		},
		{
			what: "a nick does not state that a redemption was undone", want: []string{"undone_differ B0TH"},
			do: undone("BOTH", "#n#", without("apart")),
		},
		{
			what: "a use came back, but its redemption is not undone", want: []string{"allowance_differs MANY"},
			do: undone("MANY", "#r#", redone),
		},
		{
			what: "a nick's undone redemption is not marked as undone", want: []string{"wrong_kind N1CKS"},
			do: undone("NICKS", "#r#", redone),
		},
		{
			what: "a voucher with many uses states that it was undone", want: []string{"wrong_kind MANY"},
			do: undone("MANY", "", func(it attributes) { it["apart"] = &types.AttributeValueMemberBOOL{Value: true} }),
		},
		{
			what: "an undone redemption without its time", want: []string{"malformed FREE#r#"},
			do: undone("FREE", "#r#", func(it attributes) { delete(it, "undone") }),
		},
		{
			what: "an undone redemption with an invalid reason", want: []string{"malformed FREE#r#"},
			do: undone("FREE", "#r#", func(it attributes) { it["reason"] = text("bought\ntwice") }),
		},
		{
			what: "undone long before it was redeemed", want: []string{"malformed FREE#r#"},
			do: undone("FREE", "#r#", func(it attributes) {
				it.add("undone", -(11 * time.Minute).Milliseconds())
			}),
		},
		{
			what: "undone in the future", want: []string{"in_the_future FREE"},
			do: undone("FREE", "#r#", func(it attributes) {
				it.add("undone", (11 * time.Minute).Milliseconds())
			}),
		},
	}
}

func damagedCodedCheckouts() []damage {
	opened := func(change func(attributes)) func(*shop) {
		return func(s *shop) {
			s.changeCheckoutOf(s.hold(s.create(voucher.Terms{Written: "ONCE"}), "Alder", s.opened, ""), change)
		}
	}
	ordered := func(kind, suffix string, cancelled bool, change func(attributes)) func(*shop) {
		return func(s *shop) {
			code := s.createKind(kind)
			c := s.order(s.hold(code, "Alder", s.opened, ""))
			if cancelled {
				s.cancel(c)
			}
			s.spoil(string(code)+suffix, change)
		}
	}
	having := func(name, value string) func(attributes) { return func(it attributes) { it[name] = text(value) } }
	without := func(name string) func(attributes) { return func(it attributes) { delete(it, name) } }
	malformed, differs := []string{"malformed "}, []string{"order_use_differs "}
	return []damage{
		{what: "an order whose redemption is lost", want: differs, do: ordered("FREE", "#r#", false, nil)},
		{what: "an order whose nick has no redemption", want: differs, do: ordered("NICKS", "#n#", false, nil)},
		{
			what: "an order whose redemption has another ID", want: differs,
			do: ordered("ONCE", "", false, func(it attributes) {
				it.renameRecord("b#LRLuWYz8-QoWsPfs4csHfg")
			}),
		},
		{
			what: "an order whose redemption was not made by an order", want: differs,
			do: ordered("ONCE", "", false, func(it attributes) { it.rewrite("|o|", "||") }),
		},
		{
			what: "an order whose redemption is undone", want: differs,
			do: ordered("FREE", "#r#", false, func(it attributes) {
				it["undone"], it["reason"] = number(time.Now().UnixMilli()), text("")
			}),
		},
		{
			what: "a cancelled order whose redemption is not undone", want: differs,
			do: ordered("FREE", "#r#", true, func(it attributes) {
				delete(it, "undone")
				delete(it, "reason")
			}),
		},
		{what: "a cancelled order whose redemption is lost", want: differs, do: ordered("FREE", "#r#", true, nil)},
		{
			what: "an order that was turned back into an open checkout, but has its redemption", want: differs,
			do: func(s *shop) {
				s.changeCheckoutOf(s.order(s.hold(s.createKind("MANY"), "Alder", s.opened, "")), func(it attributes) {
					it["status"], it["expiresAt"] = text("open"),
						number((it.number("expires")+999)/1000+int64(8*day/time.Second))
					delete(it, "ordered")
					delete(it, "shelf")
					delete(it, "payment")
				})
			},
		},
		{what: "a checkout with a code but no hold", want: malformed, do: opened(without("use"))},
		{what: "a checkout with a hold but no code", want: malformed, do: opened(without("code"))},
		{what: "a hold that cannot be read", want: malformed, do: opened(having("use", "soon"))},
		{
			what: "a hold of an unknown allowance", want: malformed,
			do: opened(func(it attributes) { it["use"] = text(it.text("use") + ".x-1") }),
		},
		{
			what: "a hold of a part of a nick", want: malformed,
			do: opened(func(it attributes) { it["use"] = text(it.text("use") + ".n1") }),
		},
		{what: "a code without its reward", want: malformed, do: opened(without("reward"))},
		{what: "a discount that its reward does not give", want: []string{"price_differs "}, do: opened(func(it attributes) {
			it["reward"] = text("50%")
		})},
		{what: "a product that is none", want: malformed, do: opened(having("product", "Coins!"))},
		{what: "an amount above the highest", want: malformed, do: opened(func(it attributes) {
			it["amount"] = number(1 << 40)
		})},
		{what: "data that is not the object it should be", want: malformed, do: opened(func(it attributes) {
			it["data"], it["object"] = text("[]"), &types.AttributeValueMemberBOOL{Value: true}
		})},
		{what: "a checkout with an invalid code", want: malformed, do: opened(having("code", "#"))},
		{what: "a checkout with a nick but no hash of it", want: malformed, do: opened(without("buyer"))},
		{
			what: "a checkout with the hash of another nick", want: malformed,
			do: opened(having("buyer", "LRLuWYz8-QoWsPfs4csHfg")),
		},
		{
			what: "a replaced checkout that was paid", want: malformed,
			do: opened(func(it attributes) { it["status"], it["payment"] = text("replaced"), text("stripe#pi_1047") }),
		},
		{what: "a discount without a code", want: []string{"price_differs "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { it.add("discount", 1); it.add("total", -1) })
		}},
		{
			what: "a code without a discount", want: []string{"price_differs "},
			do: opened(func(it attributes) { it["discount"], it["total"] = number(0), it["subtotal"] }),
		},
	}
}

func TestVoucher_Holds_CountUntilTheyLapse(t *testing.T) {
	tables := newTables(t)
	type uses struct{ left, used, held int }
	for what, test := range map[string]struct {
		kind string
		do   func(s *shop, code voucher.Code)
		want uses
	}{
		"a live hold": {
			"MANY",
			func(s *shop, code voucher.Code) { s.hold(code, "Alder", s.opened, "") },
			uses{4, 1, 1},
		},
		"a lapsed hold of a nick": {
			"BOTH",
			func(s *shop, code voucher.Code) { s.hold(code, "Alder", s.lapsed(), "") },
			uses{10, 0, 0},
		},
		"a live single-use hold": {
			"ONCE",
			func(s *shop, code voucher.Code) { s.hold(code, "Alder", s.opened, "") },
			uses{0, 1, 1},
		},
		"a lapsed single-use hold": {
			"ONCE",
			func(s *shop, code voucher.Code) { s.hold(code, "Alder", s.lapsed(), "") },
			uses{1, 0, 0},
		},
		"a hold that was ordered": {
			"MANY",
			func(s *shop, code voucher.Code) { s.order(s.hold(code, "Alder", s.opened, "")) },
			uses{4, 1, 0},
		},
		"a redemption that was undone": {"BOTH", func(s *shop, code voucher.Code) { s.undo(code) }, uses{10, 0, 0}},
		"a single-use code, undone":    {"ONCE", func(s *shop, code voucher.Code) { s.undo(code) }, uses{1, 0, 0}},
		"a hold above a lowered limit": {"", func(s *shop, _ voucher.Code) { loweredBelowHolds(s) }, uses{0, 4, 1}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := tables.newShop(t)
			code := voucher.Code("W1NTER")
			if test.kind != "" {
				code = s.createKind(test.kind)
			}
			opened := s.opened
			test.do(s, code)
			shown, err := s.operator.Voucher(t.Context(), code, s.opened)
			if err != nil {
				t.Fatal(err)
			}
			if got := (uses{shown.UsesLeft, shown.Used, shown.UsesHeld}); got != test.want {
				t.Errorf("left, used and held are %v, want %v", got, test.want)
			}
			if want := voucher.HeldUntil(opened.Add(checkout.Lifetime)); test.want.held > 0 &&
				!shown.Lapse.Equal(want) {
				t.Errorf("lapses at %s, want %s", shown.Lapse, want)
			}
			listed, err := backoffice.Collect(s.operator.Vouchers(t.Context(), backoffice.VoucherFilter{}, s.opened))
			if err != nil || len(listed) != 1 || listed[0].UsesLeft != shown.UsesLeft || listed[0].Used != shown.Used ||
				listed[0].UsesHeld != shown.UsesHeld || !listed[0].Lapse.Equal(shown.Lapse) {
				t.Errorf("listed as %+v, %v; shown as %+v", listed, err, shown)
			}
		})
	}
}

func TestRedemptions_ListHasUndoneRedemptionsButNoHolds(t *testing.T) {
	tables := newTables(t)
	for kind := range kindsOfHolds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := tables.newShop(t)
			code := s.createKind(kind)
			s.undo(code)
			s.hold(code, "Birch", s.opened, "")
			for _, filter := range []backoffice.RedemptionFilter{{}, {Code: code}} {
				listed, err := backoffice.Collect(s.operator.Redemptions(t.Context(), filter))
				if err != nil || len(listed) != 1 {
					t.Fatalf("%+v, %v; want one redemption", listed, err)
				}
				if r := listed[0]; !r.Undone.Equal(s.opened) || r.UndoReason != "bought twice" || r.Nick != "Alder" ||
					r.Code != kind {
					t.Errorf("listed %+v", r)
				}
			}
		})
	}
}
