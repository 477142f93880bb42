package budget_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/internal/local/gateway"
	"shopfront/internal/local/localrun"
	"shopfront/internal/local/localrun/localruntest"
	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

//nolint:gochecknoglobals // flags
var (
	seed = flag.Uint64("seed", 1, "seed of the mixed misbehaviours")
	all  = flag.Bool("all", false, "test every misbehaviour, instead of every third")
)

// shopsAtOnce is the number of shops whose processes run at the same time.
const shopsAtOnce = 7

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetOutput(io.Discard)                               // net/http logs broken responses
	if err := flag.Set("test.parallel", "64"); err != nil { // these tests wait for the store, rather than compute
		panic(err)
	}
	m.Run()
}

// Requests to all endpoints that use the store.
const (
	redeemWithKey   = "redeem with a key"
	redeemOnce      = "redeem without a key"
	redeemMany      = "redeem a code with many uses"
	redeemUsedUp    = "redeem a code that is used up"
	redeemUnknown   = "redeem an unknown code"
	check           = "check"
	area            = "see the checkout area"
	seePage         = "see the shop as a page"
	checkOut        = "check out"
	checkOutWithKey = "check out with a key"
	checkOutOlder   = "check out by the deprecated path"
	readCheckout    = "read a checkout back"
	release         = "release a checkout with a code"
	placeOrder      = "place an order"
	payTwice        = "place an order again with another payment"
	listOrders      = "list orders"
	showOrder       = "show an order"
	fulfilOrder     = "fulfil an order"
	cancelOrder     = "cancel an order"
	checkOutHeld    = "check out with a code"
	placeHeld       = "place an order with a code"
	cancelHeld      = "cancel an order with a code"
	undo            = "undo a redemption"
	listRedemptions = "list redemptions"
	listEvents      = "list events"
)

// request is one of these requests. A healthy store leads to one of the statuses, whether or not an earlier attempt was
// applied.
type request struct {
	testshop.Request

	statuses []int
}

// isForPeople reports whether the response is HTML, even if the store fails.
func (r request) isForPeople() bool { return strings.HasPrefix(r.Path, "?") }

// redeems reports whether the request redeems a code.
func (r request) redeems() bool { return strings.HasSuffix(r.Path, "/voucher") }

// The names of checkouts and orders. Each ID begins with its name. One checkout stays open. For another checkout, a
// request places an order. Further requests fulfil, cancel and read the orders.
const (
	openCheckout    = "open"
	paidCheckout    = "paid"
	fulfilledOrder  = "fulfilled"
	cancelledOrder  = "cancelled"
	unchangingOrder = "unchanging"
	heldCheckout    = "held"     // has a code
	releasedHeld    = "released" // has a code
	heldOrder       = "redeemed" // has a code, and is cancelled
)

// idOf returns the ID of the checkout or order with a name.
func idOf(name string) checkout.ID {
	half := name + strings.Repeat("0", 22-len(name))
	return checkout.ID(half + half)
}

// paid returns the payment of every order.
func paid() checkout.Payment { return checkout.Payment{Provider: "stripe", Reference: "pi_3NtT9zLk"} }

// discount is the code at checkouts.
const discount = "FAIR-20"

// undoneID is the ID of a redemption of that code by Birch.
func undoneID(shop catalog.ShopID) string {
	return voucher.NickID(shop, "FA1R20", voucher.Nick{Written: "Birch", Compared: "birch"}) + "fa1rfa1rfa1"
}

// reason is the reason for a cancellation or an undo.
const reason = "chargeback of 24 May"

func requests(shop catalog.ShopID, server string) map[string]request {
	redeem := func(code, key string, statuses ...int) request {
		r := request{testshop.Redemption(code, "Alder"), statuses}
		r.Key = key
		return r
	}
	get := func(path, key string) request {
		return request{testshop.Request{Method: http.MethodGet, Path: path, Key: key}, []int{http.StatusOK}}
	}
	fromServer := func(method, path, body string, status int) request {
		return request{testshop.Request{Method: method, Path: path, Body: body, Server: server}, []int{status}}
	}
	place := func(name string, payment checkout.Payment, status int) request {
		return fromServer(http.MethodPost, "/orders",
			fmt.Sprintf(`{"checkout":%q,"payment":{"provider":%q,"reference":%q}}`, idOf(name), payment.Provider,
				payment.Reference), status)
	}
	about := func(name string) string { return "/orders/" + string(idOf(name)) }
	checking := redeem("RAFFLE", "", http.StatusOK)
	checking.Path += "?check=true"
	return map[string]request{
		redeemWithKey:   redeem("GIFT-1", "order-1", http.StatusOK),
		redeemOnce:      redeem("GIFT-2", "", http.StatusOK, http.StatusNotFound),
		redeemMany:      redeem("SUMMER-20", "order-1", http.StatusOK),
		redeemUsedUp:    redeem("GONE", "", http.StatusNotFound),
		redeemUnknown:   redeem("INVENTED", "order-1", http.StatusNotFound),
		check:           checking,
		area:            get("/checkout?limit=2", ""),
		seePage:         get("?lang=de", ""),
		checkOut:        get("/checkout/coins/500", ""),
		checkOutWithKey: get("/checkout/coins/500", "till-1"),
		checkOutOlder:   get("/checkout/coins/variant/500", ""),
		readCheckout:    get("/checkouts/"+string(idOf(openCheckout)), ""),
		release: fromServer(http.MethodPost, "/checkouts/"+string(idOf(releasedHeld))+"/release", "",
			http.StatusOK),
		placeOrder: place(paidCheckout, paid(), http.StatusOK),
		payTwice: place(unchangingOrder, checkout.Payment{Provider: "stripe", Reference: "pi_3OtherOne"},
			http.StatusConflict),
		listOrders:  fromServer(http.MethodGet, "/orders?status=placed", "", http.StatusOK),
		showOrder:   fromServer(http.MethodGet, about(unchangingOrder), "", http.StatusOK),
		fulfilOrder: fromServer(http.MethodPost, about(fulfilledOrder)+"/fulfil", "", http.StatusOK),
		cancelOrder: fromServer(http.MethodPost, about(cancelledOrder)+"/cancel",
			fmt.Sprintf(`{"reason":%q}`, reason), http.StatusOK),
		checkOutHeld: get("/checkout/coins/500?nick=Alder&code="+discount, "till-2"),
		placeHeld:    place(heldCheckout, paid(), http.StatusOK),
		cancelHeld: fromServer(http.MethodPost, about(heldOrder)+"/cancel", fmt.Sprintf(`{"reason":%q}`, reason),
			http.StatusOK),
		undo: fromServer(http.MethodPost, "/redemptions/"+undoneID(shop)+"/undo",
			fmt.Sprintf(`{"code":%q,"nick":"Birch","reason":%q}`, discount, reason), http.StatusOK),
		listRedemptions: fromServer(http.MethodGet, "/redemptions?code="+discount, "", http.StatusOK),
		listEvents:      fromServer(http.MethodGet, "/events?after=0", "", http.StatusOK),
	}
}

const catalogue = `
shops:
  - id: SHOP
    name: Emberforge
    currency: EUR
    refusals: {limit: 1000000, per: 24h} # never reached, so every refusal is counted
    products:
      - id: coins
        name: Ember coins
        variants: [{id: "500", name: 500 coins, price: 4.99}]
      - id: cup
        name: Cup
        variants: [{id: blue, name: Blue, price: 9.99}]
      - id: shirt
        name: T-shirt
        off-sale: true
        variants: [{id: m, name: M, price: 19.99}]
      - id: vip-rank
        name: VIP rank
        variants: [{id: 30-days, name: 30 days, price: 7.99}]
`

// shop is one test's shop. Its functions have their own store.
type shop struct {
	api      http.Handler
	store    *store
	memory   *memdynamo.Endpoint // store forwards to it
	shop     catalog.ShopID
	server   string // the key of the shop's server
	requests map[string]request
	dir      string // of its functions

	mu     sync.Mutex
	failed []error  // errors of functions, after which the gateway itself had to respond
	log    []string // what the functions wrote
}

