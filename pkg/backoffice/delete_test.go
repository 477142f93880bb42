package backoffice_test

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// deletion returns a Deletion. Its Wait calls the function duringWait and then ends. waits counts the calls of Wait.
func deletion(duringWait func()) (how backoffice.Deletion, waits *int) {
	waits = new(int)
	how.Wait = func(_ context.Context, delay time.Duration) error {
		if delay != backoffice.Draining {
			return fmt.Errorf("waits for %s instead of backoffice.Draining", delay)
		}
		*waits++
		duringWait()
		return nil
	}
	return how, waits
}

func (s *shop) delete(code voucher.Code) error {
	how, _ := deletion(func() {})
	return s.deleteAs(code, how)
}

func (s *shop) deleteAs(code voucher.Code, how backoffice.Deletion) error {
	_, err := s.operator.DeleteVoucher(s.t.Context(), code, how)
	return err
}

// stored returns all items that are stored under a code, without the version of the voucher, which any edit changes.
// If the code is empty, it returns the items of all codes.
func (s *shop) stored(code voucher.Code) []any {
	s.t.Helper()
	stored, err := s.operator.StoredItems(s.t.Context(), code)
	if err != nil {
		s.t.Fatal(err)
	}
	return stored
}

func (s *shop) wantGone(code voucher.Code) {
	s.t.Helper()
	if left := s.stored(code); len(left) > 0 {
		s.t.Errorf("%s: still stored: %+v", code, left)
	}
}

func TestDeleteVoucher_NeverUsed_LeavesNothingAndFreesTheCode(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.stock()
	for kind := range kindsOfHolds() {
		for _, disabled := range []bool{false, true} {
			code := s.createKind(kind)
			s.edit(code, voucher.Edit{Disabled: &disabled})
			if err := s.delete(code); err != nil {
				t.Errorf("delete %s: %v", kind, err)
			}
			s.wantGone(code)
			if s.redeem(kind, "Alder", "") {
				t.Errorf("%s was redeemed after it was deleted", kind)
			}
			if reason, is := voucher.IsRefusal(s.delete(code)); !is || reason != voucher.ReasonUnknown {
				t.Errorf("delete %s again: refused with the reason %q, want unknown", kind, reason)
			}
		}
	}
	s.wantClean("after deletions")
	for kind := range kindsOfHolds() { // the redeemer remembers most of these codes as codes with many uses
		s.create(voucher.Terms{Written: kind})
		if !s.redeem(kind, "Alder", "") || s.redeem(kind, "Birch", "") {
			t.Errorf("%s was created again with one use, but was not redeemed exactly once", kind)
		}
	}
	s.wantClean("after the codes were used again")
}

func TestDeleteVoucher_WasUsed_IsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	everyHold(s)
	before := s.stored("")
	vouchers := 0
	for v, err := range s.operator.Vouchers(t.Context(), backoffice.VoucherFilter{}, s.opened) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.delete(v.Code); !errors.Is(err, voucher.ErrUsed) {
			t.Errorf("delete %s: %v, want ErrUsed", v.Code, err)
		}
		vouchers++
	}
	if after := s.stored(""); vouchers == 0 || !reflect.DeepEqual(after, before) {
		t.Errorf("%d vouchers, stored %+v\nwant %+v", vouchers, after, before)
	}
	s.wantClean("afterwards")
}

// A code that shoppers use must not be disabled while the deletion waits.
func TestDeleteVoucher_WasRedeemed_StaysRedeemableMeanwhile(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	s.stock()
	for _, code := range []voucher.Code{"SUMMER20", "AUTUMN", "NEWS", "AR1GAT0"} {
		how, waits := deletion(func() {})
		if err := s.deleteAs(code, how); !errors.Is(err, voucher.ErrUsed) || *waits > 0 {
			t.Errorf("delete %s: %v after %d waits, want ErrUsed without a wait", code, err, *waits)
		}
	}
}

// stalling is a client whose writes wait until they are released.
type stalling struct {
	*dynamodb.Client

	arrived, release chan struct{}
}

