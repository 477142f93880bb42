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

// maxAnswer bounds an answer, in bytes: it has 1 MB of items at most, as each call of this package asks for them, and JSON
// writes a byte as six.
const maxAnswer = 8 << 20

// What no answer of DynamoDB is like. The SDK takes the first for an empty object, as if there were no such item; keeps the
// second in memory, whatever its size; and computes the checksum of the third without heeding it.
var (
	errEmptyAnswer   = errors.New("the answer is empty")
	errEndlessAnswer = errors.New("the answer is too large")
	errWrongChecksum = errors.New("the answer is damaged")
)

// NewTransport returns what sends a client's requests, each attempt within a time, and refuses answers that are none of
// DynamoDB's. The client need not validate checksums: see DisableValidateResponseChecksum of its options.
func NewTransport(attemptTimeout time.Duration) dynamodb.HTTPClient {
	return transport{awshttp.NewBuildableClient().WithTimeout(attemptTimeout).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 16
	})}
}

// transport sends the SDK's requests, and holds the answers to what they must be.
type transport struct{ client *awshttp.BuildableClient }

func (t transport) Do(request *http.Request) (*http.Response, error) {
	response, err := t.client.Do(request)
	if err != nil {
		return nil, err
	}
	body := &answerBody{ReadCloser: response.Body, sum: crc32.NewIEEE()}
	if want, err := strconv.ParseUint(response.Header.Get("X-Amz-Crc32"), 10, 32); err == nil {
		body.want, body.hasWant = uint32(want), true
	}
	response.Body = body
	return response, nil
}

// answerBody is the body of an answer. Where it turns out to be none of DynamoDB's, it fails instead of ending.
type answerBody struct {
	io.ReadCloser
	read    int
	sum     hash.Hash32
	want    uint32 // the sum that DynamoDB sent along
	hasWant bool
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += n
	_, _ = b.sum.Write(p[:n]) // never fails, says hash.Hash
	switch {
	case b.read > maxAnswer:
		return n, errEndlessAnswer
	case !errors.Is(err, io.EOF):
		return n, err
	case b.read == 0:
		return n, errEmptyAnswer
	case b.hasWant && b.sum.Sum32() != b.want:
		return n, errWrongChecksum
	}
	return n, err
}
