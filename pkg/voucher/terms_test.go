package voucher_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

func TestNew_Defaults(t *testing.T) {
	tests := []struct {
		rule                     string
		maxUses, perNick         *voucher.Limit
		wantMaxUses, wantPerNick voucher.Limit
		wantParts                int
	}{
		{"one use", nil, nil, 1, voucher.NoLimit, 0},
		{"many uses: once per nick", new(voucher.Limit(2)), nil, 2, 1, 0},
		{"many uses, no limit per nick", new(voucher.Limit(2)), new(voucher.NoLimit), 2, voucher.NoLimit, 0},
		{"no limit: once per nick", new(voucher.NoLimit), nil, voucher.NoLimit, 1, 0},
		{"no parts up to 500 uses", new(voucher.Limit(500)), nil, 500, 1, 0},
		{"a part for every 100 uses", new(voucher.Limit(501)), nil, 501, 1, 5},
		{"at most 98 parts", new(voucher.Limit(1_000_000)), nil, 1_000_000, 1, 98},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			v := mustNew(t, voucher.Terms{MaxUses: test.maxUses, MaxUsesPerNick: test.perNick})
			if v.MaxUses != test.wantMaxUses || v.MaxUsesPerNick != test.wantPerNick ||
				v.Parts != test.wantParts {
				t.Errorf("max uses %d, per nick %d, parts %d", v.MaxUses, v.MaxUsesPerNick, v.Parts)
			}
		})
	}
}

func TestNew_InvalidTerms_AreRejected(t *testing.T) {
	coins := voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
	changed := func(change func(r *voucher.Reward)) voucher.Terms {
		bundle := starter()
		change(&bundle)
		return voucher.Terms{Written: "S", Reward: bundle}
	}
	tests := []struct {
		rule  string
		terms voucher.Terms
		field string
	}{
		{"no code", voucher.Terms{Reward: coins}, "code"},
		{"code of 81 bytes", voucher.Terms{Written: "SUMMER" + strings.Repeat("-", 75), Reward: coins}, "code"},
		{"code with other characters", voucher.Terms{Written: "SOMMER#20", Reward: coins}, "code"},
		{"code with a line break", voucher.Terms{Written: "SUMMER\n20", Reward: coins}, "code"},
		{"no reward", voucher.Terms{Written: "SUMMER-20"}, "reward"},
		{"percentage above 100", voucher.Terms{
			Written: "S",
			Reward:  voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 101},
		}, "reward"},
		{"negative amount off", voucher.Terms{
			Written: "S", Reward: voucher.Reward{
				Kind:      voucher.RewardAmountOff,
				AmountOff: money.Money{Minor: -1, Currency: "EUR"},
			},
		}, "reward"},
		{"reward of two kinds", voucher.Terms{
			Written: "S", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20, Product: "coins"},
		}, "reward"},
		{"bundle without goods", changed(func(r *voucher.Reward) { clear(r.Items[:]) }), "reward"},
		{"bundle of one good", changed(func(r *voucher.Reward) { r.Items[1] = voucher.Good{} }), "reward"},
		{
			"bundle with a gap", changed(func(r *voucher.Reward) {
				r.Items[3], r.Items[1] = r.Items[1],
					voucher.Good{}
			}),
			"reward",
		},
		{"bundle of one variant twice", changed(func(r *voucher.Reward) { r.Items[2] = r.Items[0] }), "reward"},
		{"bundle with an amount of 0", changed(func(r *voucher.Reward) { r.Items[1].Amount = 0 }), "reward"},
		{"bundle with a discount", changed(func(r *voucher.Reward) { r.PercentOff = 20 }), "reward"},
		{"discount with goods", changed(func(r *voucher.Reward) {
			r.Kind, r.PercentOff = voucher.RewardPercentOff,
				20
		}), "reward"},
		{"product with further goods", changed(func(r *voucher.Reward) {
			r.Kind, r.Product, r.Variant, r.Amount = voucher.RewardProduct, "coins", "500", 1
		}), "reward"},
		{"negative uses", voucher.Terms{Written: "S", Reward: coins, MaxUses: new(voucher.Limit(-1))}, "max-uses"},
		{
			"too many uses",
			voucher.Terms{Written: "S", Reward: coins, MaxUses: new(voucher.Limit(1_000_000_001))},
			"max-uses",
		},
		{
			"limit per nick of a single-use code",
			voucher.Terms{Written: "S", Reward: coins, MaxUsesPerNick: new(voucher.Limit(1))},
			"max-uses-per-nick",
		},
		{"11 per nick", voucher.Terms{
			Written: "S", Reward: coins, MaxUses: new(voucher.Limit(100)),
			MaxUsesPerNick: new(voucher.Limit(11)),
		}, "max-uses-per-nick"},
		{
			"ends when it starts",
			voucher.Terms{Written: "S", Reward: coins, ValidFrom: noon(), ValidUntil: noon()},
			"valid-until",
		},
		{
			"year 12026",
			voucher.Terms{Written: "S", Reward: coins, ValidUntil: noon().AddDate(10000, 0, 0)},
			"valid-until",
		},
		{"year 1926", voucher.Terms{Written: "S", Reward: coins, ValidFrom: noon().AddDate(-100, 0, 0)}, "valid-from"},
		{"long nick", voucher.Terms{Written: "S", Reward: coins, Nick: strings.Repeat("a", 65)}, "nick"},
		{"batch of white space only", voucher.Terms{Written: "S", Reward: coins, Batch: " "}, "batch"},
		{"batch of 65 bytes", voucher.Terms{Written: "S", Reward: coins, Batch: strings.Repeat("b", 65)}, "batch"},
		{"note of 129 bytes", voucher.Terms{Written: "S", Reward: coins, Note: strings.Repeat("n", 129)}, "note"},
		{"note with a bell", voucher.Terms{Written: "S", Reward: coins, Note: "ring\a"}, "note"},
		{"parts of a single-use code", voucher.Terms{Written: "S", Reward: coins, Parts: new(2)}, "parts"},
		{
			"99 parts",
			voucher.Terms{Written: "S", Reward: coins, MaxUses: new(voucher.Limit(1000)), Parts: new(99)},
			"parts",
		},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			_, err := voucher.New(test.terms, noon())
			if field, is := errors.AsType[*voucher.FieldError](err); !is || field.Field != test.field {
				t.Errorf("New = %v; want a *FieldError of %s", err, test.field)
			}
		})
	}
}