func (c stalling) stall() {
	c.arrived <- struct{}{}
	<-c.release
}

func (c stalling) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	// The first call for a code must not stall. It tries to redeem the voucher's own item, because the kind of the code
	// is not known yet.
	if in.Key["sk"] != nil && !isVoucherKey(in.Key) {
		c.stall()
	}
	return c.Client.UpdateItem(ctx, in, options...)
}

func (c stalling) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	c.stall()
	return c.Client.TransactWriteItems(ctx, in, options...)
}

func isVoucherKey(key attributes) bool {
	_, err := voucher.ParseCode(key.text("sk"))
	return err == nil
}

// inFlight begins a redemption, and returns when the redemption has read the voucher and waits before its write. The
// function finish lets the redemption continue, and returns its error.
func (s *shop) inFlight(kind string) (finish func() error) {
	s.t.Helper()
	client := stalling{s.client, make(chan struct{}, 100), make(chan struct{})}
	redeemer := voucher.Redeemer{
		Store:  dynamo.NewRedeemer(client, dynamo.Tables{Vouchers: s.names.Vouchers}, mathrand.Int64N),
		Random: s.redeemer.Random,
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := redeemer.Redeem(s.t.Context(), s.request(kind, "Alder", ""))
		ended <- err
	}()
	<-client.arrived
	return sync.OnceValue(func() error {
		close(client.release)
		return <-ended
	})
}

func manyUseKinds() []string { return []string{"BOTH", "MANY", "NICKS", "FREE"} }

func TestDeleteVoucher_RedeemedDuringTheWait_IsRefusedAndEnabledAgain(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for _, kind := range manyUseKinds() {
		code := s.createKind(kind)
		finish := s.inFlight(kind)
		how, waits := deletion(func() {
			if s.redeem(kind, "Birch", "") {
				t.Errorf("%s: a request that began during the wait was redeemed", kind)
			}
			if err := finish(); err != nil {
				t.Errorf("%s: the redemption in flight: %v", kind, err)
			}
		})
		if err := s.deleteAs(code, how); !errors.Is(err, voucher.ErrUsed) || *waits != 1 {
			t.Errorf("delete %s: %v after %d waits, want ErrUsed after one", kind, err, *waits)
		}
		if !s.redeem(kind, "Birch", "") {
			t.Errorf("%s stayed disabled", kind)
		}
	}
	s.wantClean("afterwards")
}

// If a request in flight outlasts even the wait, its write fails, because the counters were deleted.
func TestDeleteVoucher_LimitedCode_RequestThatOutlastsTheWaitIsRefused(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for _, kind := range []string{"BOTH", "MANY"} {
		code := s.createKind(kind)
		finish := s.inFlight(kind)
		if err := s.delete(code); err != nil {
			t.Fatal(err)
		}
		if _, refused := voucher.IsRefusal(finish()); !refused {
			t.Errorf("%s: redeemed after it was deleted", kind)
		}
		s.wantGone(code)
	}
}

// If a code has no limit and no limit per nick, only a checkout records its hold.
func TestDeleteVoucher_CheckoutDuringTheWait_IsRefusedAndStaysAsItWas(t *testing.T) {
	t.Parallel()
	tables := newTables(t)
	for _, disabled := range []bool{false, true} {
		s := tables.newShop(t)
		for _, kind := range manyUseKinds() {
			code := s.createKind(kind)
			s.edit(code, voucher.Edit{Disabled: &disabled})
			how, _ := deletion(func() {
				s.edit(code, voucher.Edit{Disabled: new(false)})
				s.hold(code, "Alder", s.opened, "")
				s.edit(code, voucher.Edit{Disabled: new(true)})
				// The version is as if the checkout had been in flight when the code was disabled.
				s.change(string(code), func(it attributes) { it.add("version", -2) })
			})
			if err := s.deleteAs(code, how); !errors.Is(err, voucher.ErrUsed) {
				t.Errorf("delete %s: %v, want ErrUsed", kind, err)
			}
			if v, err := s.operator.StoredVoucher(t.Context(), code); err != nil || v.Disabled != disabled {
				t.Errorf("%s: disabled %t, want %t, %v", kind, v.Disabled, disabled, err)
			}
		}
		s.wantClean("afterwards")
	}
}

