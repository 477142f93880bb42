package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalogfile"
	"shopfront/pkg/voucher"
)

func TestApply_VoucherThatAnotherOperatorCreated_IsNotReportedAsDone(t *testing.T) {
	s := newTables(t).newShop(t)
	text := fmt.Sprintf("customers:\n  - id: %s\n    name: Emberforge\n    currency: EUR\n    vouchers:\n      - {code: WELCOME, reward: 5%%}\n", s.customer)
	file := catalogfile.File{Name: "shop.yaml", Text: []byte(text)}
	plan, err := s.deployment.PlanCatalogue(t.Context(), []catalogfile.File{file}, false, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.create(voucher.Terms{Written: "WELCOME", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 50}})
	if err := plan.Apply(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "voucher WELCOME: it was created meanwhile: apply again") {
		t.Errorf("Apply = %v", err)
	}
	plan, err = s.deployment.PlanCatalogue(t.Context(), []catalogfile.File{file}, false, time.Now())
	if err != nil || len(plan.Shops) != 1 || len(plan.Shops[0].Vouchers) != 0 {
		t.Errorf("applied again: %+v, %v", plan, err)
	}
}
