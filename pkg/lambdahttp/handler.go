package lambdahttp

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
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
	adapter *httpadapter.HandlerAdapterV2
	now     func() time.Time
}

// NewHandler serves an endpoint.
func NewHandler(endpoint http.Handler, now func() time.Time) *Handler {
	return &Handler{adapter: httpadapter.NewV2(restore(endpoint)), now: now}
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

	original := original{url: &url.URL{Path: event.RawPath, RawQuery: event.RawQueryString}}
	if event.IsBase64Encoded {
		_, original.bodyErr = base64.StdEncoding.DecodeString(event.Body)
	}
	if original.bodyErr != nil {
		event.Body = ""
	}
	event.RawPath, event.RawQueryString, event.QueryStringParameters = "/", "", nil
	event.RequestContext.DomainName = ""
	return h.adapter.ProxyWithContext(context.WithValue(ctx, originalKey{}, original), event)
}

// original is what goes around the adapter. It parses path and query as text of a URL, but the gateway decoded the path:
// a % or ? in it would be read as syntax, and what follows a # lost. And it fails where the body is not base64.
type original struct {
	url     *url.URL
	bodyErr error
}

type originalKey struct{}

// restore gives the endpoint the URL as the gateway sent it, and a body that cannot be read as one that cannot be read.
func restore(endpoint http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if original, has := r.Context().Value(originalKey{}).(original); has {
			r.URL = original.url
			if original.bodyErr != nil {
				r.Body = io.NopCloser(unreadable{original.bodyErr})
			}
		}
		endpoint.ServeHTTP(w, r)
	})
}

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }
