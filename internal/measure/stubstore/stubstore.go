// Package stubstore is a stand-in for DynamoDB whose answers take the same time, whatever they are. It knows the calls that
// Shopfront's functions make, and of their conditions only whether a code may be redeemed as a single-use one, which it reads
// from the item: enough for what is measured against it, and for nothing else.
//
// It imports the standard library only.
package stubstore

import (
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

// Store answers DynamoDB's JSON protocol over HTTP. Its methods may be called at the same time.
type Store struct {
	delay time.Duration
	calls atomic.Int64

	mu     sync.RWMutex
	items  map[key]item
	sealed bool
}

type key struct{ table, partition, sort string }

// item is an item as the protocol has it, by attribute.
type item map[string]attribute

type attribute = json.RawMessage

// New is an empty store that, once it is sealed, answers each call after the delay, counted from when it had read the call.
func New(delay time.Duration) *Store { return &Store{delay: delay, items: make(map[key]item)} }

// Seal ends the filling: from now on answers take their time, and nothing is written. Writes are answered as if they were
// done, so that each request meets the same items.
func (s *Store) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
}

func (s *Store) isSealed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sealed
}

// Calls is how many calls were answered.
func (s *Store) Calls() int64 { return s.calls.Load() }

// ServeHTTP answers one call.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	status, answer := s.Answer(r.Header.Get("X-Amz-Target"), body)
	header := w.Header()
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("Content-Length", strconv.Itoa(len(answer)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // no browser reads it; the client may be gone
}

// Answer answers a call, named as in the header X-Amz-Target, with a status and a body.
func (s *Store) Answer(target string, body []byte) (status int, answer []byte) {
	due := time.Now().Add(s.delay)
	status, value := s.answer(target, body)
	answer, err := json.Marshal(value)
	if err != nil { // what was decoded encodes
		status, answer = http.StatusInternalServerError, nil
	}
	s.calls.Add(1)
	if s.isSealed() {
		time.Sleep(time.Until(due))
	}
	return status, answer
}

func (s *Store) answer(target string, body []byte) (status int, answer any) {
	_, operation, _ := strings.Cut(target, ".")
	var err error
	switch operation {
	case "GetItem":
		answer, err = call(body, s.get)
	case "BatchGetItem":
		answer, err = call(body, s.batchGet)
	case "Query":
		answer, err = call(body, s.query)
	case "PutItem":
		answer, err = call(body, s.put)
	case "UpdateItem":
		var update update
		if err = json.Unmarshal(body, &update); err == nil {
			return s.update(update)
		}
	case "TransactWriteItems":
		answer, err = call(body, s.transact)
	default:
		err = fmt.Errorf("the stub does not know %q", target)
	}
	if err != nil {
		return http.StatusBadRequest, map[string]string{
			"__type": "com.amazon.coral.validate#ValidationException", "message": err.Error(),
		}
	}
	return http.StatusOK, answer
}

func call[In any](body []byte, do func(In) any) (any, error) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	return do(in), nil
}

type get struct {
	TableName string
	Key       item
}

func (s *Store) get(in get) any {
	found := s.find(keyOf(in.TableName, in.Key))
	if found == nil {
		return map[string]any{}
	}
	return map[string]any{"Item": found}
}

type batchGet struct {
	RequestItems map[string]struct{ Keys []item }
}

func (s *Store) batchGet(in batchGet) any {
	responses := make(map[string][]item)
	for table, asked := range in.RequestItems {
		responses[table] = []item{}
		for _, k := range asked.Keys {
			if found := s.find(keyOf(table, k)); found != nil {
				responses[table] = append(responses[table], found)
			}
		}
	}
	return map[string]any{"Responses": responses, "UnprocessedKeys": struct{}{}}
}

type query struct {
	TableName                 string
	ExpressionAttributeValues item
}

// query answers with all of a customer's products, however many were asked for.
func (s *Store) query(in query) any {
	partition, prefix := str(in.ExpressionAttributeValues[":customer"]), str(in.ExpressionAttributeValues[":product"])
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

type put struct {
	TableName string
	Item      item
}

func (s *Store) put(in put) any {
	s.keep(keyOf(in.TableName, in.Item), in.Item)
	return struct{}{}
}

type transaction struct {
	TransactItems []struct {
		Put *put
	}
}

func (s *Store) transact(in transaction) any {
	for _, action := range in.TransactItems {
		if action.Put != nil {
			s.put(*action.Put)
		}
	}
	return struct{}{}
}

type update struct {
	TableName                 string
	Key                       item
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues item
	ReturnValues              string
}

// update redeems a single-use code, or fails with the item as it is.
func (s *Store) update(in update) (status int, answer any) {
	k := keyOf(in.TableName, in.Key)
	old := s.find(k)
	if !redeemable(old, in.ExpressionAttributeValues) {
		failed := map[string]any{
			"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "The conditional request failed",
		}
		if old != nil {
			failed["Item"] = old
		}
		return http.StatusBadRequest, failed
	}
	updated := maps.Clone(old)
	for assignment := range strings.SplitSeq(strings.TrimPrefix(in.UpdateExpression, "SET "), ", ") {
		name, value, _ := strings.Cut(assignment, " = ")
		updated[in.ExpressionAttributeNames[name]] = in.ExpressionAttributeValues[value]
	}
	s.keep(k, updated)
	return http.StatusOK, map[string]any{"Attributes": updated}
}

// redeemable is the condition under which a code is redeemed as a single-use one, at a time and for a nick, as
// docs/decisions/0002-one-conditional-update.md has it.
func redeemable(voucher, given item) bool {
	at := num(given[":at"])
	return voucher != nil && num(voucher["maxUses"]) == 1 && voucher["redemption"] == nil && !boolean(voucher["disabled"]) &&
		num(voucher["from"]) <= at && at < num(voucher["until"]) &&
		(voucher["nickHash"] == nil || str(voucher["nickHash"]) == str(given[":nick"]))
}

func keyOf(table string, it item) key {
	return key{table: table, partition: str(it["customer"]), sort: str(it["sk"])}
}

func (s *Store) find(k key) item {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[k]
}

func (s *Store) keep(k key, it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed {
		s.items[k] = it
	}
}

// value is an attribute of the types that are read here; of another type it is the zero value.
type value struct {
	S    string
	N    string
	BOOL bool
}

func decode(a attribute) (v value) {
	_ = json.Unmarshal(a, &v) // the zero value, as where there is no attribute
	return v
}

func str(a attribute) string { return decode(a).S }

func boolean(a attribute) bool { return decode(a).BOOL }

func num(a attribute) int64 {
	n, _ := strconv.ParseInt(decode(a).N, 10, 64) // zero where it is none
	return n
}
