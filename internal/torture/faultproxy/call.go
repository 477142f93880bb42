package faultproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The key of every table.
const (
	partitionKey = "customer"
	sortKey      = "sk"
)

// itemKey identifies an item.
type itemKey struct{ table, partition, sort string }

// call is a request to DynamoDB, parsed as far as faults and rules need it.
type call struct {
	operation string // such as UpdateItem
	header    http.Header
	body      []byte
	reads     []itemKey
	writes    []itemKey     // in a transaction, also items that are only checked
	token     string        // the client token of a transaction
	apart     time.Duration // of a transaction: its first item becomes visible this much later than the others
}

// isTransaction reports whether the call is a transaction, which either writes or reads.
func (c *call) isTransaction() bool { return strings.HasPrefix(c.operation, "Transact") }

// kind returns the operation and the first item's sort key up to its second #. The rest of the key may be random.
func (c *call) kind() string {
	keys := slices.Concat(c.writes, c.reads)
	if len(keys) == 0 {
		return c.operation
	}
	parts := strings.SplitN(keys[0].sort, "#", 3)
	return c.operation + " " + strings.Join(parts[:min(len(parts), 2)], "#")
}

type attributes map[string]struct{ S string }

// target is the item of an operation, or of one part of it.
type target struct {
	TableName string
	Key, Item attributes
}

func (t target) key() itemKey {
	at := t.Key
	if at == nil {
		at = t.Item
	}
	return itemKey{t.TableName, at[partitionKey].S, at[sortKey].S}
}

// readCall parses a request. The operation follows the dot in the header X-Amz-Target.
func readCall(header http.Header, body []byte) (*call, error) {
	_, operation, _ := strings.Cut(header.Get("X-Amz-Target"), ".")
	var request struct {
		target
		ClientRequestToken string
		TransactItems      []map[string]target // by verb, such as Update
		RequestItems       map[string]struct{ Keys []attributes }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	c := &call{operation: operation, header: header, body: body, token: request.ClientRequestToken}
	switch operation {
	case "UpdateItem", "PutItem", "DeleteItem":
		c.writes = []itemKey{request.key()}
	case "GetItem":
		c.reads = []itemKey{request.key()}
	case "TransactWriteItems", "TransactGetItems":
		for _, part := range request.TransactItems {
			for verb, at := range part {
				if verb == "Get" {
					c.reads = append(c.reads, at.key())
				} else {
					c.writes = append(c.writes, at.key())
				}
			}
		}
	case "BatchGetItem":
		for table, asked := range request.RequestItems {
			for _, key := range asked.Keys {
				c.reads = append(c.reads, target{TableName: table, Key: key}.key())
			}
		}
	}
	return c, nil
}
