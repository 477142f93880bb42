// Package publishfunction runs the function that sends events to an EventBridge bus. It is separate from package
// eventfunction because the functions that record and list events must not link EventBridge's client.
//
// It may not import the SDK's default configuration (aws-sdk-go-v2/config).
package publishfunction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/wire"
)

const (
	// source is the Source of every entry that the function sends to the bus.
	source = "shopfront"
	// maxEntries is how many events EventBridge accepts in a call. Their size cannot reach EventBridge's limit of 256
	// KB: an event contains at most 2 KB of a shop's own data, and JSON escapes each byte as at most six bytes.
	maxEntries = 10
	// maxAttempts is how often the function sends an event that the bus rejects. After the last attempt, the function
	// reports the event's record as failed, and Lambda delivers the record again.
	maxAttempts = 4
	// attemptTimeout bounds one attempt of a call.
	attemptTimeout = 5 * time.Second
	// responseReserve is the part of the function's timeout that is reserved for reporting which records were not sent.
	// Without that report, Lambda would deliver the whole batch again.
	responseReserve = time.Second
)

// Batch is the event that invokes the function: records of the events table's stream.
type Batch struct {
	Records []json.RawMessage `json:"Records"`
}

// Bus is the part of EventBridge that the function needs.
type Bus interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput,
		...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// Function publishes batches.
type Function struct {
	Pages *dynamo.EventPages
	Bus   Bus
	Name  string // the name or the ARN of the bus
	// Delay returns how long to wait after the given attempt, before the next one. The first attempt is 1.
	Delay func(attempt int) time.Duration
	Now   func() time.Time
	Log   *slog.Logger
	Stack string // the name of the deployed stack, a dimension of the metric
}

// New wires the function from its environment. The bus is in the client's region, and the function calls it with the
// client's credentials.
func New(env lambdahttp.Environment, client *dynamodb.Client) Function {
	service, options := env.Service(), client.Options()
	return Function{
		Pages: dynamo.NewEventPages(client, env.EventsTable(), env.Now, mathrand.Int64N),
		Bus: eventbridge.New(eventbridge.Options{
			Region: options.Region, Credentials: options.Credentials,
			HTTPClient: awshttp.NewBuildableClient().WithTimeout(attemptTimeout),
		}),
		Name: env.EventBus(), Delay: backoff, Now: env.Now, Log: service.Log, Stack: service.Stack,
	}
}

// backoff returns a delay that starts at a quarter of a second and doubles with each attempt. Half of it is random.
func backoff(attempt int) time.Duration {
	delay := (250 * time.Millisecond) << (attempt - 1)
	return delay/2 + time.Duration(mathrand.Int64N(int64(delay/2))) //nolint:gosec // jitter, not a secret
}

// Handle sends the events of a batch, in order. The response names the first record with an event that was not sent.
// Lambda delivers that record and all later ones again, so each event is sent at least once
// (https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html). A page that cannot be read is
// skipped, because retrying it would delay the events of all shops.
func (f Function) Handle(ctx context.Context, batch Batch) (events.DynamoDBEventResponse, error) {
	begun := f.Now()
	if deadline, has := ctx.Deadline(); has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-responseReserve))
		defer cancel()
	}
	added, err := dynamo.EventAdditions(batch.Records)
	published, failures := 0, []events.DynamoDBBatchItemFailure{}
	for len(added) > 0 {
		next := added[:min(len(added), maxEntries)]
		sent, record, damaged, sendErr := f.publish(ctx, next)
		published += sent
		err = errors.Join(err, damaged)
		if sendErr != nil {
			err = errors.Join(err, sendErr)
			failures = append(failures, events.DynamoDBBatchItemFailure{ItemIdentifier: record})
			break
		}
		added = added[len(next):]
	}
	f.log(ctx, begun, len(batch.Records), published, err)
	return events.DynamoDBEventResponse{BatchItemFailures: failures}, nil
}

// message is an entry for the bus, and the record that added its event.
type message struct {
	record string
	entry  types.PutEventsRequestEntry
}

// publish sends events, except those that are damaged, and names these in an error. It returns how many it sent. After
// the other error, record is the first record with an event that was not sent.
func (f Function) publish(
	ctx context.Context, added []dynamo.EventAddition,
) (sent int, record string, damaged, err error) {
	left, damaged, err := f.messages(ctx, added)
	if err != nil {
		return 0, added[0].Record, damaged, err
	}
	total := len(left)
	for attempt := 1; len(left) > 0; attempt++ {
		if left, err = f.put(ctx, left); err == nil {
			break
		}
		if _, rejected := errors.AsType[rejectedError](err); !rejected || attempt == maxAttempts ||
			wait(ctx, f.Delay(attempt)) != nil {
			return total - len(left), left[0].record, damaged, err
		}
	}
	return total, "", damaged, nil
}

// messages reads the events that were added. It leaves out those that are no longer stored, and those that are damaged,
// because retrying these would delay the events of all shops.
func (f Function) messages(
	ctx context.Context, added []dynamo.EventAddition,
) (messages []message, damaged, err error) {
	stored, err := f.Pages.Events(ctx, added)
	if err != nil {
		return nil, nil, err
	}
	for i, e := range stored {
		damaged = errors.Join(damaged, e.Damaged())
		if e.ID == "" || e.Damaged() != nil {
			continue
		}
		detail, err := wire.Encode(e)
		if err != nil {
			return nil, damaged, err
		}
		messages = append(messages, message{added[i].Record, types.PutEventsRequestEntry{
			EventBusName: aws.String(f.Name), Source: aws.String(source), DetailType: aws.String(string(e.Type)),
			Detail: aws.String(string(detail)), Time: aws.Time(e.At),
		}})
	}
	return messages, damaged, nil
}

// rejectedError means that the bus accepted a call, but not all of its events. It contains no data of the events.
type rejectedError struct {
	events int
	code   string // of the last rejected event
}

func (e rejectedError) Error() string {
	return fmt.Sprintf("the bus rejected %d events, the last with %s", e.events, e.code)
}

// put makes one call, which the client retries if it fails as a whole. It returns the messages that were not sent, in
// order.
func (f Function) put(ctx context.Context, messages []message) (left []message, err error) {
	entries := make([]types.PutEventsRequestEntry, len(messages))
	for i, m := range messages {
		entries[i] = m.entry
	}
	out, err := f.Bus.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err != nil {
		return messages, err
	}
	if len(out.Entries) != len(entries) {
		return messages, errors.New("the bus did not report on each event")
	}
	for i, result := range out.Entries {
		if code := aws.ToString(result.ErrorCode); code != "" {
			left = append(left, messages[i])
			err = rejectedError{len(left), code}
		}
	}
	return left, err
}

// wait waits for the delay, or returns the error of the context if the context ends first.
func wait(ctx context.Context, delay time.Duration) error {
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// log writes one line for a batch. The line holds no code, nick or data of an event.
func (f Function) log(ctx context.Context, begun time.Time, records, published int, err error) {
	now := f.Now()
	attrs := []slog.Attr{
		slog.Int("records", records), slog.Int("published", published),
		slog.Float64("durationMs", float64(now.Sub(begun).Microseconds())/1000), slog.String("Stack", f.Stack),
	}
	level := slog.LevelInfo
	if err != nil {
		const metricErrors = "Errors"
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", err.Error()), slog.Int(metricErrors, 1))
		attrs = append(attrs, slog.Any("_aws", httpapi.EmbeddedMetrics(now, metricErrors)))
	}
	f.Log.LogAttrs(ctx, level, "batch", attrs...)
}
