package cost

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"shopfront/internal/measure/cost/pricing"
)

// Instance is what a function runs in.
type Instance struct {
	MemoryMB int `json:"memoryMB"`
}

const (
	// wholeProcessorMB is how much memory comes with one processor; less memory comes with that much less of it
	// (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
	wholeProcessorMB = 1769
	// meteredBytes is how much of a body the gateway counts as one request (https://aws.amazon.com/api-gateway/pricing/).
	meteredBytes = 512 << 10
	// eventOverhead is what CloudWatch Logs stores for each event beside its text, in bytes
	// (https://aws.amazon.com/cloudwatch/pricing/).
	eventOverhead = 26
)

// Billed is how long Lambda bills for what took a time and processor time here, with a whole processor: an instance with a part
// of one takes that much longer to compute, and waits for the store as long. It is rounded up to milliseconds. That overstates it,
// for what is computed while the function waits costs no time.
func (i Instance) Billed(took, cpu time.Duration) time.Duration {
	stretched := took
	if i.MemoryMB < wholeProcessorMB {
		stretched += cpu * time.Duration(wholeProcessorMB-i.MemoryMB) / time.Duration(i.MemoryMB)
	}
	return (stretched + time.Millisecond - 1).Truncate(time.Millisecond)
}

// platformLines are what Lambda logs of a request in its text format, and more where it is the first of an instance
// (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html).
func (i Instance) platformLines(billed, start time.Duration) []string {
	const (
		id      = "RequestId: 8f5071d0-7b7f-4d7c-8d7f-0d7f5e1f2a3b"
		version = "arn:aws:lambda:us-east-1::runtime:0000000000000000000000000000000000000000000000000000000000000000"
	)
	milliseconds := func(d time.Duration) string { return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 2, 64) }
	report := fmt.Sprintf("REPORT %s\tDuration: %s ms\tBilled Duration: %d ms\tMemory Size: %d MB\tMax Memory Used: 30 MB\t",
		id, milliseconds(billed), (billed + start).Milliseconds(), i.MemoryMB)
	lines := []string{"START " + id + " Version: $LATEST\n", "END " + id + "\n"}
	if start > 0 {
		lines = append(lines, "INIT_START Runtime Version: provided:al2023.v100\tRuntime Version ARN: "+version+"\n")
		report += "Init Duration: " + milliseconds(start) + " ms\t"
	}
	return append(lines, report+"\n")
}

// Line is what one request of an operation takes of everything that AWS bills for it.
type Line struct {
	Request

	Time
	Start

	// BilledWarm is what Lambda bills for a warm request, BilledCold for the first one of an instance, start included.
	BilledWarm time.Duration `json:"billedWarm"`
	BilledCold time.Duration `json:"billedCold"`
	// WarmLogBytes and ColdLogBytes are what a request leaves in the logs, the lines of Lambda included.
	WarmLogBytes int `json:"warmLogBytes"`
	ColdLogBytes int `json:"coldLogBytes"`

	memory    int
	logEvents int64
}

// newLine puts together what was measured of an operation.
func newLine(r Request, t Time, s Start, i Instance) Line {
	start := i.Billed(s.Ready, s.ReadyCPU)
	first := i.Billed(t.First, t.FirstCPU)
	line := Line{
		Request: r, Time: t, Start: s, memory: i.MemoryMB, BilledWarm: i.Billed(t.Warm, t.WarmCPU), BilledCold: start + first, logEvents: 1,
	}
	warm, cold := i.platformLines(line.BilledWarm, 0), i.platformLines(first, start)
	line.WarmLogBytes = r.LogBytes + len(strings.Join(warm, ""))
	line.ColdLogBytes = r.LogBytes + len(strings.Join(cold, ""))
	line.logEvents += int64(len(cold))
	return line
}

// usage is what one request uses on average, where a share of them, from 0 to 1, is the first of its instance. An instance opens a
// connection to DynamoDB of its own, and DynamoDB asks KMS for the key of each table that is used over it.
func (l Line) usage(cold *big.Rat) pricing.Usage {
	average := func(warm, first int64) *big.Rat {
		difference := new(big.Rat).Mul(cold, big.NewRat(first-warm, 1))
		return difference.Add(difference, big.NewRat(warm, 1))
	}
	u := make(pricing.Usage)
	u.AddWhole(pricing.APIRequests, max(1, int64(l.BodyBytes+meteredBytes-1)/meteredBytes))
	u.AddWhole(pricing.LambdaRequests, 1)
	u.Add(pricing.LambdaMBMillis, new(big.Rat).Mul(big.NewRat(int64(l.memory), 1), average(l.BilledWarm.Milliseconds(), l.BilledCold.Milliseconds())))
	logged := average(int64(l.WarmLogBytes), int64(l.ColdLogBytes))
	u.Add(pricing.LogBytes, logged)
	l.addStore(u)
	u.Add(pricing.KeyRequests, new(big.Rat).Mul(cold, big.NewRat(int64(tables([]Request{l.Request})), 1)))
	u.AddWhole(pricing.TransferBytes, int64(l.AnswerBytes))
	return u
}

// addStore adds what the calls of DynamoDB use. Units are halves at the least, which are exact.
func (r Request) addStore(u pricing.Usage) {
	units := r.Units()
	u.Add(pricing.ReadRequestUnits, new(big.Rat).SetFloat64(units.Read))
	u.Add(pricing.WriteRequestUnits, new(big.Rat).SetFloat64(units.Write))
}

// stored is how many bytes a request leaves in the logs while they are kept, uncompressed: an upper bound of what is billed.
func (l Line) stored() int64 { return int64(l.ColdLogBytes) + eventOverhead*l.logEvents }
