package hotcode_test

import (
	"cmp"
	"container/heap"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// attempt is a transaction of a request that arrived at a time and had conflicts before.
type attempt struct {
	at, arrived time.Duration
	conflicts   int
}

// attempts is a heap.Interface, earliest first.
type attempts []attempt

func (a attempts) Len() int           { return len(a) }
func (a attempts) Less(i, j int) bool { return a[i].at < a[j].at }
func (a attempts) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *attempts) Push(x any)        { *a = append(*a, x.(attempt)) }
func (a *attempts) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// Requests arrive at random for ten seconds. Each writes a random part in a transaction of 10 ms. If another
// transaction is writing that part, the request waits as package dynamo does, and takes another random part.
func TestParts_InAModel_CarryTheDocumentedRates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		parts, rate int
		p99         time.Duration
	}{
		{1, 50, 2 * time.Second}, {5, 100, 200 * time.Millisecond}, {voucher.MaxParts, 1000, 200 * time.Millisecond},
		{voucher.MaxParts, 3000, 500 * time.Millisecond}, {voucher.MaxParts, 5000, 2 * time.Second},
	} {
		random := mathrand.New(mathrand.NewPCG(1, uint64(test.rate)))
		waiting, busy := &attempts{}, make([]time.Duration, test.parts)
		for at := time.Duration(0); at < 10*time.Second; {
			at += time.Duration(random.ExpFloat64() * float64(time.Second) / float64(test.rate))
			heap.Push(waiting, attempt{at, at, 0})
		}
		var took []time.Duration
		conflicts := 0
		for waiting.Len() > 0 {
			a := heap.Pop(waiting).(attempt)
			part := random.IntN(test.parts)
			if busy[part] <= a.at {
				busy[part] = a.at + 10*time.Millisecond
				took = append(took, busy[part]-a.arrived)
				continue
			}
			conflicts++
			delay := 5*time.Millisecond + table.Backoff(a.conflicts, random.Int64N)
			heap.Push(waiting, attempt{a.at + delay, a.arrived, a.conflicts + 1})
		}
		slices.SortFunc(took, cmp.Compare)
		p99 := took[len(took)*99/100]
		t.Logf("%d parts, %d a second: %d %% conflicts, p50 %s, p99 %s", test.parts, test.rate,
			100*conflicts/(conflicts+len(took)), took[len(took)/2], p99)
		if p99 > test.p99 {
			t.Errorf("%d parts, %d a second: p99 is %s, want at most %s", test.parts, test.rate, p99, test.p99)
		}
	}
}
