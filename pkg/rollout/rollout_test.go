package rollout_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"shopfront/pkg/rollout"
)

// cloud is a CloudFormation with one stack, or none.
type cloud struct {
	stack      *types.Stack                                       // as it stands, nil for none
	after      types.Stack                                        // as it stands once a change set was executed
	resources  map[string][]types.StackResource                   // by the name of the stack
	changeSets map[string]*cloudformation.DescribeChangeSetOutput // by ID; the root's is "root"
	events     map[string][]types.StackEvent                      // by the name of the stack
	tables     map[string]*dynamodbtypes.TableDescription         // by name
	failing    map[string]error                                   // by call
	during     map[string]func()                                  // by call
	created    *cloudformation.CreateChangeSetInput
	calls      []string
}

type options = func(*cloudformation.Options)

// call notes a call that changes something, and fails it where it has to. One that errHang is for takes as long as it may.
func (c *cloud) call(ctx context.Context, what string) error {
	c.calls = append(c.calls, what)
	if happens := c.during[what]; happens != nil {
		happens()
	}
	if err := c.failing[what]; !errors.Is(err, errHang) {
		return cmp.Or(err, ctx.Err())
	}
	<-ctx.Done()
	return ctx.Err()
}

var errHang = errors.New("no answer")

func (c *cloud) CreateChangeSet(ctx context.Context, in *cloudformation.CreateChangeSetInput, _ ...options) (*cloudformation.CreateChangeSetOutput, error) {
	c.created = in
	if happens := c.during["create"]; happens != nil {
		happens()
	}
	return &cloudformation.CreateChangeSetOutput{Id: aws.String("root")}, ctx.Err()
}

func (c *cloud) DeleteChangeSet(ctx context.Context, in *cloudformation.DeleteChangeSetInput, _ ...options) (*cloudformation.DeleteChangeSetOutput, error) {
	return &cloudformation.DeleteChangeSetOutput{}, c.call(ctx, "discard "+*in.ChangeSetName)
}

// DescribeChangeSet tells of one change at a time.
func (c *cloud) DescribeChangeSet(_ context.Context, in *cloudformation.DescribeChangeSetInput, _ ...options) (*cloudformation.DescribeChangeSetOutput, error) {
	out := *c.changeSets[*in.ChangeSetName]
	page := len(aws.ToString(in.NextToken))
	if page < len(out.Changes) {
		if page+1 < len(out.Changes) {
			out.NextToken = aws.String(strings.Repeat("n", page+1))
		}
		out.Changes = out.Changes[page : page+1]
	}
	return &out, nil
}

func (c *cloud) DescribeStackEvents(_ context.Context, in *cloudformation.DescribeStackEventsInput, _ ...options) (*cloudformation.DescribeStackEventsOutput, error) {
	return &cloudformation.DescribeStackEventsOutput{StackEvents: c.events[*in.StackName]}, nil
}

func (c *cloud) DescribeStackResources(_ context.Context, in *cloudformation.DescribeStackResourcesInput, _ ...options) (*cloudformation.DescribeStackResourcesOutput, error) {
	return &cloudformation.DescribeStackResourcesOutput{StackResources: c.resources[*in.StackName]}, nil
}

func (c *cloud) DescribeStacks(ctx context.Context, _ *cloudformation.DescribeStacksInput, _ ...options) (*cloudformation.DescribeStacksOutput, error) {
	if c.stack == nil {
		return nil, &smithy.GenericAPIError{Code: "ValidationError", Message: "Stack with id market does not exist"}
	}
	if err := c.failing[string(c.stack.StackStatus)]; err != nil {
		return nil, err
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{*c.stack}}, ctx.Err()
}

func (c *cloud) ExecuteChangeSet(ctx context.Context, in *cloudformation.ExecuteChangeSetInput, _ ...options) (*cloudformation.ExecuteChangeSetOutput, error) {
	if err := c.call(ctx, "execute "+*in.ChangeSetName); err != nil {
		return nil, err
	}
	c.stack = &types.Stack{StackId: aws.String("id"), StackStatus: types.StackStatusUpdateInProgress}
	return &cloudformation.ExecuteChangeSetOutput{}, nil
}

