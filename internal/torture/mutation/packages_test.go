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

const (
	keysGo       = "pkg/dynamo/internal/table/keys.go"
	refusalsGo   = "pkg/access/refusals.go"
	areaGo       = "pkg/catalog/area.go"
	openGo       = "pkg/checkout/open.go"
	blockedGo    = "pkg/httpapi/refusals.go"
	pkgDynamo    = "./pkg/dynamo"
	pkgAccess    = "./pkg/access"
	pkgCheckout  = "./pkg/checkout"
	twoCustomers = "TestRedeem_SameCodeNickAndTokenOfTwoCustomers_AreSeparate"
)

// inPackages lists guards of access, then the customer in each kind of key.
func inPackages() []tested {
	return []tested{
		{
			"uses settings and keys for ever", pkgAccess, "TestAdmit_ChangedSettings_AreSeenAfterALifetime",
			change{{guardGo, `age >= 0 && age < Lifetime`, `age >= 0`}},
		},
		{
			"accepts a key that is not live", pkgAccess, "TestAdmit_OnlyOneLiveKeyOfTheCustomer_IsTheServer",
			change{{keyGo, `r.ID == key.ID && r.Live(at)`, `r.ID == key.ID`}},
		},
		{
			"accepts an expired key", pkgAccess, "TestKeyRecord_Accepts",
			change{{keyGo, `at.Before(r.Expires))`, `!at.IsZero())`}},
		},
		{
			"accepts any secret", pkgAccess, "TestKeyRecord_Accepts",
			change{{keyGo, `return same && r.ID == key.ID`, `return (same || !same) && r.ID == key.ID`}},
		},
		{
			"lets strangers in where only the server may", "./pkg/httpapi", "TestAdmit_PolicyOfServer_KeepsStrangersOutBeforeAnyLookup",
			change{{admitGo, `!policy(settings).Allows(caller)`, `!policy(settings).Allows(caller) && false`}},
		},
		{
			"judges codes of a blocked source", "./pkg/httpapi", "TestRedeemVoucher_AboveTheRefusalLimit_SourceIsBlocked",
			change{{blockedGo, `c.received); blocked {`, `c.received); blocked && false {`}},
		},
		{
			"counts no refusals", pkgAccess, "TestRefusals_AboveTheLimit_SourceIsBlockedUntilTheWindowEnds",
			change{{refusalsGo, `|| count.Source > limit.Limit {`, `{`}},
		},

		{
			"remembers settings for all customers", pkgAccess, "TestAdmit_RememberedForAnotherCustomer_DoesNotCount",
			change{{guardGo, `g.settings[customer], g.keys`, `g.settings[""], g.keys`}, {guardGo, `remember(g.settings, customer,`, `remember(g.settings, "",`}},
		},
		{
			"remembers keys for all customers", pkgAccess, "TestAdmit_RememberedForAnotherCustomer_DoesNotCount",
			change{{guardGo, `customerKey{customer, id}`, `customerKey{id: id}`}},
		},
		{
			"blocks a source at all customers", pkgAccess, "TestRefusals_Blocked_IsOneSourceOfOneCustomer",
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
			"remembers codes with many uses for all customers", pkgDynamo, "TestRedeem_CodeWithManyUsesElsewhere_StillTakesOneCall",
			change{
				{redeemGo, `s.many.has(manyUseCode{claim.Customer, claim.Code})`, `s.many.has(manyUseCode{"", claim.Code})`},
				{redeemGo, `s.many.add(manyUseCode{claim.Customer, claim.Code})`, `s.many.add(manyUseCode{"", claim.Code})`},
			},
		},
		{
			"replays a stranger's checkout of another customer", pkgCheckout, "TestOpen_SameKeyOfAnotherCustomer_IsAnotherRequest",
			change{{openGo, `idempotency.Digest(string(request.Customer), string(request.Key))`, `idempotency.Digest(string(request.Key))`}},
		},
		{
			"replays a server's checkout of another customer", pkgCheckout, "TestOpen_SameKeyOfAnotherCustomer_IsAnotherRequest",
			change{{openGo, `idempotency.Digest(string(request.Customer), "server",`, `idempotency.Digest("server",`}},
		},
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

// forAll stores one item for all customers.
func forAll(item, test, key string) tested {
	return tested{"stores one " + item + " for all customers", pkgDynamo, test, change{{
		keysGo, key, strings.NewReplacer("string(customer)", `string(customer[:0])+"all"`, "Bucket(customer,", `Bucket("all",`).Replace(key),
	}}}
}

func TestPackages_MissingGuard_IsFound(t *testing.T) {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range inPackages() {
		overlay := m.removed.overlay(t)
		if !*all && (i%fewMutations != 0 || m.pkg == pkgDynamo) { // a test of the store takes seconds
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			flags, err := testshop.OverlayFlags(root, t.TempDir(), overlay)
			if err != nil {
				t.Fatal(err)
			}
			args := slices.Concat([]string{"test", "-buildvcs=false", "-run", "^" + m.test + "$"}, flags, []string{m.pkg})
			command := exec.CommandContext(t.Context(), "go", args...)
			command.Dir = root
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+m.test) {
				t.Errorf("the test does not fail, %v: %s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
