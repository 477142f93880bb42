// Package eventfunction runs the function that records events. It handles batches of streams and scheduled runs, and
// logs one line for each. The line has metrics, unless all counts are zero.
//
// It may not import the SDK's default configuration (aws-sdk-go-v2/config).
package eventfunction

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
)

// Metrics of a batch.
const (
	metricRecorded = "RecordedEvents" // events that were added to feeds
	// changes that were set aside; in a scheduled run: changes that are still set aside
	metricParked = "ParkedRecords"
	// 1 if records must be delivered again, or if a scheduled run could not read the parked changes
	metricErrors = "Errors"
)

// Batch is the event that invokes the function: the records of a stream, or a schedule's event, which has no records.
type Batch struct {
	Records []json.RawMessage `json:"Records"`
}

// Function records batches.
type Function struct {
	Source   Source
	Recorder event.Recorder
	Now      func() time.Time
	Log      *slog.Logger
	Stack    string // the name of the deployed stack, a dimension of every metric
}

// Source reads records of streams.
type Source interface {
	Changes(records []json.RawMessage) []event.Change
}

// New wires the function from its environment.
func New(env lambdahttp.Environment, client *dynamodb.Client) Function {
	tables := dynamo.Tables{Vouchers: env.VouchersTable(), Checkouts: env.CheckoutsTable()}
	source := dynamo.NewEventSource(client, tables, mathrand.Int64N)
	log := Log(env, client)
	service := env.Service()
	return Function{
		Source: source, Now: env.Now, Log: service.Log, Stack: service.Stack,
		Recorder: event.Recorder{
			Log: log, Nicks: log, Parking: dynamo.NewEventParking(client, env.EventsTable(), source, env.Now),
			Retention: env.EventRetention(), Now: env.Now,
		},
	}
}

// Log wires the log of events from a function's environment.
func Log(env lambdahttp.Environment, client *dynamodb.Client) *dynamo.EventLog {
	return dynamo.NewEventLog(client, env.EventsTable(), env.EventRetention(), env.Now, mathrand.Int64N, rand.Reader)
}

// Handle records a batch. The response names the records that Lambda must deliver again
// (https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html). A scheduled run retries the
// parked changes.
func (f Function) Handle(ctx context.Context, batch Batch) (events.DynamoDBEventResponse, error) {
	begun := f.Now()
	var outcome event.Outcome
	if len(batch.Records) > 0 {
		outcome = f.Recorder.Record(ctx, f.Source.Changes(batch.Records))
	} else {
		outcome = f.Recorder.Retry(ctx)
	}
	f.log(ctx, begun, len(batch.Records), outcome)
	if isBlind(outcome) {
		return events.DynamoDBEventResponse{}, errors.New("the parked changes could not be read")
	}
	response := events.DynamoDBEventResponse{BatchItemFailures: make([]events.DynamoDBBatchItemFailure,
		len(outcome.Failed))}
	for i, id := range outcome.Failed {
		if id == "" { // Lambda must deliver the whole batch again
			return events.DynamoDBEventResponse{},
				errors.New("a record without a sequence number could not be set aside")
		}
		response.BatchItemFailures[i].ItemIdentifier = id
	}
	return response, nil
}

// isBlind reports whether a scheduled run could not read the parked changes. Every other error belongs to a change,
// which is counted.
func isBlind(outcome event.Outcome) bool {
	return outcome.Err != nil && outcome.Recorded+outcome.Parked+len(outcome.Failed) == 0
}

// log writes one line for a batch. The line holds no code, nick or data of an event.
func (f Function) log(ctx context.Context, begun time.Time, records int, outcome event.Outcome) {
	now := f.Now()
	attrs := []slog.Attr{
		slog.Int("records", records), slog.Int(metricRecorded, outcome.Recorded),
		slog.Int(metricParked, outcome.Parked),
		slog.Float64("durationMs", float64(now.Sub(begun).Microseconds())/1000), slog.String("Stack", f.Stack),
	}
	// without counts of zero: AWS bills a metric for each hour with data, and the schedule runs in every hour
	var metrics []string
	if outcome.Recorded > 0 {
		metrics = append(metrics, metricRecorded)
	}
	if outcome.Parked > 0 {
		metrics = append(metrics, metricParked)
	}
	level := slog.LevelInfo
	if outcome.Err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", outcome.Err.Error()))
	}
	if len(outcome.Failed) > 0 || isBlind(outcome) {
		metrics = append(metrics, metricErrors)
		attrs = append(attrs, slog.Int(metricErrors, 1))
	}
	if len(metrics) > 0 {
		attrs = append(attrs, slog.Any("_aws", httpapi.EmbeddedMetrics(now, metrics...)))
	}
	f.Log.LogAttrs(ctx, level, "batch", attrs...)
}