func (c *cloud) SetStackPolicy(ctx context.Context, in *cloudformation.SetStackPolicyInput, _ ...options) (*cloudformation.SetStackPolicyOutput, error) {
	what := "protect "
	if !strings.Contains(*in.StackPolicyBody, "Update:Delete") {
		what = "let go "
	}
	if !strings.Contains(*in.StackPolicyBody, "Update:Replace") {
		what = "leave bare "
	}
	return &cloudformation.SetStackPolicyOutput{}, c.call(ctx, what+*in.StackName)
}

// deployed is a stack with tables, to be changed.
func deployed(root []types.Change, nested map[string]*cloudformation.DescribeChangeSetOutput) *cloud {
	c := &cloud{
		stack: &types.Stack{
			StackId: aws.String("id"), StackStatus: types.StackStatusUpdateComplete,
			Parameters: []types.Parameter{{ParameterKey: aws.String("ThrottleRate"), ParameterValue: aws.String("500")}},
		},
		after: types.Stack{
			StackId: aws.String("id"), StackStatus: types.StackStatusUpdateComplete,
			Outputs: []types.Output{{OutputKey: aws.String("BaseUrl"), OutputValue: aws.String("https://shop.example")}},
		},
		resources: map[string][]types.StackResource{
			"market": {
				{LogicalResourceId: aws.String("Tables"), ResourceType: aws.String("AWS::CloudFormation::Stack"), PhysicalResourceId: aws.String("market-Tables")},
				{LogicalResourceId: aws.String("Watch"), ResourceType: aws.String("AWS::CloudFormation::Stack"), PhysicalResourceId: aws.String("market-Watch")},
				{LogicalResourceId: aws.String("Api"), ResourceType: aws.String("AWS::ApiGatewayV2::Api"), PhysicalResourceId: aws.String("a1b2")},
			},
			"market-Tables": {{LogicalResourceId: aws.String("Vouchers"), ResourceType: aws.String("AWS::DynamoDB::Table")}},
			"market-Watch":  {{LogicalResourceId: aws.String("Refusals"), ResourceType: aws.String("AWS::CloudWatch::Alarm")}},
		},
		changeSets: map[string]*cloudformation.DescribeChangeSetOutput{"root": {Status: types.ChangeSetStatusCreateComplete, Changes: root}},
	}
	maps.Copy(c.changeSets, nested)
	return c
}

func changed(action types.ChangeAction, id, kind string, more ...func(*types.ResourceChange)) types.Change {
	c := &types.ResourceChange{Action: action, LogicalResourceId: aws.String(id), ResourceType: aws.String(kind)}
	if action == types.ChangeActionModify {
		c.Replacement = types.ReplacementFalse
	}
	for _, set := range more {
		set(c)
	}
	return types.Change{Type: types.ChangeTypeResource, ResourceChange: c}
}

func within(changeSet string) func(*types.ResourceChange) {
	return func(c *types.ResourceChange) { c.ChangeSetId = aws.String(changeSet) }
}

func replacement(r types.Replacement) func(*types.ResourceChange) {
	return func(c *types.ResourceChange) { c.Replacement = r }
}

func retained(c *types.ResourceChange) { c.PolicyAction = types.PolicyActionRetain }

// inTables is a change of a table in the nested stack.
func inTables(c types.Change) *cloud {
	return deployed(
		[]types.Change{changed(types.ChangeActionModify, "Tables", "AWS::CloudFormation::Stack", within("tables"))},
		map[string]*cloudformation.DescribeChangeSetOutput{
			"tables": {Status: types.ChangeSetStatusCreateComplete, Changes: []types.Change{c}},
		},
	)
}

func settings(t *testing.T) rollout.Settings {
	t.Helper()
	policy, err := os.ReadFile("../../infra/stack-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return rollout.Settings{
		Stack:        "market",
		Template:     "Parameters:\n  Architecture: {Type: String}\n  ThrottleRate: {Type: Number}\n  VouchersTable: {Type: String}\n  Alarms: {Type: String}\n",
		Parameters:   map[string]string{"Architecture": "arm64"},
		Capabilities: []string{"CAPABILITY_IAM"},
		Tags:         map[string]string{"environment": "prod"},
		Policy:       string(policy),
	}
}

