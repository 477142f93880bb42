package localrun_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"shopfront/pkg/gateway"
	"shopfront/pkg/lambdaruntime"
	"shopfront/pkg/localrun"
)

// fails is a gateway.Invoker without an answer.
type fails struct{ err error }

func (f fails) Invoke(context.Context, string, []byte) ([]byte, error) { return nil, f.err }

func TestWhatAFunctionsErrorIsToAClient(t *testing.T) {
	template, err := localrun.LoadTemplate("../..", "")
	if err != nil {
		t.Fatal(err)
	}
	for err, want := range map[error]int{
		lambdaruntime.ErrBusy:           http.StatusServiceUnavailable,
		lambdaruntime.ErrTimeout:        http.StatusServiceUnavailable,
		lambdaruntime.ErrInitTimeout:    http.StatusServiceUnavailable,
		lambdaruntime.ErrClosed:         http.StatusServiceUnavailable,
		lambdaruntime.ErrStart:          http.StatusInternalServerError,
		lambdaruntime.ErrNoAnswer:       http.StatusInternalServerError,
		lambdaruntime.ErrAnswerTooLarge: http.StatusInternalServerError,
		lambdaruntime.ErrEventTooLarge:  http.StatusRequestEntityTooLarge,
		errors.New("something else"):    http.StatusInternalServerError,

		&lambdaruntime.ExitError{Status: "exit status 1"}: http.StatusInternalServerError,
		&lambdaruntime.FunctionError{Type: "errorString"}: http.StatusInternalServerError,
	} {
		api, newErr := localrun.NewGateway(template, fails{fmt.Errorf("function checkout-area: %w", err)}, time.Now, func(gateway.Record) {})
		if newErr != nil {
			t.Fatal(newErr)
		}
		recorder := httptest.NewRecorder()
		api.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/shop/emberforge/checkout", nil))
		if recorder.Code != want {
			t.Errorf("%v: %d, want %d", err, recorder.Code, want)
		}
	}
}
