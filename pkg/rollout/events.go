package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// waitForStack waits until the stack stands still. After an update that failed it returns the stack, and why.
func (r Rollout) waitForStack(ctx context.Context, name string) (*types.Stack, error) {
	if err := r.say("Deploying %s", name); err != nil {
		return nil, err
	}
	for {
		stack, err := r.find(ctx, name)
		if err != nil {
			return nil, err
		}
		switch status := string(stack.StackStatus); {
		case strings.HasSuffix(status, "_IN_PROGRESS"), status == "":
		case stack.StackStatus == types.StackStatusCreateComplete, stack.StackStatus == types.StackStatusUpdateComplete:
			return stack, r.say(" done.\n")
		default:
			reasons, err := r.reasons(ctx, name)
			return stack, errors.Join(r.say("\n"), fmt.Errorf("%s is %s: %s", name, status, strings.Join(reasons, "; ")), err)
		}
		if err := r.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		if err := r.say("."); err != nil {
			return nil, err
		}
	}
}

// reasons tells what failed in the latest events of a stack and of the nested ones.
func (r Rollout) reasons(ctx context.Context, stack string) ([]string, error) {
	out, err := r.API.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: aws.String(stack)})
	if err != nil {
		return nil, fmt.Errorf("describe the events of %s: %w", stack, err)
	}
	var all []string
	for _, event := range out.StackEvents {
		if event.ResourceStatusReason != nil && strings.Contains(*event.ResourceStatusReason, "User Initiated") {
			break // what came before is another update's
		}
		if !strings.HasSuffix(string(event.ResourceStatus), "_FAILED") {
			continue
		}
		all = append(all, aws.ToString(event.LogicalResourceId)+": "+aws.ToString(event.ResourceStatusReason))
		nested := aws.ToString(event.PhysicalResourceId)
		if aws.ToString(event.ResourceType) == typeStack && nested != "" && nested != aws.ToString(event.StackId) {
			inside, err := r.reasons(ctx, nested)
			if err != nil {
				return all, err
			}
			all = append(all, inside...)
		}
	}
	return all, nil
}
