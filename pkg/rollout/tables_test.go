package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/samtemplate"
	"shopfront/pkg/rollout"
)

func (c *cloud) DescribeTable(_ context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	if table, ok := c.tables[*in.TableName]; ok {
		return &dynamodb.DescribeTableOutput{Table: table}, nil
	}
	return nil, &dynamodbtypes.ResourceNotFoundException{Message: aws.String("Requested resource not found: Table: " + *in.TableName + " not found")}
}

// named is a stack that was deployed with a parameter.
func named(c *cloud, parameter, value string) *cloud {
	c.stack.Parameters = append(c.stack.Parameters, types.Parameter{ParameterKey: aws.String(parameter), ParameterValue: aws.String(value)})
	return c
}

// restored is a table like one of the template's.
func restored(t *testing.T) *dynamodbtypes.TableDescription {
	t.Helper()
	template, err := samtemplate.Load("../..", nil)
	if err != nil {
		t.Fatal(err)
	}
	like := template.Tables()[0].CreateTable("vouchers-restored")
	return &dynamodbtypes.TableDescription{
		TableStatus: dynamodbtypes.TableStatusActive, KeySchema: like.KeySchema, AttributeDefinitions: like.AttributeDefinitions,
	}
}

func TestTablesAreNotLost(t *testing.T) {
	const table = "AWS::DynamoDB::Table"
	for name, c := range map[string]*cloud{
		"replaced":                                inTables(changed(types.ChangeActionModify, "Vouchers", table, replacement(types.ReplacementTrue))),
		"perhaps replaced":                        inTables(changed(types.ChangeActionModify, "Vouchers", table, replacement(types.ReplacementConditional))),
		"removed":                                 inTables(changed(types.ChangeActionRemove, "Vouchers", table, retained)),
		"uncertain":                               inTables(changed(types.ChangeActionDynamic, "Vouchers", table)),
		"with their stack":                        deployed([]types.Change{changed(types.ChangeActionRemove, "Tables", "AWS::CloudFormation::Stack")}, nil),
		"within a stack that keeps to itself":     deployed([]types.Change{changed(types.ChangeActionModify, "Tables", "AWS::CloudFormation::Stack")}, nil),
		"for an empty one after a restored":       named(inTables(changed(types.ChangeActionAdd, "Vouchers", table)), "VouchersTable", "vouchers-restored"),
		"for an empty one, without the parameter": named(inTables(changed(types.ChangeActionAdd, "Catalogue", table)), "CatalogueTable", "catalogue-restored"),
	} {
		s := settings(t)
		s.Confirm, s.Parameters["VouchersTable"] = true, ""
		if _, err := deploy(t, c, s, "y\n"); !errors.Is(err, rollout.ErrTable) {
			t.Errorf("%s: %v, want ErrTable", name, err)
		}
		if want := []string{"discard root"}; !slices.Equal(c.calls, want) {
			t.Errorf("%s: called %q, want %q", name, c.calls, want)
		}
	}
}

// A table may leave the stack for another that a parameter names, as a restored one: the policy lets it go for that long.
func TestTableMayBeLeftForAnother(t *testing.T) {
	for where, set := range map[string]func(*cloud, *rollout.Settings){
		"now": func(_ *cloud, s *rollout.Settings) { s.Parameters["VouchersTable"] = "vouchers-restored" },
		"before": func(c *cloud, _ *rollout.Settings) {
			named(c, "VouchersTable", "vouchers-restored")
		},
	} {
		c := inTables(changed(types.ChangeActionRemove, "Vouchers", "AWS::DynamoDB::Table", retained))
		c.tables = map[string]*dynamodbtypes.TableDescription{"vouchers-restored": restored(t)}
		s := settings(t)
		set(c, &s)
		out, err := deploy(t, c, s, "")
		if err != nil || !strings.Contains(out, "Tables/Vouchers") || !strings.Contains(out, "kept, but no longer of the stack") {
			t.Errorf("%s: %v\n%s", where, err, out)
		}
		if want := []string{"let go market-Tables", "execute root", "protect market-Tables"}; !slices.Equal(c.calls, want) {
			t.Errorf("%s: called %q, want %q", where, c.calls, want)
		}
	}
}

// A table that would be deleted does not leave, whatever is named instead.
func TestTableIsNotDeleted(t *testing.T) {
	c := inTables(changed(types.ChangeActionRemove, "Vouchers", "AWS::DynamoDB::Table"))
	c.tables = map[string]*dynamodbtypes.TableDescription{"vouchers-restored": restored(t)}
	s := settings(t)
	s.Parameters["VouchersTable"] = "vouchers-restored"
	if _, err := deploy(t, c, s, ""); !errors.Is(err, rollout.ErrTable) || !strings.Contains(err.Error(), "would be deleted") {
		t.Error(err)
	}
}

// A table that is named for the first time is looked at before anything else is asked for.
func TestNamedTableHasToFit(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*dynamodbtypes.TableDescription)
		want  string
	}{
		"as it should be": {func(*dynamodbtypes.TableDescription) {}, ""},
		"there is none":   {nil, "VouchersTable names vouchers-restored, which this account does not have in this region"},
		"still restored":  {func(d *dynamodbtypes.TableDescription) { d.TableStatus = dynamodbtypes.TableStatusCreating }, "is CREATING: wait until it is ACTIVE"},
		"another key": {func(d *dynamodbtypes.TableDescription) {
			d.KeySchema = []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: dynamodbtypes.KeyTypeHash}}
		}, "has the key id, want customer, sk"},
		"keys the wrong way round": {func(d *dynamodbtypes.TableDescription) {
			d.KeySchema = []dynamodbtypes.KeySchemaElement{
				{AttributeName: aws.String("sk"), KeyType: dynamodbtypes.KeyTypeHash},
				{AttributeName: aws.String("customer"), KeyType: dynamodbtypes.KeyTypeRange},
			}
		}, "has the key sk, customer, want customer, sk"},
		"keys that are numbers": {func(d *dynamodbtypes.TableDescription) {
			d.AttributeDefinitions = []dynamodbtypes.AttributeDefinition{
				{AttributeName: aws.String("customer"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
				{AttributeName: aws.String("sk"), AttributeType: dynamodbtypes.ScalarAttributeTypeN},
			}
		}, "has a key sk of the type N, want S"},
	} {
		c := inTables(changed(types.ChangeActionRemove, "Vouchers", "AWS::DynamoDB::Table", retained))
		if test.spoil != nil {
			table := restored(t)
			test.spoil(table)
			c.tables = map[string]*dynamodbtypes.TableDescription{"vouchers-restored": table}
		}
		s := settings(t)
		s.Parameters["VouchersTable"] = "vouchers-restored"
		_, err := deploy(t, c, s, "")
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (!errors.Is(err, rollout.ErrTable) || !strings.Contains(err.Error(), test.want) || c.created != nil):
			t.Errorf("%s: %v, want %s; created %v", name, err, test.want, c.created)
		}
	}
}

// A change set of a nested stack that is not complete does not tell what it changes.
func TestUnfinishedNestedChangeSet(t *testing.T) {
	c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
	c.changeSets["tables"] = &cloudformation.DescribeChangeSetOutput{Status: types.ChangeSetStatusCreateInProgress}
	if _, err := deploy(t, c, settings(t), ""); err == nil || !strings.Contains(err.Error(), "the change set of Tables is CREATE_IN_PROGRESS") {
		t.Error(err)
	}
	if want := []string{"discard root"}; !slices.Equal(c.calls, want) {
		t.Errorf("called %q, want %q", c.calls, want)
	}
}
