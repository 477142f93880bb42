package torture

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"shopfront/internal/torture/history"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

// target is a voucher that clients redeem and operators edit.
type target struct {
	written string
	code    voucher.Code
	batch   string
	perNick bool // whether a nick has a limit; edits never change that
	doomed  bool // an operator tries to delete the voucher
	// of the last attempt; during a round, only the operator who deletes the voucher uses deletion and deleted
	deletion history.Outcome
	deleted  bool
	imported int // uses that were made before the voucher was imported
	recorder *history.Recorder

	editing         sync.Mutex // one edit at a time
	mu              sync.Mutex
	terms           history.Terms // the current terms, or those of the edit in flight
	pending         history.Edit  // the edit whose outcome is still unknown
	greatest        history.Terms // the greatest value that each term ever had
	requests, edits int           // how many are left to make
	asked           []asked
	open            map[asked]bool  // requests that may or may not have been redeemed
	unkeyed         int             // requests without a key whose outcome is unknown
	confirmed       map[string]bool // redemptions that were confirmed or listed, by ID

	holds      int // how many checkouts are left to make
	purchases  []*purchase
	redeemed   []string        // confirmed redemptions, without those of orders
	undone     map[string]bool // redemptions that somebody tried to undo
	unfinished map[string]func() history.Outcome
	lapsed     time.Time // when every hold has lapsed
}

// asked is a request that may be sent again.
type asked struct {
	nick, key string // the nick is in lower case
}

// draw draws the vouchers of a round: some of each kind.
func (t trial) draw(random *rand.Rand) []order {
	several := func() int { return 3 + random.IntN(18) }
	few := func() int { return 1 + random.IntN(3) }
	drawn := []order{
		{Terms: history.Terms{MaxUses: 1}},
		{Terms: history.Terms{MaxUses: 1}},
		{Terms: history.Terms{MaxUses: 1}},
		{Terms: history.Terms{MaxUses: several()}},
		{Terms: history.Terms{MaxUses: several()}},
		{Terms: history.Terms{MaxUses: several(), MaxUsesPerNick: few()}},
		{Terms: history.Terms{MaxUses: several(), MaxUsesPerNick: few()}},
		{Terms: history.Terms{MaxUses: history.None, MaxUsesPerNick: few()}},
		{Terms: history.Terms{MaxUses: history.None}},
	}
	for i := range drawn {
		d := &drawn[i]
		d.requests, d.edits = 30, 8
		d.Disabled = random.IntN(4) == 0
		if d.MaxUses == 1 {
			d.requests = 12
		} else if d.MaxUses != history.None {
			d.parts = new(random.IntN(5))
		}
	}
	if t.holds {
		// only a few of each kind, so that requests race, and no code without limits
		drawn = slices.Concat(drawn[:2], drawn[4:8])
		for i := range drawn {
			d := &drawn[i]
			d.requests, d.edits, d.holds, d.Disabled = 80, 8, 16, false
			if d.MaxUses > 1 {
				d.MaxUses = 2 + random.IntN(4)
				d.parts = new(random.IntN(4))
			}
		}
	}
	if t.busy {
		drawn = append(drawn, order{Terms: history.Terms{MaxUses: 150}, parts: new(8), requests: 240, edits: 4})
	}
	return append(drawn, t.drawBulk(random)...)
}

// drawBulk draws vouchers to delete, and vouchers that were imported.
func (t trial) drawBulk(random *rand.Rand) []order {
	drawn := []order{
		{Terms: history.Terms{MaxUses: 4}, parts: new(2)},
		{Terms: history.Terms{MaxUses: 3, MaxUsesPerNick: 1}},
		{Terms: history.Terms{MaxUses: history.None, MaxUsesPerNick: 1}},
		{Terms: history.Terms{MaxUses: history.None}},
	}
	random.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	drawn = append(drawn[:2], order{Terms: history.Terms{MaxUses: 1}})
	for i := range drawn {
		drawn[i].doomed, drawn[i].requests = true, 8
	}
	few := 1 + random.IntN(3)
	drawn = append(drawn,
		order{Terms: history.Terms{MaxUses: 1, Imported: 1}, requests: 6},
		order{Terms: history.Terms{MaxUses: few + 3, Imported: few}, parts: new(2), requests: 20, edits: 4},
		order{Terms: history.Terms{MaxUses: few + 5, MaxUsesPerNick: 2, Imported: few}, requests: 20, edits: 4},
	)
	if t.holds {
		for i := range drawn {
			drawn[i].holds = 4
		}
	}
	return drawn
}

