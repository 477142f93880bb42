package backoffice_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/audit"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// damage is a write to the store that breaks the rules. The field want has the findings that the write must cause, each
// as a kind and a sort key.
type damage struct {
	what  string
	do    func(s *shop)
	after time.Duration // how long after the opening the shop is verified
	want  []string
}

const day = 24 * time.Hour

func damages() []damage {
	return slices.Concat(
		damagedSums(), damagedPlaces(), damagedRecords(), damagedTerms(), malformedItems(), damagedCheckouts(),
		damagedOrders(), damagedPayments(),
		damagedAccess(), damagedHolds(), damagedUndone(), damagedCodedCheckouts(),
	)
}

// damagedSums damages allowances so that their sums are wrong.
func damagedSums() []damage {
	// The function of damages the first item whose sort key has the prefix. If change is nil, the item is removed.
	of := func(what, place, prefix string, change func(attributes)) damage {
		return damage{what: what, want: []string{"allowance_differs " + place}, do: func(s *shop) { s.spoil(prefix, change) }}
	}
	taken := func(n int64) func(attributes) {
		return func(it attributes) { it.add("used", n); it.add("left", -n) }
	}
	more := func(name string, n int64) func(attributes) { return func(it attributes) { it.add(name, n) } }
	again := func(it attributes) {
		it["b#LRLuWYz8-QoWsPfs4csHfg"] = it[it.record()]
		taken(1)(it)
	}
	return []damage{
		of("a use of a part is taken, but no redemption is recorded", "SUMMER20", "SUMMER20#p#02", taken(1)),
		of("a redemption is recorded, but no use is taken", "AUTUMN", "AUTUMN", taken(-1)),
		of("a redemption is lost", "AUTUMN", "AUTUMN#r#", nil),
		of("a nick's item is lost", "SUMMER20", "SUMMER20#n#", nil),
		of("a nick has a use without its redemption", "NEWS#n#", "NEWS#n#", taken(1)),
		of("a nick has a redemption without its use", "NEWS#n#", "NEWS#n#", taken(-1)),
		of("a single-use code is used without its redemption", "G1FT2", "G1FT2", taken(1)),
		of("a part has one use too many left", "SUMMER20", "SUMMER20#p#02", more("left", 1)),
		of("a code has one use too few left", "AUTUMN", "AUTUMN", more("left", -1)),
		of("a limit is raised, but what is left is not", "SUMMER20", "SUMMER20", more("limit", 1)),
		of("a nick's limit is raised, but what is left is not", "NEWS#n#", "NEWS#n#", more("limit", 1)),
		of("a part is lost", "SUMMER20", "SUMMER20#p#01", nil),
		of("a voucher forgets a part", "SUMMER20", "SUMMER20", more("parts", -1)),
		of("an item states a hold that it does not have", "AUTUMN", "AUTUMN", more("n", 1)),
		of("a nick has another limit than its voucher, which was never edited", "NEWS", "NEWS#n#", func(it attributes) {
			it.add("limit", 1)
			it.add("left", 1)
		}),
		of("a nick has more than its limit, which was never edited", "NEWS", "NEWS#n#", again),
		of("a single-use code is redeemed twice", "G1FT1", "G1FT1", again),
		{
			what: "a part gave out more than it had", want: []string{"allowance_differs SUMMER20#p#00"}, do: func(s *shop) {
				s.change("SUMMER20#p#00", more("left", -5))
				s.change("SUMMER20#p#01", more("left", 5))
			},
		},
	}
}