func TestEdited(t *testing.T) {
	yes, later, batch, nick := true, noon().Add(time.Hour), "launch", "Alder"
	single, many := mustNew(t, voucher.Terms{}), mustNew(t, voucher.Terms{MaxUses: new(voucher.Limit(100))})
	unlimited := mustNew(t, voucher.Terms{MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})

	edited, err := single.Edited(voucher.Edit{
		Disabled: &yes, ValidUntil: &later, Batch: &batch, Nick: &nick,
		Note: &batch, ValidFrom: new(noon()),
	})
	want := single
	want.Disabled, want.ValidFrom, want.ValidUntil, want.Batch, want.Note, want.Nick = true, noon(), later, "launch",
		"launch", mustNick(t, "Alder")
	if err != nil || edited != want {
		t.Errorf("Edited = %+v, %v; want %+v", edited, err, want)
	}

	blank := single
	blank.Batch = " "

	tests := []struct {
		rule  string
		v     voucher.Voucher
		edit  voucher.Edit
		field string // empty: allowed
	}{
		{"to a batch of white space", single, voucher.Edit{Batch: new(" ")}, "batch"},
		{"of a voucher whose batch is blank", blank, voucher.Edit{Disabled: &yes}, ""},
		{"no change", single, voucher.Edit{}, ""},
		{"the same limit", single, voucher.Edit{MaxUses: new(voucher.Limit(1))}, ""},
		{"raise the limit", many, voucher.Edit{MaxUses: new(voucher.Limit(200))}, ""},
		{"lower the limit", many, voucher.Edit{MaxUses: new(voucher.Limit(2))}, ""},
		{"limit to one", many, voucher.Edit{MaxUses: new(voucher.Limit(1))}, "max-uses"},
		{"limit from one", single, voucher.Edit{MaxUses: new(voucher.Limit(2))}, "max-uses"},
		{"limit to none", many, voucher.Edit{MaxUses: new(voucher.NoLimit)}, "max-uses"},
		{"limit from none", unlimited, voucher.Edit{MaxUses: new(voucher.Limit(100))}, "max-uses"},
		{"raise the limit per nick", many, voucher.Edit{MaxUsesPerNick: new(voucher.Limit(10))}, ""},
		{
			"limit per nick above its bound", many,
			voucher.Edit{MaxUsesPerNick: new(voucher.Limit(11))},
			"max-uses-per-nick",
		},
		{"limit per nick to none", many, voucher.Edit{MaxUsesPerNick: new(voucher.NoLimit)}, "max-uses-per-nick"},
		{
			"limit per nick from none", unlimited,
			voucher.Edit{MaxUsesPerNick: new(voucher.Limit(1))},
			"max-uses-per-nick",
		},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			_, err := test.v.Edited(test.edit)
			field, isField := errors.AsType[*voucher.FieldError](err)
			if test.field == "" && err != nil || test.field != "" && (!isField || field.Field != test.field) {
				t.Errorf("Edited = %v; want a *FieldError of %q (empty: no error)", err, test.field)
			}
		})
	}
}

func TestParseTime_Date_IsADayOfTheZone(t *testing.T) {
	for _, test := range []struct{ zone, text, start, end string }{
		{"UTC", "2026-11-30", "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z"},
		{"Asia/Tokyo", "2026-11-30", "2026-11-29T15:00:00Z", "2026-11-30T15:00:00Z"},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"}, // 23 hours
		{"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}, // 25 hours
		{"Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},  // begins at 01:00
		{"America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		{"Asia/Tokyo", "2026-11-30T18:00:00Z", "2026-11-30T18:00:00Z", "2026-11-30T18:00:00Z"},
		{"UTC", "2026-11-30T18:00:00.25+01:00", "2026-11-30T17:00:00.25Z", "2026-11-30T17:00:00.25Z"},
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		start, startErr := voucher.ParseTime(test.text, zone)
		end, endErr := voucher.ParseEnd(test.text, zone)
		if startErr != nil || endErr != nil || start.Format(time.RFC3339Nano) != test.start ||
			end.Format(time.RFC3339Nano) != test.end {
			t.Errorf("%s in %s: from %s, %v, until %s, %v", test.text, test.zone, start, startErr, end, endErr)
		}
	}
}

func TestParseTime_WrongText_IsRejected(t *testing.T) {
	for text, want := range map[string]string{
		"": "such as", "soon": "such as", "2026-02-29": "such as", "1999-12-30": "2000 to 9999", "0001-01-01": "2000 to 9999",
		"2026-11-30T18:00:00.0001Z": "milliseconds",
	} {
		for name, parse := range map[string]func(string, *time.Location) (time.Time, error){
			"ParseTime": voucher.ParseTime, "ParseEnd": voucher.ParseEnd,
		} {
			if at, err := parse(text, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s(%q) = %s, %v; want an error with %q", name, text, at, err, want)
			}
		}
	}
}
