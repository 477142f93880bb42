// Package metering computes what DynamoDB bills for calls, by AWS's published rules, from the sizes of the items that the calls touch. A
// Meter stands between a client and DynamoDB Local. It is needed because DynamoDB Local reports wrong units for transactions and for
// failed conditions.
//
// The package is for `make cost` and tests only, and imports only the standard library.
package metering

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Call is one call of DynamoDB with AWS's bill for it.
type Call struct {
	Operation string `json:"operation"` // such as UpdateItem
	Units     Units  `json:"units"`
	// Tables are the tables that the call names.
	Tables []string `json:"tables"`
	// Grown is the growth of storage in bytes, including the storage overhead of new items.
	Grown int `json:"grown"`
}

// Meter is an http.Handler that forwards calls to a DynamoDB Local, one by one, so that no other call changes an item before the Meter
// reads its size.
type Meter struct {
	target string

	mu    sync.Mutex
	calls []Call
}

// New returns a Meter in front of the DynamoDB Local at a URL.
func New(target string) *Meter { return &Meter{target: target} }

// Take returns the calls since the last Take.
func (m *Meter) Take() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = []Call{}
	return calls
}

// ServeHTTP forwards a call. If the call cannot be metered, ServeHTTP responds 400, which the SDK does not retry.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	call, got, err := m.meter(r)
	if err != nil {
		got.status, got.header = http.StatusBadRequest, http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
		got.body = fmt.Appendf(nil, `{"__type":"com.amazon.coral.validate#ValidationException","message":%q}`, "not metered: "+err.Error())
	} else {
		m.calls = append(m.calls, call)
	}
	maps.Copy(w.Header(), got.header)
	w.WriteHeader(got.status)
	_, _ = w.Write(got.body) //nolint:gosec // DynamoDB's response for the SDK; the client may be gone
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (m *Meter) meter(r *http.Request) (call Call, got answer, err error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return call, got, err
	}
	_, call.Operation, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var asked body
	if err := json.Unmarshal(text, &asked); err != nil {
		return call, got, fmt.Errorf("read a call: %w", err)
	}
	items := asked.items()
	for _, i := range items {
		call.Tables = append(call.Tables, i.table)
	}
	switch call.Operation {
	case "GetItem", "BatchGetItem":
		call.Tables = slices.Compact(call.Tables)
		got, err = m.read(r, text, &call, items, 1)
	case "TransactGetItems":
		got, err = m.read(r, text, &call, items, 2) // a transaction reads twice
	case "Query":
		call.Tables = []string{asked.TableName}
		got, err = m.query(r, text, &call, asked.ConsistentRead)
	case "PutItem", "UpdateItem":
		got, err = m.write(r, text, &call, items, 1)
	case "TransactWriteItems":
		got, err = m.write(r, text, &call, items, 2) // a transaction prepares and commits
	default:
		err = fmt.Errorf("the meter does not know the price of %s", call.Operation)
	}
	return call, got, err
}

// send sends an operation with the headers of the call.
func (m *Meter) send(r *http.Request, operation string, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, m.target, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header = r.Header.Clone()
	request.Header.Set("Accept-Encoding", "identity")
	version, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	request.Header.Set("X-Amz-Target", version+"."+operation)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, text}, err
}

// forward sends the call, and reports whether a condition failed. Any other failure is an error.
func (m *Meter) forward(r *http.Request, call *Call, body []byte) (got answer, refused bool, err error) {
	got, err = m.send(r, call.Operation, body)
	if err != nil || got.status == http.StatusOK {
		return got, false, err
	}
	var failure struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(got.body, &failure); err != nil {
		return got, false, fmt.Errorf("read a response with status %d: %w", got.status, err)
	}
	if strings.HasSuffix(failure.Type, "ConditionalCheckFailedException") || strings.HasSuffix(failure.Type, "TransactionCanceledException") {
		return got, true, nil
	}
	return got, false, fmt.Errorf("DynamoDB Local responded %.500s", got.body)
}

// look sends an additional operation, which must succeed.
func (m *Meter) look(r *http.Request, operation string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	got, err := m.send(r, operation, text)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("%s: DynamoDB Local responded %.500s", operation, got.body)
	}
	return json.Unmarshal(got.body, into)
}

// grown returns how many more bytes of storage an item takes after its size changed.
func grown(before, after int) int {
	if before == 0 && after > 0 {
		return after + StorageOverhead
	}
	return after - before
}

// itemSize is the size of an item in bytes, in its table and in the index. It is 0 if there is no item.
type itemSize struct{ table, index int }

func (m *Meter) sizes(r *http.Request, items []item) ([]itemSize, error) {
	sizes := make([]itemSize, len(items))
	for i, item := range items {
		key := make(map[string]map[string]*string, len(item.key)) // keys are strings
		for name, value := range item.key {
			key[name] = map[string]*string{"S": value.S}
		}
		var found struct{ Item Item }
		if err := m.look(r, "GetItem", map[string]any{"TableName": item.table, "Key": key, "ConsistentRead": true}, &found); err != nil {
			return nil, err
		}
		sizes[i].table = found.Item.Size()
		if _, is := found.Item[indexed]; is {
			sizes[i].index = sizes[i].table
		}
	}
	return sizes, nil
}

// read forwards a call that reads single items, and computes its units. The size of each item is rounded up to whole units. The parameter
// times is how often the service reads each item.
func (m *Meter) read(r *http.Request, text []byte, call *Call, items []item, times int) (answer, error) {
	sizes, err := m.sizes(r, items)
	if err != nil {
		return answer{}, err
	}
	for i, item := range items {
		for range times {
			call.Units = call.Units.Plus(reading(sizes[i].table, item.consistent || times > 1))
		}
	}
	got, _, err := m.forward(r, call, text)
	return got, err
}

// query forwards a Query, and computes its units from the total size of the items that the Query reads before its filter.
func (m *Meter) query(r *http.Request, text []byte, call *Call, consistent bool) (answer, error) {
	var unfiltered map[string]any
	if err := json.Unmarshal(text, &unfiltered); err != nil {
		return answer{}, err
	}
	delete(unfiltered, "FilterExpression")
	delete(unfiltered, "ProjectionExpression")
	var found struct{ Items []Item }
	if err := m.look(r, "Query", unfiltered, &found); err != nil {
		return answer{}, err
	}
	size := 0
	for _, item := range found.Items {
		size += item.Size()
	}
	call.Units = reading(size, consistent)
	got, _, err := m.forward(r, call, text)
	return got, err
}

// indexed is the attribute that puts an item into the only index. The index holds whole items.
const indexed = "ordered"

// write forwards a call that writes items, and computes its units. The parameter times is how often the service writes each item. An item
// in the index costs another write there.
func (m *Meter) write(r *http.Request, text []byte, call *Call, items []item, times int) (answer, error) {
	before, err := m.sizes(r, items)
	if err != nil {
		return answer{}, err
	}
	got, refused, err := m.forward(r, call, text)
	if err != nil {
		return answer{}, err
	}
	after, err := m.sizes(r, items)
	if err != nil {
		return answer{}, err
	}
	for i, item := range items {
		was, now := before[i], after[i]
		billed := now.table
		if refused {
			billed = item.refusedSize(was.table)
		}
		for range times {
			call.Units = call.Units.Plus(writing(was.table, billed))
		}
		call.Grown += grown(was.table, now.table) + grown(was.index, now.index)
		if !refused && now.index > 0 {
			call.Units = call.Units.Plus(writing(was.index, now.index))
		}
	}
	return got, nil
}
