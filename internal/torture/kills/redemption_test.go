package kills_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// redemption is a kind of request to redeem. The kinds differ in the calls that they take.
type redemption struct {
	kind string
	// calls lists the operations of an undisturbed redemption in a process that knows the shop's settings. The last
	// call of a refused request counts the refusal.
	calls []string
	// perhaps says that the function may find a use with fewer calls.
	perhaps bool
	keyed   bool
	// prepare creates the voucher of the code, perhaps with uses taken. If it is nil, the code is unknown.
	prepare func(d *desk, code string)
	// taken is how many redemptions the voucher has before the request.
	taken int
	// refused says that no use is left for the request.
	refused bool
	// replayed says that prepare has already sent the request, which redeemed the code.
	replayed bool
	// single says that the code has one use.
	single bool
}

const (
	getItem      = "GetItem"
	readTogether = "TransactGetItems"
	update       = "UpdateItem"
	transact     = "TransactWriteItems"
)

const alder = "Alder"

// functionFailed is the gateway's response when the function ended without a response.
const functionFailed = `{"message":"Internal Server Error"}`

func redemptions() []redemption {
	single := func(d *desk, code string) { d.create(code, voucher.Terms{}) }
	many := voucher.Terms{MaxUses: new(voucher.Limit(6)), Parts: new(2)}
	anyone := many
	anyone.MaxUsesPerNick = new(voucher.NoLimit)
	perNick := func(d *desk, code string) { d.create(code, many) }
	everyone := func(d *desk, code string) { d.create(code, anyone) }
	usedUp := func(d *desk, code string) {
		d.create(code, voucher.Terms{MaxUses: new(voucher.Limit(2)), Parts: new(2)})
		d.redeem(request{code: code, nick: "Birch"})
		d.redeem(request{code: code, nick: "Cedar"})
	}
	unlimited := func(perNick voucher.Limit) func(*desk, string) {
		return func(d *desk, code string) {
			d.create(code, voucher.Terms{MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(perNick)})
		}
	}
	before := func(d *desk, code string) {
		perNick(d, code)
		d.redeem(keyed(code))
	}
	return []redemption{
		{kind: "single-use, key", calls: []string{update}, keyed: true, single: true, prepare: single},
		{kind: "single-use", calls: []string{update}, single: true, prepare: single},
		{kind: "limited, key", calls: []string{update, transact}, keyed: true, prepare: everyone},
		{kind: "limited", calls: []string{update, transact}, prepare: everyone},
		{kind: "per nick, key", calls: []string{update, transact}, keyed: true, prepare: perNick},
		{
			kind: "limited, remembered", calls: []string{transact}, keyed: true, taken: 1,
			prepare: func(d *desk, code string) {
				perNick(d, code)
				d.redeem(request{code: code, nick: "Birch"})
			},
		},
		{
			kind: "other part, key", calls: []string{update, transact, readTogether, transact}, perhaps: true, keyed: true,
			prepare: withFewLeft,
		},
		{
			kind: "other part", calls: []string{update, transact, readTogether, transact}, perhaps: true,
			prepare: withFewLeft,
		},
		{
			kind: "last use gone, key", calls: []string{transact, readTogether, readTogether, update}, keyed: true,
			refused: true, taken: 2, prepare: usedUp,
		},
		{
			kind: "last use gone", calls: []string{transact, readTogether, update}, refused: true, taken: 2, prepare: usedUp,
		},
		{kind: "replay", calls: []string{transact}, keyed: true, replayed: true, taken: 1, prepare: before},
		{
			kind: "recall", calls: []string{update, readTogether}, keyed: true, replayed: true, taken: 1,
			prepare: func(d *desk, code string) {
				before(d, code)
				d.disable(code)
				d.forget()
			},
		},
		{kind: "unlimited, key", calls: []string{update, update}, keyed: true, prepare: unlimited(voucher.NoLimit)},
		{kind: "unlimited", calls: []string{update, update}, prepare: unlimited(voucher.NoLimit)},
		{kind: "unlimited, per nick", calls: []string{update, update}, keyed: true, prepare: unlimited(1)},
		{
			kind: "nick's limit, key", calls: []string{transact, getItem, readTogether, update}, keyed: true, refused: true, taken: 1,
			prepare: func(d *desk, code string) {
				perNick(d, code)
				d.redeem(request{code: code, nick: alder})
			},
		},
		{kind: "unknown code, key", calls: []string{update, readTogether, update}, keyed: true, refused: true},
	}
}

