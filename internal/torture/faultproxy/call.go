package faultproxy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The key of every table in infra/.
const (
	partitionKey = "customer"
	sortKey      = "sk"
)

// itemKey names an item.
type itemKey struct{ table, partition, sort string }

// call is a request to DynamoDB, read as far as faults and rules need it.
type call struct {
	operation string // UpdateItem
	body      []byte
	reads     []itemKey
	writes    []itemKey // of a transaction: also what it only checks
	token     string    // of a transaction: the client's
}

func (c *call) isTransaction() bool { return c.operation == "TransactWriteItems" }

// kind is the operation and what the first item's sort key begins with: whatever is random in a key comes behind its
// second #.
func (c *call) kind() string {
	for _, key := range slices.Concat(c.writes, c.reads) {
		parts := strings.SplitN(key.sort, "#", 3)
		return c.operation + " " + strings.Join(parts[:min(len(parts), 2)], "#")
	}
	return c.operation
}

type attributes map[string]struct{ S string }

// target is what an operation, or a part of one, names.
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

// readCall reads a request: operation is what follows the dot in the header X-Amz-Target.
func readCall(operation string, body []byte) (*call, error) {
	var request struct {
		target
		ClientRequestToken string
		TransactItems      []map[string]target // "Update": …
		RequestItems       map[string]struct{ Keys []attributes }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	c := &call{operation: operation, body: body, token: request.ClientRequestToken}
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
