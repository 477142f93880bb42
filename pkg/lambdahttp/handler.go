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
	// requestBudget bounds the time for one request, because a shopper waits for it. After that the response is 503.
	requestBudget = 5 * time.Second
	// responseReserve is the part of the function's own timeout that is reserved for writing the response. If Lambda
	// ends the function first, there is no response at all.
	responseReserve = 500 * time.Millisecond
)

// Handler handles events of an HTTP API. Make it with NewHandler.
type Handler struct {
	adapter *httpadapter.HandlerAdapterV2
	now     func() time.Time
}

// NewHandler returns a Handler that passes each request to the endpoint.
func NewHandler(endpoint http.Handler, now func() time.Time) *Handler {
	return &Handler{adapter: httpadapter.NewV2(restore(endpoint)), now: now}
}

// Handle responds to one event within its time budget. It returns an error only for an event that no gateway sends, for
// example with a method that is not a token.
func (h *Handler) Handle(
	ctx context.Context, event events.APIGatewayV2HTTPRequest,
) (events.APIGatewayV2HTTPResponse, error) {
	deadline := h.now().Add(requestBudget)
	if functionDeadline, has := ctx.Deadline(); has && functionDeadline.Add(-responseReserve).Before(deadline) {
		deadline = functionDeadline.Add(-responseReserve)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()

	sent := requestAsSent(event)
	event.RawPath, event.RawQueryString, event.QueryStringParameters, event.Headers = "/", "", nil, nil
	event.RequestContext.DomainName = ""
	if sent.bodyErr != nil {
		event.Body = ""
	}
	return h.adapter.ProxyWithContext(context.WithValue(ctx, sentKey{}, sent), event)
}

// asSent holds the parts of a request that bypass the adapter, which would damage them:
//   - The adapter parses the path and query as parts of a URL. But the gateway has decoded the path, so the adapter
//     would read a % or ? as syntax, and lose everything after a #.
//   - The adapter splits header values at commas, so that a Date or a key with a comma becomes two values.
//   - The adapter fails without a response on invalid base64.
type asSent struct {
	url     *url.URL
	pathErr error
	host    string
	header  http.Header
	bodyErr error
}

type sentKey struct{}

// requestAsSent reads an event's URL and headers. The gateway joins repeated headers with commas, so each has one
// value. The gateway sets X-Forwarded-Proto itself.
func requestAsSent(event events.APIGatewayV2HTTPRequest) asSent {
	header := make(http.Header, len(event.Headers))
	for name, value := range event.Headers {
		header.Set(name, value)
	}
	path, err := routedPath(event)
	sent := asSent{
		url: &url.URL{Scheme: "https", Path: path, RawQuery: event.RawQueryString}, pathErr: err,
		host: header.Get("Host"), header: header,
	}
	if header.Get("X-Forwarded-Proto") == "http" {
		sent.url.Scheme = "http"
	}
	if event.IsBase64Encoded {
		_, sent.bodyErr = base64.StdEncoding.DecodeString(event.Body)
	}
	return sent
}

// pathError returns an error if the request's path does not have the form of its route.
func pathError(r *http.Request) error {
	sent, _ := r.Context().Value(sentKey{}).(asSent)
	return sent.pathErr
}

// restore gives the endpoint the request as the gateway sent it. Invalid base64 becomes a body whose Read fails.
func restore(endpoint http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent, has := r.Context().Value(sentKey{}).(asSent); has {
			r.URL, r.Host, r.Header = sent.url, sent.host, sent.header
			if sent.bodyErr != nil {
				r.Body = io.NopCloser(unreadable{sent.bodyErr})
			}
		}
		endpoint.ServeHTTP(w, r)
	})
}

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }
