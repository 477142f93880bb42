// Package stubstore is a stand-in for DynamoDB that takes the same time for every response. It knows only the calls of Shopfront's
// functions, and only one condition: whether a single-use code can be redeemed. It ignores other conditions, and removes no attributes.
// It is for measurements only.
//
// It imports only the standard library.
package stubstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Store serves DynamoDB's JSON protocol over HTTP. It is safe for concurrent use.
type Store struct {
	delay  time.Duration
	calls  atomic.Int64
	sealed atomic.Bool

	mu    sync.RWMutex
	items map[key]item
}

type key struct{ table, partition, sort string }

// item is an item in DynamoDB's JSON protocol: the values of its attributes by name.
type item map[string]json.RawMessage

// New returns an empty store. Once it is sealed, it responds to each call after the delay.
func New(delay time.Duration) *Store { return &Store{delay: delay, items: make(map[key]item)} }

// Seal ends the filling. From now on, responses are delayed, and writes succeed without being stored, so that every request finds the
// same items.
func (s *Store) Seal() { s.sealed.Store(true) }

// Calls returns how many calls were handled.
func (s *Store) Calls() int64 { return s.calls.Load() }

// ServeHTTP handles one call.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	response, err := s.Do(r)
	if err != nil {
		return // the client is gone
	}
	defer response.Body.Close()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the client may be gone
}

// Do handles a call without a network connection, so that a Store can be the HTTPClient of an SDK client.
func (s *Store) Do(r *http.Request) (*http.Response, error) {
	due := time.Now().Add(s.delay)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, value := s.answer(operation, body)
	answer, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	s.calls.Add(1)
	if s.sealed.Load() {
		time.Sleep(time.Until(due))
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"}, "Content-Length": {strconv.Itoa(len(answer))},
			"X-Amzn-Requestid": {"stubstore"}, "X-Amz-Crc32": {strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer)), 10)},
		},
		ContentLength: int64(len(answer)), Body: io.NopCloser(bytes.NewReader(answer)),
	}, nil
}

func (s *Store) answer(operation string, body []byte) (status int, answer any) {
	var in input
	err := json.Unmarshal(body, &in)
	switch {
	case err != nil:
	case operation == "GetItem":
		answer = struct {
			Item item `json:",omitempty"`
		}{s.find(in.TableName, in.Key)}
	case operation == "TransactGetItems":
		answer = s.transactGet(in)
	case operation == "BatchGetItem":
		answer = s.batchGet(in)
	case operation == "Query":
		answer = s.query(in)
	case operation == "PutItem":
		s.put(in.TableName, in.Item)
		answer = struct{}{}
	case operation == "UpdateItem":
		return s.update(in)
	case operation == "TransactWriteItems":
		for _, action := range in.TransactItems {
			if action.Put != nil {
				s.put(action.Put.TableName, action.Put.Item)
			}
		}
		answer = struct{}{}
	default:
		err = fmt.Errorf("the stub does not support the operation %q", operation)
	}
	if err != nil {
		return http.StatusBadRequest, map[string]string{"__type": "com.amazon.coral.validate#ValidationException", "message": err.Error()}
	}
	return http.StatusOK, answer
}

// input holds the members that the stub reads from the body of any call.
type input struct {
	TableName                 string
	Key, Item                 item
	UpdateExpression          string
	ConditionExpression       string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues item
	RequestItems              map[string]struct{ Keys []item }
	TransactItems             []struct{ Get, Put *input }
}

func (s *Store) transactGet(in input) any {
	type response struct {
		Item item `json:",omitempty"`
	}
	responses := make([]response, len(in.TransactItems))
	for i, action := range in.TransactItems {
		responses[i].Item = s.find(action.Get.TableName, action.Get.Key)
	}
	return map[string]any{"Responses": responses}
}

func (s *Store) batchGet(in input) any {
	responses := make(map[string][]item)
	for table, asked := range in.RequestItems {
		responses[table] = []item{}
		for _, key := range asked.Keys {
			if found := s.find(table, key); found != nil {
				responses[table] = append(responses[table], found)
			}
		}
	}
	return map[string]any{"Responses": responses, "UnprocessedKeys": struct{}{}}
}

// query returns all items of a customer, or only the products if the call asks for products. It ignores the limit, the index, and any other
// condition on the sort key.
func (s *Store) query(in input) any {
	partition, prefix := text(in.ExpressionAttributeValues[":customer"]), text(in.ExpressionAttributeValues[":product"])
	s.mu.RLock()
	defer s.mu.RUnlock()
	var sorts []string
	for k := range s.items {
		if k.table == in.TableName && k.partition == partition && strings.HasPrefix(k.sort, prefix) {
			sorts = append(sorts, k.sort)
		}
	}
	slices.Sort(sorts)
	items := make([]item, len(sorts))
	for i, sort := range sorts {
		items[i] = s.items[key{in.TableName, partition, sort}]
	}
	return map[string]any{"Items": items, "Count": len(items), "ScannedCount": len(items)}
}

// update sets attributes and adds to numbers. If it would redeem a single-use code that cannot be redeemed, it fails and returns the
// item.
func (s *Store) update(in input) (status int, answer any) {
	old := s.find(in.TableName, in.Key)
	if strings.Contains(in.ConditionExpression, "#maxUses") && !redeemable(old, in.ExpressionAttributeValues) {
		failed := map[string]any{
			"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "The conditional request failed",
		}
		if old != nil {
			failed["Item"] = old
		}
		return http.StatusBadRequest, failed
	}
	updated := maps.Clone(in.Key)
	maps.Copy(updated, old)
	changes, _, _ := strings.Cut(in.UpdateExpression, " REMOVE ")
	assignments, additions, _ := strings.Cut(changes, " ADD ")
	for assignment := range strings.SplitSeq(strings.TrimPrefix(assignments, "SET "), ", ") {
		name, value, _ := strings.Cut(assignment, " = ")
		updated[in.ExpressionAttributeNames[name]] = in.ExpressionAttributeValues[value]
	}
	for addition := range strings.SplitSeq(additions, ", ") {
		if name, value, found := strings.Cut(addition, " "); found {
			attribute := in.ExpressionAttributeNames[name]
			sum := number(updated[attribute]) + number(in.ExpressionAttributeValues[value])
			updated[attribute] = json.RawMessage(fmt.Sprintf(`{"N":"%d"}`, sum))
		}
	}
	s.put(in.TableName, updated)
	return http.StatusOK, map[string]any{"Attributes": updated}
}

// redeemable reports whether a single-use code can be redeemed at the given time for the given nick
// (docs/decisions/0002-one-conditional-update.md).
func redeemable(voucher, given item) bool {
	at := number(given[":at"])
	return voucher != nil && number(voucher["maxUses"]) == 1 && voucher["redemption"] == nil && !decode(voucher["disabled"]).BOOL &&
		number(voucher["from"]) <= at && at < number(voucher["until"]) &&
		(voucher["nickHash"] == nil || text(voucher["nickHash"]) == text(given[":nick"]))
}

func keyOf(table string, it item) key { return key{table, text(it["customer"]), text(it["sk"])} }

func (s *Store) find(table string, of item) item {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[keyOf(table, of)]
}

func (s *Store) put(table string, it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed.Load() {
		s.items[keyOf(table, it)] = it
	}
}

// value is an attribute of the types that the stub reads. An attribute of another type, or a missing one, is the zero value.
type value struct {
	S    string
	N    string
	BOOL bool
}

func decode(a json.RawMessage) (v value) {
	_ = json.Unmarshal(a, &v)
	return v
}

func text(a json.RawMessage) string { return decode(a).S }

func number(a json.RawMessage) int64 {
	n, _ := strconv.ParseInt(decode(a).N, 10, 64)
	return n
}
