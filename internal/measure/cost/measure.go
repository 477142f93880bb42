package cost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/measure/benchmark"
	"shopfront/internal/measure/cost/metering"
	"shopfront/pkg/voucher"
)

// Request is what one request of an operation takes of what AWS bills by amount.
type Request struct {
	Operation string `json:"operation"`
	Function  string `json:"function"`
	// Calls are those of DynamoDB.
	Calls []metering.Call `json:"calls"`
	// LogBytes is the size of what the function itself logs, BodyBytes that of the answer's body, and AnswerBytes that of the
	// answer with its headers.
	LogBytes    int `json:"logBytes"`
	BodyBytes   int `json:"bodyBytes"`
	AnswerBytes int `json:"answerBytes"`
	// Metrics are the custom metrics that it counts in, each with its dimensions.
	Metrics []string `json:"metrics,omitempty"`
}

// Units are those of all its calls.
func (r Request) Units() (units metering.Units) {
	for _, call := range r.Calls {
		units = units.Plus(call.Units)
	}
	return units
}

// grown is by how much a table grows, in bytes.
func (r Request) grown(table string) (bytes int) {
	for _, call := range r.Calls {
		if slices.Contains(call.Tables, table) {
			bytes += call.Grown
		}
	}
	return bytes
}

// Workshop is where functions are measured: a DynamoDB Local with a shop in it, and the built functions.
type Workshop struct {
	root     string
	dir      string
	endpoint string // of DynamoDB Local
	client   *dynamodb.Client
	meter    *metering.Meter
	server   *http.Server
	metered  string // the meter's URL
	events   map[string]benchmark.Event
	binaries map[string]string
}

// NewWorkshop builds the functions of the checkout at root below dir, and fills a DynamoDB Local without tables. It must be
// closed.
func NewWorkshop(ctx context.Context, root, dir, endpoint string) (*Workshop, error) {
	w := &Workshop{
		root: root, dir: dir, endpoint: endpoint, client: newClient(endpoint), meter: metering.New(endpoint),
		events: make(map[string]benchmark.Event), binaries: make(map[string]string),
	}
	if err := w.build(ctx); err != nil {
		return nil, err
	}
	if err := benchmark.MakeTables(ctx, root, w.client); err != nil {
		return nil, err
	}
	if err := benchmark.Fill(ctx, w.client, root); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.server, w.metered = &http.Server{Handler: w.meter, ReadHeaderTimeout: time.Minute}, "http://"+listener.Addr().String()
	go func() { _ = w.server.Serve(listener) }() // until Close
	return w, nil
}

// build builds the functions, and reads their events.
func (w *Workshop) build(ctx context.Context) error {
	names := functions(operations())
	binaries, failures := make([]string, len(names)), make([]error, len(names))
	var building sync.WaitGroup
	for i, function := range names {
		building.Go(func() { binaries[i], failures[i] = benchmark.Build(ctx, w.root, w.dir, "functions/"+function) })
	}
	building.Wait()
	for i, function := range names {
		event, err := benchmark.ReadEvent(w.root, function)
		failures[i] = errors.Join(failures[i], err)
		w.events[function], w.binaries[function] = event, binaries[i]
	}
	return errors.Join(failures...)
}

// Close ends what NewWorkshop started.
func (w *Workshop) Close() error { return w.server.Close() }

