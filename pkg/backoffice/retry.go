package backoffice

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
)

// Bounds of retries. An operator can wait longer than a shopper, and a busy table throttles for a while.
const (
	attemptTimeout = 10 * time.Second
	maxAttempts    = 12
	// the shortest delay before the first retry; it doubles with each further retry
	firstDelay   = 50 * time.Millisecond
	longestDelay = 5 * time.Second
)

// patient gives a client more time and attempts than a shopper's request has. It counts throttled calls.
func patient(random func(n int64) int64, throttled *atomic.Int64) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.HTTPClient = dynamo.NewTransport(attemptTimeout)
		o.DisableValidateResponseChecksum = true // the transport validates it
		o.Retryer = patientRetryer{dynamo.NewRetryer(random), random, throttled}
	}
}

// patientRetryer retries the errors that the store retries, above all conflicts with transactions, for about half a
// minute.
type patientRetryer struct {
	aws.RetryerV2

	random    func(n int64) int64
	throttled *atomic.Int64
}

// IsErrorRetryable counts throttled calls. The SDK calls it for each attempt that failed.
func (r patientRetryer) IsErrorRetryable(err error) bool {
	// the SDK ignores the reasons, which may be throttling
	canceled, _ := errors.AsType[*types.TransactionCanceledException](err)
	if retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary || canceled != nil &&
		slices.ContainsFunc(canceled.CancellationReasons, table.IsThrottled) {
		r.throttled.Add(1)
	}
	return r.RetryerV2.IsErrorRetryable(err)
}

func (patientRetryer) MaxAttempts() int { return maxAttempts }

// RetryDelay returns the delay after an attempt. The SDK counts attempts from 1. Half of the delay's upper bound is
// fixed, and up to the other half is added at random.
func (r patientRetryer) RetryDelay(attempt int, _ error) (time.Duration, error) {
	delay := min(firstDelay<<min(attempt, maxAttempts), longestDelay)
	return delay/2 + time.Duration(r.random(int64(delay/2))), nil
}
