package mutation_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"shopfront/internal/local/samtemplate"
	"shopfront/internal/torture/testshop"
)

// tested is a mutation that a test of a package must find.
type tested struct {
	name, pkg, test string
	removed         change
}

// byTest returns a mutation that replaces one string, and that a test must find.
func byTest(name, pkg, test, file, old, mutated string) tested {
	return tested{name, pkg, test, change{{file, old, mutated}}}
}

const (
	keysGo       = "pkg/dynamo/internal/table/keys.go"
	refusalsGo   = "pkg/access/refusals.go"
	areaGo       = "pkg/catalog/area.go"
	openGo       = "pkg/checkout/open.go"
	orderGo      = "pkg/checkout/order.go"
	checkoutsGo  = "pkg/dynamo/checkouts.go"
	ordersGo     = "pkg/dynamo/orders.go"
	serverGo     = "pkg/httpapi/admit.go"
	shownGo      = "pkg/httpapi/checkout.go"
	blockedGo    = "pkg/httpapi/refusals.go"
	pkgDynamo    = "./pkg/dynamo"
	pkgAccess    = "./pkg/access"
	pkgCheckout  = "./pkg/checkout"
	twoCustomers = "TestRedeem_SameCodeNickAndTokenOfTwoCustomers_AreSeparate"
	conditions   = "TestOrders_BrokenCondition_ChangesNothing"
)

// inPackages lists guards of access, orders, holds, undo, events, the catalogue, the shop's page, imports and deletions. For each kind of
// key, it also has a mutation that removes the customer from the key.
func inPackages() []tested {
	return slices.Concat(ofAccessAndKeys(), ofOrders(), ofStoredOrders(), ofUses(), ofHolds(), ofUndoing(), ofCodes(), ofEvents(), ofCatalogue(), ofStorefront(), ofBulk())
}

func ofAccessAndKeys() []tested {
	return []tested{
		byTest("uses settings and keys for ever", pkgAccess, "TestAdmit_ChangedSettings_AreSeenAfterALifetime", guardGo,
			`age >= 0 && age < Lifetime`, `age >= 0`),
		byTest("accepts a key that is not live", pkgAccess, "TestAdmit_LiveKeyOfTheCustomer_MarksTheCallerAsItsServer", keyGo,
			`r.ID == key.ID && r.Live(at)`, `r.ID == key.ID`),
		byTest("accepts an expired key", pkgAccess, "TestKeyRecord_Accepts", keyGo, `at.Before(r.Expires))`, `!at.IsZero())`),
		byTest("accepts any secret", pkgAccess, "TestKeyRecord_Accepts", keyGo,
			`return same && r.ID == key.ID`, `return (same || !same) && r.ID == key.ID`),
		byTest("admits strangers where only the server may call", pkgHTTP, "TestAdmit_PolicyOfServer_KeepsStrangersOutBeforeAnyLookup", admitGo,
			`!policy(settings).Allows(caller)`, `!policy(settings).Allows(caller) && false`),
		byTest("judges codes of a blocked source", pkgHTTP, "TestRedeemVoucher_AboveTheRefusalLimit_SourceIsBlocked", blockedGo,
			`c.received); blocked {`, `c.received); blocked && false {`),
		byTest("counts no refusals", pkgAccess, "TestRefusals_AboveTheLimit_SourceIsBlockedUntilTheWindowEnds", refusalsGo,
			`|| count.Source > limit.Limit {`, `{`),

		{
			"remembers settings for all customers", pkgAccess, "TestAdmit_CacheOfOneCustomer_IsNotUsedForAnother",
			change{{guardGo, `g.settings[customer], g.keys`, `g.settings[""], g.keys`}, {guardGo, `remember(g.settings, customer,`, `remember(g.settings, "",`}},
		},
		byTest("remembers keys for all customers", pkgAccess, "TestAdmit_CacheOfOneCustomer_IsNotUsedForAnother", guardGo,
			`customerKey{customer, id}`, `customerKey{id: id}`),
		{
			"blocks a source at all customers", pkgAccess, "TestRefusals_Blocked_AffectsOneSourceAtOneCustomer",
			change{
				{refusalsGo, `r.remember(customerSource{customer, source},`, `r.remember(customerSource{source: source},`},
				{refusalsGo, `r.known[customerSource{customer, source}]`, `r.known[customerSource{source: source}]`},
			},
		},
		{
			"shows one customer's products to all", "./pkg/catalog", "TestArea_TwoCustomers_EachHasItsOwnProducts",
			change{{areaGo, `if at := a.shops[id]; at`, `if at := a.shops[""]; at`}, {areaGo, `a.shops[shop.id] =`, `a.shops[""] =`}},
		},
		{
			"remembers codes with many uses for all customers", pkgDynamo, "TestRedeem_CodeWithManyUsesAtAnotherCustomer_StillTakesOneCall",
			change{
				{redeemGo, `s.many.has(manyUseCode{claim.Customer, claim.Code})`, `s.many.has(manyUseCode{"", claim.Code})`},
				{redeemGo, `s.many.add(manyUseCode{claim.Customer, claim.Code})`, `s.many.add(manyUseCode{"", claim.Code})`},
			},
		},
		byTest("replays a stranger's checkout of another customer", pkgCheckout, "TestOpen_SameKeyOfAnotherCustomer_IsAnotherRequest", openGo,
			`idempotency.Digest(string(request.Customer), string(request.Key))`, `idempotency.Digest(string(request.Key))`),
		byTest("replays a server's checkout of another customer", pkgCheckout, "TestOpen_SameKeyOfAnotherCustomer_IsAnotherRequest", openGo,
			`idempotency.Digest(string(request.Customer), "server",`, `idempotency.Digest("server",`),
		forAll("profile", "TestCatalogue_OtherCustomersProducts_AreInvisible", `string(customer), ProfileSort`),
		forAll("product", "TestCatalogue_OtherCustomersProducts_AreInvisible", `string(customer), ProductPrefix`),
		forAll("product off sale", "TestCatalogue_OtherCustomersProducts_AreInvisible", `string(customer), OffSalePrefix`),
		forAll("settings", "TestPutSettings_FunctionsReadThem", `string(customer), SettingsSort`),
		forAll("key", "TestCreateKey_FunctionsAcceptIt", `string(customer), AccessKeyPrefix`),
		forAll("voucher", twoCustomers, `Bucket(customer, hashBucket(string(code))), string(code)}`),
		forAll("counter", twoCustomers, `Bucket(customer, (hashBucket(string(code))+number)`),
		forAll("nick", twoCustomers, `Bucket(customer, hashBucket(string(code), nickHash)`),
		forAll("redemption", twoCustomers, `Bucket(customer, hashBucket(string(code), string(token)`),
		forAll("checkout", "TestCheckout_OtherCustomersCheckouts_AreInvisible", `string(customer), string(token)}`),
		forAll("count of refusals", "TestCount_RefusalsOfOneSource_AddUp", `Bucket(customer, hashBucket(source.Name`),
	}
}

// forAll returns a mutation that stores one item for all customers.
func forAll(item, test, key string) tested {
	return tested{"stores one " + item + " for all customers", pkgDynamo, test, change{{
		keysGo, key, strings.NewReplacer("string(customer)", `string(customer[:0])+"all"`, "Bucket(customer,", `Bucket("all",`).Replace(key),
	}}}
}

// ofOrders lists guards of orders in the packages of rules and of HTTP.
func ofOrders() []tested {
	return []tested{
		byTest("orders the checkout that the same key made since", pkgCheckout, "TestPlace_KeyThatMadeAnotherCheckoutSince_IsExpired", orderGo,
			`case c.ID != id:`, `case c.ID != id && false:`),
		byTest("replays an order to another payment", pkgCheckout, "TestPlace_AnotherPayment_IsAMismatch", orderGo,
			`case c.Order.Payment != payment:`, `case c.Order.Payment != payment && false:`),
		byTest("replays a cancelled order", pkgCheckout, "TestPlace_CancelledOrder_StaysCancelled", orderGo,
			"ErrOrderCancelled\n\t}\n\treturn c, !c.Order.Placed", "nil\n\t}\n\treturn c, !c.Order.Placed"),
		byTest("accepts late orders for ever", pkgCheckout, "TestPlace_LateOrder_IsAcceptedFor7Days", orderGo,
			`at.Add(-LateOrders)`, `at.Add(-100*LateOrders)`),
		byTest("asks for no payment", pkgCheckout, "TestPlace_WithoutPayment_IsRejected", orderGo,
			`payment == Payment{} && c.Total.Minor != 0:`, `payment == Payment{} && c.Total.Minor < 0:`),
		byTest("reports a retry as a new order", pkgCheckout, "TestPlace_SamePaymentAgain_IsReplayed", orderGo,
			`return c, !c.Order.Placed.Equal(at), nil`, `return c, false, nil`),
		byTest("fulfils a cancelled order", pkgCheckout, "TestFulfil_CancelledOrder_IsRefused", orderGo,
			"case c.Order.Status() == OrderCancelled:\n\t\treturn Checkout{}, false, ErrOrderCancelled\n\tcase c.Order.Fulfilled", "case c.Order.Fulfilled"),
		byTest("shows the order of another ID", pkgCheckout, "TestOrders_WrongID_IsNotFound", orderGo,
			`(stored.ID != id || stored.Order == nil)`, `stored.Order == nil`),
		byTest("shows a checkout as an order", pkgCheckout, "TestOrders_WrongID_IsNotFound", orderGo,
			`(stored.ID != id || stored.Order == nil)`, `stored.ID != id`),
		byTest("shows the checkout of another ID", pkgCheckout, "TestShowCheckout_IDWithTheSameFirstHalf_IsNotFound", orderGo,
			`if err == nil && stored.ID != id {`, `if err == nil && stored.ID != id && false {`),
		byTest("replays a checkout that was ordered", pkgCheckout, "TestOpen_KeyOfAnOrderedCheckout_IsInUseForEver", openGo,
			`kept.Order != nil || kept.Released ||`, `kept.Released ||`),
		byTest("forgets the key of a checkout that was ordered", pkgCheckout, "TestOpen_KeyOfAnOrderedCheckout_IsInUseForEver", openGo,
			`kept.Status(request.At) == StatusExpired`, `kept.Status(request.At) != StatusOpen`),
		byTest("lets strangers work on orders", pkgHTTP, "TestOrders_WithoutALiveKey_Are401BeforeAnyLookup", serverGo,
			`err := access.ErrUnauthorized`, `var err error`),
		byTest("shows a checkout's data to strangers", pkgHTTP, "TestShowCheckout_DataAndNick_AreForTheServerOnly", shownGo,
			`if !c.caller.IsServer() {`, `if !c.caller.IsServer() && false {`),
	}
}

// ofStoredOrders lists each clause of the conditions under which orders are stored.
func ofStoredOrders() []tested {
	const (
		place  = "call := change(customer, id, table.StatusOpen)\n"
		fulfil = "call := change(customer, id, table.StatusOrdered)\n\tcall.Set(table.AttrFulfilled,"
		cancel = "call := change(customer, id, table.StatusOrdered)\n\tcall.Set(table.AttrStatus,"
	)
	with := func(write, condition string) change {
		begin, rest, _ := strings.Cut(write, "\n")
		return change{{ordersGo, write, begin + "\n\tcall.Condition = \"" + condition + "\"\n" + rest}}
	}
	const anyID, anyStatus = "(#id = :id OR #id <> :id) AND #status = :status", "#id = :id AND (#status = :status OR #status <> :status)"
	return []tested{
		{"places an order under another ID", pkgDynamo, conditions, with(place, anyID)},
		{"places an order again", pkgDynamo, conditions, with(place, anyStatus)},
		{"fulfils the order of another ID", pkgDynamo, conditions, with(fulfil, anyID)},
		{"fulfils a checkout that is not ordered, or is cancelled", pkgDynamo, conditions, with(fulfil, anyStatus)},
		{"cancels the order of another ID", pkgDynamo, conditions, with(cancel, anyID)},
		{"cancels a checkout that is not ordered, or is cancelled", pkgDynamo, conditions, with(cancel, anyStatus)},
		byTest("orders a checkout that expired long ago", pkgDynamo, conditions, ordersGo,
			`" AND #expires > :after"`, `" AND (#expires > :after OR #expires <= :after)"`),
		byTest("orders without a payment", pkgDynamo, conditions, ordersGo,
			`" AND #total = :zero"`, `" AND (#total = :zero OR #total <> :zero)"`),
		byTest("fulfils an order again", pkgDynamo, conditions, ordersGo,
			`call.Condition += " AND attribute_not_exists(#fulfilled)"`, ``),
		byTest("lets DynamoDB delete orders", pkgDynamo, "TestPlace_Order_IsPermanent", ordersGo,
			`call.Remove(table.AttrExpiresAt)`, ``),
		byTest("overwrites an order with a new checkout", pkgDynamo, "TestPlace_Order_IsPermanent", checkoutsGo,
			`AND #status = :open"`, `AND (#status = :open OR #status <> :open)"`),
	}
}

func TestPackages_MissingGuard_IsFound(t *testing.T) {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range inPackages() {
		overlay := m.removed.overlay(t)
		if !*all && (i%fewMutations != 0 || m.pkg == pkgDynamo || m.pkg == pkgOperator) { // a test of the store takes seconds
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			flags := testshop.OverlayFlags(t, overlay)
			args := slices.Concat([]string{"test", "-buildvcs=false", "-run", "^" + m.test + "$"}, flags, []string{m.pkg})
			command := exec.CommandContext(t.Context(), "go", args...)
			command.Dir = root
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+m.test) {
				t.Errorf("%s does not fail, %v: %s", m.test, err, out)
			}
			t.Logf("%s", out)
		})
	}
}
