// Package rollout deploys a packaged template with a CloudFormation change set that has the changes of its nested stacks in it,
// which the SAM CLI does not ask for. It shows the change set, refuses one that would replace a table, let go of it unasked or put
// an empty one in its place, asks where it is to, carries it out, and sets a policy on the stack of the tables, so that nobody else's update does either:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/change-sets-for-nested-stacks.html,
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/protect-stack-resources.html.
//
// Nothing that is deployed may import it. It imports none of the shop's packages.
package rollout