// damagedPlaces deletes vouchers, or moves items to places where they do not belong.
func damagedPlaces() []damage {
	return []damage{
		{what: "a voucher is lost", want: []string{"orphaned SUMMER20"}, do: func(s *shop) {
			s.remove(s.names.Vouchers, s.items(s.names.Vouchers, "SUMMER20")[0])
		}},
		{what: "a voucher without parts is lost", want: []string{"orphaned AR1GAT0"}, do: func(s *shop) {
			s.remove(s.names.Vouchers, s.items(s.names.Vouchers, "AR1GAT0")[0])
		}},
		{
			what: "a voucher in another bucket", want: []string{"misplaced SUMMER20"},
			do: func(s *shop) { s.move("SUMMER20", nextBucket) },
		},
		{
			what: "a part in another bucket", want: []string{"misplaced SUMMER20#p#00"},
			do: func(s *shop) { s.move("SUMMER20#p#", nextBucket) },
		},
		{
			what: "a copy of a part in another bucket", want: []string{"misplaced SUMMER20#p#00"},
			do: func(s *shop) { s.change("SUMMER20#p#", nextBucket) },
		},
		{
			what: "a redemption in another bucket", want: []string{"misplaced AR1GAT0#r#"},
			do: func(s *shop) { s.move("AR1GAT0#r#", nextBucket) },
		},
		{
			what: "a nick's item in another bucket", want: []string{"misplaced NEWS#n#"},
			do: func(s *shop) { s.move("NEWS#n#", nextBucket) },
		},
		{what: "a redemption in another nick's item", want: []string{"misplaced NEWS#n#"}, do: func(s *shop) {
			s.change("NEWS#n#", func(it attributes) { it.rewrite("|Alder", "|Birch") })
		}},
		{what: "a voucher under another code", want: []string{"misplaced G1FT2"}, do: func(s *shop) {
			s.change("G1FT2", func(it attributes) { it["code"] = text("GIFT-3") })
		}},
	}
}

// damagedRecords damages redemptions, or changes a voucher so that its redemptions would have to be stored in another
// form.
func damagedRecords() []damage {
	return []damage{
		{what: "two redemptions with one ID", want: []string{"duplicate_redemption SUMMER20"}, do: func(s *shop) {
			nicks := s.items(s.names.Vouchers, "SUMMER20#n#")
			nicks[0].renameRecord(nicks[1].record())
			s.put(s.names.Vouchers, nicks[0])
		}},
		{what: "a limit was removed", want: []string{"wrong_kind AUTUMN"}, do: func(s *shop) {
			s.change("AUTUMN", func(it attributes) { delete(it, "limit") })
		}},
		{
			what: "a voucher with parts lost its limit", want: []string{"wrong_kind SUMMER20"},
			do: func(s *shop) { s.change("SUMMER20", func(it attributes) { delete(it, "limit") }) },
		},
		{what: "a voucher without a limit became single-use", want: []string{"wrong_kind AR1GAT0"}, do: func(s *shop) {
			s.change("AR1GAT0", func(it attributes) { it["limit"], it["left"], it["used"] = number(1), number(1), number(0) })
		}},
		{what: "a limit per nick was removed", want: []string{"wrong_kind NEWS"}, do: func(s *shop) {
			s.change("NEWS", func(it attributes) { delete(it, "perNick") })
		}},
		{what: "a limit per nick was added", want: []string{"wrong_kind AUTUMN"}, do: func(s *shop) {
			s.change("AUTUMN", func(it attributes) { it["perNick"] = number(5) })
		}},
	}
}

// damagedTerms leaves redemptions that violate the terms of their vouchers.
func damagedTerms() []damage {
	return []damage{
		{what: "redeemed while disabled", want: []string{"against_terms G1FT1"}, do: func(s *shop) {
			s.change("G1FT1", func(it attributes) { it["disabled"] = &types.AttributeValueMemberBOOL{Value: true} })
		}},
		{what: "redeemed too early", want: []string{"against_terms SUMMER20"}, do: func(s *shop) {
			s.change("SUMMER20", func(it attributes) { it["from"] = number(s.opened.UnixMilli() + 1) })
		}},
		{what: "redeemed too late", want: []string{"against_terms AR1GAT0"}, do: func(s *shop) {
			s.change("AR1GAT0", func(it attributes) {
				it["until"] = number(s.opened.Add(-checkout.Lifetime - checkout.LateOrders).UnixMilli())
			})
		}},
		{what: "redeemed by another nick", want: []string{"against_terms NEWS"}, do: func(s *shop) {
			s.change("NEWS", func(it attributes) {
				it["nick"], it["nickHash"] = text("Birch"), text(table.NickCondition(s.request("NEWS", "Birch", "").Nick))
			})
		}},
		{what: "redeemed in the future", want: []string{"in_the_future AUTUMN"}, after: -time.Hour, do: func(s *shop) {
			for _, code := range []string{"SUMMER20", "G1FT1", "NEWS", "AR1GAT0"} {
				for _, it := range s.items(s.names.Vouchers, code) {
					s.remove(s.names.Vouchers, it)
				}
			}
			s.remove(s.names.Checkouts, s.items(s.names.Checkouts, "")[0])
		}},
		{
			what: "a reward in another currency than the shop's", want: []string{"currency_differs G1FT2"},
			do: func(s *shop) {
				s.change("G1FT2", func(it attributes) { it["currency"] = text("USD") })
			},
		},
	}
}

