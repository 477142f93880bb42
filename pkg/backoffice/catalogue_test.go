package backoffice_test

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/voucher"
)

func TestApply_VoucherThatAnotherOperatorCreated_IsNotReportedAsDone(t *testing.T) {
	s := newTables(t).newShop(t)
	const lines = "    vouchers:\n      - {code: WELCOME, reward: 5%}\n"
	plan := s.planned(t, s.shop, lines)
	s.create(voucher.Terms{Written: "WELCOME", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 50}})
	err := plan.Apply(t.Context(), func() {})
	if err == nil || !strings.Contains(err.Error(), "voucher WELCOME: it was created meanwhile: apply again") {
		t.Errorf("Apply = %v", err)
	}
	if again := s.planned(t, s.shop, lines); len(again) != 1 || len(again[0].Vouchers) != 0 {
		t.Errorf("planned again: %+v, want no voucher to create", again)
	}
}

// unreadable is a store whose queries fail.
type unreadable struct{ backoffice.API }

var errUnreadable = errors.New("the store cannot be read")

func (unreadable) Query(
	context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	return nil, errUnreadable
}

func TestPlanCatalogue_UnreadableShop_IsNotReportedAsNew(t *testing.T) {
	s := newTables(t).newShop(t)
	deployment := backoffice.NewDeployment(unreadable{s.client}, s.names, mathrand.Int64N)
	text := fmt.Sprintf("shops:\n  - {id: %s, name: Emberforge, currency: EUR}\n", s.shop)
	plan, err := deployment.PlanCatalogue(t.Context(),
		[]catalogfile.File{{Name: "shop.yaml", Text: []byte(text)}}, false, time.Now())
	if !errors.Is(err, errUnreadable) {
		t.Errorf("PlanCatalogue = %+v, %v; want the store's error", plan, err)
	}
}
