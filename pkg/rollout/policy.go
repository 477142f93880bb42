package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

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
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(tableStacks)) {
		_, err := r.API.SetStackPolicy(ctx, &cloudformation.SetStackPolicyInput{
			StackName: aws.String(tableStacks[name]), StackPolicyBody: aws.String(policy),
		})
		if err != nil {
			failures = append(failures, fmt.Errorf("set the policy of %s: %w; deploy again, or: aws cloudformation set-stack-policy "+
				"--stack-name %s --stack-policy-body file://infra/stack-policy.json", name, err, tableStacks[name]))
		}
	}
	return errors.Join(failures...)
}
