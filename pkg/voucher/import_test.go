package voucher_test

import (
	"strings"
	"testing"
	"time"

	"shopfront/pkg/voucher"
)

func TestImport(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	earlier, later := now.AddDate(0, -1, 0), now.Add(time.Millisecond)
	many, unlimited := voucher.Limit(10), voucher.NoLimit
	for what, test := range map[string]struct {
		maxUses *voucher.Limit
		past    voucher.Past
		wrong   string // the fields with a mistake; empty: none
	}{
		"unused": {nil, voucher.Past{Created: earlier}, ""},
		"redeemed": {
			nil,
			voucher.Past{Created: earlier, RedeemedAt: earlier, RedeemedBy: "Alder", Uses: 1},
			"",
		},
		"redeemed at this very moment":           {nil, voucher.Past{RedeemedAt: now}, ""},
		"redeemed, but without a number of uses": {nil, voucher.Past{RedeemedAt: earlier}, ""},
		"many uses":                              {&many, voucher.Past{Uses: 10}, ""},
		"more uses than a lowered limit":         {&many, voucher.Past{Uses: 12}, ""},
		"unlimited":                              {&unlimited, voucher.Past{Uses: int(voucher.MaxMaxUses)}, ""},
		"redeemed in the future":                 {nil, voucher.Past{RedeemedAt: later}, "redeemed_at"},
		"redeemed in a year before 2000": {
			nil,
			voucher.Past{RedeemedAt: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)},
			"redeemed_at",
		},
		"created in the future":               {nil, voucher.Past{Created: later}, "created_at"},
		"used, but without a redemption time": {nil, voucher.Past{Uses: 1}, "redeemed_at"},
		"a nick, but no redemption time":      {nil, voucher.Past{RedeemedBy: "Alder"}, "redeemed_by"},
		"a nick with space around it": {
			nil,
			voucher.Past{RedeemedAt: earlier, RedeemedBy: " Alder"},
			"redeemed_by",
		},
		"a nick that is too long": {
			nil,
			voucher.Past{RedeemedAt: earlier, RedeemedBy: strings.Repeat("a", 500)},
			"redeemed_by",
		},
		"single-use, but used twice":           {nil, voucher.Past{RedeemedAt: earlier, Uses: 2}, "uses"},
		"a negative number of uses":            {&many, voucher.Past{Uses: -1}, "uses"},
		"more uses than any limit":             {&unlimited, voucher.Past{Uses: int(voucher.MaxMaxUses) + 1}, "uses"},
		"a redemption time for many uses":      {&many, voucher.Past{RedeemedAt: earlier}, "redeemed_at"},
		"a redemption time for unlimited uses": {&unlimited, voucher.Past{RedeemedAt: earlier}, "redeemed_at"},
		"several mistakes are reported at once": {
			nil,
			voucher.Past{Created: later, RedeemedAt: later, Uses: 2},
			"uses created_at redeemed_at",
		},
	} {
		t.Run(what, func(t *testing.T) {
			terms := voucher.Terms{
				Written: "SUMMER-20",
				Reward:  voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}, MaxUses: test.maxUses,
			}
			v, err := voucher.Import(terms, test.past, "LRLuWYz8-QoWsPfs4csHfg", now)
			if got := fieldsOf(err); got != test.wrong {
				t.Fatalf("mistakes in %q, want %q: %v", got, test.wrong, err)
			}
			if err != nil {
				return
			}
			redeemed := !test.past.RedeemedAt.IsZero()
			uses := test.past.Uses
			if redeemed {
				uses = 1
			}
			if v.Imported != uses || (v.Redeemed != nil) != redeemed || redeemed &&
				(!v.Redeemed.Imported || v.Redeemed.Nick != test.past.RedeemedBy) {
				t.Errorf("Import = %+v, with the redemption %+v", v, v.Redeemed)
			}
		})
	}
}

// fieldsOf returns the fields of joined *voucher.FieldErrors, separated by spaces.
func fieldsOf(err error) string {
	var fields []string
	for _, field := range voucher.FieldErrors(err) {
		fields = append(fields, field.Field)
	}
	return strings.Join(fields, " ")
}
