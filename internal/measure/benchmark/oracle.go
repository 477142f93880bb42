package benchmark

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/measure/reference"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// codesOfKind is how many codes there are of each kind, so that nothing hangs on a single one.
const codesOfKind = 32

// significant is below which probability of chance two distributions are said to differ.
const significant = 0.01

// Oracle is how refused requests differ in time, by which a stranger might tell which codes exist: a time oracle.
type Oracle struct {
	Samples  int       `json:"samples"` // of each kind
	Refusals []Refusal `json:"refusals"`
}

// Refusal is one kind of refused request, compared with an unknown code's.
type Refusal struct {
	Code string `json:"code"` // what is wrong with it
	Key  bool   `json:"key"`  // whether the request has an Idempotency-Key
	// Calls is how many calls of the store a request makes, on average.
	Calls float64 `json:"calls"`

	P50 time.Duration `json:"p50"`
	P95 time.Duration `json:"p95"`
	// Apart is by how much its p50 is above that of an unknown code, as a part of that; below it where negative.
	Apart float64 `json:"apart"`
	// Superiority is how likely it takes longer than an unknown code; 0.5: neither tends to take longer.
	Superiority float64 `json:"superiority"`
	// RankP and DistanceP are how likely such samples are, or more different ones, where times tell nothing: by the tests of Mann
	// and Whitney, and of Kolmogorov and Smirnov, whose Distance it is.
	RankP     float64 `json:"rankP"`
	Distance  float64 `json:"distance"`
	DistanceP float64 `json:"distanceP"`
	// ToTell is how many requests of each of two codes, one unknown and one of this kind, it takes to tell them apart by Superiority
	// with errors of 5 %. Where the ranks do not differ significantly it is the least number that the samples do not rule out.
	ToTell int `json:"toTell"`
}

func (r Refusal) differs() bool { return r.RankP < significant }

// Apart is the greatest distance of a refusal's p50 from that of an unknown code, as a part of that.
func (o Oracle) Apart() float64 {
	apart := 0.0
	for _, r := range o.Refusals {
		apart = max(apart, math.Abs(r.Apart))
	}
	return apart
}

const unknownCode = "unknown"

// refusedCode is one kind of code that is refused; make creates one.
type refusedCode struct {
	name  string
	make  func(ctx context.Context, client *dynamodb.Client, code string) error
	codes []string
}

// create makes the kind's codes.
func (k *refusedCode) create(ctx context.Context, client *dynamodb.Client) error {
	for range codesOfKind {
		typed, err := voucher.GenerateCode(rand.Reader)
		if err != nil {
			return err
		}
		code, err := voucher.ParseCode(typed)
		if err != nil {
			return err
		}
		if err := k.make(ctx, client, string(code)); err != nil {
			return fmt.Errorf("a code that is %s: %w", k.name, err)
		}
		k.codes = append(k.codes, string(code))
	}
	return nil
}

func refusedCodes() []*refusedCode {
	with := func(terms voucher.Terms) func(context.Context, *dynamodb.Client, string) error {
		return func(ctx context.Context, client *dynamodb.Client, code string) error {
			terms.Written = code
			return createVoucher(ctx, client, terms)
		}
	}
	yesterday, tomorrow := time.Now().AddDate(0, 0, -1), time.Now().AddDate(0, 0, 1)
	hundred := voucher.Limit(100)
	return []*refusedCode{
		{name: unknownCode, make: func(context.Context, *dynamodb.Client, string) error { return nil }},
		{name: "expired", make: with(voucher.Terms{ValidUntil: yesterday})},
		{name: "not started", make: with(voucher.Terms{ValidFrom: tomorrow})},
		{name: "disabled", make: with(voucher.Terms{Disabled: true})},
		{name: "used up", make: makeUsedUp},
		{name: "bound to another nick", make: with(voucher.Terms{Nick: "Rowan"})},
		{name: "many uses, expired", make: with(voucher.Terms{MaxUses: &hundred, ValidUntil: yesterday})},
		{name: "many uses, used up", make: makeFull},
	}
}

func makeUsedUp(ctx context.Context, client *dynamodb.Client, code string) error {
	if err := createVoucher(ctx, client, voucher.Terms{Written: code}); err != nil {
		return err
	}
	nick, err := voucher.ParseNick("Rowan")
	if err != nil {
		return err
	}
	id, err := idempotency.NewToken(rand.Reader)
	if err != nil {
		return err
	}
	_, err = dynamo.NewRedemptions(client, VouchersTable, mathrand.Int64N).Redeem(ctx, voucher.Claim{
		Request: voucher.Request{Customer: Customer, Code: voucher.Code(code), Nick: nick, At: time.Now()}, RedemptionID: string(id), Token: id,
	})
	return err
}

// makeFull makes a code of many uses that is marked used up, as the last redemption but one leaves it.
func makeFull(ctx context.Context, client *dynamodb.Client, code string) error {
	limit := voucher.Limit(100)
	if err := createVoucher(ctx, client, voucher.Terms{Written: code, MaxUses: &limit}); err != nil {
		return err
	}
	read, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(VouchersTable), Key: reference.VoucherKey(string(Customer), code)})
	if err != nil {
		return err
	}
	read.Item["full"] = &types.AttributeValueMemberBOOL{Value: true}
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(VouchersTable), Item: read.Item})
	return err
}

