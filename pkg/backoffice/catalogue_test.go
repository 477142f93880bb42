package backoffice_test

import (
	"strings"
	"testing"

	"shopfront/pkg/voucher"
)

func TestApply_VoucherThatAnotherOperatorCreated_IsNotReportedAsDone(t *testing.T) {
	s := newTables(t).newShop(t)
	const lines = "    vouchers:\n      - {code: WELCOME, reward: 5%}\n"
	plan := s.planned(t, s.customer, lines)
	s.create(voucher.Terms{Written: "WELCOME", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 50}})
	err := plan.Apply(t.Context(), func() {})
	if err == nil || !strings.Contains(err.Error(), "voucher WELCOME: it was created meanwhile: apply again") {
		t.Errorf("Apply = %v", err)
	}
	if again := s.planned(t, s.customer, lines); len(again) != 1 || len(again[0].Vouchers) != 0 {
		t.Errorf("planned again: %+v, want no voucher to create", again)
	}
}
