package eventsource_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/samtemplate"
)

// function is a fake function that sends its events to the channel.
type function chan []byte

func (f function) Invoke(ctx context.Context, _ string, event []byte) ([]byte, error) {
	select {
	case f <- event:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestSource_DynamoDBLocal_DeliversEachChangeOnce(t *testing.T) {
	client, name := localtest.Client(t), "vouchers-"+rand.Text()
	table := samtemplate.Table{
		Attributes: []types.AttributeDefinition{{
			AttributeName: aws.String("code"),
			AttributeType: types.ScalarAttributeTypeS,
		}},
		Keys:   []types.KeySchemaElement{{AttributeName: aws.String("code"), KeyType: types.KeyTypeHash}},
		Stream: types.StreamViewTypeNewAndOldImages,
	}
	if err := table.Create(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	settings := mapping()
	settings.Table = name
	path := filepath.Join(t.TempDir(), "streams.json")
	for _, codes := range [][]string{{"SUMMER20", "ALDER-1", "ALDER-2"}, {"WELCOME-COINS"}} {
		for _, code := range codes {
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: aws.String(name), Item: map[string]types.AttributeValue{"code": &types.AttributeValueMemberS{Value: code}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		if got := receive(t, settings, path, len(codes)); !slices.Equal(got, codes) {
			t.Errorf("the function got %q, want %q", got, codes)
		}
	}
}

// receive runs a source until the function has received count records, and returns the codes in them.
func receive(t *testing.T, settings eventsource.Mapping, path string, count int) (codes []string) {
	t.Helper()
	functions := make(function)
	source, err := eventsource.New(eventsource.Config{
		Mapping: settings, Endpoint: localtest.Endpoint(t), Functions: functions, Path: path, Now: time.Now,
		Report: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { source.Run(ctx) })
	for len(codes) < count {
		var event events.DynamoDBEvent
		if err := json.Unmarshal(<-functions, &event); err != nil {
			t.Fatal(err)
		}
		for _, each := range event.Records {
			if each.EventSource != "aws:dynamodb" || each.EventSourceArn == "" || each.EventName != "INSERT" ||
				each.Change.SequenceNumber == "" {
				t.Errorf("the record %+v lacks a field or is not an INSERT", each)
			}
			codes = append(codes, each.Change.NewImage["code"].String())
		}
	}
	cancel()
	running.Wait()
	return codes
}

func TestSchedule_Run_InvokesTheFunctionAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		functions, reports := make(function), make(chan error)
		var running sync.WaitGroup
		running.Go(func() {
			schedule := eventsource.Schedule{Function: "record-events", Name: "Retry", Every: 15 * time.Minute}
			schedule.Run(ctx, functions, time.Now, func(err error) { reports <- err })
		})
		for i := 1; i <= 2; i++ {
			var event events.EventBridgeEvent
			if err := json.Unmarshal(<-functions, &event); err != nil {
				t.Fatal(err)
			}
			want := began.Add(time.Duration(i) * 15 * time.Minute)
			if event.Source != "aws.events" || event.DetailType != "Scheduled Event" || !event.Time.Equal(want) ||
				string(event.Detail) != "{}" {
				t.Errorf("the event is %+v, want a scheduled event at %s", event, want)
			}
		}
		cancel()
		running.Wait()
	})
}

// crashes is a fake function that always crashes.
type crashes struct{}

func (crashes) Invoke(context.Context, string, []byte) ([]byte, error) {
	return nil, errors.New("the function crashed")
}

func TestSchedule_Error_IsReportedAndTheScheduleContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		reports := make(chan error)
		var running sync.WaitGroup
		running.Go(func() {
			eventsource.Schedule{Name: "Retry", Every: time.Minute}.Run(ctx, crashes{}, time.Now,
				func(err error) { reports <- err })
		})
		for range 2 {
			if err := <-reports; err.Error() != "schedule Retry: the function crashed" {
				t.Error(err)
			}
		}
		cancel()
		running.Wait()
	})
}
