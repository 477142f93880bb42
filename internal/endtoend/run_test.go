package endtoend_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/contract/contracttest"
	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/localrun/localruntest"
)

// shared has the local run that all tests share. The first test that needs the run starts it.
var shared = sharedRun{document: sync.OnceValues(contracttest.New)} //nolint:gochecknoglobals // one process, one local run

type sharedRun struct {
	once sync.Once
	run  *localruntest.Run
	// containers is not nil if -sam is set. The containers then serve the requests instead of the run.
	containers *containers
	err        error

	document func() (*contracttest.Validator, error)
}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // parallel tests mostly wait
		panic(err)
	}
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (s *sharedRun) start(ctx context.Context, progress io.Writer) {
	s.run, s.err = localruntest.StartCopy(ctx, progress)
	if s.err == nil && *samCLI != "" {
		s.containers, s.err = startContainers(ctx, s.run)
	}
}

func (s *sharedRun) stop() error {
	var err error
	if s.containers != nil {
		err = s.containers.stop()
	}
	if s.run != nil {
		err = errors.Join(err, s.run.Stop())
	}
	return err
}

// localRun returns the shared run. The first call starts it.
func localRun(t *testing.T) *localruntest.Run {
	t.Helper()
	shared.once.Do(func() { shared.start(t.Context(), t.Output()) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.run
}

// baseURL returns the address to which the tests send requests.
func baseURL(t *testing.T) string {
	t.Helper()
	run := localRun(t)
	if shared.containers != nil {
		return shared.containers.baseURL
	}
	return run.State.BaseURL
}

// answer is a response whose body was read.
type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

// isLate reports whether the function gave up after 5 seconds. On a busy machine that can happen to any request.
func (a answer) isLate() bool {
	return a.status == http.StatusServiceUnavailable && a.took >= 4*time.Second
}

// request is an HTTP request that is sent without any checks. Only Host, Connection and Content-Length are added.
type request struct {
	method string // GET if empty
	target string
	header []string // lines without CRLF
	body   string   // sent with a Content-Length, unless the header has a Content-Length or Transfer-Encoding
}

func (r request) raw() string {
	lines := []string{
		fmt.Sprintf("%s %s HTTP/1.1", r.methodOrGet(), r.target), "Host: shop.example",
		"Connection: close",
	}
	lines = append(lines, r.header...)
	framed := slices.ContainsFunc(r.header, func(line string) bool {
		name, _, _ := strings.Cut(strings.ToLower(line), ":")
		return name == "content-length" || name == "transfer-encoding"
	})
	if !framed && (r.body != "" || r.methodOrGet() == http.MethodPost) {
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(r.body)))
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + r.body
}

func (r request) methodOrGet() string {
	if r.method == "" {
		return http.MethodGet
	}
	return r.method
}

// patience is how long the tests wait. A function responds within 5 s and times out after 10 s. The rest is for a busy
// machine.
const patience = 3 * time.Minute

// send sends a request to a server and returns the response. It sends a request that is late again, as a client does.
func send(t *testing.T, baseURL string, r request) answer {
	t.Helper()
	a := exchange(t, baseURL, r.methodOrGet(), r.raw())
	for attempts := 1; attempts < 10 && a.isLate(); attempts++ {
		a = exchange(t, baseURL, r.methodOrGet(), r.raw())
	}
	return a
}

// exchange writes the bytes of a request and reads one response, which must arrive within patience.
func exchange(t *testing.T, baseURL, method, raw string) answer {
	t.Helper()
	a, err := tryExchange(t.Context(), baseURL, method, raw)
	if err != nil {
		t.Fatalf("%.200q: %v", raw, err)
	}
	return a
}

func tryExchange(ctx context.Context, baseURL, method, raw string) (answer, error) {
	began := time.Now()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(baseURL, "http://"))
	if err != nil {
		return answer{}, err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		return answer{}, err
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		// may fail: the server may respond and hang up before it has read everything
		_, _ = io.WriteString(connection, raw)
	}()
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: method})
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	_ = connection.Close()
	<-written
	dropGatewaysOwn(response.Header)
	return answer{response.StatusCode, response.Header, string(body), time.Since(began)},
		shared.documented(raw, response, body)
}

// documented checks an exchange against the OpenAPI document if the request was valid HTTP and reached the gateway.
func (s *sharedRun) documented(raw string, response *http.Response, body []byte) error {
	request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil || response.Header.Get("Request-Id") == "" && response.Header.Get("Apigw-Requestid") == "" {
		return nil //nolint:nilerr // nothing to check
	}
	requestBody, _ := io.ReadAll(request.Body) // an error does not matter: the service rejects an incomplete body
	document, err := s.document()
	if err != nil {
		return err
	}
	return document.Exchange(request, requestBody, response, body)
}