// floor holds what all shops share: the programs of the functions, and the database.
type floor struct {
	programs testshop.Programs
	calm     *testshop.Shop
}

// lay builds the functions, and returns a floor for shops.
func lay(t *testing.T) floor {
	t.Helper()
	programs := testshop.Build(t)
	return floor{programs: programs, calm: testshop.Start(t, programs, testshop.Settings{})}
}

// open opens a shop for one test. Its store will misbehave in the given way.
func (f floor) open(t *testing.T, how misbehaviour) *shop {
	t.Helper()
	shopID := catalog.ShopID("emberforge-" + rand.Text())
	server := f.load(t, shopID)
	memory := dynamotest.Memory().Endpoint(memdynamo.Dials{Seed: *seed, Rates: memdynamo.Rates{}, Delay: how.delay})
	return &shop{
		store: newStore(t, memory), memory: memory, shop: shopID, server: server, requests: requests(shopID, server),
		dir: filepath.Join(t.TempDir(), "programs"),
	}
}

// load opens the shop with its vouchers, checkouts and orders, and returns the key of its server.
func (f floor) load(t *testing.T, shop catalog.ShopID) (server string) {
	t.Helper()
	f.calm.Load(t, strings.ReplaceAll(catalogue, "SHOP", string(shop)))
	opened := f.calm.BackOffice(t, shop)
	create(t, opened, map[string]voucher.Limit{"GIFT-1": 1, "GIFT-2": 1, "SUMMER-20": 100, "GONE": 2, "RAFFLE": 100})
	for _, name := range []string{openCheckout, paidCheckout} {
		keepCheckout(t, shop, name)
	}
	for _, name := range []string{fulfilledOrder, cancelledOrder, unchangingOrder} {
		keepCheckout(t, shop, name)
		if _, _, err := opened.PlaceOrder(t.Context(), idOf(name), paid(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	keepHeld(t, opened)
	keepEvent(t, shop)
	key, _, err := opened.CreateKey(t.Context(), "web shop", time.Time{}, rand.Reader, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key.Secret()
}

// keepCheckout stores an open checkout.
func keepCheckout(t *testing.T, shop catalog.ShopID, name string) {
	t.Helper()
	price, now := money.Money{Minor: 499, Currency: "EUR"}, time.Now().UTC().Truncate(time.Millisecond)
	tables := dynamo.Tables{Checkouts: "CheckoutsTable"}
	_, err := dynamo.NewCheckouts(dynamotest.Client(t), tables, nil).Open(t.Context(), checkout.Opening{
		Shop: shop, Checkout: checkout.Checkout{
			ID: idOf(name), Product: "coins", Variant: "500", Amount: 1, UnitPrice: price, Subtotal: price,
			Discount: money.Money{Currency: price.Currency}, Total: price, Created: now,
			Expires: now.Add(checkout.Lifetime),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keepHeld stores a checkout and an order with the code discount, and another redemption of that code.
func keepHeld(t *testing.T, opened *backoffice.Shop) {
	t.Helper()
	uses, now := voucher.Limit(100), time.Now().UTC().Truncate(time.Millisecond)
	terms := voucher.Terms{
		Written: discount, MaxUses: &uses,
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
	if _, err := opened.CreateVoucher(t.Context(), terms, now); err != nil {
		t.Fatal(err)
	}
	client, tables := dynamotest.Client(t), dynamo.Tables{Checkouts: "CheckoutsTable", Vouchers: "VouchersTable"}
	of := func(nick string) voucher.Request {
		code, badCode := voucher.ParseCode(discount)
		parsed, badNick := voucher.ParseNick(nick)
		if err := errors.Join(badCode, badNick); err != nil {
			t.Fatal(err)
		}
		return voucher.Request{Shop: opened.Profile.ID, Code: code, Nick: parsed, At: now}
	}
	held := dynamo.NewCheckouts(client, tables, mathrand.Int64N)
	off := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	for _, name := range []string{heldCheckout, releasedHeld, heldOrder} {
		v, err := held.Rules(t.Context(), of(name))
		if err != nil {
			t.Fatal(err)
		}
		_, err = held.Open(t.Context(), checkout.Opening{
			Shop: opened.Profile.ID, Voucher: v, Request: of(name),
			Checkout: checkout.Checkout{
				ID: idOf(name), Product: "coins", Variant: "500", Amount: 1, UnitPrice: off(499), Subtotal: off(499),
				Discount: off(99),
				Total:    off(400), Code: discount, Reward: v.Reward, Nick: name, Created: now, Expires: now.Add(checkout.Lifetime),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, ordered := opened.PlaceOrder(t.Context(), idOf(heldOrder), paid(), now)
	claim := voucher.Claim{Request: of("Birch"), Token: idempotency.Token(undoneID(opened.Profile.ID))}
	_, redeemed := dynamo.NewRedeemer(client, dynamo.Tables{Vouchers: tables.Vouchers}, mathrand.Int64N).
		Redeem(t.Context(), claim)
	if err := errors.Join(ordered, redeemed); err != nil {
		t.Fatal(err)
	}
}

// keepEvent stores the event of a redemption of FAIR-20.
func keepEvent(t *testing.T, shop catalog.ShopID) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	fact := event.OfRedemption(shop, voucher.Redemption{ID: undoneID(shop), Code: discount, Nick: "Birch", At: now})[0]
	recorded, err := fact.Event()
	if err != nil {
		t.Fatal(err)
	}
	log := dynamo.NewEventLog(dynamotest.Client(t), "EventsTable", 90*24*time.Hour, time.Now, mathrand.Int64N,
		rand.Reader)
	if _, err := log.Append(t.Context(), shop, []event.Event{recorded}); err != nil {
		t.Fatal(err)
	}
}

// create creates vouchers for 500 coins.
func create(t *testing.T, opened *backoffice.Shop, limits map[string]voucher.Limit) {
	t.Helper()
	for code, uses := range limits {
		terms := voucher.Terms{
			Written: code, MaxUses: &uses,
			Reward: voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1},
		}
		if _, err := opened.CreateVoucher(t.Context(), terms, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
}

// begin uses up the code of redeemUsedUp. The function that redeems has then seen a healthy store.
func (s *shop) begin(t *testing.T) {
	t.Helper()
	for _, nick := range []string{"Briar", "Cedar"} {
		gone := s.requests[redeemUsedUp]
		gone.Body = strings.Replace(gone.Body, "Alder", nick, 1)
		answer := gone.Send(t.Context(), s.api, s.shop)
		// a busy machine
		for begun := time.Now(); answer.Code == http.StatusServiceUnavailable && time.Since(begun) < patience; {
			answer = gone.Send(t.Context(), s.api, s.shop)
		}
		if answer.Code != http.StatusOK && answer.Code != http.StatusNotFound {
			t.Fatalf("a request that uses up the code got %d %s", answer.Code, answer.Body)
		}
	}
}

// loadTemplate returns the template with three minutes for each function. A function that waits for the store gives up
// after 5 seconds by itself, so the rest is for a busy machine.
func loadTemplate(t *testing.T, store *store) *samtemplate.Template {
	t.Helper()
	template := testshop.LoadTemplate(t, store.url())
	for i := range template.Functions {
		template.Functions[i].Timeout = patience
	}
	return template
}

// serve puts the HTTP API in front of the functions.
func (s *shop) serve(t *testing.T, template *samtemplate.Template, functions gateway.Invoker) {
	t.Helper()
	var err error
	if s.api, err = localrun.NewGateway(template, functions, time.Now, s.note); err != nil {
		t.Fatal(err)
	}
}

// serveProcesses runs the functions as processes, behind the HTTP API. Each shop starts them from a directory of its
// own, so that the test can tell its processes from those of other shops.
func (s *shop) serveProcesses(t *testing.T, programs testshop.Programs) {
	t.Helper()
	if err := os.Symlink(programs.Dir(), s.dir); err != nil {
		t.Fatal(err)
	}
	template := loadTemplate(t, s.store)
	functions := localrun.NewRuntime(s.dir, template, func(_, line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, line)
	})
	t.Cleanup(func() {
		if err := functions.Close(); err != nil {
			t.Error(err)
		}
	})
	s.serve(t, template, functions)
}

func (s *shop) note(record gateway.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if record.Err != nil {
		s.failed = append(s.failed, fmt.Errorf("after %s: %w", record.Duration, record.Err))
	}
}

// misbehave makes the store misbehave in the given way; nil makes it healthy again.
func (s *shop) misbehave(t *testing.T, how *misbehaviour) {
	t.Helper()
	switch {
	case how == nil:
		s.memory.SetRates(nil)
		s.store.misbehave(nil)
	case how.refusing:
		s.store.refuse(t)
	default:
		s.memory.SetRates(how.rates)
		s.store.misbehave(how.answer)
	}
}

// sendAll sends all requests at the same time.
func (s *shop) sendAll(t *testing.T) map[string]*httptest.ResponseRecorder {
	t.Helper()
	var mu sync.Mutex
	answers := make(map[string]*httptest.ResponseRecorder)
	var sending sync.WaitGroup
	for name, r := range s.requests {
		sending.Go(func() {
			answer := r.Send(t.Context(), s.api, s.shop)
			mu.Lock()
			defer mu.Unlock()
			answers[name] = answer
		})
	}
	sending.Wait()
	return answers
}

// processes lists the processes of the shop's functions.
func (s *shop) processes(t *testing.T) []string {
	t.Helper()
	processes, err := localruntest.Processes(t.Context(), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return processes
}

// wantResponses fails the test unless the function itself responded to each request in time: with 503, or with the
// normal response if asHealthy allows that.
func (s *shop) wantResponses(
	t *testing.T, answers map[string]*httptest.ResponseRecorder, asHealthy func(request string) bool,
) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.failed {
		t.Errorf("the gateway had to respond for the function: %v", err)
	}
	for name, answer := range answers {
		if answer.Code == http.StatusServiceUnavailable {
			s.requests[name].wantTryAgain(t, name, answer)
			continue
		}
		if asHealthy == nil || !asHealthy(name) {
			t.Errorf("%s: %d %.300s; want 503", name, answer.Code, answer.Body)
			continue
		}
		if !slices.Contains(s.requests[name].statuses, answer.Code) {
			t.Errorf("%s: %d %.300s; want one of %d", name, answer.Code, answer.Body, s.requests[name].statuses)
		}
	}
}

// wantTryAgain checks that the response is the documented 503.
func (r request) wantTryAgain(tb testing.TB, name string, answer *httptest.ResponseRecorder) {
	tb.Helper()
	if seconds, err := strconv.Atoi(answer.Header().Get("Retry-After")); err != nil || seconds < 1 {
		tb.Errorf("%s: Retry-After is %q, want a number of seconds", name, answer.Header().Get("Retry-After"))
	}
	if r.isForPeople() {
		if got := answer.Header().Get("Content-Type"); got != "text/html; charset=utf-8" ||
			!strings.Contains(answer.Body.String(), `<html lang="de"`) {
			tb.Errorf("%s: Content-Type is %q, want a German page: %.300s", name, got, answer.Body)
		}
		return
	}
	var problem struct {
		Type   string
		Status int
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil {
		tb.Errorf("%s: the body cannot be read, %v: %.300s", name, err, answer.Body)
	}
	if problem.Type != "urn:problem:shopfront:unavailable" || problem.Status != http.StatusServiceUnavailable {
		tb.Errorf("%s: the body is not the problem of a 503: %.300s", name, answer.Body)
	}
	if got := answer.Header().Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("%s: Content-Type is %q, want application/problem+json", name, got)
	}
}

// wantAlive checks that all these processes are still running.
func (s *shop) wantAlive(t *testing.T, processes []string) {
	t.Helper()
	now := s.processes(t)
	for _, process := range processes {
		if !slices.Contains(now, process) {
			t.Errorf("a process ended: %s", process)
		}
	}
}

// Whatever the store does, a request ends within the function's timeout, and the function's process survives.
func TestRequest_MisbehavingStore_EndsInTime(t *testing.T) {
	t.Parallel()
	f := lay(t)
	places := make(chan struct{}, shopsAtOnce)
	mix := mixed(*seed, slices.Concat(endless(), nonsense()))
	for _, how := range append(selected(endless()), mix) {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			s := f.open(t, how)
			s.serveProcesses(t, f.programs)
			s.begin(t)
			before := s.processes(t)
			s.misbehave(t, &how)
			s.wantResponses(t, s.sendAll(t), how.spares)
			s.wantAlive(t, before)
			during := s.processes(t)
			wantLittleMemory(t, during)
			s.recover(t, how)
			s.wantAlive(t, during)
			s.wantDiscreet(t)
		})
	}
	t.Run("it hangs only while the functions start", func(t *testing.T) {
		t.Parallel()
		s := f.open(t, misbehaviour{})
		s.serveProcesses(t, f.programs)
		delete(s.requests, redeemUsedUp) // the code is not used up yet
		s.store.misbehave(exchange.silence)
		healthy := time.AfterFunc(1500*time.Millisecond, func() { s.store.misbehave(nil) })
		defer healthy.Stop()
		s.wantResponses(t, s.sendAll(t), everyRequest)
		during := s.processes(t)
		s.recover(t, misbehaviour{})
		s.wantAlive(t, during)
	})
}

// The functions run in the test's process, so that the test can try many more misbehaviours at the same time.
func TestRequest_MisbehavingStore_GetsDocumentedResponse(t *testing.T) {
	t.Parallel()
	f := lay(t)
	for _, how := range slices.Concat(selected(drawn()), selected(nonsense())) {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			s := f.open(t, how)
			template := loadTemplate(t, s.store)
			s.serve(t, template, newFunctions(t, template, s.store.url()))
			s.begin(t)
			s.misbehave(t, &how)
			s.wantResponses(t, s.sendAll(t), how.spares)
			s.recover(t, how)
		})
	}
}

// recover makes the store healthy, and fails the test unless every request gets its normal response. It retries a
// request that exceeds its budget on a busy machine.
func (s *shop) recover(t *testing.T, from misbehaviour) {
	t.Helper()
	if from.refusing {
		s.store.listen(t)
	}
	s.misbehave(t, nil)
	begun := time.Now()
	for name, r := range s.requests { // one after another, for a busy machine
		for {
			answer := r.Send(t.Context(), s.api, s.shop)
			s.wantResponses(t, map[string]*httptest.ResponseRecorder{name: answer}, everyRequest)
			if answer.Code != http.StatusServiceUnavailable {
				break
			}
			if time.Since(begun) > patience {
				t.Fatalf("%s: still 503 from a healthy store", name)
			}
		}
	}
}

// wantDiscreet checks that the log contains nothing that a shopper sent, whatever errors the store sent.
func (s *shop) wantDiscreet(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.log, "\n")
	for _, private := range []string{
		"GIFT", "G1FT", "SUMMER", "GONE", "G0NE", "RAFF", "FAIR", "FA1R", "INVENTED",
		"1NVENTED", "Alder", "order-1", "till-1", paid().Reference, "pi_3Other", reason, s.server,
	} {
		if before, _, logged := strings.Cut(all, private); logged {
			t.Errorf("a function logs %s, in a line that begins with %.300s", private,
				before[strings.LastIndex(before, "\n")+1:])
		}
	}
}

// functionMemory is the memory of a function in template.yaml, in kB.
const functionMemory = 256 << 10

// wantLittleMemory checks that no process ever used more memory than Lambda gives the function. It needs /proc.
func wantLittleMemory(t *testing.T, processes []string) {
	t.Helper()
	for _, process := range processes {
		pid, _, _ := strings.Cut(process, " ")
		status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
		if err != nil {
			return // not Linux
		}
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		if len(strings.Fields(peak)) == 0 {
			continue // it has just ended
		}
		if kB, err := strconv.Atoi(strings.Fields(peak)[0]); err != nil || kB > functionMemory {
			t.Errorf("a process used %d kB of memory, %v, want at most %d: %s", kB, err, functionMemory, process)
		}
	}
}
