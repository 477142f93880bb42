package rollout

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// ErrDeclined says that whoever was asked did not want the changes.
var ErrDeclined = errors.New("nothing was changed")

// API is what is called of CloudFormation.
type API interface {
	CreateChangeSet(context.Context, *cloudformation.CreateChangeSetInput, ...func(*cloudformation.Options)) (*cloudformation.CreateChangeSetOutput, error)
	DeleteChangeSet(context.Context, *cloudformation.DeleteChangeSetInput, ...func(*cloudformation.Options)) (*cloudformation.DeleteChangeSetOutput, error)
	DescribeChangeSet(context.Context, *cloudformation.DescribeChangeSetInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeChangeSetOutput, error)
	DescribeStackEvents(context.Context, *cloudformation.DescribeStackEventsInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStackEventsOutput, error)
	DescribeStackResources(context.Context, *cloudformation.DescribeStackResourcesInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStackResourcesOutput, error)
	DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
	ExecuteChangeSet(context.Context, *cloudformation.ExecuteChangeSetInput, ...func(*cloudformation.Options)) (*cloudformation.ExecuteChangeSetOutput, error)
	SetStackPolicy(context.Context, *cloudformation.SetStackPolicyInput, ...func(*cloudformation.Options)) (*cloudformation.SetStackPolicyOutput, error)
}

// Rollout deploys.
type Rollout struct {
	API    API
	Tables Tables
	Out    io.Writer
	In     io.Reader                                        // what is answered when it asks
	Now    func() time.Time                                 // for the name of the change set
	Sleep  func(ctx context.Context, d time.Duration) error // until d has passed, or the context ends
}

// How often CloudFormation is asked how far it is.
const pause = 3 * time.Second

// Deploy creates the stack or updates it. Errors: ErrTable and ErrDeclined, after which nothing has changed, what CloudFormation
// says about a change set or an update that failed, and the API's own.
func (r Rollout) Deploy(ctx context.Context, s Settings) error {
	stack, err := r.find(ctx, s.Stack)
	if err != nil {
		return err
	}
	tableStacks, err := r.tableStacks(ctx, stack, s.Stack)
	if err != nil {
		return err
	}
	p, err := s.parameters(stack)
	if err != nil {
		return err
	}
	if err := r.checkNamed(ctx, p.before, p.after); err != nil {
		return err
	}
	changeSet, err := r.create(ctx, s, stack, p)
	if err != nil {
		return err
	}
	nothing, err := r.waitForChangeSet(ctx, changeSet)
	if err != nil {
		return err
	}
	if nothing {
		if err := r.discard(ctx, changeSet); err != nil {
			return err
		}
		return errors.Join(r.say("Nothing to change in %s.\n", s.Stack), r.protect(ctx, tableStacks, s.Policy))
	}
	leaving, err := r.review(ctx, s, p, changeSet, tableStacks)
	if err != nil {
		if discarding := r.discard(ctx, changeSet); discarding != nil {
			return errors.Join(err, discarding)
		}
		return err
	}
	return r.carryOut(ctx, s, changeSet, tableStacks, leaving)
}