// malformedItems makes items that cannot be read.
func malformedItems() []damage {
	return []damage{
		{what: "an item of an unknown kind", want: []string{"malformed SUMMER20#x#1"}, do: func(s *shop) {
			s.change("SUMMER20#p#00", func(it attributes) { it["sk"] = text("SUMMER20#x#1") })
		}},
		{
			what: "a sort key without a code, among the items of a code", want: []string{"malformed SUMMER20!"},
			do: func(s *shop) {
				s.change("SUMMER20#p#00", func(it attributes) { it["sk"] = text("SUMMER20!") })
			},
		},
		{what: "a part whose number is a word", want: []string{"malformed SUMMER20#p#one"}, do: func(s *shop) {
			s.move("SUMMER20#p#", func(it attributes) { it["sk"] = text("SUMMER20#p#one") })
		}},
		{
			what: "uses of a part that are not a whole number", want: []string{"malformed SUMMER20#p#00"},
			do: func(s *shop) {
				s.change("SUMMER20#p#", func(it attributes) { it["used"] = &types.AttributeValueMemberN{Value: "1.5"} })
			},
		},
		{what: "a limit without what is left of it", want: []string{"malformed AUTUMN"}, do: func(s *shop) {
			s.change("AUTUMN", func(it attributes) { delete(it, "left") })
		}},
		{what: "a limit that is a string", want: []string{"malformed AUTUMN"}, do: func(s *shop) {
			s.change("AUTUMN", func(it attributes) { it["limit"] = text("5") })
		}},
		{what: "a negative limit", want: []string{"malformed AUTUMN"}, do: func(s *shop) {
			s.change("AUTUMN", func(it attributes) { it["limit"] = number(-5) })
		}},
		{what: "a voucher without a version", want: []string{"malformed G1FT2"}, do: func(s *shop) {
			s.change("G1FT2", func(it attributes) { delete(it, "version") })
		}},
		{what: "a voucher with version 0", want: []string{"malformed G1FT2"}, do: func(s *shop) {
			s.change("G1FT2", func(it attributes) { it["version"] = number(0) })
		}},
		{what: "a voucher whose reward cannot be read", want: []string{"malformed G1FT2"}, do: func(s *shop) {
			s.change("G1FT2", func(it attributes) { it["reward"] = text("coins") })
		}},
		{what: "a voucher with a nick but no hash of it", want: []string{"malformed G1FT2"}, do: func(s *shop) {
			s.change("G1FT2", func(it attributes) { it["nick"] = text("Alder") })
		}},
		{what: "a redemption that cannot be read", want: []string{"malformed AUTUMN#r#"}, do: func(s *shop) {
			s.change("AUTUMN#r#", func(it attributes) { it[it.record()] = text("redeemed") })
		}},
		{what: "a redemption with an invalid ID", want: []string{"malformed NEWS#n#"}, do: func(s *shop) {
			s.change("NEWS#n#", func(it attributes) { it.renameRecord("b#1") })
		}},
		{what: "two redemptions in an item for one", want: []string{"malformed AR1GAT0#r#"}, do: func(s *shop) {
			s.change("AR1GAT0#r#", func(it attributes) { it["b#LRLuWYz8-QoWsPfs4csHfg"] = it[it.record()] })
		}},
	}
}

