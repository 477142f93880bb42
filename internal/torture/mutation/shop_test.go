//go:build proofs

package mutation_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/internal/torture"
	"shopfront/internal/torture/history"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// patience is how long a slow machine may take for an expected event.
const patience = 3 * time.Minute

// noRefusals is the setting that turns off the limit on refusals. All requests come from one address, so the limit
// would stop them.
const noRefusals = "refusals: off"

// shop is a shop. The programs under test serve it and reach the store through a gate. Its operator
// bypasses the programs and the gate, except when the operator uses the shopctl under test.
type shop struct {
	*testing.T
	*testshop.Shop

	gate     *gate
	programs testshop.Programs
	operator *backoffice.Shop
	server   string // the key of the shop's server, once a scene needs it
	clients  atomic.Int64
	codes    []*code

	mu           sync.Mutex
	undocumented []string // undocumented responses
}

// code is a voucher of the shop, with the history of its requests.
type code struct {
	*history.Recorder

	shop    *shop
	written string
}

// open serves the programs for the test's own shop.
func open(t *testing.T, programs testshop.Programs, shopID string) *shop {
	t.Helper()
	s := &shop{T: t, programs: programs, gate: &gate{}}
	s.Shop = testshop.Start(t, programs, testshop.Settings{
		Dials: memdynamo.Dials{Seed: 1, Rates: memdynamo.Rates{}, Watch: s.gate.watch},
	})
	s.gate.store = s.Store
	s.operator = s.Open(t, catalog.ShopID(shopID), noRefusals)
	return s
}

func (s *shop) create(terms voucher.Terms) *code {
	s.Helper()
	reward, _, err := s.operator.Reward(s.Context(), "coins/500")
	if err != nil {
		s.Fatal(err)
	}
	terms.Reward = reward
	v, err := s.operator.CreateVoucher(s.Context(), terms, time.Now())
	if err != nil {
		s.Fatal(err)
	}
	recorded := history.Terms{MaxUses: int(v.MaxUses), MaxUsesPerNick: int(v.MaxUsesPerNick)}
	c := &code{history.NewRecorder(recorded, history.CheckoutTimes{}), s, terms.Written}
	s.codes = append(s.codes, c)
	return c
}

// createClosed creates a voucher that the scene's shoppers may not redeem. The history does not record which of its
// terms refuses them.
func (s *shop) createClosed(terms voucher.Terms) *code {
	s.Helper()
	c := s.create(terms)
	c.Recorder = history.NewRecorder(history.Terms{MaxUses: 1, Disabled: true}, history.CheckoutTimes{})
	return c
}

// redeem requests a redemption, with a nick and an idempotency key; either may be empty.
func (c *code) redeem(nick, key string) {
	s := c.shop
	request := testshop.Redemption(c.written, nick)
	request.Key = key
	returned := c.Call(history.Operation{Client: int(s.clients.Add(1)), Ask: history.AskRedeem, Nick: nick, Key: key})
	returned(s.read(request.Send(s.Context(), s.API, s.operator.Profile.ID)))
}

// read reads a response. An undocumented response is recorded as wrong, and the outcome of its request as unknown.
func (s *shop) read(recorder *httptest.ResponseRecorder) history.Answer {
	var redemption struct{ ID string }
	switch err := json.Unmarshal(recorder.Body.Bytes(), &redemption); {
	case recorder.Code == http.StatusOK && err == nil && recorder.Header().Get("Idempotency-Replayed") == "true":
		return history.Answer{Outcome: history.Replayed, ID: redemption.ID}
	case recorder.Code == http.StatusOK && err == nil:
		return history.Answer{Outcome: history.Redeemed, ID: redemption.ID}
	case recorder.Code == http.StatusNotFound:
		return history.Answer{Outcome: history.Refused}
	case recorder.Code == http.StatusConflict:
		return history.Answer{Outcome: history.Undone}
	case recorder.Code == http.StatusUnauthorized:
		return history.Answer{Outcome: history.Denied}
	case recorder.Code != http.StatusServiceUnavailable:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.undocumented = append(s.undocumented, fmt.Sprintf("%d %s", recorder.Code, recorder.Body))
	}
	return history.Answer{Outcome: history.Unknown}
}

// undo undoes the last redemption that was confirmed, as the shop's server.
func (c *code) undo() {
	s := c.shop
	s.Helper()
	if s.server == "" {
		key, _, err := s.operator.CreateKey(s.Context(), "web shop", time.Time{}, rand.Reader, time.Now())
		if err != nil {
			s.Fatal(err)
		}
		s.server = key.Secret()
	}
	id := ""
	for _, o := range c.History().Operations {
		if o.Outcome == history.Redeemed {
			id = o.ID
		}
	}
	request := testshop.Request{
		Method: http.MethodPost, Path: "/redemptions/" + id + "/undo", Server: s.server,
		Body: fmt.Sprintf(`{"code":%q,"reason":"granted twice"}`, c.written),
	}
	returned := c.Call(history.Operation{Client: int(s.clients.Add(1)), Ask: history.AskUndo, Of: id})
	if got := request.Send(s.Context(), s.API, s.operator.Profile.ID); got.Code != http.StatusOK {
		s.Fatalf("an undo got %d %s", got.Code, got.Body)
	}
	returned(history.Answer{Outcome: history.Undone})
}

