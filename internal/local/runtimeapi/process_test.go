package runtimeapi_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"shopfront/internal/local/runtimeapi"
)

func TestProcess_Invoke_MeasuresEachEvent(t *testing.T) {
	p, err := runtimeapi.Start(t.Context(), runtimeapi.Command{Path: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	if p.Ready() <= 0 || !alive(p.PID()) {
		t.Errorf("process %d was ready after %s", p.PID(), p.Ready())
	}
	for range 3 {
		answer, took, err := p.Invoke([]byte(`{"millis":20}`))
		if err != nil || len(answer) == 0 || took < 20*time.Millisecond {
			t.Errorf("responded %q after %s, %v", answer, took, err)
		}
	}
	var reported *runtimeapi.FunctionError
	if _, _, err := p.Invoke([]byte(`{"do":"error"}`)); !errors.As(err, &reported) {
		t.Errorf("got %v, want a FunctionError", err)
	}
	if _, _, err := p.Invoke([]byte(`{"do":"exit"}`)); !errors.As(err, new(*runtimeapi.ExitError)) {
		t.Errorf("got %v, want an ExitError", err)
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
