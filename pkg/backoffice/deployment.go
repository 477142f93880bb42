package backoffice

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

// ErrNoStack means that no stack has the given name, or that the stack is not a Shopfront.
var ErrNoStack = errors.New("no Shopfront found")

// Errors of the AWS configuration.
var (
	ErrNoRegion      = errors.New("no AWS region is set")
	ErrNoProfile     = errors.New("no such AWS profile")
	ErrNoCredentials = errors.New("no valid AWS credentials")
)

// Deployment is the Shopfront that an operator works on: a deployed stack or the local run.
type Deployment struct {
	Stack   string // empty: the local run
	BaseURL string
	Region  string
	Version string // the deployed version; may be empty

	store
	client *dynamodb.Client
}

// NewDeployment returns a deployment of which only the tables are known. random returns a random number from 0 to n-1,
// which need not be secret.
func NewDeployment(api API, tables Tables, random func(n int64) int64) *Deployment {
	return &Deployment{store: store{api: api, Tables: tables, random: random, throttled: new(atomic.Int64)}}
}

// FindStack finds a deployed stack by its name, with the usual AWS configuration, and reads its outputs, which
// template.yaml declares. random returns a random number from 0 to n-1, which need not be secret. Errors are
// ErrNoStack, the errors of the AWS configuration, and AWS's own, which AWSError shortens.
func FindStack(ctx context.Context, name string, random func(n int64) int64) (*Deployment, error) {
	configuration, err := configure(ctx)
	if err != nil {
		return nil, err
	}
	outputs, err := outputsOf(ctx, configuration, name)
	if err != nil {
		return nil, err
	}
	names := Tables{
		Catalogue: outputs["CatalogueTable"], Vouchers: outputs["VouchersTable"],
		Checkouts: outputs["CheckoutsTable"], Refusals: outputs["RefusalsTable"], Events: outputs["EventsTable"],
	}
	throttled := new(atomic.Int64)
	client := dynamodb.NewFromConfig(configuration, patient(random, throttled))
	found := &Deployment{
		Stack: name, BaseURL: outputs["BaseUrl"], Region: configuration.Region, Version: outputs["Version"],
		store: store{api: client, Tables: names, random: random, throttled: throttled}, client: client,
	}
	if names.Events != "" {
		days, err := strconv.Atoi(outputs["EventRetentionDays"])
		if err != nil || days < 1 {
			return nil, fmt.Errorf("stack %q in %s: the output EventRetentionDays is not a number of days", name,
				configuration.Region)
		}
		found.EventRetention = time.Duration(days) * day
	}
	return found, nil
}

// outputsOf returns the outputs of a stack. It returns ErrNoStack unless they are those of a Shopfront.
func outputsOf(ctx context.Context, configuration aws.Config, name string) (map[string]string, error) {
	out, err := cloudformation.NewFromConfig(configuration).DescribeStacks(ctx,
		&cloudformation.DescribeStacksInput{StackName: aws.String(name)})
	if apiError, is := errors.AsType[smithy.APIError](err); is &&
		strings.HasSuffix(apiError.ErrorMessage(), "does not exist") {
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
			return nil, fmt.Errorf("%w: the stack %q in %s is another application, or its deployment is "+
				"incomplete: it has no output %s",
				ErrNoStack, name, configuration.Region, key)
		}
	}
	return outputs, nil
}

const day = 24 * time.Hour

// localEventRetention is how long the local run stores events. It equals the default of template.yaml.
const localEventRetention = 90 * day

// configure reads the usual AWS configuration, which must have a region and credentials.
func configure(ctx context.Context) (aws.Config, error) {
	// the default logger writes attempts to stderr
	configuration, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{}))
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

// withoutCredentials returns ErrNoCredentials if the machine has no credentials, and err if a credentials service
// failed. The SDK asks the EC2 metadata service last. Most machines do not have that service, so its failure means that
// there are no credentials.
func withoutCredentials(ctx context.Context, err error) error {
	asked, is := errors.AsType[*smithy.OperationError](err)
	if ctx.Err() != nil || is && asked.Service() != "ec2imds" {
		return err
	}
	return ErrNoCredentials
}

// Local returns the deployment of a local run, ready to use. endpoint is the address of its DynamoDB Local. For random,
// see FindStack.
func Local(run Deployment, tables Tables, endpoint string, random func(n int64) int64) *Deployment {
	throttled := new(atomic.Int64)
	run.client = dynamodb.New(dynamodb.Options{
		Region: run.Region, BaseEndpoint: aws.String(endpoint),
		// DynamoDB Local requires a signature but accepts any. The operator's own credentials are not used.
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, patient(random, throttled))
	run.store = store{api: run.client, Tables: tables, random: random, throttled: throttled}
	if tables.Events != "" {
		run.EventRetention = localEventRetention
	}
	return &run
}
