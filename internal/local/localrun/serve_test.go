package localrun_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/runtimeapi"
)

// fails is a gateway.Invoker that always returns its error.
type fails struct{ err error }

func (f fails) Invoke(context.Context, string, []byte) ([]byte, error) { return nil, f.err }

func TestNewGateway_FunctionError_BecomesAStatus(t *testing.T) {
	template, err := localrun.LoadTemplate("../../..", "")
	if err != nil {
		t.Fatal(err)
	}
	for err, want := range map[error]int{
		runtimeapi.ErrBusy:           http.StatusServiceUnavailable,
		runtimeapi.ErrTimeout:        http.StatusServiceUnavailable,
		runtimeapi.ErrInitTimeout:    http.StatusServiceUnavailable,
		runtimeapi.ErrClosed:         http.StatusServiceUnavailable,
		runtimeapi.ErrStart:          http.StatusInternalServerError,
		runtimeapi.ErrNoAnswer:       http.StatusInternalServerError,
		runtimeapi.ErrAnswerTooLarge: http.StatusInternalServerError,
		runtimeapi.ErrEventTooLarge:  http.StatusRequestEntityTooLarge,
		errors.New("something else"): http.StatusInternalServerError,
	} {
		api, newErr := localrun.NewGateway(template, fails{fmt.Errorf("function checkout-area: %w", err)}, time.Now, nil)
		if newErr != nil {
			t.Fatal(newErr)
		}
		recorder := httptest.NewRecorder()
		api.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/shop/emberforge/checkout", nil))
		if recorder.Code != want {
			t.Errorf("%v: status %d, want %d", err, recorder.Code, want)
		}
	}
}
