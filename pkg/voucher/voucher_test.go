package voucher_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shopfront/pkg/voucher"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func mustNick(t testing.TB, typed string) voucher.Nick {
	t.Helper()
	nick, err := voucher.ParseNick(typed)
	if err != nil {
		t.Fatal(err)
	}
	return nick
}

// mustNew creates a voucher and fills in a missing code and reward.
func mustNew(t testing.TB, terms voucher.Terms) voucher.Voucher {
	t.Helper()
	if terms.Written == "" {
		terms.Written = "WELCOME-COINS"
	}
	if terms.Reward == (voucher.Reward{}) {
		terms.Reward = voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
	}
	v, err := voucher.New(terms, noon().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRefuse(t *testing.T) {
	alder, birch := mustNick(t, "Alder"), mustNick(t, "Birch")
	used := mustNew(t, voucher.Terms{})
	used.Redeemed = &voucher.Redemption{ID: "earlier"}
	tests := []struct {
		rule string
		v    voucher.Voucher
		nick voucher.Nick
		want voucher.Reason // empty: not refused
	}{
		{"single-use, no nick", mustNew(t, voucher.Terms{}), voucher.Nick{}, ""},
		{"single-use, a nick", mustNew(t, voucher.Terms{}), alder, ""},
		{"disabled", mustNew(t, voucher.Terms{Disabled: true}), alder, voucher.ReasonDisabled},
		{
			"starts later", mustNew(t, voucher.Terms{ValidFrom: noon().Add(time.Millisecond)}), alder,
			voucher.ReasonNotStarted,
		},
		{"starts now", mustNew(t, voucher.Terms{ValidFrom: noon()}), alder, ""},
		{"ends later", mustNew(t, voucher.Terms{ValidUntil: noon().Add(time.Millisecond)}), alder, ""},
		{"ends now", mustNew(t, voucher.Terms{ValidUntil: noon()}), alder, voucher.ReasonExpired},
		{"bound to this nick", mustNew(t, voucher.Terms{Nick: "ALDER"}), alder, ""},
		{"bound to another nick", mustNew(t, voucher.Terms{Nick: "Alder"}), birch, voucher.ReasonOtherNick},
		{"bound, no nick", mustNew(t, voucher.Terms{Nick: "Alder"}), voucher.Nick{}, voucher.ReasonNickMissing},
		{
			"limit per nick, no nick", mustNew(t, voucher.Terms{MaxUses: new(voucher.Limit(100))}),
			voucher.Nick{},
			voucher.ReasonNickMissing,
		},
		{"limit per nick, a nick", mustNew(t, voucher.Terms{MaxUses: new(voucher.Limit(100))}), alder, ""},
		{
			"no limit per nick, no nick",
			mustNew(t, voucher.Terms{MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.NoLimit)}),
			voucher.Nick{},
			"",
		},
		{"redeemed", used, alder, voucher.ReasonUsedUp},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			err := test.v.Refuse(voucher.Request{Nick: test.nick, At: noon()})
			if reason, _ := voucher.IsRefusal(err); reason != test.want {
				t.Errorf("Refuse = %v; want %q", err, test.want)
			}
		})
	}
}

// A pause is temporary, so it is the reason only for codes that could be redeemed without the pause.
func TestRefuse_PausedCode(t *testing.T) {
	alder := mustNick(t, "Alder")
	all, summer := voucher.Pause{All: true}, voucher.Pause{Batches: []string{"advent", "summer"}}
	used := mustNew(t, voucher.Terms{Batch: "summer"})
	used.Redeemed = &voucher.Redemption{ID: "earlier"}
	for _, test := range []struct {
		rule  string
		v     voucher.Voucher
		pause voucher.Pause
		nick  voucher.Nick
		want  voucher.Reason // empty: not refused
	}{
		{"all codes", mustNew(t, voucher.Terms{}), all, alder, voucher.ReasonPaused},
		{"its batch", mustNew(t, voucher.Terms{Batch: "summer"}), summer, alder, voucher.ReasonPaused},
		{
			"its batch, many uses", mustNew(t, voucher.Terms{Batch: "summer", MaxUses: new(voucher.Limit(100))}),
			summer,
			alder, voucher.ReasonPaused,
		},
		{"another batch", mustNew(t, voucher.Terms{Batch: "launch"}), summer, alder, ""},
		{"batches, code without a batch", mustNew(t, voucher.Terms{}), summer, alder, ""},
		{"disabled too", mustNew(t, voucher.Terms{Disabled: true}), all, alder, voucher.ReasonDisabled},
		{"expired too", mustNew(t, voucher.Terms{ValidUntil: noon()}), all, alder, voucher.ReasonExpired},
		{"redeemed too", used, summer, alder, voucher.ReasonUsedUp},
		{"nick missing too", mustNew(t, voucher.Terms{Nick: "Alder"}), all, voucher.Nick{}, voucher.ReasonNickMissing},
	} {
		t.Run(test.rule, func(t *testing.T) {
			err := test.v.Refuse(voucher.Request{Nick: test.nick, At: noon(), Paused: test.pause})
			if reason, _ := voucher.IsRefusal(err); reason != test.want {
				t.Errorf("Refuse = %v; want %q", err, test.want)
			}
		})
	}
}

func TestRefuse_ExactlyIfAReasonApplies(t *testing.T) {
	nicks := []voucher.Nick{{}, mustNick(t, "Alder"), mustNick(t, "Birch")}
	rapid.Check(t, func(t *rapid.T) {
		hours := func(label string) time.Time {
			return noon().Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, label)) * time.Hour)
		}
		v := voucher.Voucher{
			MaxUses:  rapid.SampledFrom([]voucher.Limit{1, 2, voucher.NoLimit}).Draw(t, "max uses"),
			Disabled: rapid.Bool().Draw(t, "disabled"),
			Nick:     rapid.SampledFrom(nicks).Draw(t, "bound to"), Batch: "summer",
		}
		if rapid.Bool().Draw(t, "bounded") {
			v.ValidFrom, v.ValidUntil = hours("from"), hours("until")
		}
		if rapid.Bool().Draw(t, "per nick") {
			v.MaxUsesPerNick = 1
		}
		if rapid.Bool().Draw(t, "redeemed") {
			v.Redeemed = &voucher.Redemption{}
		}
		request := voucher.Request{At: hours("at"), Nick: rapid.SampledFrom(nicks).Draw(t, "nick")}
		request.Paused.All = rapid.Bool().Draw(t, "all paused")
		request.Paused.Batches = rapid.SampledFrom([][]string{nil, {"summer"}}).Draw(t, "paused")
		applies := map[voucher.Reason]bool{
			voucher.ReasonDisabled:    v.Disabled,
			voucher.ReasonNotStarted:  v.ValidFrom.After(request.At),
			voucher.ReasonExpired:     !v.ValidUntil.IsZero() && !v.ValidUntil.After(request.At),
			voucher.ReasonNickMissing: request.Nick.Compared == "" && (v.Nick.Compared != "" || v.MaxUsesPerNick > 0),
			voucher.ReasonOtherNick:   request.Nick.Compared != "" && v.Nick.Compared != "" && v.Nick != request.Nick,
			voucher.ReasonUsedUp:      v.Redeemed != nil,
			voucher.ReasonPaused:      request.Paused.All || request.Paused.Batches != nil,
		}
		reason, refused := voucher.IsRefusal(v.Refuse(request))
		if refused != slices.Contains(slices.Collect(maps.Values(applies)), true) || refused && !applies[reason] {
			t.Fatalf("refused: %t, as %q; these reasons apply: %v", refused, reason, applies)
		}
	})
}
