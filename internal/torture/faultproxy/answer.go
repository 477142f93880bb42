package faultproxy

import (
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

// answer is what a client is sent.
type answer struct {
	status int
	body   []byte
}

const namespace = "com.amazonaws.dynamodb.v20120810#"

// refusal is an error as DynamoDB writes it.
func refusal(status int, name, message string) answer {
	body, _ := json.Marshal(map[string]string{"__type": namespace + name, "message": message}) // texts
	return answer{status, body}
}

type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

// canceled is the cancellation of a transaction.
func canceled(reasons []reason) answer {
	codes := make([]string, len(reasons))
	for i, reason := range reasons {
		codes[i] = reason.Code
	}
	body, _ := json.Marshal(map[string]any{ // texts
		"__type": namespace + "TransactionCanceledException",
		"Message": "Transaction cancelled, please refer cancellation reasons for specific reasons [" +
			strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	})
	return answer{http.StatusBadRequest, body}
}

// reasonsFor gives the items at those places a reason, and the others of the transaction none.
func (c *call) reasonsFor(places map[int]bool, because reason) []reason {
	reasons := make([]reason, len(c.writes))
	for i := range reasons {
		reasons[i] = reason{Code: "None"}
		if places[i] {
			reasons[i] = because
		}
	}
	return reasons
}

// conflict refuses a write for the sake of a transaction that has the items at those places.
func (c *call) conflict(places map[int]bool) answer {
	if !c.isTransaction() {
		return refusal(http.StatusBadRequest, "TransactionConflictException", "Transaction is ongoing for the item")
	}
	return canceled(c.reasonsFor(places, reason{"TransactionConflict", "Transaction is ongoing for the item"}))
}

// anyConflict is a conflict over one of the items.
func (c *call) anyConflict(random *rand.Rand) answer {
	return c.conflict(map[int]bool{random.IntN(len(c.writes)): true})
}

// throttle refuses a call in one of the ways in which the service does.
func (c *call) throttle(random *rand.Rand) answer {
	if c.isTransaction() && random.IntN(2) == 0 {
		place := map[int]bool{random.IntN(len(c.writes)): true}
		return canceled(c.reasonsFor(place, reason{"ThrottlingError", "Throughput exceeds the current capacity of your table or index."}))
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

// send sends the whole answer, or only its first bytes.
func (a answer) send(w http.ResponseWriter, bytes int) {
	header := w.Header()
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:bytes]) // a client that went away will not be told
}

// cut ends the connection.
func cut() { panic(http.ErrAbortHandler) }
