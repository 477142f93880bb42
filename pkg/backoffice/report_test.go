package backoffice_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

func (s *shop) report(query backoffice.ReportQuery, now time.Time) ([]backoffice.ReportGroup, backoffice.ReportCounts) {
	s.t.Helper()
	query.MaxGroups, query.Read = 10, func(int) {}
	groups, total, err := s.operator.Report(s.t.Context(), query, now)
	if err != nil {
		s.t.Fatal(err)
	}
	return groups, total
}

func (s *shop) importVoucher(terms voucher.Terms, past voucher.Past) {
	s.t.Helper()
	v, err := voucher.Import(terms, past, "cWJxYWRzZmFzZGZhc2RmYQ", s.opened)
	if err == nil {
		err = s.operator.Create(s.t.Context(), v)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestReport_ImportedUsesWithoutATime_CountWhenTheCodeWasCreated(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.opened = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	october := time.Date(2026, 10, 2, 8, 0, 0, 0, time.UTC)
	reward, noLimit := voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}, voucher.NoLimit
	s.importVoucher(voucher.Terms{Written: "ALDERS-COIN", Reward: reward},
		voucher.Past{Created: october, RedeemedAt: october.AddDate(0, 0, 7), RedeemedBy: "Alder"})
	s.importVoucher(voucher.Terms{Written: "SUMMER20", Reward: reward, MaxUses: new(voucher.Limit(5))},
		voucher.Past{Created: october, Uses: 3})
	s.importVoucher(voucher.Terms{Written: "NEWS", Reward: reward, MaxUses: &noLimit},
		voucher.Past{Created: october, Uses: 7})
	if !s.redeem("SUMMER20", "Heron", "") || !s.redeem("NEWS", "Heron", "") {
		t.Fatal("a code with uses left was refused")
	}
	if _, _, err := s.operator.UndoRedemption(t.Context(), "A1DERSC01N", "cWJxYWRzZmFzZGZhc2RmYQ", "granted twice",
		s.opened); err != nil {
		t.Fatal(err)
	}
	groups, total := s.report(backoffice.ReportQuery{By: backoffice.ReportByDay}, s.opened)
	want := []backoffice.ReportGroup{
		{Name: "2026-10-02", ReportCounts: backoffice.ReportCounts{Created: 3, Redeemed: 10}},
		{Name: "2026-10-09", ReportCounts: backoffice.ReportCounts{Redeemed: 1}},
		{Name: "2026-11-20", ReportCounts: backoffice.ReportCounts{Redeemed: 2, Undone: 1}},
	}
	if !slices.Equal(groups, want) || total != (backoffice.ReportCounts{Created: 3, Redeemed: 13, Undone: 1}) {
		t.Errorf("by day: %+v, total %+v", groups, total)
	}
	groups, total = s.report(backoffice.ReportQuery{From: s.opened, Until: s.opened.Add(time.Millisecond)}, s.opened)
	if groups != nil || total != (backoffice.ReportCounts{Redeemed: 2, Undone: 1, Left: 2, Unlimited: 1}) {
		t.Errorf("at noon: %+v, total %+v", groups, total)
	}
	if _, total = s.report(backoffice.ReportQuery{From: s.opened.Add(time.Millisecond)},
		s.opened); total != (backoffice.ReportCounts{Left: 2, Unlimited: 1}) {
		t.Errorf("after noon: total %+v", total)
	}
}

func TestReport_MoreGroupsThanAllowed_IsRefused(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for _, batch := range []string{"advent", "spring", "summer"} {
		s.create(voucher.Terms{Written: "FOR-" + batch, Batch: batch})
	}
	query := backoffice.ReportQuery{By: backoffice.ReportByBatch, MaxGroups: 2, Read: func(int) {}}
	if groups, _, err := s.operator.Report(t.Context(), query, s.opened); !errors.Is(err, backoffice.ErrTooManyGroups) {
		t.Errorf("three groups with a limit of 2: %+v, %v, want ErrTooManyGroups", groups, err)
	}
	query.MaxGroups = 3
	if groups, _, err := s.operator.Report(t.Context(), query, s.opened); err != nil || len(groups) != 3 {
		t.Errorf("three groups with a limit of 3: %+v, %v", groups, err)
	}
}