// withFewLeft makes a voucher with mostly empty parts.
func withFewLeft(d *desk, code string) {
	d.create(code, voucher.Terms{MaxUses: new(voucher.Limit(8)), Parts: new(8), MaxUsesPerNick: new(voucher.NoLimit)})
	if _, err := d.shop.EditVoucher(d.t.Context(), compared(d.t, code),
		voucher.Edit{MaxUses: new(voucher.Limit(2))}); err != nil {
		d.t.Fatal(err)
	}
}

type request struct{ code, nick, key string }

// keyed returns a request with a key.
func keyed(code string) request { return request{code: code, nick: alder, key: "order-" + code} }

// received is the response to a request.
type received struct {
	status   int
	id       string // of a redemption
	replayed bool
	body     string
}

func (b *bench) send(t *testing.T, shop catalog.ShopID, r request) received {
	t.Helper()
	sent := testshop.Redemption(r.code, r.nick)
	sent.Key = r.key
	recorder := sent.Send(t.Context(), b.API, shop)
	a := received{status: recorder.Code, replayed: isReplayed(recorder), body: recorder.Body.String()}
	if a.status == http.StatusOK {
		var redeemed struct{ ID, Status string }
		if err := json.Unmarshal(recorder.Body.Bytes(), &redeemed); err != nil || redeemed.Status != "redeemed" ||
			redeemed.ID == "" {
			t.Fatalf("a response with status 200 is not a redemption, %v: %s", err, recorder.Body)
		}
		a.id = redeemed.ID
	}
	return a
}

// place returns the place of the step's call in r.calls, from 1.
func (r *redemption) place(at step) int {
	n := 0
	for i, operation := range r.calls {
		if operation == at.operation {
			n++
		}
		if n == at.n {
			return i + 1
		}
	}
	return 0
}

// desk kills the function at each step of each kind of redemption, each time with a new code, and then sends the
// request again.
type desk struct {
	*bench
	t      *testing.T
	shopID catalog.ShopID
	shop   *backoffice.Shop
	codes  int
}

func newDesk(t *testing.T, b *bench, shop catalog.ShopID) *desk {
	t.Helper()
	return &desk{bench: b, t: t, shopID: shop, shop: b.open(t, shop)}
}

// killRedemptions kills redemptions until there are enough kills of each kind, and enough at each call, from the first
// to the last. It returns a row for each call.
func killRedemptions(t *testing.T, programs testshop.Programs) (rows []torture.Row) {
	t.Helper()
	b := newBench(t, programs)
	d := newDesk(t, b, "minecave")
	records, ofKind := make(map[string]*recorder), make(map[string]int)
	var all []*killedOne
	for before := -1; len(all) > before && !t.Failed(); {
		before = len(all)
		for number, kind := range redemptions() {
			for _, at := range kind.wantedSteps(t, number) {
				name := "killed: redemption, " + at.fate.relativeTo(fmt.Sprint("call ", kind.place(at)))
				if records[name] == nil {
					records[name] = &recorder{torture.Row{Fault: name}}
				}
				if before == 0 || min(records[name].row.Injected, ofKind[kind.kind]) < wantedKills(t) {
					all = append(all, d.killAt(&kind, records[name], at))
					ofKind[kind.kind]++
				}
			}
		}
	}
	d.sendAgain(all)
	for _, record := range records {
		rows = append(rows, record.row)
	}
	return rows
}

func (d *desk) create(code string, terms voucher.Terms) {
	d.t.Helper()
	terms.Written = code
	create(d.t, d.shop, terms)
}

func (d *desk) disable(code string) {
	d.t.Helper()
	yes := true
	if _, err := d.shop.EditVoucher(d.t.Context(), compared(d.t, code), voucher.Edit{Disabled: &yes}); err != nil {
		d.t.Fatal(err)
	}
}

// forget replaces the function's process by one that remembers no rules.
func (d *desk) forget() {
	d.t.Helper()
	d.kill(d.functions())
	for d.send(d.t, d.shopID, request{code: "*", nick: alder}).body == functionFailed {
		continue // the gateway has not noticed yet
	}
}

// redeem prepares a test with a redemption.
func (d *desk) redeem(r request) {
	d.t.Helper()
	if a := d.send(d.t, d.shopID, r); a.status != http.StatusOK {
		d.t.Fatalf("a redemption has the status %d: %s", a.status, a.body)
	}
}

// killedOne is a request whose function was killed.
type killedOne struct {
	*redemption
	*recorder
	at      step
	request request
	hadIDs  []string // the redemptions on record before the request was sent again
	again   received // the response to the retry
}

