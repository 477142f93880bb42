package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"shopfront/pkg/dynamo/table"
)

// throttledRetries is how many retries of throttled calls a client has at most. They take less than a second. A retry
// that succeeds is not used up, and five calls that succeed earn another one. So while a table throttles, an instance
// retries for its first request, and fails the next ones at once. Without this bound, each request would occupy an
// instance until its deadline.
const throttledRetries = 4

// boundThrottling makes a client take the retries of throttled calls from a bucket. All other retries stay unlimited.
func boundThrottling(o *dynamodb.Options, jitter func(n int64) int64) {
	bucket := ratelimit.NewTokenRateLimit(throttledRetries * retry.DefaultRetryCost)
	o.Retryer = hastyRetryer{newRetryer(jitter, bucket)}
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("BoundThrottling", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
			out, metadata, err = next.HandleInitialize(ctx, in)
			if !isRetriedByCaller(out.Result, err) {
				return out, metadata, err
			}
			if _, empty := bucket.GetToken(ctx, retry.DefaultRetryCost); empty != nil {
				// without the cause, from which the caller would see that it may retry
				return out, metadata, &UnavailableError{Err: errThrottled}
			}
			return out, metadata, err
		}), middleware.Before)
	})
}

var errThrottled = errors.New("DynamoDB throttles")

// isRetriedByCaller reports whether DynamoDB throttled a call in a way that the SDK does not retry, but the caller
// does: it canceled a transaction, or left keys of a batch unprocessed.
func isRetriedByCaller(result any, err error) bool {
	if batch, is := result.(*dynamodb.BatchGetItemOutput); is && err == nil {
		return len(batch.UnprocessedKeys) > 0
	}
	canceled, _ := errors.AsType[*types.TransactionCanceledException](err)
	return canceled != nil && slices.ContainsFunc(canceled.CancellationReasons, table.IsThrottled)
}

// hastyRetryer takes only the retries of throttled calls from the bucket of its retryer. It does not retry a call above
// the maximum that the operator has set for the table, because the maximum is reached for longer than a shopper waits.
type hastyRetryer struct{ aws.RetryerV2 }

// IsErrorRetryable implements aws.Retryer.
func (r hastyRetryer) IsErrorRetryable(err error) bool {
	var reasons []types.ThrottlingReason
	if throttled, is := errors.AsType[*types.ThrottlingException](err); is {
		reasons = throttled.ThrottlingReasons
	} else if throttled, is := errors.AsType[*types.ProvisionedThroughputExceededException](err); is {
		reasons = throttled.ThrottlingReasons
	}
	isAboveMaximum := func(reason types.ThrottlingReason) bool {
		return strings.HasSuffix(aws.ToString(reason.Reason), "MaxOnDemandThroughputExceeded")
	}
	return !slices.ContainsFunc(reasons, isAboveMaximum) && r.RetryerV2.IsErrorRetryable(err)
}

// GetRetryToken implements aws.Retryer.
func (r hastyRetryer) GetRetryToken(ctx context.Context, err error) (release func(error) error, empty error) {
	throttled := retry.ThrottleErrorCode{Codes: map[string]struct{}{
		"ThrottlingException": {}, "ProvisionedThroughputExceededException": {}, "RequestLimitExceeded": {},
	}}
	if throttled.IsErrorThrottle(err) == aws.TrueTernary {
		return r.RetryerV2.GetRetryToken(ctx, err)
	}
	return func(error) error { return nil }, nil
}
