package catalogfile_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

func TestParse_ReadsEveryFieldOfAVoucher(t *testing.T) {
	limit := func(n voucher.Limit) *voucher.Limit { return &n }
	file := in("shop", "vouchers:",
		"  - {code: Welcome coins, reward: coins/500}",
		"  - {code: SUMMER-20, reward: 20%, max-uses: 1000, max-uses-per-nick: 2, valid-from: "+
			"2027-06-01T00:00:00+02:00, valid-until: 2027-09-01T00:00:00.5Z}",
		"  - {code: 2027, reward: 5.00, max-uses: none, max-uses-per-nick: none, disabled: true, nick: Kestrel_9, "+
			"batch: launch, note: for the forum}",
		"  - code: THREE",
		"    reward: 3*coins/500",
		"  - {code: STARTER-PACK, reward: coins/500+2*rank/vip}",
		"  - {code: STARTER-LIST, reward: [coins/500, 2*rank/vip]}",
		"  - {code: SHORT-LIST, reward: [coins/500]}",
	)
	shops, err := catalogfile.Parse(catalogfile.File{Name: "shop.yaml", Text: []byte(file)})
	if err != nil {
		t.Fatal(err)
	}
	coins := voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
	three := coins
	three.Amount = 3
	pack := voucher.Reward{Kind: voucher.RewardBundle}
	pack.Items[0] = voucher.Good{Product: "coins", Variant: "500", Amount: 1}
	pack.Items[1] = voucher.Good{Product: "rank", Variant: "vip", Amount: 2}
	want := []catalogfile.Voucher{
		{
			Code: "WE1C0MEC01NS", Terms: voucher.Terms{Written: "Welcome coins", Reward: coins},
			Place: catalogfile.Place{File: "shop.yaml", Line: 6},
		},
		{Code: "SUMMER20", Terms: voucher.Terms{
			Written: "SUMMER-20", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
			MaxUses: limit(1000), MaxUsesPerNick: limit(2),
			ValidFrom:  time.Date(2027, 5, 31, 22, 0, 0, 0, time.UTC),
			ValidUntil: time.Date(2027, 9, 1, 0, 0, 0, 5e8, time.UTC),
		}, Place: catalogfile.Place{File: "shop.yaml", Line: 7}},
		{Code: "2027", Terms: voucher.Terms{
			Written: "2027", Reward: voucher.Reward{
				Kind:      voucher.RewardAmountOff,
				AmountOff: money.Money{Minor: 500, Currency: "EUR"},
			},
			MaxUses: limit(voucher.NoLimit), MaxUsesPerNick: limit(voucher.NoLimit), Disabled: true, Nick: "Kestrel_9",
			Batch: "launch", Note: "for the forum",
		}, Place: catalogfile.Place{File: "shop.yaml", Line: 8}},
		{
			Code: "THREE", Terms: voucher.Terms{Written: "THREE", Reward: three},
			Place: catalogfile.Place{File: "shop.yaml", Line: 9},
		},
		{
			Code: "STARTERPACK", Terms: voucher.Terms{Written: "STARTER-PACK", Reward: pack},
			Place: catalogfile.Place{File: "shop.yaml", Line: 11},
		},
		{
			Code: "STARTER11ST", Terms: voucher.Terms{Written: "STARTER-LIST", Reward: pack},
			Place: catalogfile.Place{File: "shop.yaml", Line: 12},
		},
		{
			Code: "SH0RT11ST", Terms: voucher.Terms{Written: "SHORT-LIST", Reward: coins},
			Place: catalogfile.Place{File: "shop.yaml", Line: 13},
		},
	}
	if got := shops[0].Vouchers; !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestParse_FaultInAVoucher_IsReportedWithItsLine(t *testing.T) {
	for _, test := range []struct{ name, voucher, want string }{
		{"a word", "WELCOME", `6: item 1 of vouchers: must be a mapping (key: value), not "WELCOME"`},
		{
			"unknown key", "{code: A, reward: 5%, uses: 3}",
			`6: uses: unknown key: the keys here are batch, code, disabled, max-uses, max-uses-per-nick, nick, ` +
				`note, reward, valid-from, valid-until`,
		},
		{"no code", "{reward: 5%}", "6: code: is missing"},
		{"no reward", "{code: A}", "6: reward: is missing"},
		{"empty code", "{code: '- -', reward: 5%}", "6: code: must have a letter or digit"},
		{
			"code with other characters", "{code: A_B, reward: 5%}",
			"6: code: may have letters A to Z, digits, spaces and dashes",
		},
		{"empty reward", "{code: A, reward: ''}", `6: reward: "": a reward is empty`},
		{"a percentage or an amount", "{code: A, reward: 20}", `6: reward: "20": 20% or 20.00 EUR? Write 20% or 20.00`},
		{
			"a mapping as a reward", "{code: A, reward: {coins: 500}}",
			"6: reward: must be a reward such as coins/500, or a list of goods, not a mapping",
		},
		{"an empty list", "{code: A, reward: []}", `6: reward: "": a reward is empty`},
		{
			"a list in the list", "{code: A, reward: [coins/500, [rank/vip]]}",
			"6: item 2 of reward: must be one value, not a list",
		},
		{
			"a list with a number", "{code: A, reward: [coins/500, 5.00]}",
			`6: reward: "coins/500+5.00": "5.00": only goods can be joined, such as coins/500+2*rank/vip`,
		},
		{
			"no uses", "{code: A, reward: 5%, max-uses: 0}",
			`6: max-uses: must be a whole number of at least 1, or none, not "0"`,
		},
		{
			"too many uses", "{code: A, reward: 5%, max-uses: 1000000001}",
			"6: max-uses: must be 1 to 1000000000, or none",
		},
		{
			"limit per nick on a single use", "{code: A, reward: 5%, max-uses-per-nick: 1}",
			"6: max-uses-per-nick: is only for codes with more than one use",
		},
		{
			"a date that does not exist", "{code: A, reward: 5%, valid-from: 2027-06-31}",
			`6: valid-from: "2027-06-31": must be a time such as 2026-12-24T18:00:00Z, or a date such as ` +
				`2026-12-24`,
		},
		{
			"the zero time", "{code: A, reward: 5%, valid-until: 0001-01-01}",
			`6: valid-until: "0001-01-01": must be in the years 2000 to 9999`,
		},
		{
			"an end at the start", "{code: A, reward: 5%, valid-from: 2027-06-01, valid-until: 2027-06-01T00:00:00Z}",
			"6: valid-until: must be after valid-from",
		},
		{"disabled by a number", "{code: A, reward: 5%, disabled: 1}", `6: disabled: must be true or false, not "1"`},
		{
			"nick too long", "{code: A, reward: 5%, nick: " + strings.Repeat("x", 65) + "}",
			"6: nick: must have at most 64 characters in 128 bytes",
		},
		{
			"note too long", "{code: A, reward: 5%, note: " + strings.Repeat("x", 129) + "}",
			"6: note: must be at most 128 bytes of text without control characters",
		},
		{
			"the same code", "{code: SUMMER-20, reward: 5%}\n      - {code: summer 2o, reward: 5%}",
			`7: code: "summer 2o" is the same code as on line 6: spaces, dashes and case make no difference, nor ` +
				`do O and 0, or I, L and 1`,
		},
		{"several faults", "{code: '', reward: 0%, max-uses: none, batch: \"\\t\"}", `6: reward: "0%": a percentage is a whole number from 1% to 100%
shop.yaml:6: code: must have a letter or digit
shop.yaml:6: batch: must be at most 64 bytes of text without control characters`},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantErrors(t, "shop.yaml:"+test.want, in("shop", "vouchers:", "  - "+test.voucher))
		})
	}
}