// damagedCheckouts damages checkouts. Some of its cases only verify a correct checkout at a chosen time.
func damagedCheckouts() []damage {
	return []damage{
		{what: "a checkout without a deletion time", want: []string{"deletion_time_differs "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { delete(it, "expiresAt") })
		}},
		{
			what: "a checkout whose deletion time is a year late", want: []string{"deletion_time_differs "},
			do: func(s *shop) {
				s.changeCheckout(func(it attributes) { it.add("expiresAt", int64(365*day/time.Second)) })
			},
		},
		{
			what: "a checkout whose deletion time is a day early", want: []string{"deletion_time_differs "},
			do: func(s *shop) {
				s.changeCheckout(func(it attributes) { it.add("expiresAt", -int64(day/time.Second)) })
			},
		},
		{
			what: "a checkout that should have been deleted", want: []string{"kept_too_long "}, after: 16 * day,
			do: func(*shop) {},
		},
		{what: "an expired checkout that may still be deleted in time", after: 15 * day, do: func(*shop) {}},
		{
			what: "a checkout from the future", want: []string{"in_the_future "}, after: -11 * time.Minute,
			do: func(s *shop) {
				for _, it := range s.items(s.names.Vouchers, "") {
					s.remove(s.names.Vouchers, it)
				}
			},
		},
		{what: "clocks that differ by nine minutes", after: -9 * time.Minute, do: func(*shop) {}},
		{what: "a subtotal that is wrong", want: []string{"price_differs "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { it.add("subtotal", 1); it.add("total", 1) })
		}},
		{what: "a total that is wrong", want: []string{"price_differs "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { it.add("total", -1) })
		}},
		{what: "a checkout in another currency", want: []string{"currency_differs "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { it["currency"] = text("USD") })
		}},
		{what: "a checkout under the key of another ID", want: []string{"misplaced "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { it["sk"] = text("LRLuWYz8-QoWsPfs4csHfg") })
		}},
		{what: "a checkout with an invalid ID", want: []string{"malformed "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { it["id"] = text("12") })
		}},
		{what: "a checkout with an unknown status", want: []string{"malformed "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { it["status"] = text("paid") })
		}},
		{what: "a checkout without an amount", want: []string{"malformed "}, do: func(s *shop) {
			s.changeCheckout(func(it attributes) { delete(it, "amount") })
		}},
	}
}

// damagedAccess damages the settings, or the record of a key.
func damagedAccess() []damage {
	item := func(sort string, change func(attributes)) func(*shop) {
		return func(s *shop) {
			secured(s)
			it := s.items(s.names.Catalogue, sort)[0]
			change(it)
			s.put(s.names.Catalogue, it)
		}
	}
	malformed := []string{"malformed "}
	return []damage{
		{
			what: "settings without a policy", want: malformed,
			do: item("settings", func(it attributes) { delete(it, "redeem") }),
		},
		{
			what: "settings without a version", want: malformed,
			do: item("settings", func(it attributes) { delete(it, "version") }),
		},
		{
			what: "an unknown policy", want: malformed,
			do: item("settings", func(it attributes) { it["checkOut"] = text("nobody") }),
		},
		{
			what: "a limit without a window", want: malformed,
			do: item("settings", func(it attributes) { delete(it, "refusalWindow") }),
		},
		{
			what: "paused batches that are a string", want: malformed,
			do: item("settings", func(it attributes) { it["pausedBatches"] = text("summer") }),
		},
		{what: "more paused batches than allowed", want: malformed, do: item("settings", func(it attributes) {
			batches := &types.AttributeValueMemberSS{}
			for number := range voucher.MaxPausedBatches + 1 {
				batches.Value = append(batches.Value, fmt.Sprintf("launch-%d", number))
			}
			it["pausedBatches"] = batches
		})},
		{
			what: "a key without its digest", want: malformed,
			do: item("key#", func(it attributes) { delete(it, "digest") }),
		},
		{what: "a key with half a digest", want: malformed, do: item("key#", func(it attributes) {
			it["digest"] = &types.AttributeValueMemberB{Value: []byte("half")}
		})},
		{
			what: "a key without a name", want: malformed,
			do: item("key#", func(it attributes) { it["name"] = text("") }),
		},
		{
			what: "a key whose expiry is a string", want: malformed,
			do: item("key#", func(it attributes) { it["keyExpires"] = text("2027-06-30") }),
		},
		{
			what: "a key with an invalid ID", want: malformed,
			do: item("key#", func(it attributes) { it["sk"] = text("key#till") }),
		},
	}
}

