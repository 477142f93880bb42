package backoffice

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
)

// samplePage is how many items of each bucket are read for a sample.
const samplePage = 16

// SampleBatches returns the batches of the first vouchers in each bucket. Batches may repeat. Buckets that cannot be read are left out.
func (s *Vouchers) SampleBatches(ctx context.Context, customer catalog.CustomerID) []string {
	var mu sync.Mutex
	var batches []string
	var readers sync.WaitGroup
	api := limitedQueries{s.api, make(chan struct{}, listReaders)}
	for number := range table.Buckets {
		readers.Go(func() {
			query := partition(s.table, table.Bucket(customer, number))
			query.ConsistentRead, query.Limit = nil, aws.Int32(samplePage)
			page, err := api.Query(ctx, query)
			if err != nil {
				return // a sample may be incomplete
			}
			mu.Lock()
			defer mu.Unlock()
			for _, it := range page.Items {
				if batch := table.Item(it).Str(table.AttrBatch); batch != "" {
					batches = append(batches, batch)
				}
			}
		})
	}
	readers.Wait()
	return batches
}