// find looks the stack up. One that has only ever had change sets is none.
func (r Rollout) find(ctx context.Context, name string) (*types.Stack, error) {
	out, err := r.API.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
	if apiError, is := errors.AsType[smithy.APIError](err); is && strings.HasSuffix(apiError.ErrorMessage(), "does not exist") {
		return &types.Stack{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe the stack %s: %w", name, err)
	}
	if len(out.Stacks) != 1 || out.Stacks[0].StackStatus == types.StackStatusReviewInProgress {
		return &types.Stack{}, nil
	}
	return &out.Stacks[0], nil
}

// create asks for a change set and returns its ID.
func (r Rollout) create(ctx context.Context, s Settings, stack *types.Stack, p parameters) (string, error) {
	kind := types.ChangeSetTypeUpdate
	if stack.StackId == nil {
		kind = types.ChangeSetTypeCreate
	}
	input := &cloudformation.CreateChangeSetInput{
		StackName:           aws.String(s.Stack),
		ChangeSetName:       aws.String(fmt.Sprintf("rollout-%d", r.Now().Unix())),
		ChangeSetType:       kind,
		IncludeNestedStacks: aws.Bool(true),
		TemplateBody:        aws.String(s.Template),
		Parameters:          p.input(s.Parameters),
	}
	for _, capability := range s.Capabilities {
		input.Capabilities = append(input.Capabilities, types.Capability(capability))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		input.Tags = append(input.Tags, types.Tag{Key: aws.String(key), Value: aws.String(s.Tags[key])})
	}
	out, err := r.API.CreateChangeSet(ctx, input)
	if err != nil {
		return "", fmt.Errorf("create a change set of %s: %w", s.Stack, err)
	}
	return aws.ToString(out.Id), nil
}

// waitForChangeSet waits until the change set is made, and tells whether it changes nothing.
func (r Rollout) waitForChangeSet(ctx context.Context, changeSet string) (nothing bool, err error) {
	for {
		out, err := r.API.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String(changeSet)})
		if err != nil {
			return false, fmt.Errorf("describe the change set: %w", err)
		}
		switch {
		case out.Status == types.ChangeSetStatusCreateComplete:
			return false, nil
		case changesNothing(out):
			return true, nil
		case out.Status == types.ChangeSetStatusFailed:
			_, failed := r.changes(ctx, changeSet, "")
			return false, failed
		}
		if err := r.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

// review shows the changes, judges them and asks. It returns the tables that leave the stack.
func (r Rollout) review(ctx context.Context, s Settings, p parameters, changeSet string, tableStacks map[string]string) ([]string, error) {
	all, err := r.changes(ctx, changeSet, "")
	if err != nil {
		return nil, err
	}
	if err := r.say("Changes to %s:\n", s.Stack); err != nil {
		return nil, err
	}
	if err := errors.Join(p.show(r.Out), show(r.Out, all)); err != nil {
		return nil, err
	}
	leaving, err := judge(all, p.before, p.after, tableStacks)
	if err != nil || !s.Confirm {
		return leaving, err
	}
	if err := r.say("Deploy them? [y/N] "); err != nil {
		return nil, err
	}
	answer, err := bufio.NewReader(r.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	if answer := strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return nil, ErrDeclined
	}
	return leaving, nil
}

// carryOut executes the change set. A table that leaves has to be let go of by the policy, for that long.
func (r Rollout) carryOut(ctx context.Context, s Settings, changeSet string, tableStacks map[string]string, leaving []string) error {
	if len(leaving) > 0 {
		policy, err := lettingGo(s.Policy)
		if err != nil {
			return err
		}
		if err := r.protect(ctx, tableStacks, policy); err != nil {
			return err
		}
	}
	_, err := r.API.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: aws.String(changeSet)})
	if err != nil {
		return errors.Join(fmt.Errorf("execute the change set: %w", err), r.protect(ctx, tableStacks, s.Policy))
	}
	stack, failed := r.waitForStack(ctx, s.Stack)
	if stack == nil {
		return failed
	}
	after, err := r.tableStacks(ctx, stack, s.Stack)
	if err == nil {
		err = r.protect(ctx, after, s.Policy)
	}
	if failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	for _, output := range stack.Outputs {
		if err := r.say("  %-16s %s\n", aws.ToString(output.OutputKey), aws.ToString(output.OutputValue)); err != nil {
			return err
		}
	}
	return nil
}

// lettingGo is a policy without what denies that a resource leaves the stack.
func lettingGo(policy string) (string, error) {
	var document struct{ Statement []map[string]any }
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return "", fmt.Errorf("the policy of the tables' stack: %w", err)
	}
	for _, statement := range document.Statement {
		if actions, ok := statement["Action"].([]any); ok && statement["Effect"] == "Deny" {
			statement["Action"] = slices.DeleteFunc(actions, func(action any) bool { return action == "Update:Delete" })
		}
	}
	text, err := json.Marshal(document)
	return string(text), err
}

// protect sets the policy on the stacks that have tables.
func (r Rollout) protect(ctx context.Context, tableStacks map[string]string, policy string) error {
	for _, name := range slices.Sorted(maps.Keys(tableStacks)) {
		_, err := r.API.SetStackPolicy(ctx, &cloudformation.SetStackPolicyInput{
			StackName: aws.String(tableStacks[name]), StackPolicyBody: aws.String(policy),
		})
		if err != nil {
			return fmt.Errorf("set the policy of %s: %w", name, err)
		}
	}
	return nil
}

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

func (r Rollout) discard(ctx context.Context, changeSet string) error {
	if _, err := r.API.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: aws.String(changeSet)}); err != nil {
		return fmt.Errorf("delete the change set: %w", err)
	}
	return nil
}

func (r Rollout) say(format string, arguments ...any) error {
	_, err := fmt.Fprintf(r.Out, format, arguments...)
	return err
}