// redeeming requests a redemption in the background. The function wait waits for the response.
func (c *code) redeeming(nick, key string) (wait func()) {
	var asking sync.WaitGroup
	asking.Go(func() { c.redeem(nick, key) })
	return asking.Wait
}

// edit is an operator's edit, and what the code's history records of it.
type edit struct {
	edit     voucher.Edit
	recorded history.Edit
	flags    []string // of shopctl voucher edit
}

func limitedTo(uses int) edit {
	limit := voucher.Limit(uses)
	return edit{voucher.Edit{MaxUses: &limit}, history.Edit{MaxUses: &uses}, []string{"--max-uses", fmt.Sprint(uses)}}
}

func disabled(yes bool) edit {
	return edit{voucher.Edit{Disabled: &yes}, history.Edit{Disabled: &yes}, []string{fmt.Sprintf("--disabled=%t", yes)}}
}

// edit edits the code, bypassing the gate. Unless only the limit changes, it waits until no process remembers the code as
// it was.
func (c *code) edit(e edit) {
	c.shop.Helper()
	key, err := voucher.ParseCode(c.written)
	if err != nil {
		c.shop.Fatal(err)
	}
	returned := c.Call(history.Operation{Ask: history.AskEdit, Edit: e.recorded})
	if _, err := c.shop.operator.EditVoucher(c.shop.Context(), key, e.edit); err != nil {
		c.shop.Fatal(err)
	}
	if e.recorded.MaxUses == nil {
		time.Sleep(torture.RulesAge)
	}
	returned(history.Answer{Outcome: history.Done})
}

// command is a run of the shopctl under test, behind the gate.
type command struct {
	*exec.Cmd

	code     *code
	returned func(history.Answer)
	output   strings.Builder
}

// editing edits the code with shopctl, in the background.
func (c *code) editing(e edit) *command {
	s := c.shop
	s.Helper()
	running := &command{code: c}
	if e.recorded != (history.Edit{}) {
		running.returned = c.Call(history.Operation{Ask: history.AskEdit, Edit: e.recorded})
	}
	running.Cmd = exec.CommandContext(s.Context(), s.programs.Shopctl(), append([]string{
		"--local", "voucher", "edit", string(s.operator.Profile.ID), c.written,
	}, e.flags...)...)
	running.Dir = s.Dir
	running.Stdout, running.Stderr = &running.output, &running.output
	if err := running.Start(); err != nil {
		s.Fatal(err)
	}
	return running
}

// end waits until the command has ended.
func (e *command) end() {
	e.code.shop.Helper()
	if err := e.Wait(); err != nil {
		e.code.shop.Fatalf("shopctl: %v: %s", err, e.output.String())
	}
	if e.returned != nil {
		e.returned(history.Answer{Outcome: history.Done})
	}
}

// findings holds what each checker reports.
type findings map[checker][]string

func (f findings) String() string {
	var b strings.Builder
	for _, by := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "found by %s:\n%s\n", by, strings.Join(f[by], "\n"))
	}
	return b.String()
}

// check lets the checkers judge all requests, responses and records.
func (s *shop) check() findings {
	s.Helper()
	wrong := make(findings)
	if len(s.undocumented) > 0 {
		wrong[byInterface] = s.undocumented
	}
	for _, c := range s.codes {
		c.list()
		switch verdict, text := c.History().Judge(patience); verdict {
		case history.Kept:
		case history.Broken:
			wrong[byHistory] = append(wrong[byHistory], c.written+": "+text)
		case history.Undecided:
			s.Fatalf("%s: its history was not judged in %s", c.written, patience)
		}
	}
	report, err := s.operator.Verify(s.Context(), backoffice.Verification{Now: time.Now, Settle: 10 * time.Millisecond})
	if err != nil {
		s.Fatal(err)
	}
	for _, finding := range report.Findings {
		wrong[byVerify] = append(wrong[byVerify],
			fmt.Sprintf("%s: %s: %s", finding.Code, finding.Kind, finding.Message))
	}
	for _, motion := range report.InMotion {
		wrong[byMotion] = append(wrong[byMotion],
			fmt.Sprintf("%s: %s: %s", motion.Code, motion.Kind, motion.Message))
	}
	return wrong
}

// list lists the recorded redemptions, bypassing the gate.
func (c *code) list() {
	s := c.shop
	key, err := voucher.ParseCode(c.written)
	if err != nil {
		s.Fatal(err)
	}
	returned := c.Call(history.Operation{Ask: history.AskList})
	redemptions, err := backoffice.Collect(s.operator.Redemptions(s.Context(), backoffice.RedemptionFilter{Code: key}))
	if err != nil {
		s.Fatal(err)
	}
	answer := history.Answer{Outcome: history.Done}
	for _, r := range redemptions {
		if !r.Undone.IsZero() {
			continue
		}
		answer.Listed = append(answer.Listed, history.Redemption{ID: r.ID, Nick: r.Nick})
	}
	returned(answer)
}