// TimeRefusals builds the function that redeems, and times the refusals of its requests.
func TimeRefusals(ctx context.Context, options Options) (o Oracle, err error) {
	dir, err := os.MkdirTemp("", "shopfront-oracle-")
	if err != nil {
		return Oracle{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := Build(ctx, options.Root, dir, redeemVoucher)
	if err != nil {
		return Oracle{}, err
	}
	return timeRefusals(ctx, options, binary, dir)
}

// refusedRequest is one kind of request that is refused, how long each of them took, and how many calls all of them made.
type refusedRequest struct {
	code  *refusedCode
	keyed bool
	times []time.Duration
	calls int64
}

// timeRefusals sends requests of each kind in turn, in a new order each time, to one process.
func timeRefusals(ctx context.Context, options Options, binary, dir string) (o Oracle, err error) {
	kinds := refusedCodes()
	s, err := startStub(ctx, dir, stubSteady, steadyDelay, func(ctx context.Context, client *dynamodb.Client) error {
		for _, kind := range kinds {
			if err := kind.create(ctx, client); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Oracle{}, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	event, err := ReadEvent(options.Root, "redeem-voucher")
	if err != nil {
		return Oracle{}, err
	}
	p, _, err := start(ctx, binary, s.environment(""))
	if err != nil {
		return Oracle{}, err
	}
	defer p.stop()
	var requests []*refusedRequest
	for _, kind := range kinds {
		requests = append(requests, &refusedRequest{code: kind}, &refusedRequest{code: kind, keyed: true})
	}
	for sample := -min(codesOfKind, options.Samples); sample < options.Samples; sample++ { // those below zero warm up
		if ctx.Err() != nil {
			return Oracle{}, ctx.Err()
		}
		for _, at := range mathrand.Perm(len(requests)) { //nolint:gosec // an order, and no secret
			calls := s.answered()
			took, err := requests[at].send(p, event, sample+codesOfKind)
			if err != nil {
				return Oracle{}, err
			}
			if sample >= 0 {
				requests[at].times = append(requests[at].times, took)
				requests[at].calls += s.answered() - calls
			}
		}
	}
	return judgeTimes(requests), nil
}

// send sends the request with one of its codes, and returns how long the refusal took.
func (r *refusedRequest) send(p *process, event Event, turn int) (time.Duration, error) {
	key := ""
	if r.keyed {
		key = rand.Text()
	}
	request, err := event.Redemption(r.code.codes[turn%codesOfKind], "Alder", key)
	if err != nil {
		return 0, err
	}
	answer, took, err := p.invoke(request)
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(answer, []byte("voucher-not-found")) {
		return 0, fmt.Errorf("a code that is %s was answered %.200q", r.code.name, answer)
	}
	return took, nil
}

// judgeTimes compares the times of each kind of request with those of the requests with an unknown code, which come first:
// those with a key with those with a key.
func judgeTimes(requests []*refusedRequest) Oracle {
	o := Oracle{Samples: len(requests[0].times)}
	unknown := make(map[bool][]time.Duration)
	for _, r := range requests {
		if r.code.name == unknownCode {
			unknown[r.keyed] = r.times
		}
		p50, unknownP50 := quantile(r.times, 0.5), quantile(unknown[r.keyed], 0.5)
		compared := compare(unknown[r.keyed], r.times)
		refusal := Refusal{
			Code: r.code.name, Key: r.keyed, Calls: float64(r.calls) / float64(len(r.times)), P50: p50, P95: quantile(r.times, 0.95),
			Apart: float64(p50-unknownP50) / float64(unknownP50), Superiority: compared.Superiority, RankP: compared.RankP,
			Distance: compared.Distance, DistanceP: compared.DistanceP,
		}
		effect := math.Abs(refusal.Superiority - 0.5)
		if !refusal.differs() {
			effect += uncertainty(len(r.times))
		}
		refusal.ToTell = int(math.Ceil(samplesToTell(effect)))
		o.Refusals = append(o.Refusals, refusal)
	}
	return o
}

// Print writes the comparison for people.
func (o Oracle) Print(w io.Writer) error {
	kinds := table{right: true}
	kinds.row("code", "key", "calls", "p50 ms", "p95 ms", "p50 apart", "longer", "by chance (ranks)", "distance", "by chance (distance)", "requests to tell")
	for _, r := range o.Refusals {
		key, atLeast := "no", "> "
		if r.Key {
			key = "yes"
		}
		if r.differs() {
			atLeast = ""
		}
		times := []string{r.Code, key, fmt.Sprintf("%.1f", r.Calls), fmt.Sprintf("%.3f", r.P50.Seconds()*1000), fmt.Sprintf("%.3f", r.P95.Seconds()*1000)}
		if r.Code == unknownCode {
			kinds.row(append(times, "", "", "", "", "", "")...)
			continue
		}
		kinds.row(append(times, fmt.Sprintf("%+.2f %%", 100*r.Apart), fmt.Sprintf("%.1f %%", 100*r.Superiority),
			fmt.Sprintf("%.3f", r.RankP), fmt.Sprintf("%.3f", r.Distance), fmt.Sprintf("%.3f", r.DistanceP), atLeast+strconv.Itoa(r.ToTell))...)
	}
	_, err := fmt.Fprintf(w, "Refusals, timed at the runtime interface of one process; the store answers in 5 ms; %d of each kind, in random order.\n"+
		"Each is compared with those of unknown codes. Longer is how often one takes longer than one of an unknown code.\n"+
		"Requests to tell is how many of each it takes to tell the two apart by time, with errors of 5 %%.\n%s", o.Samples, kinds.text())
	return err
}
