package cost

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/pricing"
)

const (
	// wholeProcessorMB is the memory size at which Lambda gives one whole processor. Less memory gets a proportional
	// share (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
	wholeProcessorMB = 1769
	// The gateway counts each started meteredBytes of a body as one request
	// (https://aws.amazon.com/api-gateway/pricing/).
	meteredBytes = 512 << 10
	// eventOverhead is what CloudWatch Logs stores for each event in addition to its text, in bytes
	// (https://aws.amazon.com/cloudwatch/pricing/).
	eventOverhead = 26
	// checkoutDays is how long a checkout without an order is stored: it expires after half an hour, is due for
	// deletion 8 days later, and DynamoDB may take a few more days.
	checkoutDays = 11
	// eventDays is how long an event is stored. That is longer than shops are promised.
	eventDays = 100
	// indexedBytes is the size of a redemption's entry in the index of nicks. DynamoDB does not delete the entry when
	// the event expires.
	indexedBytes = 227
	monthDays    = 30
	// keyRequestsPerHour is how often DynamoDB asks KMS for a table's key over one connection: at most every five
	// minutes
	// (https://aws.amazon.com/blogs/database/understanding-amazon-dynamodb-encryption-by-using-aws-key-management-service-and-analysis-of-api-calls-with-amazon-athena/).
	keyRequestsPerHour = 12
)

