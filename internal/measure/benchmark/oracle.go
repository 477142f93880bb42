package benchmark

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"math"
	mathrand "math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/process"
	"shopfront/internal/measure/reference"
	"shopfront/internal/measure/table"
	"shopfront/internal/memdynamo"
	"shopfront/pkg/voucher"
)

const (
	// codesOfKind is how many codes of each kind there are, so that no result depends on a single code.
	codesOfKind = 32
	// significant is the p-value below which two distributions are said to differ.
	significant = 0.01

	unknownCode = "unknown"
)

// Oracle holds the times of refused requests. If the times differ by kind of refusal, a stranger can find out which
// codes exist.
type Oracle struct {
	Samples  int // of each kind
	Refusals []Refusal
}

// Refusal is one kind of refused request, compared with a request for an unknown code.
type Refusal struct {
	Code  string  // what is wrong with the code
	Key   bool    // whether the request has an Idempotency-Key
	Calls float64 // to the store, by one request, on average

	P50 time.Duration
	P95 time.Duration
	// Apart is the difference between P50 and the p50 of an unknown code, as a fraction of the p50 of an unknown code.
	Apart float64

	comparison

	// ToTell is how many requests a stranger must send for each of two codes to tell which code is of this kind and
	// which is unknown. The stranger compares the ranks of the times, and errs in 5 % of the cases. If the ranks do not
	// differ significantly, ToTell is a lower bound.
	ToTell int
}

func (r Refusal) differs() bool { return r.RankP < significant }

// Apart returns the greatest difference between a refusal's p50 and the p50 of an unknown code, as a fraction of the
// p50 of an unknown code.
func (o Oracle) Apart() float64 {
	apart := 0.0
	for _, r := range o.Refusals {
		apart = max(apart, math.Abs(r.Apart))
	}
	return apart
}

// kind is a reason to refuse a code, such as "expired".
type kind struct {
	name   string
	create func(ctx context.Context, client *dynamodb.Client, code string) error
}

func (k kind) createCodes(ctx context.Context, client *dynamodb.Client) ([]string, error) {
	codes := make([]string, codesOfKind)
	for i := range codes {
		var err error
		if codes[i], err = fixture.NewCode(); err != nil {
			return nil, err
		}
		if err := k.create(ctx, client, codes[i]); err != nil {
			return nil, fmt.Errorf("create a code of the kind %q: %w", k.name, err)
		}
	}
	return codes, nil
}

func kinds() []kind {
	// with creates a code, and then sets attributes of its item.
	with := func(terms voucher.Terms, set map[string]types.AttributeValue) func(context.Context, *dynamodb.Client,
		string) error {
		return func(ctx context.Context, client *dynamodb.Client, code string) error {
			terms.Written = code
			if err := fixture.CreateVoucher(ctx, client, terms); err != nil || set == nil {
				return err
			}
			read, err := client.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: aws.String(fixture.VouchersTable), Key: reference.VoucherKey(string(fixture.Customer), code),
			})
			if err != nil {
				return err
			}
			maps.Copy(read.Item, set)
			_, err = client.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: aws.String(fixture.VouchersTable),
				Item:      read.Item,
			})
			return err
		}
	}
	redeemed := map[string]types.AttributeValue{
		"redemption": &types.AttributeValueMemberS{Value: rand.Text()},
		"token":      &types.AttributeValueMemberS{Value: rand.Text()},
		"redeemed":   &types.AttributeValueMemberN{Value: "1795262400123"},
		"redeemedBy": &types.AttributeValueMemberS{Value: "Rowan"},
	}
	full := map[string]types.AttributeValue{
		"fullUntil":   &types.AttributeValueMemberN{Value: "253402300799999"},
		"fullVersion": &types.AttributeValueMemberN{Value: "1"},
	}
	yesterday, tomorrow := time.Now().AddDate(0, 0, -1), time.Now().AddDate(0, 0, 1)
	hundred := voucher.Limit(100)
	return []kind{
		{unknownCode, func(context.Context, *dynamodb.Client, string) error { return nil }},
		{"expired", with(voucher.Terms{ValidUntil: yesterday}, nil)},
		{"not started", with(voucher.Terms{ValidFrom: tomorrow}, nil)},
		{"disabled", with(voucher.Terms{Disabled: true}, nil)},
		{"used up", with(voucher.Terms{}, redeemed)},
		{"bound to another nick", with(voucher.Terms{Nick: "Rowan"}, nil)},
		{"many uses, expired", with(voucher.Terms{MaxUses: &hundred, ValidUntil: yesterday}, nil)},
		{"many uses, used up", with(voucher.Terms{MaxUses: &hundred}, full)},
	}
}

// TimeRefusals builds the function that redeems, and times its refusals.
func TimeRefusals(ctx context.Context, options Options) (Oracle, error) {
	if err := options.Build(ctx, redeemPackage); err != nil {
		return Oracle{}, err
	}
	return timeRefusals(ctx, options)
}