// hangUp writes the bytes of a request and closes the connection before the response arrives.
func hangUp(t *testing.T, baseURL, raw string) {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(baseURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, raw); err != nil {
		t.Fatal(err)
	}
}

func decode[T any](t *testing.T, a answer) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return value
}

// problem is a function's error response (RFC 9457).
type problem struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail"`
	Parameter string  `json:"parameter"`
	Pointer   *string `json:"pointer"`
	Reason    string  `json:"reason"`
}

// wantStatus checks that a function returned this status, with the gateway's request ID in the Request-Id header.
func (a answer) wantStatus(t *testing.T, status int) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	numbered := a.header.Get("Apigw-Requestid")
	if shared.containers != nil { // the gateway of `sam local start-api` does not send Apigw-Requestid
		numbered = a.header.Get("Request-Id")
	}
	if len(a.header["Request-Id"]) != 1 || a.header.Get("Request-Id") != numbered {
		t.Errorf("Request-Id is %q, the gateway's is %q", a.header["Request-Id"], a.header["Apigw-Requestid"])
	}
}

// wantProblem checks that a function returned the problem of this name, and that the response reveals nothing internal.
func (a answer) wantProblem(t *testing.T, status int, name string) problem {
	t.Helper()
	a.wantStatus(t, status)
	if a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("Content-Type %q, want application/problem+json", a.header.Get("Content-Type"))
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", got)
	}
	decoder := json.NewDecoder(strings.NewReader(a.body))
	decoder.DisallowUnknownFields()
	var p problem
	if err := decoder.Decode(&p); err != nil {
		t.Errorf("%s: %v", a.body, err)
	}
	if p.Type != "urn:problem:shopfront:"+name || p.Status != status {
		t.Errorf("got %s, want %d %s", a.body, status, name)
	}
	wantNothingInternal(t, a.body)
	return p
}

// wantMessage checks that the gateway itself returned an error with this status.
func (a answer) wantMessage(t *testing.T, status int) {
	t.Helper()
	want := fmt.Sprintf(`{"message":%q}`, http.StatusText(status))
	if a.status != status || a.body != want || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s %s, want %d %s", a.status, a.header.Get("Content-Type"), a.body, status, want)
	}
}

// wantNothingInternal fails if a response reveals anything about the service's implementation.
func wantNothingInternal(t *testing.T, body string) {
	t.Helper()
	lower := strings.ToLower(body)
	for _, internal := range []string{
		"panic", "goroutine", ".go:", "dynamo", "exception", "aws", "lambda", "127.0.0.1", "jsontext", "json:",
		"offset",
		"invalid character", "strconv", "url.parse", "runtime", "0x", "<nil>",
	} {
		if strings.Contains(lower, internal) {
			t.Errorf("the response reveals %q: %s", internal, body)
		}
	}
}

// comparable returns the response as text, without the parts that differ in every response: the request IDs and the
// date.
func (a answer) comparable() string {
	header := a.header.Clone()
	for _, name := range []string{"Request-Id", "Apigw-Requestid", "Date"} {
		header.Del(name)
	}
	var text strings.Builder
	fmt.Fprintln(&text, a.status)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&text, "%s: %q\n", name, header[name])
	}
	return text.String() + a.body
}

// stored returns every item of the catalogue, the vouchers and the checkouts as text.
func stored(t *testing.T) []string {
	t.Helper()
	run := localRun(t)
	client := dynamolocal.NewClient(run.State.DynamoDBEndpoint)
	tables := run.State.Tables
	var items []string
	for _, table := range []string{tables.Catalogue, tables.Vouchers, tables.Checkouts} {
		pages := dynamodb.NewScanPaginator(client,
			&dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				text, err := json.Marshal(item)
				if err != nil {
					t.Fatal(err)
				}
				items = append(items, table+" "+string(text))
			}
		}
	}
	slices.Sort(items)
	return items
}

// unchanged runs a test. It checks that the test neither stores, changes or deletes an item, nor ends a function's
// process.
func unchanged(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	before, processes := stored(t), functionProcesses(t)
	test(t)
	after := stored(t)
	for _, item := range without(before, after) {
		t.Errorf("changed or gone: %s", item)
	}
	for _, item := range without(after, before) {
		t.Errorf("changed or new: %s", item)
	}
	if ended := without(processes, functionProcesses(t)); len(ended) > 0 {
		t.Errorf("the test ended the processes %q", ended)
	}
}

func functionProcesses(t *testing.T) []string {
	t.Helper()
	processes, err := localruntest.Processes(t.Context(), filepath.Join(localRun(t).Root(), ".shopfront", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	return processes
}

// without returns the elements of list that are not in other.
func without(list, other []string) []string {
	others := make(map[string]bool)
	for _, item := range other {
		others[item] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(item string) bool { return others[item] })
}