// sendAgain retries each request, and judges its outcome.
func (d *desk) sendAgain(all []*killedOne) {
	d.t.Helper()
	var whole recorder
	if err := d.trap.settle(); err != nil {
		d.t.Fatal(err)
	}
	wantVerified(d.t, &whole, d.bench, d.shopID, false)
	before := d.onRecord()
	for _, k := range all {
		k.hadIDs = before[k.request.code]
		k.again = d.send(d.t, d.shopID, k.request)
		d.judge(k)
	}
	if err := d.trap.letGo(); err != nil {
		d.t.Fatal(err)
	}
	wantVerified(d.t, &whole, d.bench, d.shopID, false)
	onRecord := d.onRecord()
	for _, k := range all {
		d.reconcile(k, onRecord[k.request.code])
		k.row.Redemptions += len(onRecord[k.request.code])
	}
	all[0].row.Violations += whole.row.Violations
}

// steps returns the points at which a redemption of this kind can be killed.
func (r *redemption) steps() []step {
	var steps []step
	seen := make(map[string]int)
	for _, operation := range r.calls {
		seen[operation]++
		for _, fate := range []fate{lost, unanswered, late} {
			if fate != late || isWrite(operation) {
				steps = append(steps, step{operation, seen[operation], fate})
			}
		}
	}
	return steps
}

// wantedSteps returns every step or, in the short form, every third one. Each kind starts at another step, so that
// together they cover all calls and all fates.
func (r *redemption) wantedSteps(t *testing.T, number int) []step {
	t.Helper()
	all := r.steps()
	if wantedKills(t) > 0 {
		return all
	}
	var third []step
	for i := number % 3; i < len(all); i += 3 {
		third = append(third, all[i])
	}
	return third
}

// killAt sends a request with a new code, and kills the function at the step.
func (d *desk) killAt(kind *redemption, record *recorder, at step) *killedOne {
	d.t.Helper()
	for range 100 {
		d.codes++
		k := &killedOne{redemption: kind, recorder: record, at: at, request: keyed(fmt.Sprintf("WINTER-%04d", d.codes))}
		if !kind.keyed {
			k.request.key = ""
		}
		if kind.prepare != nil {
			kind.prepare(d, k.request.code)
		}
		if d.tryKillAt(k) {
			return k
		}
	}
	d.t.Fatalf("redemption %q does not reach %s", kind.kind, at)
	return nil
}

// tryKillAt sends the request, and reports whether the function was killed at the step. That can fail: the request may
// not reach the step, or a busy machine may start another process for the request. The first call of such a process
// does not belong to the request.
func (d *desk) tryKillAt(k *killedOne) bool {
	d.t.Helper()
	// After this request, a function is running and knows the settings, unless the request went to a process that had
	// just been killed.
	if a := d.send(d.t, d.shopID, request{code: "*", nick: alder}); a.body == functionFailed {
		return false
	} else if a.status != http.StatusNotFound {
		d.t.Fatalf("a request with an invalid code got %d, want 404: %s", a.status, a.body)
	}
	before := d.functions()
	if len(before) != 1 {
		d.kill(before)
		return false
	}
	found := make(chan []int, 1)
	over := make(chan struct{})
	d.trap.set(k.at, func() {
		killed := d.functions()
		found <- killed
		d.kill(killed)
		select {
		case <-over:
		case <-time.After(patience):
			d.t.Error("the gateway did not notice that the function was killed")
		}
	})
	a := d.send(d.t, d.shopID, k.request)
	close(over)
	sprung, calls := d.trap.hasSprung(), d.trap.calls()
	d.trap.reset()
	var ran []int
	if sprung {
		ran = <-found
	} else {
		ran = d.functions()
	}
	switch {
	case !slices.Equal(ran, before):
		return false
	case !sprung && !k.perhaps:
		k.violation(d.t, "redemption %q never reached %s: its calls are %q", k.kind, k.at, calls)
		return true
	case !sprung:
		return false
	}
	k.row.Injected++
	k.row.Unknown++
	if a.status != http.StatusInternalServerError || a.body != functionFailed {
		k.violation(d.t, "redemption %q, killed at %s, got %d %s; want 500 from the gateway", k.kind, k.at, a.status,
			a.body)
	}
	if len(calls) > len(k.calls) || !slices.Equal(calls, k.calls[:len(calls)]) {
		k.violation(d.t, "redemption %q, killed at %s, made the calls %q; want the first of %q", k.kind, k.at, calls,
			k.calls)
	}
	return true
}

