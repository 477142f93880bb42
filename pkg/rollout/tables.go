package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrTable says that the shop would lose sight of a table: a change set would replace it, let go of it without another in its
// place, or put an empty one there; or a parameter names one that the shop cannot use.
var ErrTable = errors.New("the tables are not safe")

// Tables is what is called of DynamoDB.
type Tables interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// tableParameter is what ends the name of a parameter that names an existing table to use. In front of it is the logical ID of
// the table that the stack has without: VouchersTable is for Vouchers.
const tableParameter = "Table"

// tableStacks finds the nested stacks that have tables: their physical IDs by logical ID.
func (r Rollout) tableStacks(ctx context.Context, stack *types.Stack, name string) (map[string]string, error) {
	found := make(map[string]string)
	if stack.StackId == nil {
		return found, nil
	}
	resources, err := r.API.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: aws.String(name)})
	if err != nil {
		return nil, fmt.Errorf("describe the resources of %s: %w", name, err)
	}
	for _, resource := range resources.StackResources {
		if aws.ToString(resource.ResourceType) != typeStack || resource.PhysicalResourceId == nil {
			continue
		}
		nested, err := r.API.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: resource.PhysicalResourceId})
		if err != nil {
			return nil, fmt.Errorf("describe the resources of %s: %w", aws.ToString(resource.LogicalResourceId), err)
		}
		if slices.ContainsFunc(nested.StackResources, func(n types.StackResource) bool { return aws.ToString(n.ResourceType) == typeTable }) {
			found[aws.ToString(resource.LogicalResourceId)] = *resource.PhysicalResourceId
		}
	}
	return found, nil
}

// checkNamed looks at the tables that parameters name for the first time. CloudFormation takes any name, and a shop whose table
// does not exist or has other keys answers nothing but 500.
func (r Rollout) checkNamed(ctx context.Context, before, after map[string]string) error {
	for _, parameter := range slices.Sorted(maps.Keys(after)) {
		name := after[parameter]
		if !strings.HasSuffix(parameter, tableParameter) || name == "" || name == before[parameter] {
			continue
		}
		out, err := r.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		if _, none := errors.AsType[*dynamodbtypes.ResourceNotFoundException](err); none {
			return fmt.Errorf("%w: %s names %s, which this account does not have in this region", ErrTable, parameter, name)
		}
		if err != nil {
			return fmt.Errorf("describe the table %s: %w", name, err)
		}
		if wrong := unfit(out.Table); wrong != "" {
			return fmt.Errorf("%w: %s names %s, which %s", ErrTable, parameter, name, wrong)
		}
	}
	return nil
}

// unfit says why the shop cannot use a table, and nothing where it can. All tables have the same key: infra/tables.yaml.
func unfit(table *dynamodbtypes.TableDescription) string {
	if table.TableStatus != dynamodbtypes.TableStatusActive {
		return fmt.Sprintf("is %s: wait until it is ACTIVE", table.TableStatus)
	}
	var key []string // the partition key comes first
	for _, element := range table.KeySchema {
		key = append(key, aws.ToString(element.AttributeName))
	}
	if got, want := strings.Join(key, ", "), "customer, sk"; got != want {
		return fmt.Sprintf("has the key %s, want %s", got, want)
	}
	for _, attribute := range table.AttributeDefinitions {
		if slices.Contains(key, aws.ToString(attribute.AttributeName)) && attribute.AttributeType != dynamodbtypes.ScalarAttributeTypeS {
			return fmt.Sprintf("has a key %s of the type %s, want S", aws.ToString(attribute.AttributeName), attribute.AttributeType)
		}
	}
	return ""
}

// judge refuses what would lose sight of a table. A table may leave the stack where the parameter of its name says which to use
// instead: it is retained. It returns the tables that leave. The parameters are those before and after, by name.
func judge(changes []change, before, after, tableStacks map[string]string) ([]string, error) {
	var leaving, wrong []string
	for _, c := range changes {
		danger := ""
		switch aws.ToString(c.ResourceType) {
		case typeStack:
			if _, holds := tableStacks[c.path]; holds {
				danger = dangerInStack(c)
			}
		case typeTable:
			parameter := aws.ToString(c.LogicalResourceId) + tableParameter
			danger = dangerToTable(c, parameter, before[parameter], after[parameter])
			if c.Action == types.ChangeActionRemove {
				leaving = append(leaving, c.path)
			}
		}
		if danger != "" {
			wrong = append(wrong, c.path+" "+danger)
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return nil, fmt.Errorf("%w: %s", ErrTable, strings.Join(wrong, "; "))
	}
	return leaving, nil
}

// dangerInStack says what is wrong with a change to a nested stack that holds tables, and nothing where its own changes tell.
func dangerInStack(c change) string {
	switch {
	case c.Action != types.ChangeActionAdd && c.Action != types.ChangeActionModify:
		return "holds tables and would go"
	case c.ChangeSetId == nil:
		return "holds tables, and CloudFormation does not tell what would change in it"
	default:
		return ""
	}
}

// dangerToTable says what is wrong with a change to a table, of which the parameter named another before, or names one now.
func dangerToTable(c change, parameter, before, after string) string {
	switch {
	case c.Action == types.ChangeActionAdd && before != "":
		return fmt.Sprintf("would be new and empty in place of %s: have %s name the table to use", before, parameter)
	case c.Action == types.ChangeActionAdd, c.Action == types.ChangeActionModify && c.Replacement == types.ReplacementFalse:
		return ""
	case c.Action == types.ChangeActionRemove && after == "":
		return fmt.Sprintf("would leave the stack, and the parameter %s names none to use instead", parameter)
	case c.Action == types.ChangeActionRemove && c.PolicyAction != types.PolicyActionRetain:
		return "would be deleted"
	case c.Action == types.ChangeActionRemove:
		return ""
	default:
		return "would or might be replaced by an empty table"
	}
}
