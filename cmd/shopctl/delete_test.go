package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sys/unix"

	"shopfront/internal/local/dynamolocal"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// manyUses returns the flags of each kind of code with many uses.
func manyUses() map[string][]string {
	return map[string][]string{
		"limited":           {"--max-uses", "5", "--max-uses-per-nick", "none", "--parts", "2"},
		"limited, per nick": {"--max-uses", "5", "--max-uses-per-nick", "1", "--parts", "2"},
		"per nick":          {"--max-uses", "none", "--max-uses-per-nick", "1"},
		"unlimited":         {"--max-uses", "none", "--max-uses-per-nick", "none"},
	}
}

func (s *shopfront) createSummer(t *testing.T, flags ...string) {
	t.Helper()
	s.applyEmpty(t, "emberforge")
	s.must(t, append([]string{"voucher", "create", "emberforge", "SUMMER-20", "--reward", "20%"}, flags...)...)
}

// countItems returns how many items the vouchers table has.
func (s *shopfront) countItems(t *testing.T) int32 {
	t.Helper()
	items, err := s.client.Scan(t.Context(),
		&dynamodb.ScanInput{TableName: aws.String(s.state.Tables.Vouchers), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return items.Count
}

// heldWrite is a proxy to DynamoDB Local. It holds back the first write to an item of a voucher with many uses, until
// goOn is closed. It closes held when it has the write.
type heldWrite struct {
	store      http.Handler
	held, goOn chan struct{}
	once       sync.Once
}

func (h *heldWrite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the store rejects an incomplete request
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if slices.Contains([]string{"PutItem", "UpdateItem", "TransactWriteItems"}, operation) &&
		bytes.Contains(body, []byte("SUMMER20#")) {
		h.once.Do(func() {
			close(h.held)
			<-h.goOn
		})
	}
	h.store.ServeHTTP(w, r)
}

// summer returns a request of the shopper Alder to redeem SUMMER-20.
func (s *shopfront) summer(t *testing.T) voucher.Request {
	t.Helper()
	code, err := voucher.ParseCode("SUMMER-20")
	if err != nil {
		t.Fatal(err)
	}
	nick, err := voucher.ParseNick("Alder")
	if err != nil {
		t.Fatal(err)
	}
	return voucher.Request{Shop: "emberforge", Code: code, Nick: nick, At: s.clock}
}

func TestDelete_RedemptionInFlight_KeepsTheVoucher(t *testing.T) {
	t.Parallel()
	for name, flags := range manyUses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShopfront(t)
			s.createSummer(t, flags...)
			write := &heldWrite{
				store: newUnreliable(t, s, "", nil), held: make(chan struct{}),
				goOn: make(chan struct{}),
			}
			restore := s.through(t, write)
			redeemer := voucher.Redeemer{
				Store: dynamo.NewRedeemer(dynamolocal.NewClient(s.state.DynamoDBEndpoint), s.tables(),
					mathrand.Int64N),
				Random: mathrand.NewChaCha8([32]byte{2}),
			}
			restore()
			request, redeemed := s.summer(t), make(chan error, 1)
			go func() {
				_, _, err := redeemer.Redeem(t.Context(), request)
				redeemed <- err
			}()
			<-write.held // the redemption has read the voucher, which is enabled
			waited := time.Duration(0)
			s.sleep = func(_ context.Context, delay time.Duration) error {
				waited = delay
				close(write.goOn)
				return <-redeemed
			}
			got := s.shopctl(t.Context(), "--local", "voucher", "delete", "emberforge", "SUMMER-20")
			if got.exit != exitRefused || waited != backoffice.Draining {
				t.Errorf("waited %v, want %v: %v", waited, backoffice.Draining, got)
			}
			standing := objectOf(t, s.must(t, "voucher", "show", "emberforge", "SUMMER-20", "--json"))
			if standing["status"] != "redeemable" || standing["used"] != 1. {
				t.Errorf("the voucher is %v with %v uses, want redeemable with 1", standing["status"], standing["used"])
			}
			s.must(t, "verify", "emberforge")
		})
	}
}

func TestDelete_LaterRedemptions_AreRefused(t *testing.T) {
	t.Parallel()
	for name, flags := range manyUses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShopfront(t)
			s.createSummer(t, flags...)
			s.sleep = func(_ context.Context, delay time.Duration) error {
				s.clock = s.clock.Add(delay)
				if got := s.redeem(t, "emberforge", "SUMMER-20", "Alder"); got != "refused: disabled" { //nolint:contextcheck // it has the test's context
					t.Error(got)
				}
				return nil
			}
			s.must(t, "voucher", "delete", "emberforge", "SUMMER-20")
			s.clock = s.clock.Add(backoffice.RulesAge)
			if got := s.redeem(t, "emberforge", "SUMMER-20", "Alder"); got != "refused: unknown" {
				t.Error(got)
			}
			if left := s.countItems(t); left != 0 {
				t.Errorf("%d items are left", left)
			}
		})
	}
}

