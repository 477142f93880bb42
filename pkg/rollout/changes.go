package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// ErrTable says that a change set would replace a table, or let go of it without another in its place.
var ErrTable = errors.New("the tables are not safe")

// The types of resource that matter here.
const (
	typeStack = "AWS::CloudFormation::Stack"
	typeTable = "AWS::DynamoDB::Table"
)

// change is what a change set does to a resource, of the stack or of a nested one.
type change struct {
	path string // logical IDs from the root, such as Tables/Vouchers
	types.ResourceChange
}

// changes reads a change set and those of the nested stacks in it. The error says why any of them failed: that of the root
// often says no more than that a nested one did.
func (r Rollout) changes(ctx context.Context, changeSet, prefix string) ([]change, error) {
	var all []change
	var failures []error
	input := &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String(changeSet)}
	for {
		out, err := r.API.DescribeChangeSet(ctx, input)
		if err != nil {
			return nil, fmt.Errorf("describe the change set: %w", err)
		}
		if input.NextToken == nil && out.Status == types.ChangeSetStatusFailed && !changesNothing(out) {
			failures = append(failures, fmt.Errorf("the change set of %s failed: %s",
				cmp.Or(strings.TrimSuffix(prefix, "/"), "the stack"), aws.ToString(out.StatusReason)))
		}
		for _, c := range out.Changes {
			if c.ResourceChange == nil {
				continue
			}
			found := change{prefix + aws.ToString(c.ResourceChange.LogicalResourceId), *c.ResourceChange}
			all = append(all, found)
			if found.ChangeSetId == nil {
				continue
			}
			nested, err := r.changes(ctx, *found.ChangeSetId, found.path+"/")
			all, failures = append(all, nested...), append(failures, err)
		}
		if input.NextToken = out.NextToken; input.NextToken == nil {
			return all, errors.Join(failures...)
		}
	}
}

// changesNothing tells a change set that failed because there is nothing to change from one that failed.
func changesNothing(out *cloudformation.DescribeChangeSetOutput) bool {
	reason := aws.ToString(out.StatusReason)
	return out.Status == types.ChangeSetStatusFailed &&
		(strings.Contains(reason, "didn't contain changes") || strings.Contains(reason, "No updates are to be performed"))
}

// show writes a line for each change.
func show(w io.Writer, changes []change) error {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "  %-8s %-36s %s%s\n", c.Action, c.path, aws.ToString(c.ResourceType), remark(c))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// remark says what becomes of a resource that does not just change.
func remark(c change) string {
	switch {
	case c.Replacement == types.ReplacementTrue:
		return ": replaced"
	case c.Replacement == types.ReplacementConditional:
		return ": perhaps replaced"
	case c.Action == types.ChangeActionRemove && c.PolicyAction == types.PolicyActionRetain:
		return ": kept, but no longer of the stack"
	case c.Action == types.ChangeActionRemove:
		return ": deleted"
	default:
		return ""
	}
}

// judge refuses what would lose sight of a table. A table may leave the stack where the parameter of its name, such as
// VouchersTable, says which to use instead: it is retained. It returns the tables that leave.
func judge(changes []change, parameters map[string]string, tableStacks map[string]string) ([]string, error) {
	var leaving, wrong []string
	for _, c := range changes {
		keeps := c.Action == types.ChangeActionAdd || c.Action == types.ChangeActionModify && c.Replacement == types.ReplacementFalse
		switch kind := aws.ToString(c.ResourceType); {
		case kind == typeStack && c.Action != types.ChangeActionAdd && c.Action != types.ChangeActionModify:
			if _, holds := tableStacks[c.path]; holds {
				wrong = append(wrong, c.path+" holds tables and would go")
			}
		case kind != typeTable || keeps:
		case c.Action == types.ChangeActionRemove && parameters[aws.ToString(c.LogicalResourceId)+"Table"] != "":
			leaving = append(leaving, c.path)
		case c.Action == types.ChangeActionRemove:
			wrong = append(wrong, fmt.Sprintf("%s would leave the stack, and the parameter %sTable names none to use instead",
				c.path, aws.ToString(c.LogicalResourceId)))
		default:
			wrong = append(wrong, c.path+" would or might be replaced by an empty table")
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return nil, fmt.Errorf("%w: %s", ErrTable, strings.Join(wrong, "; "))
	}
	return leaving, nil
}
