package faultproxy

import (
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

// refusal is an error in DynamoDB's format.
func refusal(status int, name, message string) answer {
	body, _ := json.Marshal(map[string]string{"__type": namespace + name, "message": message}) // strings always marshal
	return answer{status, body}
}

// canceled is the cancellation of a transaction because of the items at some places.
func (c *call) canceled(places map[int]bool, code, message string) answer {
	type reason struct {
		Code    string
		Message string `json:",omitempty"`
	}
	reasons, codes := make([]reason, len(c.writes)), make([]string, len(c.writes))
	for i := range reasons {
		reasons[i] = reason{Code: "None"}
		if places[i] {
			reasons[i] = reason{code, message}
		}
		codes[i] = reasons[i].Code
	}
	body, _ := json.Marshal(map[string]any{ // strings always marshal
		"__type":              namespace + "TransactionCanceledException",
		"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	})
	return answer{http.StatusBadRequest, body}
}

// conflict refuses a write because a transaction holds the items at some places.
func (c *call) conflict(places map[int]bool) answer {
	const message = "Transaction is ongoing for the item"
	if c.isTransaction() {
		return c.canceled(places, "TransactionConflict", message)
	}
	return refusal(http.StatusBadRequest, "TransactionConflictException", message)
}

func (c *call) anyPlace(random *rand.Rand) map[int]bool {
	return map[int]bool{random.IntN(len(c.writes)): true}
}

// throttle refuses a call in one of the ways in which the service does.
func (c *call) throttle(random *rand.Rand) answer {
	if c.isTransaction() && random.IntN(2) == 0 {
		return c.canceled(c.anyPlace(random), "ThrottlingError", overCapacity)
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

// send sends the first bytes of the response. Its header promises the whole.
func (a answer) send(w http.ResponseWriter, bytes int) {
	header := w.Header()
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:bytes]) // the client may be gone
}

// cut closes the connection.
func cut() { panic(http.ErrAbortHandler) }
