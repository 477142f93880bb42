package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

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

// changes reads a change set and those of the nested stacks in it. The error says why any of them is not complete: that of the
// root often says no more than that a nested one failed.
func (r Rollout) changes(ctx context.Context, changeSet, prefix string) ([]change, error) {
	var all []change
	var failures []error
	input := &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String(changeSet)}
	for {
		out, err := r.API.DescribeChangeSet(ctx, input)
		if err != nil {
			return nil, fmt.Errorf("describe the change set: %w", err)
		}
		if input.NextToken == nil && out.Status != types.ChangeSetStatusCreateComplete && !changesNothing(out) {
			failures = append(failures, fmt.Errorf("the change set of %s is %s: %s",
				cmp.Or(strings.TrimSuffix(prefix, "/"), "the stack"), out.Status, cmp.Or(aws.ToString(out.StatusReason), "no reason is given")))
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

// lineForm is that of a change: what is done, to what, more about it, and what is remarkable.
const lineForm = "  %-8s %-36s %s%s\n"

// show writes a line for each change.
func show(w io.Writer, changes []change) error {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, lineForm, c.Action, c.path, aws.ToString(c.ResourceType), remark(c))
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
