package backoffice_test

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

func (s *shop) rebuildNicks() backoffice.Rebuilt {
	s.t.Helper()
	result, err := s.events(s.settled()).RebuildNicks(s.t.Context(), s.operator, func(int) {})
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

func (s *shop) nick(typed string) voucher.Nick {
	s.t.Helper()
	nick, err := voucher.ParseNick(typed)
	if err != nil {
		s.t.Fatal(err)
	}
	return nick
}

// ofNick returns the redemptions that RedemptionsOfNick lists.
func (s *shop) ofNick(filter backoffice.RedemptionFilter) []backoffice.Redemption {
	s.t.Helper()
	found, err := backoffice.Collect(s.operator.RedemptionsOfNick(s.t.Context(), filter))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// wantListed checks that the index lists the same redemptions as the vouchers, in the order of time, and returns them.
func (s *shop) wantListed(filter backoffice.RedemptionFilter) []backoffice.Redemption {
	s.t.Helper()
	want, err := backoffice.Collect(s.operator.Redemptions(s.t.Context(), filter))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range want {
		want[i].Attempt, want[i].ByOrder = "", false // the index lacks them
	}
	slices.SortFunc(want, func(a, b backoffice.Redemption) int {
		return cmp.Or(a.At.Compare(b.At),
			cmp.Compare(a.ID, b.ID))
	})
	if got := s.ofNick(filter); !reflect.DeepEqual(got, want) {
		s.t.Errorf("%s: the index has %+v, the vouchers %+v", filter.Nick.Written, got, want)
	}
	return want
}

func TestRebuildNicks_EveryKindOfRecord_IsListedByItsNick(t *testing.T) {
	for what, leave := range map[string]func(s *shop){
		"an empty shop": func(*shop) {}, "every kind of voucher": (*shop).stock, "an order of each status": everyOrder,
		"every kind of hold in every state": everyHold, "redemptions with keys": replaysAndRefusals,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newShopWithEvents(t)
			leave(s)
			first := s.rebuildNicks()
			all, err := backoffice.Collect(s.operator.Redemptions(t.Context(), backoffice.RedemptionFilter{}))
			if err != nil {
				t.Fatal(err)
			}
			nicks := make(map[string]bool)
			for _, r := range all {
				nicks[s.nick(r.Nick).Compared] = true
			}
			delete(nicks, "")
			listed := 0
			for nick := range nicks {
				listed += len(s.wantListed(backoffice.RedemptionFilter{Nick: s.nick(nick)}))
			}
			if again := s.rebuildNicks(); first != (backoffice.Rebuilt{Added: listed}) || again != first {
				t.Errorf("%d redemptions are listed, but the first run indexed %+v, and the second %+v", listed, first,
					again)
			}
			if fed := s.feed(); len(fed) != 0 {
				t.Errorf("the feed has %+v, want no events", fed)
			}
			if report := s.verify(s.opened); report.Found != 0 {
				t.Errorf("verify: %+v", report.Findings)
			}
		})
	}
}