// functions returns the process IDs of the running functions that redeem.
func (d *desk) functions() []int { return d.processes("redeem-voucher") }

// processes returns the process IDs of a function.
func (d *desk) processes(function string) []int {
	processes, err := localruntest.Processes(d.t.Context(), d.programs.Path(function))
	if err != nil {
		d.t.Error(err)
	}
	var pids []int
	for _, process := range processes {
		pid, err := strconv.Atoi(strings.Fields(process)[0])
		if err != nil {
			d.t.Error(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func (d *desk) kill(pids []int) {
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			d.t.Error(err)
		}
	}
}

// hadTaken reports whether the request had taken a use before it was sent again.
func (k *killedOne) hadTaken() bool { return len(k.hadIDs) > k.taken }

// takesUse reports whether the function was killed at the call that takes a use, which is the last call.
func (k *killedOne) takesUse() bool {
	steps := k.steps()
	last := steps[len(steps)-1]
	return !k.refused && !k.replayed && k.at.operation == last.operation && k.at.n == last.n
}

// judge checks the response to a request that was sent again.
func (d *desk) judge(k *killedOne) {
	d.t.Helper()
	if want := k.takesUse() && k.at.fate == unanswered; k.hadTaken() != want && !k.perhaps {
		k.violation(d.t, "redemption %q, killed at %s: a use was taken: %t, want %t", k.kind, k.at, k.hadTaken(), want)
	}
	want := received{status: http.StatusOK, replayed: k.replayed || k.request.key != "" && k.hadTaken()}
	if k.refused || k.single && k.request.key == "" && k.hadTaken() {
		want.status = http.StatusNotFound
	}
	switch k.again.status {
	case http.StatusOK:
	case http.StatusNotFound:
		k.row.Refusals++
	default:
		k.row.Unknown++
	}
	if k.again.status != want.status || k.again.replayed != want.replayed {
		k.violation(d.t, "redemption %q, killed at %s and sent again: status %d, replayed %t; want status %d, "+
			"replayed %t: %s",
			k.kind, k.at, k.again.status, k.again.replayed, want.status, want.replayed, k.again.body)
	}
	if k.again.replayed && !slices.Contains(k.hadIDs, k.again.id) {
		k.violation(d.t, "redemption %q, killed at %s and sent again: the replayed redemption was not on record",
			k.kind, k.at)
	}
}

// onRecord returns the IDs of the redemptions on record, by code as written.
func (d *desk) onRecord() map[string][]string {
	d.t.Helper()
	kept, err := backoffice.Collect(d.shop.Redemptions(d.t.Context(), backoffice.RedemptionFilter{}))
	if err != nil {
		d.t.Fatal(err)
	}
	ids := make(map[string][]string)
	for _, r := range kept {
		ids[r.Code] = append(ids[r.Code], r.ID)
	}
	return ids
}

// newOnRecord returns the least and the greatest number of redemptions that the request may have added to the record. A
// request with a key adds 1, however often it was sent. Without a key, the killed request may have added one more.
func (k *killedOne) newOnRecord() (least, most int) {
	switch {
	case k.refused || k.replayed:
		return 0, 0
	case k.request.key != "" || k.single:
		return 1, 1
	case k.hadTaken():
		return 2, 2
	case k.at.fate == late && k.perhaps: // the late call may have found its part empty
		return 1, 2
	case k.at.fate == late && k.takesUse():
		return 2, 2
	default:
		return 1, 1
	}
}

// reconcile checks that the confirmed redemption is on record, and that a third request with the same key gets it
// again.
func (d *desk) reconcile(k *killedOne, ids []string) {
	d.t.Helper()
	least, most := k.newOnRecord()
	if n := len(ids) - k.taken; n < least || n > most {
		k.violation(d.t, "redemption %q, killed at %s and sent again: %d redemptions on record, want %d to %d", k.kind,
			k.at, n, least, most)
	}
	if k.again.status == http.StatusOK && !slices.Contains(ids, k.again.id) {
		k.violation(d.t, "redemption %q, killed at %s: the confirmed redemption is not on record", k.kind, k.at)
	}
	if k.request.key == "" {
		return
	}
	third := d.send(d.t, d.shopID, k.request)
	if third.status != k.again.status || third.id != k.again.id || third.replayed != (third.status == http.StatusOK) {
		k.violation(d.t, "redemption %q, killed at %s and sent a third time: %+v, want %+v", k.kind, k.at, third,
			k.again)
	}
}
