package eventsource

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"
)

// Schedule invokes a function at a fixed rate. The first invocation comes after one interval.
type Schedule struct {
	Function string
	Name     string // the name of the EventBridge rule
	Every    time.Duration
}

// Run invokes the function at its rate until the context ends. It reports each error and continues.
func (s Schedule) Run(ctx context.Context, functions Invoker, now func() time.Time, report func(error)) {
	ticker := time.NewTicker(s.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.invoke(ctx, functions, now().UTC().Truncate(time.Second)); err != nil && ctx.Err() == nil {
			report(fmt.Errorf("schedule %s: %w", s.Name, err))
		}
	}
}

func (s Schedule) invoke(ctx context.Context, functions Invoker, at time.Time) error {
	event, err := json.Marshal(events.EventBridgeEvent{
		DetailType: "Scheduled Event", Source: "aws.events", Time: at, Detail: []byte("{}"),
	})
	if err != nil {
		return err
	}
	_, err = functions.Invoke(ctx, s.Function, event)
	return err
}
