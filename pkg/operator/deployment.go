package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"shopfront/pkg/dynamo"
)

// ErrNoStack means that no stack has the given name, or that the stack is not a Shopfront.
var ErrNoStack = errors.New("no Shopfront found")

// Errors of the AWS configuration.
var (
	ErrNoRegion      = errors.New("no AWS region is set")
	ErrNoProfile     = errors.New("no such AWS profile")
	ErrNoCredentials = errors.New("no valid AWS credentials")
)

// Bounds of retries. An operator can wait longer than a shopper, and a busy table throttles for a while.
const (
	attemptTimeout = 10 * time.Second
	maxAttempts    = 12
	firstDelay     = 50 * time.Millisecond // the shortest delay before the first retry; it doubles with each further retry
	longestDelay   = 5 * time.Second
)

// Deployment is the Shopfront that an operator works on: a deployed stack or the local run.
type Deployment struct {
	Stack   string // empty: the local run
	BaseURL string
	Region  string
	Version string // the deployed version; may be empty
	Tables  Tables

	// EventRetention is how long the deployment stores events. It is zero if the deployment has no events.
	EventRetention time.Duration

	client    *dynamodb.Client
	random    func(n int64) int64
	throttled *atomic.Int64 // how many calls DynamoDB has throttled
}

// Tables are the names of a deployment's tables.
type Tables struct {
	Catalogue string `json:"catalogue"`
	Vouchers  string `json:"vouchers"`
	Checkouts string `json:"checkouts"`
	Events    string `json:"events,omitempty"` // empty: the deployment has no events
}

// FindStack finds a deployed stack by its name, with the usual AWS configuration, and reads its outputs, which template.yaml declares.
// random returns a random number from 0 to n-1, which need not be secret. Errors are ErrNoStack, the errors of the AWS configuration, and
// AWS's own, which AWSError shortens.
func FindStack(ctx context.Context, name string, random func(n int64) int64) (*Deployment, error) {
	configuration, err := configure(ctx)
	if err != nil {
		return nil, err
	}
	out, err := cloudformation.NewFromConfig(configuration).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
	if apiError, is := errors.AsType[smithy.APIError](err); is && strings.HasSuffix(apiError.ErrorMessage(), "does not exist") {
		return nil, fmt.Errorf("%w: there is no stack %q in %s", ErrNoStack, name, configuration.Region)
	}
	if err != nil {
		return nil, fmt.Errorf("describe stack %q in %s: %w", name, configuration.Region, err)
	}
	outputs := make(map[string]string)
	for _, stack := range out.Stacks {
		for _, output := range stack.Outputs {
			outputs[aws.ToString(output.OutputKey)] = aws.ToString(output.OutputValue)
		}
	}
	for _, key := range []string{"BaseUrl", "CatalogueTable", "VouchersTable", "CheckoutsTable"} {
		if outputs[key] == "" {
			return nil, fmt.Errorf("%w: the stack %q in %s is another application, or its deployment is incomplete: it has no output %s",
				ErrNoStack, name, configuration.Region, key)
		}
	}
	found := &Deployment{
		Stack: name, BaseURL: outputs["BaseUrl"], Region: configuration.Region, Version: outputs["Version"],
		Tables: Tables{
			Catalogue: outputs["CatalogueTable"], Vouchers: outputs["VouchersTable"], Checkouts: outputs["CheckoutsTable"], Events: outputs["EventsTable"],
		},
		random: random, throttled: new(atomic.Int64),
	}
	found.client = dynamodb.NewFromConfig(configuration, patient(random, found.throttled))
	if found.Tables.Events != "" {
		days, err := strconv.Atoi(outputs["EventRetentionDays"])
		if err != nil || days < 1 {
			return nil, fmt.Errorf("stack %q in %s: the output EventRetentionDays is not a number of days", name, configuration.Region)
		}
		found.EventRetention = time.Duration(days) * day
	}
	return found, nil
}

const day = 24 * time.Hour

// localEventRetention is how long the local run stores events. It equals the default of template.yaml.
const localEventRetention = 90 * day

// configure reads the usual AWS configuration, which must have a region and credentials.
func configure(ctx context.Context) (aws.Config, error) {
	configuration, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // the default logger writes attempts to stderr
	if missing, is := errors.AsType[config.SharedConfigProfileNotExistError](err); is {
		return aws.Config{}, fmt.Errorf("%w: %q", ErrNoProfile, missing.Profile)
	}
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS configuration: %w", err)
	}
	if configuration.Region == "" {
		return aws.Config{}, ErrNoRegion
	}
	if _, err := configuration.Credentials.Retrieve(ctx); err != nil {
		return aws.Config{}, withoutCredentials(ctx, err)
	}
	return configuration, nil
}