func TestDeleteVoucher_EditedDuringTheWait_StaysAsEdited(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for _, kind := range manyUseKinds() {
		code := s.createKind(kind)
		how, _ := deletion(func() { s.edit(code, voucher.Edit{Disabled: new(false)}) })
		if err := s.deleteAs(code, how); !errors.Is(err, voucher.ErrEdited) {
			t.Errorf("delete %s: %v, want ErrEdited", kind, err)
		}
		if !s.redeem(kind, "Alder", "") {
			t.Errorf("%s: another operator enabled it, but it is disabled", kind)
		}
	}
	s.wantClean("afterwards")
}

func TestDeleteVoucher_WaitInterrupted_IsCompletedByRunningItAgain(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	interrupted := backoffice.Deletion{Wait: func(context.Context, time.Duration) error { return context.Canceled }}
	for _, kind := range manyUseKinds() {
		code := s.createKind(kind)
		if err := s.deleteAs(code, interrupted); !errors.Is(err, context.Canceled) {
			t.Errorf("delete %s: %v, want canceled", kind, err)
		}
		if s.redeem(kind, "Alder", "") {
			t.Errorf("%s is redeemable after the interruption", kind)
		}
		if err := s.delete(code); err != nil {
			t.Errorf("delete %s again: %v", kind, err)
		}
		s.wantGone(code)
	}
}

