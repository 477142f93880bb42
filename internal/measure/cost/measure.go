package cost

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/process"
	"shopfront/internal/memdynamo"
	"shopfront/pkg/voucher"
)

// storeDelay is how long the store takes to respond while functions are timed.
const storeDelay = 5 * time.Millisecond

const (
	// requests of each operation; the first also reads the shop's settings, so only the others must cost the same
	metered = 3
	starts  = 3  // of each operation's function, each with a first request
	warmUp  = 20 // requests before the timed ones
)

// Request holds what one request of an operation uses.
type Request struct {
	Operation string
	Function  string

	process.Figures

	Calls []memdynamo.Call
	// LogBytes is the size of the function's own log lines, BodyBytes that of the response's body, and ResponseBytes
	// that of the whole response. ResponseBytes is 0 if the request did not come from the gateway.
	LogBytes      int
	BodyBytes     int
	ResponseBytes int
	// Metrics are the custom metrics that the request emits, each with its dimensions.
	Metrics []string
}

// units adds up the units of all calls.
func (r Request) units() (units memdynamo.Units) {
	for _, call := range r.Calls {
		units = units.Plus(call.Units)
	}
	return units
}

// grown returns by how much a table grows, in bytes.
func (r Request) grown(table string) (bytes float64) {
	for _, call := range r.Calls {
		if slices.Contains(call.Tables, table) {
			bytes += float64(call.Grown)
		}
	}
	return bytes
}

// lab measures functions. It has their binaries, and one store that functions reach through a meter or through a delay.
type lab struct {
	fixture.Setup

	client   *dynamodb.Client
	meter    *memdynamo.Endpoint
	meterURL string
	paced    *memdynamo.Endpoint // responds after the delay
	pacedEnv []string            // of functions whose store is paced
	closeAll []func()
}

// newLab builds the functions, and fills a store. The caller must call close.
func newLab(ctx context.Context, setup fixture.Setup) (*lab, error) {
	store, err := fixture.NewStore(ctx, setup.Root)
	if err != nil {
		return nil, err
	}
	l := &lab{
		Setup: setup, client: fixture.Client(store.Endpoint(memdynamo.Dials{})),
		meter: store.Endpoint(memdynamo.Dials{Metered: true}),
		paced: store.Endpoint(memdynamo.Dials{Latency: storeDelay}),
	}
	var packages []string
	for _, o := range operations() {
		packages = append(packages, o.pkg())
	}
	if err := setup.Build(ctx, packages...); err != nil {
		return nil, err
	}
	paced, env, err := fixture.ServeTLS(l.paced, setup.Dir)
	if err != nil {
		return nil, err
	}
	meter := httptest.NewServer(l.meter)
	l.meterURL, l.pacedEnv, l.closeAll = meter.URL, env, []func(){meter.Close, paced.Close}
	return l, nil
}

func (l *lab) close() {
	for _, stop := range l.closeAll {
		stop()
	}
}

// measure meters an operation. It also times as many warm requests as the parameter requests says, unless that is 0.
func (l *lab) measure(ctx context.Context, o operation, requests int) (Request, error) {
	request, events, err := l.meterRequests(ctx, o, requests)
	if err == nil && requests > 0 {
		request.Figures, err = l.timeRequests(ctx, o, events)
	}
	if err != nil {
		return Request{}, fmt.Errorf("%s: %w", o.name, err)
	}
	return request, nil
}

// meterRequests meters an operation. It also returns events that have not been sent yet, for timing.
func (l *lab) meterRequests(
	ctx context.Context, o operation, requests int,
) (request Request, events [][]byte, err error) {
	file, err := os.CreateTemp(l.Dir, "*.log")
	if err != nil {
		return Request{}, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sample, err := fixture.ReadEvent(l.Root, o.function)
	if err != nil {
		return Request{}, nil, err
	}
	p, err := process.Start(ctx, l.Binary(o.pkg()), fixture.Environment(l.meterURL), file)
	if err != nil {
		return Request{}, nil, err
	}
	defer p.Stop()
	next, err := o.prepare(ctx, &scene{client: l.client, event: sample, process: p})
	if err != nil {
		return Request{}, nil, err
	}
	count := metered
	if requests > 0 {
		count += starts + warmUp + requests
	}
	for range count {
		event, err := next()
		if err != nil {
			return Request{}, nil, err
		}
		events = append(events, event)
	}
	for i, event := range events[:metered] {
		another, err := l.meterRequest(o, p, event, file)
		if err != nil {
			return Request{}, nil, err
		}
		if i == 0 && o.name == pollFeed { // polls are so far apart that each reads the shop's settings and its key
			return another, events[metered:], nil
		}
		if i > 1 && (another.units() != request.units() || len(another.Calls) != len(request.Calls) ||
			!reflect.DeepEqual(another.Metrics, request.Metrics)) {
			return Request{}, nil, fmt.Errorf("two requests of one operation must use the same, but one uses %+v, "+
				"and the next one %+v", request, another)
		}
		if i > 0 {
			another.LogBytes = max(another.LogBytes, request.LogBytes)
			request = another
		}
	}
	return request, events[metered:], nil
}

// meterRequest sends one event to a process, and meters it. The process writes its log to the given file.
func (l *lab) meterRequest(o operation, p *runtimeapi.Process, event []byte, file *os.File) (Request, error) {
	l.meter.Take()
	before, err := os.ReadFile(file.Name())
	if err != nil {
		return Request{}, err
	}
	text, _, err := p.Invoke(event)
	if err != nil {
		return Request{}, err
	}
	log, err := os.ReadFile(file.Name())
	if err != nil {
		return Request{}, err
	}
	return o.read(text, log[len(before):], l.meter.Take())
}

// read collects what a request used, without its times.
func (o operation) read(text, log []byte, calls []memdynamo.Call) (Request, error) {
	if err := o.check(text); err != nil {
		return Request{}, err
	}
	response, err := parseResponse(text)
	if err != nil {
		return Request{}, err
	}
	r := Request{
		Operation: o.name, Function: o.function, Calls: calls, LogBytes: len(log), BodyBytes: len(response.Body),
	}
	if o.status != 0 {
		r.ResponseBytes = size(response)
	}
	for line := range strings.Lines(string(log)) {
		metrics, err := metricsOf([]byte(line))
		if err != nil {
			return Request{}, err
		}
		r.Metrics = append(r.Metrics, metrics...)
	}
	slices.Sort(r.Metrics)
	return r, nil
}

// timeRequests starts processes, each of which gets a first request. The last process also gets all other requests.
func (l *lab) timeRequests(ctx context.Context, o operation, events [][]byte) (process.Figures, error) {
	trial := process.Trial{Binary: l.Binary(o.pkg()), Env: l.pacedEnv, Check: o.check}
	defer trial.Stop()
	for _, event := range events[:starts] {
		if err := trial.Start(ctx, event); err != nil {
			return process.Figures{}, err
		}
	}
	events = events[starts:]
	if err := trial.WarmUp(ctx, events[:warmUp]); err != nil {
		return process.Figures{}, err
	}
	if err := trial.Measure(ctx, events[warmUp:]); err != nil {
		return process.Figures{}, err
	}
	return trial.Figures()
}

// createCode meters the creation of a single-use code.
func (l *lab) createCode(ctx context.Context) (Request, error) {
	l.meter.Take()
	_, err := (&scene{client: fixture.Client(l.meter)}).create(ctx, voucher.Terms{})
	return Request{Operation: "a single-use code is created", Calls: l.meter.Take()}, err
}
