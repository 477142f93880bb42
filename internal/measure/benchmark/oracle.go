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
	// mostApart is the target: the most by which the p50 of a kind may differ from that of unknown codes, as a fraction.
	mostApart = 0.05

	unknownCode = "unknown"
)

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
				TableName: aws.String(fixture.VouchersTable), Key: reference.VoucherKey(string(fixture.ShopID), code),
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
		"used":                  &types.AttributeValueMemberN{Value: "1"},
		"b#" + rand.Text()[:22]: &types.AttributeValueMemberS{Value: "mi8c1k00|aV5kXo|||Rowan"},
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

// Oracle holds the times of refused requests. If the times differ by kind of refusal, a stranger can find out which
// codes exist. Unknown codes come first.
type Oracle []*refusals

// refusals are the refused requests of one kind.
type refusals struct {
	kind  string // what is wrong with the code
	codes []string
	keyed bool // whether the requests have an Idempotency-Key
	times []time.Duration
	calls int // to the store, by all requests
}

// TimeRefusals builds the function that redeems, and times its refusals.
func TimeRefusals(ctx context.Context, setup fixture.Setup, samples int) (Oracle, error) {
	if err := setup.Build(ctx, redeemPackage); err != nil {
		return nil, err
	}
	return timeRefusals(ctx, setup, samples)
}

// timeRefusals sends requests of each kind to one process, in a new order each time.
func timeRefusals(ctx context.Context, setup fixture.Setup, samples int) (oracle Oracle, err error) {
	stored, err := fixture.NewStore(ctx, setup.Root)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds() {
		codes, err := kind.createCodes(ctx, fixture.Client(stored.Endpoint(memdynamo.Dials{})))
		if err != nil {
			return nil, err
		}
		oracle = append(oracle, &refusals{kind: kind.name, codes: codes},
			&refusals{kind: kind.name, codes: codes, keyed: true})
	}
	s, err := serve(stored, setup.Dir, storeDelay)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	event, err := fixture.ReadEvent(setup.Root, redeemVoucher)
	if err != nil {
		return nil, err
	}
	p, err := process.Start(ctx, setup.Binary(redeemPackage), s.env, nil)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	for sample := -min(codesOfKind, samples); sample < samples; sample++ { // negative samples warm up
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, at := range mathrand.Perm(len(oracle)) { //nolint:gosec // an order, not a secret
			calls := s.calls()
			took, err := oracle[at].send(p, event, sample+codesOfKind)
			if err != nil {
				return nil, err
			}
			if sample >= 0 {
				oracle[at].times = append(oracle[at].times, took)
				oracle[at].calls += s.calls() - calls
			}
		}
	}
	return oracle, nil
}

// send sends a request with one of the codes, and returns how long the refusal took.
func (r *refusals) send(p *runtimeapi.Process, event fixture.Event, turn int) (time.Duration, error) {
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

// Print compares each kind of request with the requests for an unknown code, for people. It compares requests with a
// key only with each other, and requests without a key only with each other.
func (o Oracle) Print(w io.Writer) error {
	rows := [][]string{{
		"code", "key", "calls", "p50 ms", "p95 ms", "p50 apart", "longer", "p (ranks)", "requests to tell",
	}}
	milliseconds := func(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()*1000) }
	unknown := make(map[bool][]time.Duration)
	for _, r := range o {
		p50 := process.Quantile(r.times, 0.5)
		row := []string{
			r.kind, "no", fmt.Sprintf("%.1f", float64(r.calls)/float64(len(r.times))), milliseconds(p50),
			milliseconds(process.Quantile(r.times, 0.95)),
		}
		if r.keyed {
			row[1] = "yes"
		}
		if r.kind == unknownCode {
			unknown[r.keyed] = r.times
			rows = append(rows, append(row, "", "", "", ""))
			continue
		}
		unknownP50, compared := process.Quantile(unknown[r.keyed], 0.5), compare(unknown[r.keyed], r.times)
		apart := float64(p50-unknownP50) / float64(unknownP50)
		row = append(row, fmt.Sprintf("%+.2f %%", 100*apart), fmt.Sprintf("%.1f %%", 100*compared.Superiority),
			fmt.Sprintf("%.3f", compared.RankP), toTell(compared, len(r.times)))
		if math.Abs(apart) > mostApart {
			row[5] += " !"
		}
		rows = append(rows, row)
	}
	_, err := fmt.Fprintf(w, `Refusals of one process, timed at the runtime API: %d of each kind, in random order. The store responds in %v.
Each kind is compared with unknown codes. ! marks a p50 that is more than %g %% apart. "longer" is how often a request of this kind takes
longer than one for an unknown code. The p-value says how likely such samples are if times reveal nothing (Mann-Whitney). "requests to
tell" is how many requests each of two codes needs to tell them apart, with errors of 5 %%.
%s`, len(o[0].times), storeDelay, 100*mostApart, table.Align(1, rows))
	return err
}

// toTell returns how many requests a stranger must send for each of two codes to tell which code is of a kind and which
// is unknown. The stranger compares the ranks of the times, and errs in 5 % of the cases. If the ranks do not differ
// significantly, the result is a lower bound.
func toTell(compared comparison, samples int) string {
	effect, bound := math.Abs(compared.Superiority-0.5), ""
	if compared.RankP >= significant {
		effect, bound = effect+uncertainty(samples), "> "
	}
	return bound + strconv.Itoa(int(math.Ceil(samplesToTell(effect))))
}
