package dynamo

import (
	"context"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/dynamo/table"
)

// attemptTimeout bounds one attempt of a call. A call over an open connection takes single-digit milliseconds. Only the
// deadline of the caller's context bounds all attempts together.
const attemptTimeout = time.Second

// UnavailableError is the error of a call that got no usable response in time. A write may or may not have been
// applied.
type UnavailableError = table.UnavailableError

// Settings configure a client.
type Settings struct {
	Region      string
	Credentials aws.CredentialsProvider
	// Endpoint is a URL such as http://127.0.0.1:8000. If it is empty, the client uses the endpoint of the region.
	Endpoint string
	// Jitter returns a random number from 0 to n-1, where n is above 0.
	Jitter func(n int64) int64
	// ShopperWaits bounds the retries of throttled calls (see throttledRetries). Otherwise a throttled call is retried
	// until the caller's context ends.
	ShopperWaits bool
}

// NewClient returns a client for a function. It does not load the SDK's default configuration: loading it would triple
// the time until the function is ready.
func NewClient(settings Settings) *dynamodb.Client {
	options := dynamodb.Options{
		Region:                          settings.Region,
		Credentials:                     settings.Credentials,
		HTTPClient:                      NewTransport(attemptTimeout),
		DisableValidateResponseChecksum: true, // the transport validates it
		Retryer:                         NewRetryer(settings.Jitter),
	}
	if settings.ShopperWaits {
		boundThrottling(&options, settings.Jitter)
	}
	if settings.Endpoint != "" {
		options.BaseEndpoint = aws.String(settings.Endpoint)
	}
	return dynamodb.New(options)
}

// NewRetryer returns a retryer for throttled calls, conflicts, server errors, and lost connections or responses. Every
// call of this package is safe to retry. Delays are short and jittered, because a shopper is waiting. jitter is as in
// Settings.
func NewRetryer(jitter func(n int64) int64) aws.RetryerV2 { return newRetryer(jitter, ratelimit.None) }

func newRetryer(jitter func(n int64) int64, retries retry.RateLimiter) aws.RetryerV2 {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = math.MaxInt32 // the deadline of the caller's context ends the retries
		o.RateLimiter = retries
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return table.Backoff(attempt, jitter), nil
		})
		o.Retryables = table.Retryables()
	})
}

// Warm opens the connection of a function's client at start, so that the first shopper does not wait for it. It sends
// the cheapest possible read and gives up after a second. It ignores errors, because the first request would report
// them.
func Warm(ctx context.Context, client *dynamodb.Client, name string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(name),
		Key:       table.Key{Partition: "warm", Sort: "warm"}.Attributes(),
	})
}
