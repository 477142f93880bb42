package function

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

const (
	// requestBudget is how long a request may take: a shopper waits for it. The answer after that is 503.
	requestBudget = 5 * time.Second
	// answerReserve is kept of the function's own timeout for writing the answer: a function that Lambda ends answers
	// nothing.
	answerReserve = 500 * time.Millisecond
)

// Handler answers events of an HTTP API. Make it with NewHandler.
type Handler struct {
	endpoint http.Handler
	now      func() time.Time
}

// NewHandler serves an endpoint.
func NewHandler(endpoint http.Handler, now func() time.Time) *Handler {
	return &Handler{endpoint: endpoint, now: now}
}

// Handle answers one event within its budget. It returns an error only for an event that no gateway sends, such as one
// whose method is no token.
func (h *Handler) Handle(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	deadline := h.now().Add(requestBudget)
	if functionDeadline, has := ctx.Deadline(); has && functionDeadline.Add(-answerReserve).Before(deadline) {
		deadline = functionDeadline.Add(-answerReserve)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()

	request, err := requestOf(ctx, event)
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	response := response{header: make(http.Header)}
	h.endpoint.ServeHTTP(&response, request)
	return response.event(), nil
}