func TestParse_UnknownCurrency_IsReportedOnce(t *testing.T) {
	file := strings.Replace(in("shop", "vouchers:", "  - {code: A, reward: 5.00}"), "EUR", "EURO", 1)
	wantErrors(t, `shop.yaml:4: currency: "EURO" is not an ISO 4217 currency: write a code such as EUR`, file)
}

func TestMissingRewards_ListsVariantsThatNeitherTheFileNorTheStoreHas(t *testing.T) {
	shops, err := catalogfile.Parse(catalogfile.File{Name: "shop.yaml", Text: []byte(in("shop", "vouchers:",
		"  - {code: A, reward: coins/500}",
		"  - {code: B, reward: 2*coins/1200}",
		"  - {code: C, reward: vip-rank/lifetime}",
		"  - {code: D, reward: 20%}",
		"  - {code: E, reward: vip-rank/30-days}",
		"  - {code: F, reward: [coins/500, vip-rank/lifetime, 3*pet/fox]}",
	))})
	if err != nil {
		t.Fatal(err)
	}
	stored := catalog.Shop{Products: []catalog.Product{{ID: "vip-rank", Variants: []catalog.Variant{{ID: "30-days"}}}}}
	err = shops[0].MissingRewards(stored)
	const want = `shop.yaml:7: reward: shop emberforge has no variant coins/1200
shop.yaml:8: reward: shop emberforge has no variant vip-rank/lifetime
shop.yaml:11: reward: shop emberforge has no variant vip-rank/lifetime
shop.yaml:11: reward: shop emberforge has no variant pet/fox`
	if _, ok := errors.AsType[*catalogfile.Error](err); !ok || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	shops[0].Vouchers = shops[0].Vouchers[:1]
	if err := shops[0].MissingRewards(stored); err != nil {
		t.Error(err)
	}
}