// withoutCredentials returns ErrNoCredentials if the machine has no credentials, and err if a credentials service failed. The SDK asks the
// EC2 metadata service last. Most machines do not have that service, so its failure means that there are no credentials.
func withoutCredentials(ctx context.Context, err error) error {
	asked, is := errors.AsType[*smithy.OperationError](err)
	if ctx.Err() != nil || is && asked.Service() != "ec2imds" {
		return err
	}
	return ErrNoCredentials
}

// Local returns the deployment of a local run, ready to use. endpoint is the address of its DynamoDB Local. For random, see FindStack.
func Local(run Deployment, endpoint string, random func(n int64) int64) *Deployment {
	run.throttled = new(atomic.Int64)
	run.client = dynamodb.New(dynamodb.Options{
		Region: run.Region, BaseEndpoint: aws.String(endpoint),
		// DynamoDB Local requires a signature but accepts any. The operator's own credentials are not used.
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, patient(random, run.throttled))
	run.random = random
	if run.Tables.Events != "" {
		run.EventRetention = localEventRetention
	}
	return &run
}

// patient gives a client more time and attempts than a shopper's request has. It counts throttled calls.
func patient(random func(n int64) int64, throttled *atomic.Int64) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.HTTPClient = dynamo.NewTransport(attemptTimeout)
		o.DisableValidateResponseChecksum = true // the transport validates it
		o.Retryer = patientRetryer{dynamo.NewRetryer(random), random, throttled}
	}
}

// patientRetryer retries the errors that the store retries, above all conflicts with transactions, for about half a minute.
type patientRetryer struct {
	aws.RetryerV2

	random    func(n int64) int64
	throttled *atomic.Int64
}

// IsErrorRetryable counts throttled calls. The SDK calls it for each attempt that failed.
func (r patientRetryer) IsErrorRetryable(err error) bool {
	canceled, _ := errors.AsType[*types.TransactionCanceledException](err) // the SDK ignores the reasons, which may be throttling
	if retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary || canceled != nil && isThrottled(*canceled) {
		r.throttled.Add(1)
	}
	return r.RetryerV2.IsErrorRetryable(err)
}

func isThrottled(canceled types.TransactionCanceledException) bool {
	return slices.ContainsFunc(canceled.CancellationReasons, func(reason types.CancellationReason) bool {
		code := aws.ToString(reason.Code)
		return code == "ThrottlingError" || code == "ProvisionedThroughputExceeded"
	})
}

func (patientRetryer) MaxAttempts() int { return maxAttempts }

// RetryDelay returns the delay after an attempt. The SDK counts attempts from 1. Half of the delay's upper bound is fixed, and up to the
// other half is added at random.
func (r patientRetryer) RetryDelay(attempt int, _ error) (time.Duration, error) {
	delay := min(firstDelay<<min(attempt, maxAttempts), longestDelay)
	return delay/2 + time.Duration(r.random(int64(delay/2))), nil
}

// TableStatus is a table's status, such as ACTIVE or CREATING (DynamoDB's TableStatus).
type TableStatus struct {
	Name, Status string
	OrdersIndex  string // DynamoDB's IndexStatus of the index of orders, or IndexMissing; empty: the table needs no such index
	Stream       string // StreamEnabled, StreamDisabled or StreamOther; empty: the table needs no stream
}

// IndexMissing is the status of an index that does not exist.
const IndexMissing = "MISSING"

// The status of a stream from which events are recorded.
const (
	StreamEnabled  = "ENABLED"
	StreamDisabled = "DISABLED"
	StreamOther    = "WITHOUT_IMAGES" // enabled, but without the images that show what happened
)

// TableStatuses returns the status of the tables of the catalogue, the vouchers, the checkouts and the events, in this order. A deployment
// without events has no table of events.
func (d *Deployment) TableStatuses(ctx context.Context) ([]TableStatus, error) {
	var statuses []TableStatus
	for _, name := range []string{d.Tables.Catalogue, d.Tables.Vouchers, d.Tables.Checkouts, d.Tables.Events} {
		if name == "" {
			continue // the deployment has no events
		}
		out, err := d.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		status := TableStatus{Name: name, Status: string(out.Table.TableStatus)}
		if name == d.Tables.Checkouts {
			status.OrdersIndex = ordersIndexStatus(out.Table.GlobalSecondaryIndexes)
		}
		if d.Tables.Events != "" && (name == d.Tables.Vouchers || name == d.Tables.Checkouts) {
			status.Stream = streamStatus(out.Table.StreamSpecification)
		}
		statuses = append(statuses, status)
	}
	return statuses, nil
}

func ordersIndexStatus(indexes []types.GlobalSecondaryIndexDescription) string {
	for _, index := range indexes {
		if aws.ToString(index.IndexName) == dynamo.OrdersIndex {
			return string(index.IndexStatus)
		}
	}
	return IndexMissing
}

func streamStatus(stream *types.StreamSpecification) string {
	switch {
	case stream == nil || !aws.ToBool(stream.StreamEnabled):
		return StreamDisabled
	case stream.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return StreamOther
	default:
		return StreamEnabled
	}
}