// Each condition of the deletion must detect its change alone, even if the voucher was read before the change.
func TestDelete_ChangedSinceItWasRead_StaysWhole(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for change, test := range map[string]struct {
		kind, item string
		change     func(attributes)
		want       error
	}{
		"edited": {"ONCE", "", func(it attributes) { it.add("version", 1) }, voucher.ErrEdited},
		"held": {
			"ONCE", "", func(it attributes) { it["hold"] = text("LRLuWYz8-QoWsPfs4csHfg") }, voucher.ErrUsed,
		},
		"redeemed": {
			"ONCE", "", func(it attributes) { it["used"] = number(1) }, voucher.ErrUsed,
		},
		"undone":            {"ONCE", "", func(it attributes) { it["undone"] = number(1) }, voucher.ErrUsed},
		"imported as used":  {"ONCE", "", func(it attributes) { it["imported"] = number(1) }, voucher.ErrUsed},
		"limited, edited":   {"MANY", "", func(it attributes) { it.add("version", 1) }, voucher.ErrEdited},
		"limited, undone":   {"MANY", "", func(it attributes) { it["returns"] = number(1) }, voucher.ErrUsed},
		"limited, imported": {"BOTH", "", func(it attributes) { it["imported"] = number(1) }, voucher.ErrUsed},
		"a counter was used": {
			"BOTH", "#c#02", func(it attributes) { it.add("used", 1); it.add("left", -1) },
			voucher.ErrUsed,
		},
		"a counter had a hold": {"BOTH", "#c#01", func(it attributes) {
			it["lapse"] = number(s.opened.UnixMilli())
		}, voucher.ErrUsed},
		"unlimited, edited":   {"FREE", "", func(it attributes) { it.add("version", 1) }, voucher.ErrEdited},
		"unlimited, imported": {"FREE", "", func(it attributes) { it["imported"] = number(7) }, voucher.ErrUsed},
	} {
		t.Run(change, func(t *testing.T) {
			s := s.newShop(t)
			code := s.createKind(test.kind)
			read, err := s.operator.StoredVoucher(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			s.change(string(code)+test.item, test.change)
			before := s.stored(code)
			if err := s.operator.DeleteUnused(t.Context(), read); !errors.Is(err, test.want) {
				t.Errorf("Delete = %v, want %v", err, test.want)
			}
			if after := s.stored(code); !reflect.DeepEqual(after, before) {
				t.Errorf("stored %+v\nwant %+v", after, before)
			}
		})
	}
}

// A deletion whose response is lost may arrive once more, after the code was created again.
func TestDelete_CodeCreatedAgainMeanwhile_StaysAsCreated(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for kind := range kindsOfHolds() {
		code := s.createKind(kind)
		read, err := s.operator.StoredVoucher(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.operator.DeleteUnused(t.Context(), read); err != nil {
			t.Fatal(err)
		}
		s.opened = s.opened.Add(time.Millisecond)
		s.createKind(kind)
		before := s.stored(code)
		if err := s.operator.DeleteUnused(t.Context(), read); err != nil {
			t.Errorf("delete the old voucher with the code %s again: %v", kind, err)
		}
		if after := s.stored(code); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: stored %+v\nwant %+v", kind, after, before)
		}
	}
}

func TestDeleteVoucher_RacesWithRedemptions_ExactlyOneWins(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for n := range 100 {
		kind := fmt.Sprintf("GIFT-%d", n)
		code := s.create(voucher.Terms{Written: kind})
		// The voucher is read in advance, so that the deletion takes one call, like the redemption. Then each of them
		// wins often enough.
		read, err := s.operator.StoredVoucher(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		var deleting sync.WaitGroup
		deleting.Go(func() { err = s.operator.DeleteUnused(t.Context(), read) })
		redeemed := s.redeem(kind, "Alder", "")
		deleting.Wait()
		switch {
		case err == nil && !redeemed:
			s.wantGone(code)
		case errors.Is(err, voucher.ErrUsed) && redeemed:
		default:
			t.Errorf("redeemed %t, but the deletion returned %v", redeemed, err)
		}
	}
	s.wantClean("afterwards")
}

func TestDeleteBatch_KeepsWhatWasUsed(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for _, batch := range []string{"launch", "advent"} {
		for kind, terms := range kindsOfHolds() {
			for n := range 3 {
				terms.Written, terms.Batch = fmt.Sprintf("%s-%s-%d", batch, kind, n), batch
				s.create(terms)
			}
			s.redeem(fmt.Sprintf("%s-%s-1", batch, kind), "Alder", "")
		}
	}
	how, waits := deletion(func() {})
	begun, written := 0, 0
	how.Begin, how.Wrote = func(count int) { begun = count }, func() { written++ }
	result, err := s.operator.DeleteBatch(t.Context(), "launch", how)
	if want := (backoffice.BatchDeletion{Vouchers: 15, Deleted: 10, Kept: 5}); err != nil || result != want ||
		*waits != 1 {
		t.Errorf("DeleteBatch = %+v, %v after %d waits, want %+v after one", result, err, *waits, want)
	}
	if begun != 15 || written != 15 {
		t.Errorf("progress %d of %d, want 15 of 15", written, begun)
	}
	for batch, want := range map[string]int{"launch": 5, "advent": 15} {
		if count, err := s.operator.CountBatch(t.Context(), batch); err != nil || count != want {
			t.Errorf("%s: %d vouchers, %v, want %d", batch, count, err, want)
		}
	}
	if _, err := s.operator.DeleteBatch(t.Context(), "easter", how); !errors.Is(err, voucher.ErrBatchUnknown) {
		t.Errorf("an unknown batch: %v", err)
	}
	s.wantClean("afterwards")
}

func TestDeleteBatch_Interrupted_IsCompletedByRunningItAgain(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	const size = 200
	for n := range size {
		s.create(voucher.Terms{Written: fmt.Sprintf("GIFT-%d", n), Batch: "launch"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	how, _ := deletion(func() {})
	how.Wrote = cancel
	first, err := s.operator.DeleteBatch(ctx, "launch", how)
	if !errors.Is(err, context.Canceled) || first.Deleted == 0 || first.Deleted == size {
		t.Fatalf("%+v, %v", first, err)
	}
	how.Wrote = nil
	second, err := s.operator.DeleteBatch(t.Context(), "launch", how)
	if want := size - first.Deleted; err != nil || second.Vouchers != want || second.Deleted != want {
		t.Errorf("%+v, %v, want %d deleted", second, err, want)
	}
	if report := s.verify(s.opened); report.Vouchers != 0 || report.Found != 0 {
		t.Errorf("%+v", report)
	}
}