func TestDelete_RaceWithARedemption_ExactlyOneSucceeds(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.applyEmpty(t, "emberforge")
	request, kept := s.summer(t), 0
	for round := range 30 {
		code := "RACE-" + strconv.Itoa(round)
		s.must(t, "voucher", "create", "emberforge", code, "--reward", "20%")
		var err error
		if request.Code, err = voucher.ParseCode(code); err != nil {
			t.Fatal(err)
		}
		var redeemed error
		var shopper sync.WaitGroup
		shopper.Go(func() { _, _, redeemed = s.vouchers.Redeem(t.Context(), request) })
		got := s.shopctl(t.Context(), "--local", "voucher", "delete", "emberforge", code)
		shopper.Wait()
		reason, refused := voucher.IsRefusal(redeemed)
		switch {
		case redeemed == nil && got.exit == exitRefused:
			kept++
		case refused && reason == voucher.ReasonUnknown && got.exit == exitOK:
		default:
			t.Errorf("redeeming: %v; deleting: %v", redeemed, got)
		}
	}
	if left := s.countItems(t); int(left) != kept {
		t.Errorf("%d items are left, want one for each of the %d redeemed codes", left, kept)
	}
	s.must(t, "verify", "emberforge")
}

func TestDelete_HeldByACheckout_IsRefused(t *testing.T) {
	t.Parallel()
	kinds := manyUses()
	kinds["single use"] = nil
	for name, flags := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShopfront(t)
			s.sleep = func(context.Context, time.Duration) error { return nil }
			s.createSummer(t, flags...)
			request := s.summer(t)
			id := s.checkOutWith(t, "emberforge", "coins/500", "1", "",
				checkout.Request{Code: request.Code, Nick: request.Nick})
			if got := s.shopctl(t.Context(), "--local", "voucher", "delete", "emberforge",
				"SUMMER-20"); got.exit != exitRefused {
				t.Error(got)
			}
			s.place(t, id)
			s.must(t, "verify", "emberforge")
		})
	}
}

func TestDelete_Interrupted_IsCompletedByDelete(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.createSummer(t, "--max-uses", "none", "--batch", "summer")
	s.must(t, "voucher", "create", "emberforge", "SUMMER-21", "--reward", "20%", "--batch", "summer")
	for _, args := range [][]string{{"SUMMER-20"}, {"--batch", "summer", "--yes"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		s.sleep = func(ctx context.Context, _ time.Duration) error {
			interrupt()
			return ctx.Err()
		}
		got := s.shopctl(ctx, append([]string{"--local", "voucher", "delete", "emberforge"}, args...)...)
		if got.exit != exitInterrupted ||
			!strings.HasSuffix(got.stderr, "; codes with many uses may be disabled: run the command again\n") {
			t.Error(got)
		}
		if standing := objectOf(t, s.must(t, "voucher", "show", "emberforge", "SUMMER-20",
			"--json")); standing["status"] != "disabled" {
			t.Error(standing)
		}
	}
	s.neverPause()
	if got := s.must(t, "voucher", "delete", "emberforge", "--batch", "summer",
		"--yes"); got != "deleted 1 of 1 voucher in batch summer\n" {
		t.Error(got)
	}
	if left := s.countItems(t); left != 0 {
		t.Errorf("%d items are left", left)
	}
}

func TestDelete_LostResponse_ReportsSuccess(t *testing.T) {
	t.Parallel()
	for operation, flags := range map[string][]string{"DeleteItem": nil, "TransactWriteItems": {"--max-uses", "5"}} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			s := newShopfront(t)
			s.neverPause()
			s.createSummer(t, flags...)
			s.through(t, newUnreliable(t, s, operation, func(n int, done bool) bool { return n == 1 && done }))
			s.must(t, "voucher", "delete", "emberforge", "SUMMER-20")
			if left := s.countItems(t); left != 0 {
				t.Errorf("%d items are left", left)
			}
		})
	}
}

// terminal opens a terminal in which somebody has typed a text.
func terminal(t *testing.T, typed string) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(opened.Close(), master.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, err := master.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	return opened
}

func TestDeleteBatch_OnATerminal_AsksForTheNameOfTheBatch(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.createSummer(t, "--batch", "summer")
	const question = "Delete up to 1 voucher of batch summer? Those that were redeemed or held stay. Type the name " +
		"of the batch to go on: "
	deletion := []string{"--local", "voucher", "delete", "emberforge", "--batch", "summer"}
	for _, typed := range []string{"yes\n", "\n", "SUMMER\n"} {
		s.stdin = terminal(t, typed)
		if got := s.shopctl(t.Context(), deletion...); got.exit != exitRefused ||
			got.stderr != question+"error: that is not the name of the batch; nothing was deleted\n" {
			t.Error(got)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	asked := &interrupting{text: question, interrupt: interrupt}
	s.stdin = terminal(t, "")
	if exit := s.program(io.Discard, asked).run(ctx, deletion); exit != exitInterrupted {
		t.Error(exit)
	}
	s.stdin = terminal(t, "summer\n")
	if got := s.shopctl(t.Context(),
		deletion...); got != (result{"deleted 1 of 1 voucher in batch summer\n", question, exitOK}) {
		t.Error(got)
	}
}

// interrupting is a stderr that interrupts the command when the given text is written to it.
type interrupting struct {
	text      string
	interrupt context.CancelFunc
}

func (i *interrupting) Write(text []byte) (int, error) {
	if string(text) == i.text {
		i.interrupt()
	}
	return len(text), nil
}