// deploy deploys, and gives what was written. The stack stands as the cloud says after the first pause.
func deploy(t *testing.T, c *cloud, s rollout.Settings, answer string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := rollout.Rollout{
		API: c, Tables: c, Out: &out, In: strings.NewReader(answer),
		Now:   func() time.Time { return time.Unix(1_800_000_000, 0) },
		Sleep: func(context.Context, time.Duration) error { c.stack = &c.after; return nil },
	}.Deploy(t.Context(), s)
	return out.String(), err
}

func TestFirstDeployment(t *testing.T) {
	c := deployed(
		[]types.Change{
			changed(types.ChangeActionAdd, "Api", "AWS::ApiGatewayV2::Api"),
			changed(types.ChangeActionAdd, "Tables", "AWS::CloudFormation::Stack", within("tables")),
		},
		map[string]*cloudformation.DescribeChangeSetOutput{"tables": {
			Status: types.ChangeSetStatusCreateComplete, Changes: []types.Change{changed(types.ChangeActionAdd, "Vouchers", "AWS::DynamoDB::Table")},
		}},
	)
	c.stack, c.after.StackStatus = nil, types.StackStatusCreateComplete
	out, err := deploy(t, c, settings(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if c.created.ChangeSetType != types.ChangeSetTypeCreate || !aws.ToBool(c.created.IncludeNestedStacks) {
		t.Errorf("the change set is a %s, with nested stacks %v", c.created.ChangeSetType, aws.ToBool(c.created.IncludeNestedStacks))
	}
	if got := c.created.Parameters; len(got) != 1 || *got[0].ParameterKey != "Architecture" || *got[0].ParameterValue != "arm64" {
		t.Errorf("parameters %v, want those that are set", got)
	}
	if want := []string{"execute root", "protect market-Tables"}; !slices.Equal(c.calls, want) {
		t.Errorf("called %q, want %q", c.calls, want)
	}
	for _, want := range []string{"Api ", "Tables/Vouchers ", "https://shop.example"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not show %q:\n%s", want, out)
		}
	}
}

func TestUpdateKeepsWhatIsNotSet(t *testing.T) {
	c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
	if _, err := deploy(t, c, settings(t), ""); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.created.Parameters {
		if aws.ToBool(p.UsePreviousValue) {
			got = append(got, *p.ParameterKey+" as before")
			continue
		}
		got = append(got, *p.ParameterKey+"="+*p.ParameterValue)
	}
	if want := []string{"Architecture=arm64", "ThrottleRate as before"}; c.created.ChangeSetType != types.ChangeSetTypeUpdate || !slices.Equal(got, want) {
		t.Errorf("%s with %q, want an update with %q", c.created.ChangeSetType, got, want)
	}
}

func TestConfirmation(t *testing.T) {
	for answer, want := range map[string][]string{
		"y\n":   {"execute root", "protect market-Tables"},
		"Yes\n": {"execute root", "protect market-Tables"},
		"n\n":   {"discard root"},
		"\n":    {"discard root"},
		"":      {"discard root"},
	} {
		c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
		s := settings(t)
		s.Confirm = true
		_, err := deploy(t, c, s, answer)
		if declined := errors.Is(err, rollout.ErrDeclined); declined != (want[0] == "discard root") || !declined && err != nil {
			t.Errorf("%q: %v", answer, err)
		}
		if !slices.Equal(c.calls, want) {
			t.Errorf("%q: called %q, want %q", answer, c.calls, want)
		}
	}
}

func TestAlarmsMayGo(t *testing.T) {
	c := deployed([]types.Change{changed(types.ChangeActionRemove, "Watch", "AWS::CloudFormation::Stack")}, nil)
	if _, err := deploy(t, c, settings(t), ""); err != nil {
		t.Error(err)
	}
}

func TestNothingToChange(t *testing.T) {
	c := deployed(nil, nil)
	c.changeSets["root"] = &cloudformation.DescribeChangeSetOutput{
		Status: types.ChangeSetStatusFailed, StatusReason: aws.String("The submitted information didn't contain changes."),
	}
	if out, err := deploy(t, c, settings(t), ""); err != nil || out != "Nothing to change in market.\n" {
		t.Errorf("%q, %v", out, err)
	}
	if want := []string{"discard root", "protect market-Tables"}; !slices.Equal(c.calls, want) {
		t.Errorf("called %q, want %q", c.calls, want)
	}
}

func TestNestedStackWithoutChanges(t *testing.T) {
	c := deployed(
		[]types.Change{changed(types.ChangeActionModify, "Tables", "AWS::CloudFormation::Stack", within("tables"))},
		map[string]*cloudformation.DescribeChangeSetOutput{"tables": {
			Status: types.ChangeSetStatusFailed, StatusReason: aws.String("The submitted information didn't contain changes."),
		}},
	)
	if _, err := deploy(t, c, settings(t), ""); err != nil {
		t.Error(err)
	}
}

func TestFailedChangeSetSaysWhy(t *testing.T) {
	c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
	c.changeSets["root"].Status, c.changeSets["root"].StatusReason = types.ChangeSetStatusFailed, aws.String("Nested change set tables was not successfully created")
	c.changeSets["tables"] = &cloudformation.DescribeChangeSetOutput{Status: types.ChangeSetStatusFailed, StatusReason: aws.String("Invalid TTL")}
	_, err := deploy(t, c, settings(t), "")
	if err == nil || !strings.Contains(err.Error(), "was not successfully created") ||
		!strings.Contains(err.Error(), "the change set of Tables is FAILED: Invalid TTL") {
		t.Error(err)
	}
	if want := []string{"discard root"}; !slices.Equal(c.calls, want) {
		t.Errorf("called %q, want %q", c.calls, want)
	}
}

func TestFailedUpdateSaysWhyAndProtects(t *testing.T) {
	c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
	c.after = types.Stack{StackId: aws.String("id"), StackStatus: types.StackStatusUpdateRollbackComplete}
	c.events = map[string][]types.StackEvent{
		"market": {
			{LogicalResourceId: aws.String("market"), ResourceStatus: types.ResourceStatusUpdateComplete},
			{
				LogicalResourceId: aws.String("Tables"), ResourceType: aws.String("AWS::CloudFormation::Stack"), StackId: aws.String("market"),
				PhysicalResourceId: aws.String("market-Tables"), ResourceStatus: types.ResourceStatusUpdateFailed,
				ResourceStatusReason: aws.String("Embedded stack was not successfully updated"),
			},
			{LogicalResourceId: aws.String("market"), ResourceStatus: types.ResourceStatusUpdateInProgress, ResourceStatusReason: aws.String("User Initiated")},
			{LogicalResourceId: aws.String("Api"), ResourceStatus: types.ResourceStatusUpdateFailed, ResourceStatusReason: aws.String("last year's")},
		},
		"market-Tables": {{
			LogicalResourceId: aws.String("Vouchers"), ResourceStatus: types.ResourceStatusUpdateFailed,
			ResourceStatusReason: aws.String("Warm throughput cannot be lowered"),
		}},
	}
	_, err := deploy(t, c, settings(t), "")
	if err == nil || !strings.Contains(err.Error(), "UPDATE_ROLLBACK_COMPLETE") ||
		!strings.Contains(err.Error(), "Vouchers: Warm throughput cannot be lowered") || strings.Contains(err.Error(), "last year") {
		t.Errorf("%v", err)
	}
	if want := []string{"execute root", "protect market-Tables"}; !slices.Equal(c.calls, want) {
		t.Errorf("called %q, want %q", c.calls, want)
	}
}

func TestUnknownParameter(t *testing.T) {
	c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
	s := settings(t)
	s.Parameters["Currency"] = "EUR"
	if _, err := deploy(t, c, s, ""); err == nil || err.Error() != "the template has no parameter Currency" || c.created != nil {
		t.Errorf("%v", err)
	}
}