// secured gives the shop a key that expires, a revoked key, and settings.
func secured(s *shop) {
	s.t.Helper()
	for _, expires := range []time.Time{s.opened.Add(day), {}} {
		key, _, err := s.operator.CreateKey(s.t.Context(), "web shop", expires, rand.Reader, s.opened)
		if err == nil && expires.IsZero() {
			_, err = s.operator.RevokeKey(s.t.Context(), key.ID, s.opened)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := s.operator.Pause(s.t.Context(), "summer", "advent"); err != nil {
		s.t.Fatal(err)
	}
	s.apply(s.t, s.shop, "    access: {redeem: server}\n    refusals: {limit: 5, per: 1h}\n")
}

func TestVerify_Damage_CausesExactlyItsFindings(t *testing.T) {
	tables := newTables(t)
	for _, test := range damages() {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			s := tables.newShop(t)
			s.stock()
			test.do(s)
			report := s.verify(s.opened.Add(test.after))
			if report.Found != len(test.want) || len(report.InMotion) > 0 {
				t.Errorf("found %d, want %d; in motion %+v", report.Found, len(test.want), report.InMotion)
			}
			wantFindings(t, report.Findings, test.want)
			for _, f := range report.Findings {
				if code, _, _ := strings.Cut(f.Place.Sort, "#"); f.Place.Table == s.names.Vouchers &&
					string(f.Code) != code {
					t.Errorf("%+v does not name the code %s", f, code)
				}
			}
		})
	}
}

// wantFindings compares the kinds and sort keys of findings. It cuts off the random ends of the keys.
func wantFindings(t *testing.T, findings []audit.Finding, want []string) {
	t.Helper()
	got := make([]string, len(findings))
	for i, f := range findings {
		sort := f.Place.Sort
		for _, infix := range []string{"#n#", "#r#"} {
			if code, _, isPart := strings.Cut(sort, infix); isPart {
				sort = code + infix
			}
		}
		if f.Code == "" {
			sort = ""
		}
		got[i] = string(f.Kind) + " " + sort
		if f.Message == "" {
			t.Errorf("%s has no message", got[i])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %+v\nwant %q", findings, want)
	}
}

func TestVerify_EveryKindOfFinding_IsTestedAndDocumented(t *testing.T) {
	manual, err := os.ReadFile("../../docs/operating/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	tested := make(map[string]bool)
	for _, test := range slices.Concat(damages(), damagedFeeds()) {
		for _, want := range test.want {
			kind, _, _ := strings.Cut(want, " ")
			tested[kind] = true
		}
	}
	source, err := os.ReadFile("../audit/finding.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`\sKind = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		kind := match[1]
		if !tested[kind] {
			t.Errorf("no test causes a finding of the kind %s", kind)
		}
		if !strings.Contains(string(manual), "`"+kind+"`") {
			t.Errorf("docs/operating/verify.md does not say what %s means", kind)
		}
		delete(tested, kind)
	}
	if len(tested) > 0 {
		t.Errorf("tests want the kinds %v, which the package does not define", tested)
	}
}

func TestVerify_UndamagedShop_IsClean(t *testing.T) {
	tables := newTables(t)
	for what, leave := range map[string]func(s *shop){
		"an empty shop": func(*shop) {}, "every kind of voucher": (*shop).stock,
		"replays and refusals": replaysAndRefusals, "used up": usedUp,
		"a limit raised, lowered, lowered below the uses, raised again": editedLimits,
		"a limit per nick lowered below a nick's uses":                  loweredNickLimit,
		"redeemed, then edited so that the terms forbid the redemption": editedAgainstRedemptions,
		"bound to a nick and a period":                                  boundAndTimed,
		"codes that are prefixes of others":                             codesThatBeginAlike, "a batch": generatedBatch,
		"settings and keys": secured, "an order of each status": everyOrder,
		"holds of a source": holdFromASource, "every kind of hold in every state": everyHold, "a limit lowered below what is held": loweredWithHolds,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := tables.newShop(t)
			leave(s)
			s.wantClean(what)
		})
	}
}

