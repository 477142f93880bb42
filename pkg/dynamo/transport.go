package dynamo

import (
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// maxResponse bounds a response, in bytes. Every call of this package asks for at most 1 MB of items, and JSON escapes take
// up to six bytes for one.
const maxResponse = 8 << 20

// Responses that DynamoDB would never send. The SDK reads an empty response as an empty object, as if the item did not exist;
// it reads an endless one into memory; and it computes the checksum but ignores a mismatch.
var (
	errEmptyResponse   = errors.New("the response is empty")
	errEndlessResponse = errors.New("the response is too large")
	errWrongChecksum   = errors.New("the response is damaged")
)

// NewTransport returns the HTTP client of a DynamoDB client. It bounds the time of each attempt and rejects responses that
// DynamoDB would never send. It validates checksums, so set DisableValidateResponseChecksum.
func NewTransport(attemptTimeout time.Duration) dynamodb.HTTPClient {
	return transport{awshttp.NewBuildableClient().WithTimeout(attemptTimeout).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 16
	})}
}

type transport struct{ client *awshttp.BuildableClient }

// Do sends a request and checks its response while the SDK reads it.
func (t transport) Do(request *http.Request) (*http.Response, error) {
	response, err := t.client.Do(request)
	if err != nil {
		return nil, err
	}
	body := &checkedBody{ReadCloser: response.Body, sum: crc32.NewIEEE()}
	if want, err := strconv.ParseUint(response.Header.Get("X-Amz-Crc32"), 10, 32); err == nil {
		body.want, body.hasWant = uint32(want), true
	}
	response.Body = body
	return response, nil
}

// checkedBody is the body of a response. Instead of ending, it fails if DynamoDB cannot have sent it.
type checkedBody struct {
	io.ReadCloser
	read    int
	sum     hash.Hash32
	want    uint32 // the checksum in DynamoDB's header
	hasWant bool
}

func (b *checkedBody) Read(p []byte) (int, error) {
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