// refusedRequest is one kind of refused request, with the times of all requests of this kind and the number of their
// calls.
type refusedRequest struct {
	kind  string
	codes []string
	keyed bool // whether it has an Idempotency-Key
	times []time.Duration
	calls int
}

// timeRefusals sends requests of each kind to one process, in a new order each time.
func timeRefusals(ctx context.Context, options Options) (Oracle, error) {
	var requests []*refusedRequest
	stored, err := fixture.NewStore(ctx, options.Root)
	if err != nil {
		return Oracle{}, err
	}
	for _, kind := range kinds() {
		codes, err := kind.createCodes(ctx, fixture.Client(stored.Endpoint(memdynamo.Dials{})))
		if err != nil {
			return Oracle{}, err
		}
		requests = append(requests, &refusedRequest{kind: kind.name, codes: codes},
			&refusedRequest{kind: kind.name, codes: codes, keyed: true})
	}
	s, err := serve(stored, options.Dir, stubSteady, steadyDelay)
	if err != nil {
		return Oracle{}, err
	}
	defer s.stop()
	event, err := fixture.ReadEvent(options.Root, redeemVoucher)
	if err != nil {
		return Oracle{}, err
	}
	p, err := process.Start(ctx, options.Binary(redeemPackage), s.env, nil)
	if err != nil {
		return Oracle{}, err
	}
	defer p.Stop()
	for sample := -min(codesOfKind, options.Samples); sample < options.Samples; sample++ { // negative samples warm up
		if ctx.Err() != nil {
			return Oracle{}, ctx.Err()
		}
		for _, at := range mathrand.Perm(len(requests)) { //nolint:gosec // an order, not a secret
			calls := s.calls()
			took, err := requests[at].send(p, event, sample+codesOfKind)
			if err != nil {
				return Oracle{}, err
			}
			if sample >= 0 {
				requests[at].times = append(requests[at].times, took)
				requests[at].calls += s.calls() - calls
			}
		}
	}
	return judgeTimes(requests), nil
}

// send sends a request with one of the codes, and returns how long the refusal took.
func (r *refusedRequest) send(p *runtimeapi.Process, event fixture.Event, turn int) (time.Duration, error) {
	key := ""
	if r.keyed {
		key = rand.Text()
	}
	request, err := event.Redemption(r.codes[turn%codesOfKind], "Alder", key)
	if err != nil {
		return 0, err
	}
	response, took, err := p.Invoke(request)
	if err == nil && !bytes.Contains(response, []byte("voucher-not-found")) {
		err = fmt.Errorf("a code of the kind %q: response %.200q", r.kind, response)
	}
	return took, err
}

// judgeTimes compares each kind of request with the requests for an unknown code, which come first in the list. It
// compares requests with a key only with each other, and requests without a key only with each other.
func judgeTimes(requests []*refusedRequest) Oracle {
	o := Oracle{Samples: len(requests[0].times)}
	unknown := make(map[bool][]time.Duration)
	for _, r := range requests {
		if r.kind == unknownCode {
			unknown[r.keyed] = r.times
		}
		p50, unknownP50 := process.Quantile(r.times, 0.5), process.Quantile(unknown[r.keyed], 0.5)
		refusal := Refusal{
			Code: r.kind, Key: r.keyed, Calls: float64(r.calls) / float64(len(r.times)), P50: p50,
			P95:   process.Quantile(r.times, 0.95),
			Apart: float64(p50-unknownP50) / float64(unknownP50), comparison: compare(unknown[r.keyed], r.times),
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
	rows := [][]string{{
		"code", "key", "calls", "p50 ms", "p95 ms", "p50 apart", "longer", "p (ranks)", "distance",
		"p (distance)", "requests to tell",
	}}
	milliseconds := func(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()*1000) }
	for _, r := range o.Refusals {
		row := []string{
			r.Code, "no", fmt.Sprintf("%.1f", r.Calls), milliseconds(r.P50), milliseconds(r.P95), "", "",
			"", "", "", "",
		}
		if r.Key {
			row[1] = "yes"
		}
		if r.Code != unknownCode {
			toTell := strconv.Itoa(r.ToTell)
			if !r.differs() {
				toTell = "> " + toTell
			}
			row = append(row[:5], fmt.Sprintf("%+.2f %%", 100*r.Apart), fmt.Sprintf("%.1f %%", 100*r.Superiority),
				fmt.Sprintf("%.3f", r.RankP), fmt.Sprintf("%.3f", r.Distance), fmt.Sprintf("%.3f", r.DistanceP), toTell)
		}
		rows = append(rows, row)
	}
	_, err := fmt.Fprintf(w, `Refusals of one process, timed at the runtime API: %d of each kind, in random order. The store responds in 5 ms.
Each kind is compared with unknown codes. "longer" is how often a request of this kind takes longer than one for an unknown code. The two
p-values say how likely such samples are if times reveal nothing: by ranks (Mann-Whitney) and by the distance of the cumulative
distributions (Kolmogorov-Smirnov). "requests to tell" is how many requests each of two codes needs to tell them apart, with errors of 5 %%.
%s`, o.Samples, table.Align(1, rows))
	return err
}