func TestRebuildNicks_UndoneRedemption_IsListedAsUndone(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	s.stock()
	s.rebuildNicks()
	alder := backoffice.RedemptionFilter{Nick: s.nick("ALDER")}
	for _, r := range s.wantListed(alder) {
		code, err := voucher.ParseCode(r.Code)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.operator.UndoRedemption(t.Context(), code, r.ID, "granted twice",
			s.opened.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	s.rebuildNicks()
	listed := s.wantListed(alder)
	if len(listed) == 0 || slices.ContainsFunc(listed,
		func(r backoffice.Redemption) bool { return r.Undone.IsZero() || r.UndoReason != "granted twice" }) {
		t.Errorf("listed %+v, want all of them undone", listed)
	}
}

// An import must not send events to the shop's server, but the operator must find its redemptions.
func TestRebuildNicks_ImportedRedemption_IsListedAndNotInTheFeed(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	code := s.create(voucher.Terms{Written: "GIFT-1"})
	s.redeem("GIFT-1", "Alder", "")
	s.change(string(code), func(it attributes) { it.rewrite("||", "|i|") })
	if result := s.rebuild(backoffice.Rebuilding{From: s.opened.Add(-day)}); result != (backoffice.Rebuilt{}) {
		t.Errorf("rebuilt %+v", result)
	}
	s.rebuildNicks()
	listed := s.wantListed(backoffice.RedemptionFilter{Nick: s.nick("Alder")})
	if len(listed) != 1 || !listed[0].Imported {
		t.Errorf("listed %+v, want one imported redemption", listed)
	}
}

func TestRebuildNicks_InterruptedOrWithAnUnreadItem_IsCompletedByAnotherRun(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	s.stock()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.events(s.opened).RebuildNicks(ctx, s.operator, func(int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("RebuildNicks = %v, want canceled", err)
	}
	reward := map[string]types.AttributeValue{}
	s.change("G1FT1", func(it attributes) { reward["reward"] = it["reward"]; it["reward"] = text("120%") })
	if result := s.rebuildNicks(); result.Unread != 1 || result.Added == 0 {
		t.Errorf("indexed %+v, want one unread item", result)
	}
	s.change("G1FT1", func(it attributes) { it["reward"] = reward["reward"] })
	if result := s.rebuildNicks(); result.Unread != 0 {
		t.Errorf("indexed %+v, want no unread item", result)
	}
	s.wantListed(backoffice.RedemptionFilter{Nick: s.nick("Alder")})
}

func TestRedemptionsOfNick_Filters_Apply(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	code := s.create(voucher.Terms{
		Written: "ARIGATO", MaxUses: new(voucher.NoLimit),
		MaxUsesPerNick: new(voucher.NoLimit), Batch: "thanks",
	})
	s.create(voucher.Terms{Written: "NEWS", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})
	opened := s.opened
	for i := range 4 {
		s.opened = opened.Add(time.Duration(i) * time.Millisecond)
		s.redeem([]string{"ARIGATO", "NEWS"}[i%2], "Alder", "")
	}
	s.opened = opened
	s.rebuildNicks()
	alder := s.nick("alder")
	for what, test := range map[string]struct {
		filter backoffice.RedemptionFilter
		want   int
	}{
		"only the nick":              {backoffice.RedemptionFilter{}, 4},
		"a batch":                    {backoffice.RedemptionFilter{Batch: "thanks"}, 2},
		"from, inclusive":            {backoffice.RedemptionFilter{From: opened.Add(time.Millisecond)}, 3},
		"from within a millisecond":  {backoffice.RedemptionFilter{From: opened.Add(time.Millisecond + 1)}, 2},
		"until, exclusive":           {backoffice.RedemptionFilter{Until: opened.Add(3 * time.Millisecond)}, 3},
		"until within a millisecond": {backoffice.RedemptionFilter{Until: opened.Add(3*time.Millisecond + 1)}, 4},
		"a time without redemptions": {backoffice.RedemptionFilter{From: opened.Add(time.Second)}, 0},
	} {
		test.filter.Nick = alder
		if listed := s.wantListed(test.filter); len(listed) != test.want {
			t.Errorf("filter by %s: %d redemptions, want %d", what, len(listed), test.want)
		}
	}
	if listed := s.ofNick(backoffice.RedemptionFilter{Nick: alder, Code: code}); len(listed) != 2 ||
		listed[0].Code != "ARIGATO" {
		t.Errorf("filter by a code: %+v, want the two redemptions of ARIGATO", listed)
	}
	if listed := s.ofNick(backoffice.RedemptionFilter{Nick: s.nick("Heron")}); len(listed) != 0 {
		t.Errorf("Heron has %+v", listed)
	}
	for _, err := range s.operator.RedemptionsOfNick(t.Context(),
		backoffice.RedemptionFilter{Nick: alder, Code: "UNKNOWN"}) {
		if reason, is := voucher.IsRefusal(err); !is || reason != voucher.ReasonUnknown {
			t.Errorf("filter by an unknown code: %v, want a refusal with the reason unknown", err)
		}
	}
}

func TestRedemptionsOfNick_NoEvents_ReadsTheVouchers(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.stock()
	if listed := s.ofNick(backoffice.RedemptionFilter{Nick: s.nick("Alder")}); len(listed) != 4 {
		t.Errorf("listed %+v, want 4 redemptions", listed)
	}
}

func TestRedemptionsOfNick_ReaderStops_ListEnds(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	s.stock()
	s.rebuildNicks()
	for r, err := range s.operator.RedemptionsOfNick(t.Context(), backoffice.RedemptionFilter{Nick: s.nick("Alder")}) {
		if err != nil || r.ID == "" {
			t.Errorf("the first redemption is %+v, %v", r, err)
		}
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failures := 0
	for _, err := range s.operator.RedemptionsOfNick(ctx, backoffice.RedemptionFilter{Nick: s.nick("Alder")}) {
		if err != nil {
			failures++
		}
	}
	if failures != 1 {
		t.Errorf("%d errors after the context ended, want 1", failures)
	}
}
