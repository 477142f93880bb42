package dynamo_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
)

// troubled is a store with a client whose shopper waits. The fault hits every attempt.
type troubled struct {
	fault    memdynamo.Fault
	client   *dynamodb.Client
	attempts int
}

// newTroubled must be called within a bubble.
func newTroubled() *troubled {
	s := &troubled{}
	endpoint := memdynamo.New().Endpoint(memdynamo.Dials{Fault: func(string, int) memdynamo.Fault {
		s.attempts++
		return s.fault
	}})
	s.client = hastyClient(endpoint)
	return s
}

func hastyClient(network dynamodb.HTTPClient) *dynamodb.Client {
	client := dynamo.NewClient(dynamo.Settings{
		Region: "eu-central-1", Jitter: longest, ShopperWaits: true,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	return dynamodb.New(client.Options(), over(network))
}

func longest(n int64) int64 { return n - 1 }

// call makes a call within the budget of a request. It returns the number of attempts and the time that they took.
func (s *troubled) call(t *testing.T, call func(context.Context) error) (attempts int, took time.Duration, err error) {
	t.Helper()
	before, begun := s.attempts, time.Now()
	err = call(endingAfter(t, 5*time.Second))
	return s.attempts - before, time.Since(begun), table.Outcome(err)
}

// each lists calls that are throttled in different ways.
func (s *troubled) each() map[memdynamo.Fault]map[string]func(context.Context) error {
	key := table.Key{Partition: "emberforge#07", Sort: "SUMMER20"}
	read := func(ctx context.Context) error {
		_, err := table.Get(ctx, s.client, "vouchers", key, nil)
		return err
	}
	write := func(ctx context.Context) error {
		_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String("vouchers"), Item: key.Attributes(),
		})
		return err
	}
	transaction := func(ctx context.Context) error {
		_, err := table.GetSettled(ctx, s.client, longest, "vouchers", key)
		return err
	}
	batch := func(ctx context.Context) error {
		_, err := table.BatchGet(ctx, s.client, longest, "vouchers", key)
		return err
	}
	return map[memdynamo.Fault]map[string]func(context.Context) error{
		memdynamo.Throttle:    {"read": read, "write": write, "transaction": transaction, "batch": batch},
		memdynamo.Unprocessed: {"keys of a batch": batch},
	}
}

// While a table throttles, an instance retries four times in less than a second, and then fails at once. Once the
// table recovers, the next request succeeds, and successful calls earn new retries.
func TestClient_ThrottledCalls_ShareFourRetries(t *testing.T) {
	t.Parallel()
	for fault, calls := range (&troubled{}).each() {
		for name := range calls {
			t.Run(string(fault)+" of "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { shareRetries(t, fault, name) })
			})
		}
	}
}

func shareRetries(t *testing.T, fault memdynamo.Fault, name string) {
	t.Helper()
	s := newTroubled()
	call := s.each()[fault][name]
	earned := 0
	if fault == memdynamo.Unprocessed { // a batch with unprocessed keys counts as a success, and may earn a retry
		earned = 1
	}
	for _, step := range []struct{ successes, want int }{{0, 5}, {0, 1}, {0, 1}, {5, 2}, {20, 5}, {100, 5}} {
		s.fault = ""
		for range step.successes {
			if _, _, err := s.call(t, call); err != nil {
				t.Fatalf("a call without the fault fails: %v", err)
			}
		}
		s.fault = fault
		attempts, took, err := s.call(t, call)
		wantUnavailable(t, err)
		if attempts < step.want || attempts > step.want+earned || took > time.Second || attempts == 1 && took > 0 {
			t.Errorf("%d attempts in %s after %d successes; want %d, and a second at most", attempts, took,
				step.successes, step.want)
		}
	}
}

// An operator can bound a table's throughput. Above that bound, a retry would fail, too.
func TestClient_TablesOwnMaximum_IsNotRetried(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]int{
		"TableWriteMaxOnDemandThroughputExceeded": 1, "IndexReadMaxOnDemandThroughputExceeded": 1,
		"TableWriteKeyRangeThroughputExceeded": 5, "TableWriteAccountLimitExceeded": 5,
	} {
		for name, member := range map[string]string{
			"ThrottlingException": "throttlingReasons", "ProvisionedThroughputExceededException": "ThrottlingReasons",
		} {
			t.Run(name+" "+reason, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					refusal := `{"__type":"com.amazonaws.dynamodb.v20120810#` + name + `","message":"Throughput exceeds","` +
						member + `":[{"reason":"` + reason + `","resource":"arn:aws:dynamodb:eu-central-1:123456789012:table/V"}]}`
					attempts := 0
					client := hastyClient(network(func(r *http.Request) (*http.Response, error) {
						attempts++
						return &http.Response{
							StatusCode: http.StatusBadRequest, Request: r, Header: http.Header{"X-Amzn-Requestid": {"4KBNVRGD"}},
							Body: io.NopCloser(bytes.NewReader([]byte(refusal))),
						}, nil
					}))
					_, err := table.Get(t.Context(), client, "vouchers", table.Key{Partition: "emberforge#07", Sort: "SUMMER20"}, nil)
					wantUnavailable(t, table.Outcome(err))
					if attempts != want {
						t.Errorf("%d attempts; want %d", attempts, want)
					}
				})
			})
		}
	}
}

type network func(*http.Request) (*http.Response, error)

func (n network) Do(r *http.Request) (*http.Response, error) { return n(r) }

// All other failures are retried until the request's deadline, and take none of the retries for throttled calls.
func TestClient_OtherFailures_AreRetriedUntilTheDeadline(t *testing.T) {
	t.Parallel()
	for _, fault := range []memdynamo.Fault{
		memdynamo.LostRequest, memdynamo.LostResponse, memdynamo.CutResponse, memdynamo.ServerError, memdynamo.Conflict,
	} {
		t.Run(string(fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTroubled()
				write := s.each()[memdynamo.Throttle]["write"]
				s.fault = fault
				_, took, err := s.call(t, write)
				wantUnavailable(t, err)
				if took != 5*time.Second {
					t.Errorf("gave up after %s; want 5 s", took)
				}
				s.fault = memdynamo.Throttle
				if attempts, _, _ := s.call(t, write); attempts != 5 {
					t.Errorf("%d attempts of a throttled call afterwards; want 5", attempts)
				}
			})
		})
	}
}

// A stream waits for its table. No shopper does.
func TestClient_NoShopperWaits_ThrottledCallIsRetriedUntilTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTroubled()
		s.client = dynamodb.New(s.client.Options(), func(o *dynamodb.Options) {
			o.Retryer, o.APIOptions = dynamo.NewRetryer(longest), nil
		})
		s.fault = memdynamo.Throttle
		_, took, err := s.call(t, s.each()[memdynamo.Throttle]["transaction"])
		wantUnavailable(t, err)
		if took != 5*time.Second {
			t.Errorf("gave up after %s; want 5 s", took)
		}
	})
}
