package rollout_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What is asked for shows which values change, so that those of an older checkout do not come back unseen.
func TestParametersThatChangeAreListed(t *testing.T) {
	c := inTables(changed(types.ChangeActionRemove, "Vouchers", "AWS::DynamoDB::Table", retained))
	c.tables = map[string]*dynamodbtypes.TableDescription{"vouchers-restored": restored(t)}
	named(named(named(c, "VouchersTable", ""), "AlarmEmail", "owner@shop.example"), "Alarms", "on")
	s := settings(t)
	s.Parameters["ThrottleRate"], s.Parameters["VouchersTable"], s.Parameters["Alarms"] = "20", "vouchers-restored", "on"
	out, err := deploy(t, c, s, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`  Modify   Tables                               AWS::CloudFormation::Stack` + "\n",
		`  Set      Architecture                         none → "arm64"` + "\n",
		`  Set      ThrottleRate                         "500" → "20"` + "\n",
		`  Set      VouchersTable                        "" → "vouchers-restored": the shop then has what is in that table` + "\n",
		`  Drop     AlarmEmail                           "owner@shop.example": the template has no such parameter` + "\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing from:\n%s", want, out)
		}
	}
	if strings.Contains(out, " Alarms ") {
		t.Errorf("Alarms keeps its value, and is in:\n%s", out)
	}
}

func TestFirstDeploymentListsNoParameters(t *testing.T) {
	c := deployed([]types.Change{changed(types.ChangeActionAdd, "Api", "AWS::ApiGatewayV2::Api")}, nil)
	c.stack, c.after.StackStatus = nil, types.StackStatusCreateComplete
	if out, err := deploy(t, c, settings(t), ""); err != nil || strings.Contains(out, "Architecture") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A refusal is told below the values that led to it.
func TestRefusedParameterIsListed(t *testing.T) {
	c := named(inTables(changed(types.ChangeActionAdd, "Vouchers", "AWS::DynamoDB::Table")), "VouchersTable", "vouchers-restored")
	s := settings(t)
	s.Parameters["VouchersTable"] = ""
	out, err := deploy(t, c, s, "")
	if want := `"vouchers-restored" → "": the shop then has a table of the stack's own` + "\n"; err == nil || !strings.Contains(out, want) {
		t.Errorf("%v, want %s in:\n%s", err, want, out)
	}
}
