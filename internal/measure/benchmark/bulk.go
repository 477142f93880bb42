package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/reference"
	"shopfront/internal/measure/table"
	"shopfront/internal/memdynamo"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// Targets of the commands that work on many vouchers.
const (
	leastOfBare    = 0.7         // of the bare loop's rate, for commands that write a new item for each voucher
	mostBulkMemory = 150_000_000 // bytes, resident
	leastJudged    = 20_000      // codes; with fewer, the rate depends too much on how busy the machine is
)

// Bulk holds how fast shopctl works on many vouchers, compared with a bare loop of the PutItem calls that create
// vouchers.
type Bulk struct {
	Count    int             // vouchers
	Bare     map[int]float64 // the bare loop's rate, in items a second, by the number of calls in flight
	Commands []BulkCommand
}

// BulkCommand holds the figures of a command.
type BulkCommand struct {
	Name    string
	Target  float64 // the least allowed OfBare; 0 if there is no target
	Seconds float64
	OfBare  float64 // vouchers a second ÷ items a second of the best bare loop
	// Memory is the largest resident size of shopctl, in bytes. It is an upper bound: Linux also counts the size that the
	// benchmark's own process has when it starts shopctl.
	Memory int64
}

const shopctlPackage = "cmd/shopctl"

// bulkRun is one run of TimeBulk.
type bulkRun struct {
	fixture.Setup
	*Bulk

	client *dynamodb.Client
	item   map[string]types.AttributeValue // a voucher
}

// TimeBulk runs each command of the built shopctl once, on count vouchers. The store takes 5 ms for each call. Its
// vouchers table has no stream, whose records would take much memory.
func TimeBulk(ctx context.Context, setup fixture.Setup, count int) (*Bulk, error) {
	if err := setup.Build(ctx, shopctlPackage); err != nil {
		return nil, err
	}
	stored, err := fixture.NewStore(ctx, setup.Root)
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(stored.Endpoint(memdynamo.Dials{Latency: storeDelay}))
	defer server.Close()
	connections := awshttp.NewBuildableClient().WithTransportOptions(
		func(t *http.Transport) { t.MaxIdleConnsPerHost = backoffice.MaxWriters },
	)
	run := &bulkRun{
		Setup: setup, Bulk: &Bulk{Count: count, Bare: map[int]float64{}},
		client: dynamodb.New(fixture.Client(connections).Options(), func(o *dynamodb.Options) {
			o.BaseEndpoint = &server.URL
		}),
	}
	if err := run.prepare(ctx, server.URL); err != nil {
		return nil, err
	}
	return run.Bulk, run.commands(ctx)
}

// prepare lets shopctl --local find the tables, and warms up the store.
func (b *bulkRun) prepare(ctx context.Context, endpoint string) error {
	_, err := b.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:           aws.String(fixture.VouchersTable),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	})
	state := localrun.State{
		BaseURL: "http://127.0.0.1", DynamoDBEndpoint: endpoint, Region: "us-east-1", PID: os.Getpid(),
		Tables: backoffice.Tables{
			Catalogue: fixture.CatalogueTable, Vouchers: fixture.VouchersTable,
			Checkouts: fixture.CheckoutsTable,
		},
	}
	if err := errors.Join(err, os.WriteFile(filepath.Join(b.Dir, samtemplate.File), nil, 0o600),
		state.Write(b.Dir)); err != nil {
		return err
	}
	const sample = "SPARE" // in canonical form
	terms := voucher.Terms{
		Written: sample, Batch: "launch", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
	if err := fixture.CreateVoucher(ctx, b.client, terms); err != nil {
		return err
	}
	read, err := b.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(fixture.VouchersTable), Key: reference.VoucherKey(string(fixture.ShopID), sample),
	})
	if err != nil {
		return err
	}
	b.item = read.Item
	_, err = b.loop(ctx, 16)
	return err
}

// loop is the bare loop. It creates items with the given number of calls in flight, and returns its rate in items a
// second.
func (b *bulkRun) loop(ctx context.Context, calls int) (float64, error) {
	items := int64(min(max(b.Count/5, 100), 20_000))
	began := time.Now()
	writers, ctx := errgroup.WithContext(ctx)
	var begun atomic.Int64
	for range calls {
		writers.Go(func() error {
			for n := begun.Add(1); n <= items; n = begun.Add(1) {
				code, err := fixture.NewCode()
				if err != nil {
					return err
				}
				item := maps.Clone(b.item)
				item["customer"] = &types.AttributeValueMemberS{Value: fmt.Sprintf("bare#%02d", n%64)}
				item["sk"] = &types.AttributeValueMemberS{Value: code}
				if _, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{
					TableName: aws.String(fixture.VouchersTable), Item: item,
					ConditionExpression: aws.String("attribute_not_exists(sk)"),
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := writers.Wait()
	return float64(items) / time.Since(began).Seconds(), err
}

// commands measures the commands. It divides the rate of a command with a target by the mean of the bare loop's rates
// before and after the command, and the rate of any other command by the bare loop's latest rate.
func (b *bulkRun) commands(ctx context.Context) error {
	const sold, resold = "emberforge-sold", "sakura-resold"
	for _, id := range []catalog.ShopID{sold, resold} {
		profile := catalog.Profile{ID: id, Name: string(id), Currency: "EUR"}
		if err := fixture.Shop(b.client, id).PutProfile(ctx, profile); err != nil {
			return err
		}
	}
	best, before := 0, 0.0
	for _, calls := range inFlight() {
		rate, err := b.loop(ctx, calls)
		if err != nil {
			return err
		}
		if b.Bare[calls] = rate; rate > before {
			best, before = calls, rate
		}
	}
	codes := strconv.Itoa(b.Count)
	for _, command := range []struct {
		name, arguments string
		target          float64
	}{
		{"generate", "voucher generate " + sold + " --count " + codes + " --reward 20% --batch launch", leastOfBare},
		{"export", "voucher export " + sold, 0},
		{"import", "voucher import " + resold + " export", leastOfBare},
		{"list", "voucher list " + resold, 0},
		{"disable", "voucher disable " + resold + " --batch launch", 0},
		{"pause", "voucher pause " + resold, 0},
		{"resume", "voucher resume " + resold, 0},
	} {
		b.Say("shopctl %s", command.arguments)
		seconds, memory, err := b.shopctl(ctx, command.name, command.arguments)
		if err != nil {
			return err
		}
		after := before
		if command.target > 0 {
			if after, err = b.loop(ctx, best); err != nil {
				return err
			}
		}
		ofBare := float64(b.Count) / seconds / ((before + after) / 2)
		b.Commands = append(b.Commands, BulkCommand{command.name, command.target, seconds, ofBare, memory})
		before = after
	}
	return nil
}

// inFlight lists the numbers of calls in flight with which the bare loop runs.
func inFlight() []int { return []int{1, 4, 16, 64} }

// shopctl runs a command line, and writes its output to a file with the given name. It returns how many seconds the
// command took, and its peak memory in bytes.
func (b *bulkRun) shopctl(ctx context.Context, name, arguments string) (seconds float64, memory int64, err error) {
	output, err := os.Create(filepath.Join(b.Dir, name)) //nolint:gosec // in our own directory
	if err != nil {
		return 0, 0, err
	}
	command := exec.CommandContext(ctx, b.Binary(shopctlPackage), append([]string{"--local"}, strings.Fields(arguments)...)...) //nolint:gosec // the project's own program
	command.Dir, command.Stdout, command.Stderr = b.Dir, output, b.Progress
	began := time.Now()
	err = command.Run()
	seconds = time.Since(began).Seconds()
	if err := errors.Join(err, output.Close()); err != nil {
		return 0, 0, fmt.Errorf("shopctl %s: %w", arguments, err)
	}
	usage, is := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !is {
		return 0, 0, errors.New("this system does not report the memory of a process")
	}
	if memory = usage.Maxrss; runtime.GOOS == "linux" {
		memory <<= 10 // Linux reports kilobytes (getrusage(2)), macOS bytes
	}
	return seconds, memory, nil
}

// Print writes the report for people.
func (b *Bulk) Print(w io.Writer) error {
	rows := [][]string{{"command", "seconds", "codes a second", "÷ bare loop", "target", "memory MB"}}
	for _, calls := range inFlight() {
		name, rate := fmt.Sprintf("bare loop, %d in flight", calls), fmt.Sprintf("%.0f", b.Bare[calls])
		rows = append(rows, []string{name, "", rate, "", "", ""})
	}
	for _, c := range b.Commands {
		target := ""
		if c.Target > 0 {
			target = fmt.Sprintf("≥ %g", c.Target)
		}
		rows = append(rows, []string{
			"voucher " + c.Name, fmt.Sprintf("%.2f", c.Seconds), fmt.Sprintf("%.0f", float64(b.Count)/c.Seconds),
			fmt.Sprintf("%.2f", c.OfBare), target, fmt.Sprintf("%.0f", float64(c.Memory)/1e6),
		})
	}
	_, err := fmt.Fprintf(w, "%d codes of one shop; the store takes %v for each call\n\n%s", b.Count, storeDelay,
		table.Align(1, rows))
	return err
}

// Missed returns an error that names the targets that were missed. With fewer than leastJudged codes it judges only the
// memory.
func (b *Bulk) Missed() error {
	var missed []error
	for _, c := range b.Commands {
		if c.OfBare < c.Target && b.Count >= leastJudged {
			missed = append(missed, fmt.Errorf("voucher %s reaches %.2f of the bare loop's rate, want %g", c.Name,
				c.OfBare, c.Target))
		}
		if c.Memory > mostBulkMemory {
			missed = append(missed, fmt.Errorf("voucher %s takes %d MB, want at most %d MB", c.Name, c.Memory/1e6,
				mostBulkMemory/1_000_000))
		}
	}
	return errors.Join(missed...)
}
