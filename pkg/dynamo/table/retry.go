package table

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const (
	// ConditionFailed is the cancellation reason of a transaction whose condition failed.
	ConditionFailed = "ConditionalCheckFailed"
	// Unnamed is the SDK's name for an error response without a code. DynamoDB always sends a code, so another server
	// responded.
	Unnamed = "UnknownError"
)

// Bounds of the delay before a retry.
const (
	// upper bound of this package's first delay; the SDK's is twice as long, because it counts from 1
	firstDelay   = 25 * time.Millisecond
	longestDelay = 400 * time.Millisecond
)

// Backoff returns the delay after the given attempt. Half of the delay is fixed, and the other half is random. This
// package counts attempts from 0, the SDK from 1. random returns a random number from 0 to n-1, where n is above 0.
func Backoff(attempt int, random func(n int64) int64) time.Duration {
	delay := min(firstDelay<<min(attempt, 10), longestDelay)
	return delay/2 + time.Duration(random(int64(delay/2)))
}

// Wait waits for the delay. If the context ends first, Wait returns its error.
func Wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Retryables returns the errors that the SDK retries by default, and these: a write that conflicted with a transaction,
// and a response that was cut off, was damaged, or did not come from DynamoDB.
func Retryables() retry.IsErrorRetryables {
	transient := func(err error) aws.Ternary {
		if _, conflict := errors.AsType[*types.TransactionConflictException](err); conflict {
			return aws.TrueTernary
		}
		if _, damaged := errors.AsType[*smithy.DeserializationError](err); damaged {
			return aws.TrueTernary
		}
		if response, is := errors.AsType[smithy.APIError](err); is && response.ErrorCode() == Unnamed {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}
	return append(retry.IsErrorRetryables{retry.IsErrorRetryableFunc(transient)}, retry.DefaultRetryables...)
}

// UnavailableError is the error of a call that got no usable response in time: DynamoDB throttled it, reported
// conflicts, or was unreachable. A write may or may not have been applied.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "store unavailable: " + e.Err.Error() }

func (e *UnavailableError) Unwrap() error { return e.Err }

// Unavailable marks the error for callers that do not import this package.
func (*UnavailableError) Unavailable() bool { return true }

// Outcome wraps an error in an *UnavailableError if another attempt, or more time, might have succeeded.
func Outcome(err error) error {
	if _, is := errors.AsType[*UnavailableError](err); is || err == nil {
		return err
	}
	timeUp := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	// retrying may not help, for example if the host name has no address
	unreached, is := errors.AsType[connectionError](err)
	outOfReach := is && unreached.ConnectionError()
	if timeUp || outOfReach || IsConflict(err) || Retryables().IsErrorRetryable(err) == aws.TrueTernary {
		return &UnavailableError{err}
	}
	return err
}

// connectionError is implemented by an error of the SDK's transport. ConnectionError reports whether the request could
// not be sent.
type connectionError interface {
	error
	ConnectionError() bool
}

// IsConflict reports whether concurrent activity or throttling canceled a transaction. The transaction was not applied
// and can be sent again as a new transaction. The SDK does not retry it. If a condition failed in the same transaction,
// IsConflict still reports true. The condition may have seen only a part of another transaction, and the conflict may
// be with the rest of that transaction.
func IsConflict(err error) bool {
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is {
		return false
	}
	judged := false
	for _, reason := range canceled.CancellationReasons {
		switch code := aws.ToString(reason.Code); {
		case code == "TransactionConflict" || IsThrottled(reason):
			return true
		case code != "None":
			judged = true
		}
	}
	return !judged
}

// IsThrottled reports whether throttling canceled a transaction.
func IsThrottled(reason types.CancellationReason) bool {
	code := aws.ToString(reason.Code)
	return code == "ThrottlingError" || code == "ProvisionedThroughputExceeded"
}

// OldItem returns the item that DynamoDB returned with a failed condition. The result is empty if the item does not
// exist. failed reports whether err says that a condition failed.
func OldItem(err error) (old Item, failed bool) {
	if check, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return check.Item, true
	}
	return nil, false
}