func replaysAndRefusals(s *shop) {
	s.t.Helper()
	s.stock()
	for _, code := range []string{"SUMMER-20", "AUTUMN", "GIFT-2", "NEWS", "ARIGATO", "GIFT-1", "INVENTED"} {
		s.redeem(code, "Dahlia", "till-1")
		s.redeem(code, "Dahlia", "till-1")
		s.redeem(code, "Alder", "")
	}
}

func usedUp(s *shop) {
	s.t.Helper()
	s.create(voucher.Terms{
		Written: "AUTUMN", MaxUses: new(voucher.Limit(3)), MaxUsesPerNick: new(voucher.NoLimit),
		Parts: new(2),
	})
	for range 5 {
		s.redeem("AUTUMN", "", "")
	}
}

func editedLimits(s *shop) {
	s.t.Helper()
	code := s.create(voucher.Terms{
		Written: "AUTUMN", MaxUses: new(voucher.Limit(100)),
		MaxUsesPerNick: new(voucher.NoLimit), Parts: new(4),
	})
	for _, to := range []voucher.Limit{120, 50, 6, 5, 2, 7, 7} {
		for range 2 {
			s.redeem("AUTUMN", "Alder", "")
		}
		s.edit(code, voucher.Edit{MaxUses: &to})
		s.wantClean(fmt.Sprintf("edited to %d", to))
	}
}

func loweredNickLimit(s *shop) {
	s.t.Helper()
	s.create(voucher.Terms{Written: "NEWS", MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(5))})
	for range 5 {
		s.redeem("NEWS", "Alder", "")
	}
	s.edit("NEWS", voucher.Edit{MaxUsesPerNick: new(voucher.Limit(2))})
}

func editedAgainstRedemptions(s *shop) {
	s.t.Helper()
	s.stock()
	for _, code := range []voucher.Code{"SUMMER20", "AUTUMN", "G1FT1", "NEWS", "AR1GAT0"} {
		s.edit(code, voucher.Edit{
			Disabled: new(true), Nick: new("Elder"), ValidFrom: new(s.opened.Add(time.Hour)),
			ValidUntil: new(s.opened.Add(2 * time.Hour)),
		})
	}
}

func boundAndTimed(s *shop) {
	s.t.Helper()
	for code, maxUses := range map[string]voucher.Limit{"GIFT": 1, "NEWS": 5, "ARIGATO": voucher.NoLimit} {
		s.create(voucher.Terms{
			Written: code, MaxUses: &maxUses, Nick: "Straße", ValidFrom: s.opened,
			ValidUntil: s.opened.Add(time.Millisecond), Batch: "launch", Note: "stream",
		})
		if !s.redeem(code, "STRASSE", "") {
			s.t.Errorf("%s was refused", code)
		}
	}
}

func codesThatBeginAlike(s *shop) {
	s.t.Helper()
	for _, code := range []string{"A", "A0", "AA", "A-A-A", "Z"} {
		s.create(voucher.Terms{Written: code, MaxUses: new(voucher.Limit(130))})
		s.redeem(code, "Alder", "")
		s.redeem(code, "Birch", "")
	}
}

func generatedBatch(s *shop) {
	s.t.Helper()
	order := voucher.BatchRequest{Count: 300, Terms: voucher.Terms{
		Batch: "launch", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}}
	result, err := s.operator.Generator(mathrand.NewChaCha8([32]byte{}), time.Now,
		backoffice.Bulk{}).Generate(s.t.Context(), order, func(voucher.Voucher) error { return nil })
	if err != nil || result.Created != 300 {
		s.t.Fatal(result, err)
	}
	if report := s.verify(time.Now()); report.Vouchers != 300 {
		s.t.Errorf("read %d of 300 vouchers", report.Vouchers)
	}
	s.opened = time.Now()
}

func TestVerify_Read_IsCalledWithTheNumbersOfItems(t *testing.T) {
	s := newTables(t).newShop(t)
	s.stock()
	items := 0
	report, err := s.operator.Verify(t.Context(),
		backoffice.Verification{Now: func() time.Time { return s.opened }, Read: func(n int) { items += n }})
	if err != nil || report.Vouchers != 6 || report.Redemptions != 9 || report.Checkouts != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if want := 6 + 3 + 2 + 2 + 1 + 2 + 1; items != want { // vouchers, parts, nicks and redemptions, a checkout
		t.Errorf("Read counted %d items; want %d", items, want)
	}
}

