package rollout

import (
	"bufio"
	"context"
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

// ErrDeclined says that whoever was asked did not want the changes, or that the context ended before there was an answer.
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
// says about a change set or an update that failed, and the API's own. The end of the context does not end an update that has
// begun: the error says that CloudFormation goes on with it. A change set that is not carried out is deleted, and the policy of
// the tables' stack set, also after the context has ended; the error names what could not be.
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
	var leaving []string
	if err == nil && !nothing {
		leaving, err = r.review(ctx, s, p, changeSet, tableStacks)
	}
	if err != nil || nothing {
		err = errors.Join(err, r.discard(ctx, changeSet))
	}
	switch {
	case err != nil:
		return err
	case nothing:
		return errors.Join(r.say("Nothing to change in %s.\n", s.Stack), r.protect(ctx, tableStacks, s.Policy))
	default:
		return r.carryOut(ctx, s, changeSet, tableStacks, leaving)
	}
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
		ChangeSetName:       aws.String(r.name()),
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
	if err := ctx.Err(); err != nil {
		return "", err
	}
	// It is not given up half-way, nor made twice where its answer is lost: then nobody would know what to delete.
	input.ClientToken = input.ChangeSetName
	asking, cancel := lastly(ctx)
	defer cancel()
	out, err := r.API.CreateChangeSet(asking, input)
	if err != nil {
		return "", fmt.Errorf("create the change set %s of %s: %w", aws.ToString(input.ChangeSetName), s.Stack, err)
	}
	return aws.ToString(out.Id), nil
}

// name is what a request of now is called.
func (r Rollout) name() string { return fmt.Sprintf("rollout-%d", r.Now().Unix()) }

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
	return leaving, r.ask(ctx)
}

// ask wants a yes. The end of the context is a no: an answer that never comes is waited for by nobody then.
func (r Rollout) ask(ctx context.Context) error {
	if err := r.say("Deploy them? [y/N] "); err != nil {
		return err
	}
	var answer string
	answered := make(chan error, 1)
	go func() {
		var err error
		answer, err = bufio.NewReader(r.In).ReadString('\n')
		answered <- err
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrDeclined, ctx.Err())
	case err := <-answered:
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("the answer: %w", err)
		}
	}
	if answer := strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return ErrDeclined
	}
	return nil
}

// carryOut executes the change set. A table that leaves has to be let go of by the policy, for that long: whatever happens
// meanwhile, it is set again.
func (r Rollout) carryOut(ctx context.Context, s Settings, changeSet string, tableStacks map[string]string, leaving []string) error {
	if err := r.execute(ctx, s, changeSet, tableStacks, leaving); err != nil {
		ctx, cancel := lastly(ctx)
		defer cancel()
		return errors.Join(err, r.protect(ctx, tableStacks, s.Policy), r.discard(ctx, changeSet))
	}
	stack, failed := r.waitForStack(ctx, s.Stack)
	ctx, cancel := lastly(ctx)
	defer cancel()
	if stack == nil {
		failed = fmt.Errorf("%w; CloudFormation goes on with %s: deploy again once it stands still", failed, s.Stack)
	} else if after, err := r.tableStacks(ctx, stack, s.Stack); err != nil {
		failed = errors.Join(failed, err)
	} else {
		tableStacks = after
	}
	if err := errors.Join(failed, r.protect(ctx, tableStacks, s.Policy)); err != nil {
		return err
	}
	for _, output := range stack.Outputs {
		if err := r.say("  %-16s %s\n", aws.ToString(output.OutputKey), aws.ToString(output.OutputValue)); err != nil {
			return err
		}
	}
	return nil
}

// execute begins the update.
func (r Rollout) execute(ctx context.Context, s Settings, changeSet string, tableStacks map[string]string, leaving []string) error {
	if len(leaving) > 0 {
		policy, err := lettingGo(s.Policy)
		if err != nil {
			return err
		}
		if err := r.protect(ctx, tableStacks, policy); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// It is not given up half-way: it may have begun. The token lets it be asked for again where the answer was lost.
	asking, cancel := lastly(ctx)
	defer cancel()
	_, err := r.API.ExecuteChangeSet(asking, &cloudformation.ExecuteChangeSetInput{
		ChangeSetName: aws.String(changeSet), ClientRequestToken: aws.String(r.name()),
	})
	if err != nil {
		return fmt.Errorf("execute the change set: %w", err)
	}
	return nil
}

// discard deletes a change set that is not to be carried out, also once the context has ended.
func (r Rollout) discard(ctx context.Context, changeSet string) error {
	ctx, cancel := lastly(ctx)
	defer cancel()
	if _, err := r.API.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: aws.String(changeSet)}); err != nil {
		return fmt.Errorf("delete the change set %s: %w", changeSet, err)
	}
	return nil
}

// lastly is a context for what has to be done also after ctx has ended, within bounds.
func lastly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}

func (r Rollout) say(format string, arguments ...any) error {
	_, err := fmt.Fprintf(r.Out, format, arguments...)
	return err
}
