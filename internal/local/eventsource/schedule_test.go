package eventsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/internal/local/eventsource"
)

// schedule is a fake function that always fails.
type schedule struct {
	events  chan []byte
	reports chan error
}

func (s schedule) Invoke(_ context.Context, _ string, event []byte) ([]byte, error) {
	s.events <- event
	return nil, errors.New("the function crashed")
}

func TestSchedule_Run_InvokesTheFunctionAtItsRateAlthoughItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		fake := schedule{make(chan []byte), make(chan error)}
		var running sync.WaitGroup
		running.Go(func() {
			eventsource.Schedule{Function: "record-events", Name: "Retry", Every: time.Minute}.Run(ctx, fake,
				time.Now, func(err error) { fake.reports <- err })
		})
		for i := 1; i <= 2; i++ {
			var event events.EventBridgeEvent
			if err := json.Unmarshal(<-fake.events, &event); err != nil {
				t.Fatal(err)
			}
			want := began.Add(time.Duration(i) * time.Minute)
			if event.Source != "aws.events" || event.DetailType != "Scheduled Event" || !event.Time.Equal(want) ||
				string(event.Detail) != "{}" {
				t.Errorf("the event is %+v, want a scheduled event at %s", event, want)
			}
			if err := <-fake.reports; err.Error() != "schedule Retry: the function crashed" {
				t.Error(err)
			}
		}
		cancel()
		running.Wait()
	})
}
