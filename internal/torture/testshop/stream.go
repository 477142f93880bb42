package testshop

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"shopfront/internal/local/eventsource"
	"shopfront/internal/memdynamo/dynamotest"
)

// Stream returns a source that reads the stream of a table from its oldest record on. It calls pass with each record as
// Lambda delivers it. Each call of Poll continues where the last one stopped.
func Stream(tb testing.TB, table string, pass func(record json.RawMessage)) *eventsource.Source {
	tb.Helper()
	const largest = 1000 // the most records that one GetRecords returns
	source, err := eventsource.New(eventsource.Config{
		Mapping:  eventsource.Mapping{Table: table, BatchSize: largest},
		Endpoint: dynamotest.Endpoint(tb), Functions: reader(pass),
		Path: filepath.Join(tb.TempDir(), "stream"), Report: func(err error) { tb.Error(err) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return source
}

// reader is a function that a stream invokes.
type reader func(record json.RawMessage)

func (r reader) Invoke(_ context.Context, _ string, event []byte) ([]byte, error) {
	var batch struct{ Records []json.RawMessage }
	err := json.Unmarshal(event, &batch)
	for _, record := range batch.Records {
		r(record)
	}
	return nil, err
}
