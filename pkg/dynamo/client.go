package dynamo

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// How a call is tried again. The caller's context must carry a deadline: nothing else bounds all attempts together.
const (
	attemptTimeout = time.Second            // for one attempt: a warm call takes single-digit milliseconds
	firstDelay     = 25 * time.Millisecond  // at most, before this package's second attempt; twice that before the SDK's; then it doubles
	longestDelay   = 400 * time.Millisecond // at most, before any attempt
)

// Settings are what a client is wired from.
type Settings struct {
	Region      string
	Credentials aws.CredentialsProvider
	// Endpoint replaces the region's own, such as http://127.0.0.1:8000; empty: the region's.
	Endpoint string
	// Jitter returns a random number from 0 up to, not including, n; n is above 0.
	Jitter func(n int64) int64
}

// NewClient wires a client by hand: loading the SDK's default configuration triples a function's time to ready.
func NewClient(settings Settings) *dynamodb.Client {
	options := dynamodb.Options{
		Region:                          settings.Region,
		Credentials:                     settings.Credentials,
		HTTPClient:                      NewTransport(attemptTimeout),
		DisableValidateResponseChecksum: true, // NewTransport does
		Retryer:                         NewRetryer(settings.Jitter),
	}
	if settings.Endpoint != "" {
		options.BaseEndpoint = aws.String(settings.Endpoint)
	}
	return dynamodb.New(options)
}

// NewRetryer tries a call again after what may pass: throttles, conflicts, server errors, and lost connections or answers.
// All calls of this package may be repeated. Delays are short and jittered, since a shopper waits.
func NewRetryer(jitter func(n int64) int64) aws.RetryerV2 {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = math.MaxInt32 // the deadline bounds them
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return backoff(attempt, jitter), nil
		})
		o.Retryables = retryables()
	})
}

// backoff is the delay before the attempt that follows the given one: half of it fixed, half random. This package counts
// attempts from 0, the SDK from 1.
func backoff(attempt int, jitter func(n int64) int64) time.Duration {
	delay := min(firstDelay<<min(attempt, 10), longestDelay)
	return delay/2 + time.Duration(jitter(int64(delay/2)))
}

// unnamed is what the SDK calls an error that does not say what it is. DynamoDB's do: somebody else answered.
const unnamed = "UnknownError"

// retryables adds to the SDK's list of errors worth another attempt: a write that met a transaction, and an answer that
// was cut off or damaged on its way, or is not DynamoDB's.
func retryables() retry.IsErrorRetryables {
	passing := func(err error) aws.Ternary {
		if _, conflict := errors.AsType[*types.TransactionConflictException](err); conflict {
			return aws.TrueTernary
		}
		if _, damaged := errors.AsType[*smithy.DeserializationError](err); damaged {
			return aws.TrueTernary
		}
		if answer, is := errors.AsType[smithy.APIError](err); is && answer.ErrorCode() == unnamed {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}
	return append(retry.IsErrorRetryables{retry.IsErrorRetryableFunc(passing)}, retry.DefaultRetryables...)
}

// UnavailableError says that the store did not answer within the time there was: throttled, in conflict, or out of reach.
// Whether a write was applied is unknown.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "store unavailable: " + e.Err.Error() }

func (e *UnavailableError) Unwrap() error { return e.Err }

// Unavailable marks the error for callers that do not import this package.
func (*UnavailableError) Unavailable() bool { return true }

// outcome marks as an *UnavailableError what another attempt, or more time, might have cured.
func outcome(err error) error {
	if err == nil {
		return nil
	}
	timeUp := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	unreached, is := errors.AsType[connectionError](err) // also where no retry would help, as with a host that has no address
	outOfReach := is && unreached.ConnectionError()
	if timeUp || outOfReach || isConflict(err) || retryables().IsErrorRetryable(err) == aws.TrueTernary {
		return &UnavailableError{err}
	}
	return err
}

// connectionError is what the SDK's transport implements where a request could not be sent.
type connectionError interface {
	error
	ConnectionError() bool
}

// isConflict tells whether a transaction was cancelled only because of what else went on: it was not applied, and can be
// sent again as a new one. The SDK does not do so by itself.
func isConflict(err error) bool {
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is {
		return false
	}
	for _, reason := range canceled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		default:
			return false
		}
	}
	return true
}

// Warm opens the connection of a function's client while it starts, with the cheapest read there is, so that the first
// shopper does not wait for it. It gives up after a second; its errors do not matter, for the first request would meet
// them again.
func Warm(ctx context.Context, client *dynamodb.Client, table string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(table),
		Key:       primaryKey{partition: "warm", sort: "warm"}.attributes(),
	})
}
