package runtimeapi_test

import (
	"os"
	"testing"
	"time"

	"shopfront/internal/local/runtimeapi"
)

func TestProcess_Invoke_MeasuresEachEventAndSaysHowItFails(t *testing.T) {
	p, err := runtimeapi.Start(t.Context(), runtimeapi.Command{Path: os.Args[0], Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	if p.Ready() <= 0 || !alive(p.PID()) {
		t.Errorf("process %d does not exist, or was ready after %s", p.PID(), p.Ready())
	}
	for range 2 {
		response, took, err := p.Invoke([]byte(`{"do":"html"}`))
		if err != nil || string(response) != "<html>" || took <= 0 {
			t.Errorf("got %q after %s, %v, want <html> and its time", response, took, err)
		}
	}
	if _, _, err := p.Invoke([]byte(`{"do":"error"}`)); err == nil ||
		err.Error() != `the function reported an error of type "errorString"` {
		t.Errorf("got %v, want the type of the error", err)
	}
	p.Stop()
	if alive(p.PID()) {
		t.Error("the process still exists")
	}
	hangs := newGate(t).event() // never opens
	for event, want := range map[string]string{
		`{"do":"exit"}`:  "the process ended before it responded: exit status 4",
		`{"do":"panic"}`: `the function reported an error of type "string"`,
		hangs:            runtimeapi.ErrTimeout.Error(),
	} {
		command := runtimeapi.Command{Path: os.Args[0], Timeout: patience}
		if event == hangs {
			command.Timeout = time.Millisecond
		}
		p, err := runtimeapi.Start(t.Context(), command)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Invoke([]byte(event)); err == nil || err.Error() != want || alive(p.PID()) {
			t.Errorf("%s: %v, want %s and a process that is gone", event, err, want)
		}
	}
}