func newClient(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// functions are those that operations call.
func functions(all []operation) []string {
	var names []string
	for _, o := range all {
		if !slices.Contains(names, o.function) {
			names = append(names, o.function)
		}
	}
	return names
}

// start runs a function, and returns it as a scene with its log.
func (w *Workshop) start(ctx context.Context, function string, env []string) (*scene, *journal, func() error, error) {
	log, err := os.CreateTemp(w.dir, "*.log")
	if err != nil {
		return nil, nil, nil, err
	}
	running, err := benchmark.Start(ctx, w.binaries[function], env, log)
	if err != nil {
		return nil, nil, nil, errors.Join(err, log.Close())
	}
	stop := func() error {
		running.Stop()
		return log.Close()
	}
	return &scene{client: w.client, events: w.events, running: running}, &journal{file: log}, stop, nil
}

// MeterAll measures every operation.
func (w *Workshop) MeterAll(ctx context.Context) ([]Request, error) {
	all := operations()
	requests := make([]Request, len(all))
	for i, o := range all {
		var err error
		if requests[i], err = w.meterOperation(ctx, o); err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return requests, nil
}

// repeated is how many requests of an operation are metered. They have to take the same of DynamoDB.
const repeated = 2

func (w *Workshop) meterOperation(ctx context.Context, o operation) (request Request, err error) {
	s, log, stop, err := w.start(ctx, o.function, environment(w.metered))
	if err != nil {
		return Request{}, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	events, err := o.requests(ctx, s, repeated)
	if err != nil {
		return Request{}, err
	}
	w.meter.Take()
	if _, err := log.take(); err != nil {
		return Request{}, err
	}
	for i, event := range events {
		answer, err := s.ask(event)
		if err != nil {
			return Request{}, err
		}
		if err := o.check(answer); err != nil {
			return Request{}, err
		}
		next := Request{
			Operation: o.name, Function: o.function, Calls: w.meter.Take(), BodyBytes: len(answer.Body), AnswerBytes: answer.size(),
		}
		if err := next.readLog(log); err != nil {
			return Request{}, err
		}
		if i > 0 && (next.Units() != request.Units() || len(next.Calls) != len(request.Calls) || !reflect.DeepEqual(next.Metrics, request.Metrics)) {
			return Request{}, fmt.Errorf("one request takes %+v, the next %+v", request, next)
		}
		next.LogBytes = max(next.LogBytes, request.LogBytes)
		request = next
	}
	return request, nil
}

// readLog reads what a request left in the log: its size, and its metrics in the embedded metric format
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
func (r *Request) readLog(log *journal) error {
	text, err := log.take()
	if err != nil {
		return err
	}
	r.LogBytes = len(text)
	for line := range strings.Lines(string(text)) {
		metrics, err := metricsOf([]byte(line))
		if err != nil {
			return fmt.Errorf("log line %q: %w", line, err)
		}
		r.Metrics = append(r.Metrics, metrics...)
	}
	slices.Sort(r.Metrics)
	return nil
}

func metricsOf(line []byte) ([]string, error) {
	var members map[string]any
	var embedded struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := errors.Join(json.Unmarshal(line, &members), json.Unmarshal(line, &embedded)); err != nil {
		return nil, err
	}
	var names []string
	for _, directive := range embedded.AWS.CloudWatchMetrics {
		for _, metric := range directive.Metrics {
			for _, dimensions := range directive.Dimensions {
				parts := []string{directive.Namespace, metric.Name}
				for _, dimension := range dimensions {
					parts = append(parts, fmt.Sprintf("%s=%v", dimension, members[dimension]))
				}
				names = append(names, strings.Join(parts, " "))
			}
		}
	}
	return names, nil
}

// MeterCode measures what it takes of DynamoDB to create a single-use code.
func (w *Workshop) MeterCode(ctx context.Context) (Request, error) {
	code, err := newCode()
	if err != nil {
		return Request{}, err
	}
	w.meter.Take()
	if err := createVoucher(ctx, newClient(w.metered), code, voucher.Terms{}); err != nil {
		return Request{}, err
	}
	return Request{Operation: "a single-use code is created", Calls: w.meter.Take()}, nil
}

// tables counts the tables that requests name, for each function anew.
func tables(requests []Request) int {
	pairs := make(map[string]bool)
	for _, r := range requests {
		for _, call := range r.Calls {
			for _, table := range call.Tables {
				pairs[r.Function+" "+table] = true
			}
		}
	}
	return len(pairs)
}

// metrics are all custom metrics that requests count in.
func metrics(requests []Request) []string {
	names := make(map[string]bool)
	for _, r := range requests {
		for _, name := range r.Metrics {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func say(progress io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(progress, format+"\n", args...) // nobody minds if it is not read
}
