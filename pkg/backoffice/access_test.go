package backoffice_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
)

// planned returns the plan for a shop whose entry in the catalogue file ends with the given lines.
func (s *tables) planned(t *testing.T, shop catalog.ShopID, lines string) backoffice.CataloguePlan {
	t.Helper()
	text := fmt.Sprintf("shops:\n  - id: %s\n    name: Emberforge\n    currency: EUR\n%s", shop, lines)
	plan, err := s.deployment.PlanCatalogue(t.Context(), []catalogfile.File{{Name: "shop.yaml", Text: []byte(text)}},
		false, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func (s *tables) apply(t *testing.T, shop catalog.ShopID, lines string) {
	t.Helper()
	if err := s.planned(t, shop, lines).Apply(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
}

func (s *tables) wantSettings(t *testing.T, shopID catalog.ShopID, want access.Settings) {
	t.Helper()
	shop, err := s.deployment.Shop(t.Context(), shopID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := shop.Settings(t.Context())
	if want.Version = got.Version; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("settings %+v, %v; want %+v", got, err, want)
	}
}

func TestApply_AccessSettings(t *testing.T) {
	s := newTables(t)
	open := access.DefaultSettings()
	limited := open
	limited.Refusals = access.DefaultRefusals()
	strict := access.Settings{
		Redeem: access.ServerOnly, CheckOut: access.Anyone,
		Refusals: access.SourceLimit{Limit: 5, Per: time.Hour}, Redemptions: access.SourceLimit{Limit: 3, Per: time.Hour},
	}
	const strictLines = "    access: {redeem: server}\n    refusals: {limit: 5, per: 1h}\n" +
		"    redemptions: {limit: 3, per: 1h}\n"
	for number, c := range []struct {
		name, before, lines string
		want                access.Settings
	}{
		{name: "new shop, file without settings", want: limited},
		{name: "new shop, file with some settings", lines: "    refusals: off\n", want: open},
		{name: "new shop, file with all settings but a policy", lines: strictLines, want: strict},
		{name: "shop with settings, file without settings", before: strictLines, want: strict},
		{
			name: "shop with settings, file with all settings", before: strictLines,
			lines: "    access: {redeem: anyone, check-out: anyone}\n    refusals: off\n    redemptions: off\n", want: open,
		},
	} {
		shop := catalog.ShopID(fmt.Sprintf("shop-%d", number))
		if c.before != "" {
			s.apply(t, shop, c.before)
		}
		s.apply(t, shop, c.lines)
		s.wantSettings(t, shop, c.want)
		if plan := s.planned(t, shop, c.lines); plan.Writes() != 0 {
			t.Errorf("%s: planned again: %+v, want no writes", c.name, plan)
		}
	}
}

func TestPlanCatalogue_LimitedCodeThatAnyoneCanUseUp_IsUnguarded(t *testing.T) {
	s := newTables(t)
	const vouchers = "    vouchers:\n      - {code: SUMMER-20, reward: 20%, max-uses: 500}\n" +
		"      - {code: WELCOME, reward: 5%}\n      - {code: FORUM-5, reward: 5%, max-uses: none}\n"
	const limited, byServer = "    redemptions: {limit: 20, per: 1h}\n", "    access: {redeem: server}\n"
	for lines, want := range map[string][]string{"": {"SUMMER-20"}, limited: nil, byServer: nil} {
		for range 2 { // the second time, the code exists
			plan := s.planned(t, catalog.ShopID(fmt.Sprint("shop-", len(lines))), lines+vouchers)
			if got := plan[0].Unguarded; !reflect.DeepEqual(got, want) {
				t.Errorf("%q: unguarded %q, want %q", lines, got, want)
			}
			if err := plan.Apply(t.Context(), func() {}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A shop that an interrupted apply leaves behind must never be open to more callers than the file allows.
func TestApply_Interrupted_LeavesNoShopWithoutItsSettings(t *testing.T) {
	s := newTables(t)
	plan := s.planned(t, "emberforge", "    access: {redeem: server}\n")
	writes := 0
	func() {
		defer func() { _ = recover() }()
		_ = plan.Apply(t.Context(), func() {
			if writes++; writes == 1 {
				panic("killed after the first write")
			}
		})
	}()
	if _, err := s.deployment.Shop(t.Context(), "emberforge"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("the shop exists after the first write: %v", err)
	}
	s.apply(t, "emberforge", "")
	s.wantSettings(t, "emberforge",
		access.Settings{Redeem: access.ServerOnly, CheckOut: access.Anyone, Refusals: access.DefaultRefusals()})
}

func TestApply_NeverTouchesAPause(t *testing.T) {
	s := newTables(t)
	s.apply(t, "emberforge", "")
	shop, err := s.deployment.Shop(t.Context(), "emberforge")
	if err != nil {
		t.Fatal(err)
	}
	const lines = "    access: {redeem: server}\n"
	stale := s.planned(t, "emberforge", lines)
	if _, err := shop.Pause(t.Context(), "summer"); err != nil {
		t.Fatal(err)
	}
	if err := stale.Apply(t.Context(), func() {}); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a plan from before the pause: %v, want ErrChanged", err)
	}
	s.apply(t, "emberforge", lines)
	want := access.Settings{Redeem: access.ServerOnly, CheckOut: access.Anyone, Refusals: access.DefaultRefusals()}
	want.Paused.Batches = []string{"summer"}
	s.wantSettings(t, "emberforge", want)
}
