package metering

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Call is one call of DynamoDB, and what it is billed.
type Call struct {
	Operation string `json:"operation"` // such as UpdateItem
	Units     Units  `json:"units"`
	// Tables are those that it names.
	Tables []string `json:"tables"`
	// Grown is by how much what is stored grew, in bytes, with the storage overhead of new items.
	Grown int `json:"grown"`
}

// Meter passes calls on to a DynamoDB, and keeps what they are billed. It is an http.Handler. Calls are passed on one by one,
// so that nothing changes between a call and a look at the items that it touched.
type Meter struct {
	target string

	mu    sync.Mutex
	calls []Call
}

// New meters the calls of a DynamoDB Local, at its URL.
func New(target string) *Meter { return &Meter{target: target} }

// Take returns the calls since it was last called.
func (m *Meter) Take() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = []Call{}
	return calls
}

// ServeHTTP passes a call on. What it cannot meter it answers 400, which the SDK does not try again.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status, header, answer, err := m.pass(r)
	if err != nil {
		status, header = http.StatusBadRequest, http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
		answer = fmt.Appendf(nil, `{"__type":"com.amazon.coral.validate#ValidationException","message":%q}`, "not metered: "+err.Error())
	}
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // an answer of DynamoDB, for the SDK; the client may be gone
}

func (m *Meter) pass(r *http.Request) (status int, header http.Header, answer []byte, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	version, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c := &metered{ctx: r.Context(), meter: m, header: r.Header, version: version, body: body}
	call := Call{Operation: operation}
	switch operation {
	case "GetItem":
		err = c.get(&call)
	case "BatchGetItem":
		err = c.batchGet(&call)
	case "Query":
		err = c.query(&call)
	case "PutItem", "UpdateItem":
		err = c.write(&call)
	case "TransactWriteItems":
		err = c.transact(&call)
	default:
		err = fmt.Errorf("what %s is billed is not known here", operation)
	}
	if err != nil {
		return 0, nil, nil, err
	}
	m.calls = append(m.calls, call)
	return c.status, c.answerHeader, c.answer, nil
}

// metered is a call on its way.
type metered struct {
	ctx     context.Context // of the one request that it is for
	meter   *Meter
	header  http.Header
	version string // of the protocol
	body    []byte

	status       int
	answerHeader http.Header
	answer       []byte
}

// failures that are billed, by the end of their type. All others stop the measurement.
const (
	conditionFailed     = "ConditionalCheckFailedException"
	transactionCanceled = "TransactionCanceledException"
)

// forward does the call, and tells whether it was done, and not refused by a condition.
func (c *metered) forward() (done bool, err error) {
	if c.status, c.answerHeader, c.answer, err = c.send("", c.body); err != nil {
		return false, err
	}
	if c.status == http.StatusOK {
		return true, nil
	}
	var failure struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(c.answer, &failure); err != nil {
		return false, fmt.Errorf("read an answer of status %d: %w", c.status, err)
	}
	if strings.HasSuffix(failure.Type, conditionFailed) || strings.HasSuffix(failure.Type, transactionCanceled) {
		return false, nil
	}
	return false, fmt.Errorf("DynamoDB Local answered %.500s", c.answer)
}

// send sends a call of this kind, or of another operation.
func (c *metered) send(operation string, body []byte) (status int, header http.Header, answer []byte, err error) {
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.meter.target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header = c.header.Clone()
	request.Header.Set("Accept-Encoding", "identity") // answers are read here
	if operation != "" {
		request.Header.Set("X-Amz-Target", c.version+"."+operation)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, answer, err
}

// look does another operation, which has to succeed, beside the call.
func (c *metered) look(operation string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	status, _, answer, err := c.send(operation, text)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s: DynamoDB Local answered %.500s", operation, answer)
	}
	return json.Unmarshal(answer, into)
}

// sizeOf reads how large an item is, in bytes; one that is not there has none.
func (c *metered) sizeOf(table string, key Item) (int, error) {
	var found struct{ Item Item }
	err := c.look("GetItem", map[string]any{"TableName": table, "Key": key.encode(), "ConsistentRead": true}, &found)
	return found.Item.Size(), err
}

// encode is the key as the protocol has it: keys are strings.
func (i Item) encode() map[string]map[string]string {
	encoded := make(map[string]map[string]string, len(i))
	for name, value := range i {
		if value.S != nil {
			encoded[name] = map[string]string{"S": *value.S}
		}
	}
	return encoded
}

func (c *metered) get(call *Call) error {
	asked, err := parse[get](c.body)
	if err != nil {
		return err
	}
	asked.Keys = []Item{asked.Key}
	if err := c.readKeys(call, asked.TableName, asked); err != nil {
		return err
	}
	_, err = c.forward()
	return err
}

func (c *metered) batchGet(call *Call) error {
	asked, err := parse[batchGet](c.body)
	if err != nil {
		return err
	}
	for table, keys := range asked.RequestItems {
		if err := c.readKeys(call, table, keys); err != nil {
			return err
		}
	}
	_, err = c.forward()
	return err
}

// readKeys meters reads of single items: each is rounded up by itself.
func (c *metered) readKeys(call *Call, table string, asked get) error {
	call.Tables = append(call.Tables, table)
	for _, key := range asked.Keys {
		size, err := c.sizeOf(table, key)
		if err != nil {
			return err
		}
		call.Units = call.Units.Plus(reading(size, asked.ConsistentRead))
	}
	return nil
}

// query meters what a Query reads: all items together, before the filter.
func (c *metered) query(call *Call) error {
	asked, err := parse[map[string]any](c.body)
	if err != nil {
		return err
	}
	table, isText := asked["TableName"].(string)
	if !isText {
		return fmt.Errorf("a Query names the table %v", asked["TableName"])
	}
	consistent, _ := asked["ConsistentRead"].(bool)
	delete(asked, "FilterExpression")
	delete(asked, "ProjectionExpression")
	var read struct{ Items []Item }
	if err := c.look("Query", asked, &read); err != nil {
		return err
	}
	size := 0
	for _, item := range read.Items {
		size += item.Size()
	}
	call.Tables, call.Units = []string{table}, reading(size, consistent)
	_, err = c.forward()
	return err
}

func (c *metered) write(call *Call) error {
	asked, err := parse[action](c.body)
	if err != nil {
		return err
	}
	return c.writeAll(call, asked)
}

func (c *metered) transact(call *Call) error {
	asked, err := parse[transaction](c.body)
	if err != nil {
		return err
	}
	if err := c.writeAll(call, asked.actions()...); err != nil {
		return err
	}
	call.Units = call.Units.times(2) // it prepares and commits
	return nil
}

func (c *metered) writeAll(call *Call, actions ...action) error {
	before := make([]int, len(actions))
	for i, a := range actions {
		var err error
		if before[i], err = c.sizeOf(a.TableName, a.key()); err != nil {
			return err
		}
		call.Tables = append(call.Tables, a.TableName)
	}
	done, err := c.forward()
	if err != nil {
		return err
	}
	for i, a := range actions {
		if !done {
			call.Units = call.Units.Plus(a.refused(before[i]))
			continue
		}
		after, err := c.sizeOf(a.TableName, a.key())
		if err != nil {
			return err
		}
		call.Units = call.Units.Plus(writing(before[i], after))
		call.Grown += after - before[i]
		if before[i] == 0 && after > 0 {
			call.Grown += StorageOverhead
		}
	}
	return nil
}