// order is a voucher to create, with the numbers of requests and edits that it gets.
type order struct {
	history.Terms

	parts                  *int
	requests, edits, holds int
	doomed                 bool
}

// reward returns the reward of the round's vouchers. Only a discount can be used at a checkout.
func (t trial) reward() voucher.Reward {
	if t.holds {
		return voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	}
	return voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
}

func newTarget(
	ctx context.Context, shop *backoffice.Shop, number int, order order, reward voucher.Reward,
) (*target, error) {
	// without letters that look like others in a code
	written := "SPRING-20-" + "ABCDEFGHJKMNPQRSTVWXYZ"[number:][:1]
	// history.None is voucher.NoLimit
	limit, perNick := voucher.Limit(order.MaxUses), voucher.Limit(order.MaxUsesPerNick)
	terms := voucher.Terms{
		Written: written, MaxUses: &limit, MaxUsesPerNick: &perNick, Disabled: order.Disabled, Parts: order.parts,
		Reward: reward,
	}
	if limit == 1 {
		terms.MaxUsesPerNick = nil
	}
	if number%2 == 0 {
		terms.Batch = launchBatch
	}
	var err error
	if order.Imported > 0 {
		err = importOrder(ctx, shop, terms, order.Imported)
	} else {
		_, err = shop.CreateVoucher(ctx, terms, time.Now())
	}
	if err != nil {
		return nil, err
	}
	code, err := voucher.ParseCode(written)
	if err != nil {
		return nil, err
	}
	return &target{
		written: written, code: code, batch: terms.Batch, perNick: order.MaxUsesPerNick != history.None,
		doomed: order.doomed, imported: order.Imported,
		recorder: history.NewRecorder(order.Terms, history.CheckoutTimes{Lifetime: checkoutLifetime, Free: usesFree}),
		terms:    order.Terms, greatest: order.Terms,
		requests: order.requests, edits: order.edits, open: make(map[asked]bool), confirmed: make(map[string]bool),
		holds: order.holds, undone: make(map[string]bool), unfinished: make(map[string]func() history.Outcome),
	}, nil
}

// typed returns the code in one of the spellings that count as the same.
func (t *target) typed(random *rand.Rand) string {
	return pick(random,
		t.written, strings.ToLower(t.written), strings.ReplaceAll(t.written, "-", ""),
		strings.ReplaceAll(t.written, "-", " "),
		strings.Replace(t.written, "0", "O", 1), strings.Replace(t.written, "I", "1", 1))
}

// take counts down how many requests, edits or checkouts are left to make. It returns false if none is left.
func (t *target) take(left *int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *left == 0 {
		return false
	}
	*left--
	return true
}

// mostUnkeyed is how many requests without a key may have an unknown outcome before clients send no more requests
// without a key. Each unknown outcome doubles the number of sequences that the checker has to try.
const mostUnkeyed = 4

// mayBeLost reports whether another request without a key may be sent, although its outcome may stay unknown.
func (t *target) mayBeLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unkeyed < mostUnkeyed
}

// remember stores a request, so that it can be retried.
func (t *target) remember(a asked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, a)
}

// earlier picks a request that was made, or is being made.
func (t *target) earlier(random *rand.Rand) (a asked, has bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asked) == 0 {
		return asked{}, false
	}
	return pick(random, t.asked...), true
}

// unsettled returns the requests with a key that may have been applied, but were not confirmed.
func (t *target) unsettled() []asked {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.asked), func(a asked) bool { return !t.open[a] })
}

// learn records what a response says about the stored redemptions.
func (t *target) learn(a asked, answer history.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case answer.ID != "":
		t.confirmed[answer.ID] = true
		if answer.Outcome == history.Redeemed {
			t.redeemed = append(t.redeemed, answer.ID)
		}
		t.open[a] = false
	case answer.Outcome == history.Unknown && a.key == "":
		t.unkeyed++
	case answer.Outcome == history.Unknown:
		t.open[a] = true
	}
}

// knownRedemptions returns the IDs of the redemptions that must be stored.
func (t *target) knownRedemptions() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.confirmed))
}
