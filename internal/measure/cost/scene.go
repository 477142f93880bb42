package cost

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/measure/benchmark"
	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

const (
	customer = string(benchmark.Customer)
	// metBy redeems first what a process has met before.
	metBy = "Rowan"
)

// scene is a running function among what its requests are about.
type scene struct {
	client  *dynamodb.Client // of DynamoDB Local itself
	events  map[string]benchmark.Event
	running *benchmark.Running
	serial  int // of the last nick
}

// nick is one that nobody had before, in the scene.
func (s *scene) nick() string {
	s.serial++
	return "Alder" + strconv.Itoa(1000+s.serial)
}

// key is a new Idempotency-Key, as long as a UUID.
func (*scene) key() string { return (rand.Text() + rand.Text())[:36] }

func (s *scene) keyIf(keyed bool) string {
	if keyed {
		return s.key()
	}
	return ""
}

func (s *scene) redemption(code, nick, key string) ([]byte, error) {
	return s.events[redeemVoucher].Redemption(code, nick, key)
}

// each makes a number of requests.
func (*scene) each(count int, request func() ([]byte, error)) ([][]byte, error) {
	requests := make([][]byte, count)
	for i := range requests {
		var err error
		if requests[i], err = request(); err != nil {
			return nil, err
		}
	}
	return requests, nil
}

func newCode() (string, error) { return voucher.GenerateCode(rand.Reader) }

// create creates a voucher with a new code.
func (s *scene) create(ctx context.Context, terms voucher.Terms) (code string, err error) {
	if code, err = newCode(); err != nil {
		return "", err
	}
	return code, createVoucher(ctx, s.client, code, terms)
}

// createVoucher creates a voucher that gives coins, as `shopctl voucher generate --batch launch` does.
func createVoucher(ctx context.Context, client *dynamodb.Client, code string, terms voucher.Terms) error {
	terms.Written, terms.Batch = code, "launch"
	terms.Reward = voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
	v, err := voucher.New(terms, time.Now())
	if err != nil {
		return err
	}
	return backoffice.NewVouchers(client, benchmark.VouchersTable, mathrand.Int64N).Create(ctx, benchmark.Customer, v)
}

// createMet creates a voucher whose code the process has met, by a redemption with the key.
func (s *scene) createMet(ctx context.Context, terms voucher.Terms, key string) (code string, err error) {
	if code, err = s.create(ctx, terms); err != nil {
		return "", err
	}
	request, err := s.redemption(code, metBy, key)
	if err != nil {
		return "", err
	}
	_, err = s.ask(request)
	return code, err
}

// ask has the process answer a request that leads up to others.
func (s *scene) ask(request []byte) (httpAnswer, error) {
	text, _, err := s.running.Invoke(request)
	if err != nil {
		return httpAnswer{}, err
	}
	return readAnswer(text)
}

// httpAnswer is what a function answers an HTTP API.
type httpAnswer struct {
	StatusCode        int
	Headers           map[string]string
	MultiValueHeaders map[string][]string
	Body              string
	IsBase64Encoded   bool
}

func readAnswer(text []byte) (answer httpAnswer, err error) {
	if err := json.Unmarshal(text, &answer); err != nil {
		return httpAnswer{}, fmt.Errorf("a function answered %.200q: %w", text, err)
	}
	if answer.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(answer.Body)
		if err != nil {
			return httpAnswer{}, err
		}
		answer.Body = string(body)
	}
	return answer, nil
}

func (a httpAnswer) holds(text string) bool { return strings.Contains(a.Body, text) }

func (a httpAnswer) header(name string) string {
	for given, value := range a.Headers {
		if strings.EqualFold(given, name) {
			return value
		}
	}
	for given, values := range a.MultiValueHeaders {
		if strings.EqualFold(given, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// size is that of the answer as HTTP/1.1 has it, without what the gateway adds, in bytes.
func (a httpAnswer) size() int {
	const statusLine, around = len("HTTP/1.1 200 OK\r\n"), len(": \r\n")
	size := statusLine + len("\r\n") + len(a.Body)
	for name, value := range a.Headers {
		size += len(name) + len(value) + around
	}
	for name, values := range a.MultiValueHeaders {
		for _, value := range values {
			size += len(name) + len(value) + around
		}
	}
	return size
}

// environment is what a function finds in its environment, beside what Lambda sets.
func environment(endpoint string, more ...string) []string {
	return append([]string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"CATALOGUE_TABLE=" + benchmark.CatalogueTable, "VOUCHERS_TABLE=" + benchmark.VouchersTable,
		"CHECKOUTS_TABLE=" + benchmark.CheckoutsTable, "STACK_NAME=shopfront-prod",
	}, more...)
}

// journal is the log of one process.
type journal struct {
	file *os.File
	read int64
}

// take returns what was logged since it was last called.
func (j *journal) take() ([]byte, error) {
	info, err := j.file.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, info.Size()-j.read)
	if _, err := j.file.ReadAt(text, j.read); err != nil && len(text) > 0 {
		return nil, err
	}
	j.read = info.Size()
	return text, nil
}
