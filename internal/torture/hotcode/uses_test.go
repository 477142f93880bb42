package hotcode_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/voucher"
)

// A crowd takes each use of a code once, and nobody is refused while a use is left.
func TestCrowd_EachUseOfACode_IsTakenOnce(t *testing.T) {
	const uses, tills = 1000, 64
	for _, parts := range []int{0, 10, voucher.MaxParts} {
		t.Run(fmt.Sprint(parts, " parts"), func(t *testing.T) {
			s := newShop(t, memdynamo.Dials{})
			v := s.create(t, uses, parts)
			if redeemed, refused := s.takeAll(t, tills, v.Code); redeemed != uses || refused != tills {
				t.Errorf("%d uses were redeemed and %d tills refused; want %d and %d", redeemed, refused, uses, tills)
			}
			t.Logf("%d redemptions: %v", uses, s.store.Calls())
		})
	}
}

// takeAll makes tills redeem at the same time, each until it is refused. After a refusal, no new request may redeem.
func (s *shop) takeAll(t *testing.T, tills int, code voucher.Code) (redeemed, refused int64) {
	t.Helper()
	var taken, ended atomic.Int64
	var redeeming sync.WaitGroup
	for range tills {
		redeeming.Go(func() {
			for till := s.till(code, patient); ; taken.Add(1) {
				before := ended.Load()
				took, err := till.redeem(t.Context(), patience)
				if err != nil {
					t.Error(err)
					return
				}
				if !took {
					ended.Add(1)
					return
				}
				if before > 0 {
					t.Error("a use was taken after a request had been refused")
				}
			}
		})
	}
	redeeming.Wait()
	return taken.Load(), ended.Load()
}

// Without a crowd, a redemption takes at most three calls, even for one of the last uses: for an empty part, all parts,
// and a part with uses left. A refusal takes two.
func TestRedeem_LastUses_TakeAtMostThreeCalls(t *testing.T) {
	t.Parallel()
	const uses = 60
	s := newShop(t, memdynamo.Dials{})
	v := s.create(t, uses, 8)
	till := s.till(v.Code, patient)
	for use := range uses + 3 {
		before := s.store.Calls()
		took, err := till.redeem(t.Context(), patience)
		if err != nil || took != (use < uses) {
			t.Fatalf("use %d of %d was taken: %t, with the error %v", use, uses, took, err)
		}
		most := 3
		if use == 0 || !took {
			most = 2 // the first request learns the rules from a write that fails
		}
		if calls := s.calls(before); calls > most {
			t.Errorf("use %d took the calls %v; want at most %d", use, s.since(before), most)
		}
	}
}
