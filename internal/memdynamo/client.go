package memdynamo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Steps decides when the moments of calls happen. Functions given to a Steps run one at a time.
type Steps interface {
	// Step runs f, and returns when f has returned. The label and the result of f are for a trace. If ctx ends first,
	// Step returns its error, and f runs later.
	Step(ctx context.Context, label string, f func() string) error
	// Later runs f some time after this step.
	Later(ctx context.Context, label string, most int, f func() string)
	// Random gives random numbers to steps only.
	Random() *rand.Rand
}

// Client has the methods of the SDK's client that Shopfront calls, without a network or JSON: a simulation makes
// hundreds of thousands of calls. It retries as the SDK's client does, and returns the SDK's errors. It panics if a
// call uses anything that is not simulated.
type Client struct {
	*Store

	// Steps are the moments of all calls. If it is nil, every call takes effect at once and succeeds, and sees every
	// transaction as a whole.
	Steps Steps
	// Rates are the probabilities of faults.
	Rates Rates
	// Retryer decides about retries, unless the options of a call do.
	Retryer func() aws.RetryerV2

	calls atomic.Int64
}

// call runs an operation as the SDK's client does. It makes attempts until one succeeds or fails for good, or the
// context ends.
func call[Out any](ctx context.Context, c *Client, options []func(*dynamodb.Options), o operation) (*Out, error) {
	var out any
	if c.Steps == nil {
		out, err := o.apply(&attempt{at: func(f func() error) error { return f() }})
		return typed[Out](out, o.name, respond(err))
	}
	configured := dynamodb.Options{Retryer: c.Retryer()}
	for _, option := range options {
		option(&configured)
	}
	attempts := retry.NewAttemptMiddleware(configured.Retryer, func(request any) any { return request })
	_, _, err := attempts.HandleFinalize(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(
		func(ctx context.Context, _ middleware.FinalizeInput) (
			_ middleware.FinalizeOutput, _ middleware.Metadata, err error,
		) {
			out, err = o.apply(c.attempt(ctx, o))
			return middleware.FinalizeOutput{}, middleware.Metadata{}, respond(err)
		}))
	return typed[Out](out, o.name, err)
}

func typed[Out any](out any, operation string, err error) (*Out, error) {
	if err != nil {
		return nil, &smithy.OperationError{ServiceID: dynamodb.ServiceID, OperationName: operation, Err: err}
	}
	return out.(*Out), nil //nolint:forcetypeassert,errcheck // each operation has one type of output
}

// respond wraps an error of DynamoDB as the SDK's client does when it gets a response.
func respond(err error) error {
	if _, is := err.(smithy.APIError); !is { //nolint:errorlint // a Store returns it unwrapped
		return err
	}
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status(err)}}, Err: err,
	}}
}

// attempt returns an attempt whose moments are steps. The first one may meet a fault.
func (c *Client) attempt(ctx context.Context, o operation) *attempt {
	label := o.name + " " + o.label
	if len(o.keys) > 0 {
		label = fmt.Sprint(o.name, " ", o.keys)
	}
	a := &attempt{exposed: true, awaits: true, rates: c.Rates, random: c.Steps.Random()}
	a.later = func(label string, f func() string) { c.Steps.Later(ctx, label, 30, f) }
	first := true
	a.at = func(f func() error) error {
		arrives := first
		first = false
		var err error
		ended := c.Steps.Step(ctx, label, func() (trace string) {
			switch {
			case ctx.Err() == nil && arrives:
				trace, err = c.meet(a, o, a.draw(o), f, func(f func() string) { c.Steps.Later(ctx, label, 60, f) })
			case ctx.Err() == nil:
				err = f()
			case arrives && o.write && a.chance(0.5):
				return c.arriveLate(a, f)
			default:
				return "does not arrive, its caller gave up"
			}
			return trace + Outcome(err)
		})
		if ended != nil {
			return &aws.RequestCanceledError{Err: ended}
		}
		if err == errCut { //nolint:errorlint // meet returns it unwrapped
			return &smithyhttp.RequestSendError{Err: err}
		}
		return err
	}
	return a
}

// GetItem reads an item.
func (c *Client) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return call[dynamodb.GetItemOutput](ctx, c, options, c.getItem(in))
}

// BatchGetItem reads items in any order.
func (c *Client) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return call[dynamodb.BatchGetItemOutput](ctx, c, options, c.batchGetItem(in))
}

// TransactGetItems reads items at one moment.
func (c *Client) TransactGetItems(
	ctx context.Context, in *dynamodb.TransactGetItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactGetItemsOutput, error) {
	return call[dynamodb.TransactGetItemsOutput](ctx, c, options, c.transactGetItems(in))
}

// Query reads the items of a partition.
func (c *Client) Query(
	ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	return call[dynamodb.QueryOutput](ctx, c, options, c.query(in))
}

// Scan reads the items of a table.
func (c *Client) Scan(
	ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options),
) (*dynamodb.ScanOutput, error) {
	return call[dynamodb.ScanOutput](ctx, c, options, c.scan(in))
}

// PutItem stores an item.
func (c *Client) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return call[dynamodb.PutItemOutput](ctx, c, options, c.putItem(in))
}

// UpdateItem changes an item, or creates it.
func (c *Client) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return call[dynamodb.UpdateItemOutput](ctx, c, options, c.updateItem(in))
}

// DeleteItem deletes an item.
func (c *Client) DeleteItem(
	ctx context.Context, in *dynamodb.DeleteItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return call[dynamodb.DeleteItemOutput](ctx, c, options, c.deleteItem(in))
}

// TransactWriteItems makes all writes or none. All attempts of a call have the same token.
func (c *Client) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if in.ClientRequestToken == nil && c.Steps != nil {
		with := *in
		with.ClientRequestToken = aws.String(fmt.Sprint("call ", c.calls.Add(1)))
		in = &with
	}
	return call[dynamodb.TransactWriteItemsOutput](ctx, c, options, c.transactWriteItems(in))
}
