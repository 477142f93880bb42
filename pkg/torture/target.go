package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"shopfront/pkg/operator"
	"shopfront/pkg/torture/history"
	"shopfront/pkg/voucher"
)

// target is a voucher under fire.
type target struct {
	written  string
	code     voucher.Code
	perNick  bool // a nick has a limit; that never changes
	recorder *history.Recorder

	editing         sync.Mutex // one edit at a time
	mu              sync.Mutex
	terms           history.Terms // that it has, or is on its way to
	started         bool          // on its way: an edit's outcome is unknown
	greatest        history.Terms // that it ever had
	requests, edits int           // that it is still to take
	asked           []asked
	unkeyed         int             // requests without a key whose outcome is unknown
	answered        map[string]bool // redemptions that were answered or listed, by their IDs
}

// asked is a request with a key, to be repeated.
type asked struct {
	nick, key string // nick as it is compared
}

// draw draws the vouchers of a round: some of each kind.
func draw(random *rand.Rand) []drawnTerms {
	several := func() int { return 2 + random.IntN(14) }
	few := func() int { return 1 + random.IntN(3) }
	drawn := []drawnTerms{
		{Terms: history.Terms{MaxUses: 1}},
		{Terms: history.Terms{MaxUses: 1}},
		{Terms: history.Terms{MaxUses: several()}},
		{Terms: history.Terms{MaxUses: several()}},
		{Terms: history.Terms{MaxUses: several(), MaxUsesPerNick: few()}},
		{Terms: history.Terms{MaxUses: several(), MaxUsesPerNick: few()}},
		{Terms: history.Terms{MaxUses: history.None, MaxUsesPerNick: few()}},
		{Terms: history.Terms{MaxUses: history.None}},
	}
	for i, d := range drawn {
		if d.MaxUses > 1 {
			drawn[i].counters = 1 + random.IntN(min(d.MaxUses, 4))
		}
	}
	return drawn
}

type drawnTerms struct {
	history.Terms

	counters int
}

func newTarget(ctx context.Context, shop *operator.Shop, number int, drawn drawnTerms) (*target, error) {
	written := fmt.Sprintf("SPRING-20-%c", 'A'+number)
	limit, perNick := voucher.Limit(drawn.MaxUses), voucher.Limit(drawn.MaxUsesPerNick) // None is NoLimit
	terms := voucher.Terms{
		Written: written, MaxUses: &limit, MaxUsesPerNick: &perNick, Counters: drawn.counters,
		Reward: voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1},
	}
	if limit == 1 {
		terms.MaxUsesPerNick = nil
	}
	created, err := shop.CreateVoucher(ctx, terms, time.Now())
	if err != nil {
		return nil, err
	}
	return &target{
		written: written, code: created.Code, perNick: drawn.MaxUsesPerNick != history.None, recorder: history.NewRecorder(drawn.Terms), terms: drawn.Terms, greatest: drawn.Terms,
		requests: requestsOfVoucher, edits: editsOfVoucher, answered: make(map[string]bool),
	}, nil
}

// typed is the code as one shopper or another types it.
func (t *target) typed(random *rand.Rand) string {
	return pick(random,
		t.written, strings.ToLower(t.written), strings.ReplaceAll(t.written, "-", ""), strings.ReplaceAll(t.written, "-", " "),
		strings.Replace(t.written, "0", "O", 1), strings.Replace(t.written, "I", "1", 1))
}

// take takes one of the requests that are left to be made.
func (t *target) take() bool { return t.count(&t.requests) }

// takeEdit takes one of the edits.
func (t *target) takeEdit() bool { return t.count(&t.edits) }

func (t *target) count(left *int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *left == 0 {
		return false
	}
	*left--
	return true
}

// mostUnkeyed bounds the requests that can never be known to have been applied or not: what the checker has to try doubles
// with each.
const mostUnkeyed = 4

// mayBeLost tells whether a request without a key may still end in the unknown.
func (t *target) mayBeLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unkeyed < mostUnkeyed
}

// remember keeps a request to be repeated.
func (t *target) remember(a asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, a)
}

// earlier picks a request that was made, or is being made.
func (t *target) earlier(random *rand.Rand) (a asked, any bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asked) == 0 {
		return asked{}, false
	}
	return pick(random, t.asked...), true
}

// repeatable are all requests with a key.
func (t *target) repeatable() []asked {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.asked)
}

// learn notes what an answer tells of the redemptions on record.
func (t *target) learn(a asked, answer history.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if answer.ID != "" {
		t.answered[answer.ID] = true
	}
	if answer.Outcome == history.Unknown && a.key == "" {
		t.unkeyed++
	}
}

// knownRedemptions are the IDs of the redemptions that must be on record.
func (t *target) knownRedemptions() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for id := range t.answered {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
