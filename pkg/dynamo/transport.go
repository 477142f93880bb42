package dynamo

import (
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// maxResponse bounds the size of a response, in bytes. Every call of this package asks for at most 1 MB of items, and
// JSON may escape each byte as up to six.
const maxResponse = 8 << 20

// These errors mean that a response cannot come from DynamoDB, or was damaged. The SDK would accept such a response.
// The SDK takes any 2xx response with a JSON object for a response of DynamoDB, so a write would seem applied. The SDK
// reads an empty response as an empty object, as if the item did not exist. It reads an endless response into memory.
// It computes the checksum but ignores a mismatch.
var (
	errForeignResponse = errors.New("the response is not DynamoDB's: it has no request ID")
	errEmptyResponse   = errors.New("the response is empty")
	errEndlessResponse = errors.New("the response is too large")
	errWrongChecksum   = errors.New("the response is damaged")
)

// NewTransport returns the HTTP client of a DynamoDB client. It bounds the time of each attempt, and rejects responses
// that DynamoDB would never send. It validates checksums. Set DisableValidateResponseChecksum, so that the SDK does not
// compute them again.
func NewTransport(attemptTimeout time.Duration) dynamodb.HTTPClient {
	client := awshttp.NewBuildableClient().WithTimeout(attemptTimeout)
	return transport{client.WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64 // shopctl makes up to 64 writes at a time; a function makes far fewer calls
	})}
}

type transport struct{ client *awshttp.BuildableClient }

// Do sends a request. The body of the response is checked while the SDK reads it. The error is an *unsentError if
// DynamoDB cannot have received the request, for example because the dial was refused.
func (t transport) Do(request *http.Request) (*http.Response, error) {
	sent := &requestBody{ReadCloser: request.Body}
	request.Body = sent
	response, err := t.client.Do(request)
	if err != nil {
		_ = sent.Close() // net/http may read the body after Do has returned, but reads no bytes from a closed one
		if !sent.begun.Load() {
			err = &unsentError{err}
		}
		return nil, err
	}
	body := &checkedBody{ReadCloser: response.Body, sum: crc32.NewIEEE()}
	body.foreign = response.StatusCode/100 == 2 && response.Header.Get("X-Amzn-Requestid") == ""
	if want, err := strconv.ParseUint(response.Header.Get("X-Amz-Crc32"), 10, 32); err == nil {
		body.want, body.hasWant = uint32(want), true
	}
	response.Body = body
	return response, nil
}

// unsentError is the error of a request whose body was not sent. DynamoDB applies nothing without the body.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// requestBody is the body of a request. It records whether net/http began to read it. net/http reads the body only
// after the dial, the TLS handshake and the header.
type requestBody struct {
	io.ReadCloser

	begun atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.begun.Store(true)
	return b.ReadCloser.Read(p)
}

// checkedBody is the body of a response. Read fails if DynamoDB would never send this response.
type checkedBody struct {
	io.ReadCloser
	foreign bool // whether another server responded
	read    int
	sum     hash.Hash32
	want    uint32 // the checksum in DynamoDB's header
	hasWant bool
}

func (b *checkedBody) Read(p []byte) (int, error) {
	if b.foreign {
		return 0, errForeignResponse
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	_, _ = b.sum.Write(p[:n]) // a hash.Hash never fails
	switch {
	case b.read > maxResponse:
		return n, errEndlessResponse
	case !errors.Is(err, io.EOF):
		return n, err
	case b.read == 0:
		return n, errEmptyResponse
	case b.hasWant && b.sum.Sum32() != b.want:
		return n, errWrongChecksum
	}
	return n, err
}