func TestVerify_Canceled_ReturnsAnError(t *testing.T) {
	s := newTables(t).newShop(t)
	s.stock()
	stopped, stop := context.WithCancel(t.Context())
	_, err := s.operator.Verify(stopped,
		backoffice.Verification{Now: func() time.Time { return s.opened }, Read: func(int) { stop() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Verify = %v", err)
	}
}

var errKilled = errors.New("the command was killed")

// cutAfter is a client that lets a number of writes through and drops the response to the last of them. Later writes do
// not reach the store. With a function, nothing is dropped.
type cutAfter struct {
	*dynamodb.Client

	writes int
	after  func() // called after the last write; nil: the response is dropped
}

func (c *cutAfter) pass(write func() error) error {
	if c.writes--; c.writes < 0 && c.after == nil {
		return errKilled
	}
	err := write()
	if c.writes == 0 && c.after != nil {
		c.after()
	}
	if c.writes == 0 && c.after == nil && err == nil {
		return errKilled
	}
	return err
}

func (c *cutAfter) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (out *dynamodb.UpdateItemOutput, err error) {
	return out, c.pass(func() error {
		out, err = c.Client.UpdateItem(ctx, in, opts...)
		return err
	})
}

func (c *cutAfter) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (out *dynamodb.TransactWriteItemsOutput, err error) {
	return out, c.pass(func() error {
		out, err = c.Client.TransactWriteItems(ctx, in, opts...)
		return err
	})
}

// After each write of an edit the ledger is correct. If uses are left in parts although more is taken than the limit,
// verify asks for the edit to be run again, which completes it.
func TestVerify_InterruptedEdit_IsReportedAsAMotionAndNotAsAFinding(t *testing.T) {
	tables := newTables(t)
	for what, test := range map[string]struct {
		edit  voucher.Edit
		moves bool
	}{
		"raise":                {voucher.Edit{MaxUses: new(voucher.Limit(14))}, false},
		"lower":                {voucher.Edit{MaxUses: new(voucher.Limit(5))}, true},
		"lower below the uses": {voucher.Edit{MaxUses: new(voucher.Limit(2))}, true},
		"add parts":            {voucher.Edit{Parts: new(6)}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := tables.newShop(t)
			inMotion := 0
			for writes := 1; ; writes++ {
				interrupted, isInMotion := s.cutOffEdit(test.edit, writes)
				if isInMotion {
					inMotion++
				}
				if !interrupted {
					break
				}
			}
			if inMotion > 0 != test.moves {
				t.Errorf("in motion %d times, want some: %t", inMotion, test.moves)
			}
		})
	}
}

// cutOffEdit edits a code with a limit of 10, of which four uses are taken, and cuts the edit off after a number of
// writes. interrupted is false if the edit takes fewer writes.
func (s *shop) cutOffEdit(edit voucher.Edit, writes int) (interrupted, isInMotion bool) {
	s.t.Helper()
	written := fmt.Sprintf("SUMMER-%d", writes)
	code := s.create(voucher.Terms{
		Written: written, MaxUses: new(voucher.Limit(10)), MaxUsesPerNick: new(voucher.NoLimit), Parts: new(3),
	})
	for range 4 {
		s.redeem(written, "Alder", "")
	}
	_, err := s.over(&cutAfter{s.client, writes, nil}).EditVoucher(s.t.Context(), code, edit)
	report := s.verify(s.opened)
	if report.Found > 0 {
		s.t.Fatalf("cut at write %d: %+v", writes, report)
	}
	for _, m := range report.InMotion {
		if m.Kind != audit.MotionEdit || m.MaxUses != *edit.MaxUses || m.Code != code {
			s.t.Errorf("cut at write %d: %+v", writes, m)
		}
	}
	s.edit(code, edit)
	s.wantClean("completed")
	return err != nil, len(report.InMotion) > 0
}

// The shop is verified repeatedly while it trades.
func TestVerify_LiveShop_FindsNothing(t *testing.T) {
	s := newTables(t).newShop(t)
	closed := s.trade(60)
	for isOpen := true; isOpen; isOpen = !isClosed(closed) {
		if report := s.verify(s.opened); report.Found > 0 {
			t.Errorf("while the shop trades: %+v", report)
		}
	}
	s.wantClean("afterwards")
}

func isClosed(closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// trade creates vouchers and starts workers that redeem, hold, order, cancel, edit and create vouchers. Each of them
// works for a number of rounds. Then the channel is closed.
func (s *shop) trade(rounds int) (closed <-chan struct{}) {
	s.t.Helper()
	s.create(voucher.Terms{
		Written: "SUMMER-20", MaxUses: new(voucher.Limit(100_000)),
		MaxUsesPerNick: new(voucher.NoLimit), Parts: new(8),
	})
	s.create(voucher.Terms{
		Written: "AUTUMN", MaxUses: new(voucher.Limit(100_000)),
		MaxUsesPerNick: new(voucher.Limit(3)), Parts: new(4),
	})
	s.create(voucher.Terms{Written: "ARIGATO", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})
	// runs out again and again
	s.create(voucher.Terms{
		Written: "WINTER", MaxUses: new(voucher.Limit(20)), MaxUsesPerNick: new(voucher.NoLimit),
		Parts: new(2),
	})
	var busy sync.WaitGroup
	work := func(do func(n int)) {
		busy.Go(func() {
			for n := range rounds {
				do(n)
			}
		})
	}
	for worker := range 6 {
		codes := []string{"SUMMER-20", "AUTUMN", "ARIGATO", "WINTER"}
		work(func(n int) {
			s.redeem(codes[(n+worker)%len(codes)], fmt.Sprintf("Alder%d", mathrand.IntN(500)),
				fmt.Sprintf("till-%d-%d", worker, n/2))
		})
	}
	edit := func(code voucher.Code, edit voucher.Edit) {
		if _, err := s.operator.EditVoucher(s.t.Context(), code, edit); err != nil {
			s.t.Error(err)
		}
	}
	work(func(n int) {
		edit("SUMMER20", voucher.Edit{MaxUses: new(voucher.Limit(90_000 + n%7*1000))})
		edit("W1NTER", voucher.Edit{MaxUses: new(voucher.Limit(20 + 15*n))})
		edit("AUTUMN", voucher.Edit{Disabled: new(n%3 == 0)})
	})
	work(func(n int) {
		code := s.create(voucher.Terms{Written: fmt.Sprintf("GIFT-%d", n), MaxUses: new(voucher.Limit(1 + n%2*200))})
		s.redeem(string(code), "Birch", "")
		s.checkOut(s.opened)
	})
	for worker := range 2 {
		codes := []voucher.Code{"SUMMER20", "W1NTER", "AR1GAT0", "AUTUMN"}
		work(func(n int) { s.tradeLapsed(codes[(n+worker)%len(codes)], n) })
	}
	ended := make(chan struct{})
	go func() {
		busy.Wait()
		close(ended)
	}()
	return ended
}

// tradeLapsed checks out with a code at a time so early that the hold has already lapsed. So another request may take
// the use over before the order. Two of three checkouts are ordered, and half of these orders are cancelled.
func (s *shop) tradeLapsed(code voucher.Code, n int) {
	s.t.Helper()
	c, err := s.tryHold(code, fmt.Sprintf("Alder%d", mathrand.IntN(20)), s.lapsed(), "")
	if _, refused := voucher.IsRefusal(err); refused {
		return
	}
	if err == nil && n%3 != 0 {
		c, _, err = s.operator.PlaceOrder(s.t.Context(), c.ID,
			checkout.Payment{Provider: "stripe", Reference: "pi_1047"}, s.opened)
	}
	if err == nil && n%3 == 2 {
		_, _, err = s.operator.CancelOrder(s.t.Context(), c.ID, "chargeback", s.opened)
	}
	if err != nil && !errors.Is(err, checkout.ErrExpired) {
		s.t.Errorf("check out with %s: %v", code, err)
	}
}
