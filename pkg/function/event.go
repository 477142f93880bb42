package function

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// requestOf is an event as a request. The gateway decoded the path, so that it is text and not syntax of a URL: path and query
// stay as they are. Each header has one value, as the gateway joined them. A body that is not the base64 it claims to be
// becomes one that cannot be read.
func requestOf(ctx context.Context, event events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	gateway := event.RequestContext
	request, err := http.NewRequestWithContext(context.WithValue(ctx, requestIDKey{}, gateway.RequestID), gateway.HTTP.Method, "/", bodyOf(event))
	if err != nil {
		return nil, fmt.Errorf("event is no request: %w", err)
	}
	request.URL = &url.URL{Path: event.RawPath, RawQuery: event.RawQueryString}
	request.RemoteAddr = gateway.HTTP.SourceIP
	values := make([]string, 0, len(event.Headers))
	for name, value := range event.Headers {
		values = append(values, value)
		request.Header[http.CanonicalHeaderKey(name)] = values[len(values)-1 : len(values) : len(values)]
	}
	return request, nil
}

func bodyOf(event events.APIGatewayV2HTTPRequest) io.Reader {
	if !event.IsBase64Encoded {
		return strings.NewReader(event.Body)
	}
	decoded, err := base64.StdEncoding.DecodeString(event.Body)
	if err != nil {
		return unreadable{err}
	}
	return strings.NewReader(string(decoded))
}

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }

type requestIDKey struct{}

// requestID is the number the gateway gave the request. It is taken from the event's context: a header of that name comes
// from the client.
func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

// response is what an endpoint answers. As on a connection, the first status is the one that is sent.
type response struct {
	header http.Header
	status int
	body   []byte
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *response) Write(part []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	r.body = append(r.body, part...)
	return len(part), nil
}

// event is the response as the gateway takes it: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
func (r *response) event() events.APIGatewayV2HTTPResponse {
	r.WriteHeader(http.StatusOK)
	answer := events.APIGatewayV2HTTPResponse{StatusCode: r.status, Headers: make(map[string]string, len(r.header))}
	for name, values := range r.header {
		answer.Headers[name] = strings.Join(values, ",")
	}
	if utf8.Valid(r.body) {
		answer.Body = string(r.body)
	} else {
		answer.Body, answer.IsBase64Encoded = base64.StdEncoding.EncodeToString(r.body), true
	}
	return answer
}
