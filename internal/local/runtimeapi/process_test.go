package runtimeapi_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"shopfront/internal/local/runtimeapi"
)

func TestProcess_Invoke_MeasuresEachEvent(t *testing.T) {
	p, err := runtimeapi.Start(t.Context(), runtimeapi.Command{Path: os.Args[0], Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if p.Ready() <= 0 || !alive(p.PID()) {
		t.Errorf("process %d does not exist, or was ready after %s", p.PID(), p.Ready())
	}
	for range 3 {
		response, took, err := p.Invoke([]byte(`{}`))
		if err != nil || len(response) == 0 || took <= 0 {
			t.Errorf("got %q after %s, %v, want a response and its time", response, took, err)
		}
	}
	for _, test := range []struct{ event, want string }{
		{`{"do":"error"}`, `the function reported an error of type "errorString"`},
		{`{"do":"exit"}`, "the process ended before it responded: exit status 4"}, // last, because it ends the process
	} {
		if _, _, err := p.Invoke([]byte(test.event)); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.event, err, test.want)
		}
	}
	p.Stop()
	if alive(p.PID()) {
		t.Error("the process still exists")
	}
}

func TestStart_ProcessThatNeverAsksForAnEvent_IsKilled(t *testing.T) {
	command := runtimeapi.Command{Path: os.Args[0], Env: []string{"START=hang"}, InitTimeout: 200 * time.Millisecond}
	if _, err := runtimeapi.Start(t.Context(), command); !errors.Is(err, runtimeapi.ErrInitTimeout) {
		t.Errorf("got %v, want ErrInitTimeout", err)
	}
}