// billed returns the duration that Lambda bills, from the duration and the processor time measured here. A Lambda
// instance has only a share of a processor, so computing takes proportionally longer; waiting does not. The result is
// rounded up to milliseconds. It is an upper bound, because computing that overlaps with waiting takes no extra time.
func billed(memoryMB int, took, cpu time.Duration) time.Duration {
	if memoryMB < wholeProcessorMB {
		took += cpu * time.Duration(wholeProcessorMB-memoryMB) / time.Duration(memoryMB)
	}
	return (took + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Lambda itself logs START, END and REPORT for each request in its text format, each with the request's ID. For the
// first request of an instance it also logs INIT_START with the version of the runtime, and adds the duration of the
// start to REPORT (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html).
const (
	platformBytes = len("START RequestId: 8f5071d0-7b7f-4d7c-8d7f-0d7f5e1f2a3b Version: $LATEST\n" +
		"END RequestId: 8f5071d0-7b7f-4d7c-8d7f-0d7f5e1f2a3b\n" +
		"REPORT RequestId: 8f5071d0-7b7f-4d7c-8d7f-0d7f5e1f2a3b\t" +
		"Duration: 10.00 ms\tBilled Duration: 10 ms\tMemory Size: 256 MB\tMax Memory Used: 30 MB\t\n")
	platformStartBytes = len("INIT_START Runtime Version: provided:al2023.v100\tRuntime Version ARN: " +
		"arn:aws:lambda:us-east-1::runtime:" +
		"0000000000000000000000000000000000000000000000000000000000000000\n" + "Init Duration: 100.00 ms\t")
	// coldEvents is the number of log events of a first request: four lines by Lambda, and one line by the function.
	coldEvents = 5
)

// Line is a request with Lambda's bill for it.
type Line struct {
	Request

	// BilledWarm is for a warm request. BilledCold is for the first request of an instance, and includes the start.
	BilledWarm time.Duration
	BilledCold time.Duration
	// WarmLogBytes and ColdLogBytes are the sizes of the logs, with Lambda's own lines.
	WarmLogBytes int
	ColdLogBytes int

	memoryMB int
}

func newLine(r Request, memoryMB int) Line {
	start, first, warm := billed(memoryMB, r.Ready, r.ReadyCPU), billed(memoryMB, r.First, r.FirstCPU),
		billed(memoryMB, r.Warm, r.WarmCPU)
	return Line{
		Request: r, BilledWarm: warm, BilledCold: start + first, memoryMB: memoryMB,
		WarmLogBytes: r.LogBytes + platformBytes, ColdLogBytes: r.LogBytes + platformBytes + platformStartBytes,
	}
}

// usage returns the average usage of a request. The argument cold is the fraction of the requests, from 0 to 1, that
// are the first of their instance. Each instance opens its own connection to DynamoDB, and DynamoDB asks KMS for the
// key of each table used over the connection.
func (l Line) usage(cold float64) pricing.Usage {
	average := func(warm, first int) float64 { return float64(warm) + cold*float64(first-warm) }
	u := l.stored()
	u[pricing.LambdaRequests] = 1
	u[pricing.LambdaMBMillis] = float64(l.memoryMB) *
		average(int(l.BilledWarm.Milliseconds()), int(l.BilledCold.Milliseconds()))
	u[pricing.LogBytes] = average(l.WarmLogBytes, l.ColdLogBytes)
	u[pricing.KeyRequests] = cold * tables([]Line{l})
	u[pricing.TransferBytes] = float64(l.ResponseBytes)
	if l.ResponseBytes > 0 {
		u[pricing.APIRequests] = max(1, math.Ceil(float64(l.BodyBytes)/meteredBytes))
	}
	if l.Function == publishEvents {
		u[pricing.BusEvents] = 1
	}
	return u
}

// stored returns the units of the calls.
func (r Request) stored() pricing.Usage {
	u := make(pricing.Usage)
	u[pricing.ReadRequestUnits], u[pricing.WriteRequestUnits] = r.units().Read, r.units().Write
	return u
}

// tables counts the pairs of a function and a table that it uses.
func tables(lines []Line) float64 {
	pairs := make(map[string]bool)
	for _, line := range lines {
		for _, call := range line.Calls {
			for _, table := range call.Tables {
				pairs[line.Function+" "+table] = true
			}
		}
	}
	return float64(len(pairs))
}

// ShopMonth is what an example shop uses in a month; shops.yaml explains the fields.
type ShopMonth struct {
	Name             string             `yaml:"name"`
	Description      string             `yaml:"description"`
	Requests         map[string]float64 `yaml:"requests"`
	Preflights       float64            `yaml:"preflights"`
	Codes            float64            `yaml:"codes"`
	RequestsPerStart float64            `yaml:"requestsPerStart"`
	Hours            float64            `yaml:"hours"`
	Instances        float64            `yaml:"instances"`
	Months           float64            `yaml:"months"`
	Watched          bool               `yaml:"watched"`
}

//go:embed shops.yaml
var shopsFile []byte

func readShops() (shops []ShopMonth, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(shopsFile))
	decoder.KnownFields(true)
	if err := decoder.Decode(&shops); err != nil {
		return nil, fmt.Errorf("shops.yaml: %w", err)
	}
	return shops, nil
}

// monthly returns what a shop uses in a month. The argument code holds the calls that create a single-use code.
func (s ShopMonth) monthly(lines []Line, code Request, alarmMetrics int) pricing.Usage {
	u, metrics := make(pricing.Usage), make(map[string]bool)
	var sent []Line
	stays, checkedOut, events, indexed := s.Codes*code.grown(fixture.VouchersTable), 0.0, 0.0, 0.0
	for _, line := range lines {
		count := s.Requests[line.Operation]
		if count == 0 {
			continue
		}
		sent = append(sent, line)
		u.Add(line.usage(1/s.RequestsPerStart), count)
		stays += count * line.grown(fixture.VouchersTable)
		if grown := line.grown(fixture.EventsTable); grown > 0 {
			indexed += count * eventsIn(line.Operation) * indexedBytes
			events += count * (grown - eventsIn(line.Operation)*indexedBytes)
		}
		switch grown, orders := line.grown(fixture.CheckoutsTable), s.Requests[placeOrder]; {
		case line.Operation == checkOutKey: // a checkout that becomes an order is not deleted
			checkedOut += (count - orders) * grown
			stays += orders * grown
		case line.Function == checkout:
			checkedOut += count * grown
		default:
			stays += count * grown
		}
		// Logs are billed compressed; uncompressed bytes are an upper bound.
		u[pricing.LogByteMonths] += count * float64(line.ColdLogBytes+eventOverhead*coldEvents)
		for _, metric := range line.Metrics {
			metrics[metric] = true
		}
	}
	u[pricing.APIRequests] += s.Preflights
	u.Add(code.stored(), s.Codes)
	stored := stays*s.Months + checkedOut*checkoutDays/monthDays
	u[pricing.TableByteMonths] = stored + events*eventDays/monthDays + indexed*s.Months
	u[pricing.BackupByteMonths] = stored
	u[pricing.MetricHours] = float64(len(metrics)) * s.Hours
	u[pricing.KeyRequests] += tables(sent) * s.Instances * s.Hours * keyRequestsPerHour
	if s.Watched {
		u[pricing.AlarmMonths], u[pricing.DashboardMonths], u[pricing.KeyMonths] = float64(alarmMetrics), 1, 1
	}
	return u
}
