package backoffice

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"shopfront/pkg/dynamo/table"
)

// SomeBatches returns names of batches, sorted, for shell completion. The names are those of the paused batches, and of
// the batches in a small sample of vouchers. When the context ends, SomeBatches returns the names that it has found.
func (s *Shop) SomeBatches(ctx context.Context) []string {
	settings, _ := s.Settings(ctx) // without the settings, the sample is still useful
	batches := slices.Concat(settings.Paused.Batches, s.sampleBatches(ctx))
	slices.Sort(batches)
	return slices.Compact(batches)
}

// samplePage is how many items of each bucket are read for a sample.
const samplePage = 16

// sampleBatches returns the batches of the first vouchers in each bucket. Batches may repeat. Buckets that cannot be
// read are left out.
func (s *Shop) sampleBatches(ctx context.Context) []string {
	var mu sync.Mutex
	var batches []string
	var readers sync.WaitGroup
	api := limitedQueries{s.api, make(chan struct{}, listReaders)}
	for number := range table.Buckets {
		readers.Go(func() {
			query := partition(s.Tables.Vouchers, table.Bucket(s.Profile.ID, number))
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
