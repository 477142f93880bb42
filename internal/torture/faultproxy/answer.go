package faultproxy

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

// answer is a response to a client.
type answer struct {
	status int
	body   []byte
}

const (
	namespace    = "com.amazonaws.dynamodb.v20120810#"
	overCapacity = "Throughput exceeds the current capacity of your table or index."
)

func throttled() reason { return reason{Code: "ThrottlingError", Message: overCapacity} }

// refusal returns an error in DynamoDB's format.
func refusal(status int, name, message string) answer {
	body, _ := json.Marshal(map[string]string{"__type": namespace + name, "message": message}) // strings always marshal
	return answer{status, body}
}

// reason is the cancellation reason of one part of a transaction.
type reason struct {
	Code    string
	Message string          `json:",omitempty"`
	Item    json.RawMessage `json:",omitempty"` // if the part's condition failed
}

// uncanceled returns the reasons of a transaction that no part has canceled yet.
func (c *call) uncanceled() []reason {
	reasons := make([]reason, len(c.writes)+len(c.reads))
	for i := range reasons {
		reasons[i].Code = "None"
	}
	return reasons
}

// canceled returns the response to a canceled transaction. At the given indexes, it sets the reason to the parameter cause.
func canceled(reasons []reason, places map[int]bool, cause reason) answer {
	codes := make([]string, len(reasons))
	for i := range reasons {
		if places[i] {
			reasons[i] = cause
		}
		codes[i] = reasons[i].Code
	}
	body, _ := json.Marshal(map[string]any{ // strings and JSON always marshal
		"__type":              namespace + "TransactionCanceledException",
		"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	})
	return answer{http.StatusBadRequest, body}
}

// conflict refuses a call because other calls hold the items at the given indexes. Like the service, it also checks the conditions
// of the other items.
func (p *Proxy) conflict(ctx context.Context, c *call, held map[int]bool) answer {
	const message = "Transaction is ongoing for the item"
	if !c.isTransaction() {
		return refusal(http.StatusBadRequest, "TransactionConflictException", message)
	}
	reasons := c.uncanceled()
	if len(held) < len(c.writes) {
		p.checkOthers(ctx, c, held, reasons)
	}
	return canceled(reasons, held, reason{Code: "TransactionConflict", Message: message})
}

// checkOthers sets the reasons of the items that are not held. It sends the transaction to DynamoDB Local, but replaces each held item with
// a check that always fails, so that nothing is applied.
func (p *Proxy) checkOthers(ctx context.Context, c *call, held map[int]bool, reasons []reason) {
	var request struct{ TransactItems []json.RawMessage }
	if err := json.Unmarshal(c.body, &request); err != nil {
		return
	}
	for place := range held {
		never := attributes{partitionKey: {S: "nobody"}, sortKey: {S: "nothing " + strconv.Itoa(place)}}
		request.TransactItems[place], _ = json.Marshal(map[string]any{"ConditionCheck": map[string]any{ // strings always marshal
			"TableName": c.writes[place].table, "Key": never, "ConditionExpression": "attribute_exists(" + sortKey + ")",
		}})
	}
	body, _ := json.Marshal(request) // JSON always marshals
	a, err := p.forward(ctx, c.header, body)
	var checked struct{ CancellationReasons []reason }
	if err == nil && json.Unmarshal(a.body, &checked) == nil {
		copy(reasons, checked.CancellationReasons)
	}
}

func (c *call) anyPlace(random *rand.Rand) map[int]bool {
	return map[int]bool{random.IntN(len(c.writes) + len(c.reads)): true}
}

// throttle refuses a call with one of the service's throttling errors.
func (c *call) throttle(random *rand.Rand) answer {
	if c.isTransaction() && random.IntN(2) == 0 {
		return canceled(c.uncanceled(), c.anyPlace(random), throttled())
	}
	names := []string{"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"}
	return refusal(http.StatusBadRequest, names[random.IntN(len(names))], "Throughput exceeds the current capacity.")
}

func serverError(random *rand.Rand) answer {
	if random.IntN(2) == 0 {
		return refusal(http.StatusInternalServerError, "InternalServerError", "The request processing has failed because of an unknown error.")
	}
	return refusal(http.StatusServiceUnavailable, "ServiceUnavailable", "The service is currently unavailable or busy.")
}

// send sends the header and the beginning of the body. The parameter bytes is how much of the body it sends. The Content-Length is always
// that of the whole body.
func (a answer) send(w http.ResponseWriter, bytes int) {
	header := w.Header()
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	header.Set("X-Amzn-Requestid", "faultproxy") // every response of DynamoDB has one
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:bytes]) // the client may be gone
}

// cut closes the connection.
func cut() { panic(http.ErrAbortHandler) }
