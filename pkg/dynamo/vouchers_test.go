package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

func TestCreate_ExistingCode_IsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, maxUses := range []voucher.Limit{1, 100, voucher.NoLimit} {
		code := fmt.Sprintf("SUMMER-2O-%d", maxUses)
		first := s.create(voucher.Terms{Written: code, MaxUses: &maxUses})
		for _, otherUses := range []voucher.Limit{1, 200, voucher.NoLimit} {
			other, err := voucher.New(voucher.Terms{
				Written: fmt.Sprintf("summer 20 %d", maxUses), MaxUses: &otherUses,
				Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
			}, noon())
			must(t, err)
			if err := s.vouchers.Create(t.Context(), other); !errors.Is(err, voucher.ErrCodeTaken) {
				t.Errorf("creating %s over %s = %v; want ErrCodeTaken", other.Written, code, err)
			}
		}
		standing, err := s.vouchers.Voucher(t.Context(), first.Code, time.Now())
		if err != nil || standing.Voucher != first || standing.Used != 0 || standing.UsesLeft != int(first.MaxUses) {
			t.Errorf("the first voucher is now %+v, %v; want %+v", standing, err, first)
		}
	}
}

func TestCreate_LostResponse_Succeeds(t *testing.T) {
	t.Parallel()
	for operation, maxUses := range map[string]voucher.Limit{"PutItem": 1, "TransactWriteItems": 100} {
		t.Run(operation, func(t *testing.T) {
			s := newShop(t)
			network := losingResponses(operation, 2)
			v, err := voucher.New(voucher.Terms{
				Written: "SUMMER-20", MaxUses: &maxUses, ValidFrom: noon(), Batch: "launch", Note: "stream",
				Nick: "Alder",
				Reward: voucher.Reward{
					Kind:      voucher.RewardAmountOff,
					AmountOff: money.Money{Minor: 500, Currency: "EUR"},
				},
			}, noon().Add(123456*time.Nanosecond))
			must(t, err)
			if err := s.owner(newClient(t, over(network))).Create(t.Context(), v); err != nil {
				t.Errorf("Create = %v", err)
			}
			if standing, err := s.vouchers.Voucher(t.Context(), v.Code, time.Now()); err != nil ||
				standing.UsesLeft != int(maxUses) {
				t.Errorf("Show = %+v, %v", standing, err)
			}
		})
	}
}

func TestEdit_AppliesToTheNextRequest(t *testing.T) {
	t.Parallel()
	for kind, maxUses := range map[string]voucher.Limit{"single-use": 1, "limited": 100, "no limit": voucher.NoLimit} {
		t.Run(kind, func(t *testing.T) {
			s := newShop(t)
			v := s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: &maxUses})
			edits := []struct {
				edit voucher.Edit
				want voucher.Reason // empty: redeemable
			}{
				{voucher.Edit{Disabled: new(true)}, voucher.ReasonDisabled},
				{voucher.Edit{Disabled: new(false), ValidFrom: new(noon().Add(time.Hour))}, voucher.ReasonNotStarted},
				{voucher.Edit{ValidFrom: new(time.Time{}), ValidUntil: new(noon())}, voucher.ReasonExpired},
				{voucher.Edit{ValidUntil: new(time.Time{}), Nick: new("Birch")}, voucher.ReasonOtherNick},
				{voucher.Edit{Nick: new("")}, ""},
				{voucher.Edit{Batch: new("launch"), Note: new("stream")}, ""},
			}
			for _, step := range edits {
				edited, err := s.vouchers.EditVoucher(t.Context(), v.Code, step.edit)
				must(t, err)
				standing, err := s.vouchers.Voucher(t.Context(), v.Code, time.Now())
				if err != nil || standing.Voucher != edited {
					t.Errorf("Edit returned %+v, but stored is %+v, %v", edited, standing.Voucher, err)
				}
				_, err = s.redeemer.Check(within(t), request(t, "SUMMER-20", "Alder", ""))
				wantRefused(t, err, step.want)
				if step.want != "" {
					wantRequestRefused(t, s.redeemer, request(t, "SUMMER-20", "Alder", ""), step.want)
				}
			}
			s.mustRedeem(request(t, "SUMMER-20", "Alder", ""))
		})
	}
	s := newShop(t)
	_, err := s.vouchers.EditVoucher(t.Context(), "1NVENTED", voucher.Edit{Disabled: new(true)})
	wantRefused(t, err, voucher.ReasonUnknown)
}

func (s *shop) mustEditLimit(code voucher.Code, limit voucher.Limit) {
	s.t.Helper()
	v, err := s.vouchers.EditVoucher(within(s.t), code, voucher.Edit{MaxUses: &limit})
	if err != nil || v.MaxUses != limit {
		s.t.Fatalf("edit to %d uses = %d, %v", limit, v.MaxUses, err)
	}
}

func TestEdit_Limit_CountsTheUsesTaken(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	v := s.create(voucher.Terms{
		Written: "SUMMER-20", MaxUses: new(voucher.Limit(10)),
		MaxUsesPerNick: new(voucher.NoLimit), Parts: new(4),
	})
	at := noon()
	redeem := func(want voucher.Reason) {
		t.Helper()
		at = at.Add(time.Second) // for so long, a process remembers that a code is sold out
		wantRequestRefused(t, s.redeemer, s.requestAt("", at), want)
	}
	wantStanding := func(left, used int) {
		t.Helper()
		standing, err := s.vouchers.Voucher(t.Context(), v.Code, time.Now())
		if err != nil || standing.UsesLeft != left || standing.Used != used {
			t.Errorf("%d left, %d used, %v; want %d and %d", standing.UsesLeft, standing.Used, err, left, used)
		}
	}
	for range 8 {
		redeem("")
	}
	wantStanding(2, 8)
	s.mustEditLimit(v.Code, 5) // fewer than the uses taken, so the code is used up
	redeem(voucher.ReasonUsedUp)
	wantStanding(0, 8)
	s.mustEditLimit(v.Code, 8)
	redeem(voucher.ReasonUsedUp)
	s.mustEditLimit(v.Code, 9)
	redeem("")
	redeem(voucher.ReasonUsedUp)
	wantStanding(0, 9)
	s.mustEditLimit(v.Code, 100)
	wantStanding(91, 9)
	s.mustEditLimit(v.Code, 100)
	wantStanding(91, 9)
}

// Several operators edit at once. In the end, one of their limits holds.
func TestEdit_RaceOfLimits_OneHolds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	v := s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(100)), Parts: new(8)})
	var editors sync.WaitGroup
	for i := range 8 {
		editors.Go(func() {
			limit := voucher.Limit(50 * (i + 1))
			// An edit that other edits overtake too often returns an error.
			if _, err := s.vouchers.EditVoucher(within(t), v.Code, voucher.Edit{MaxUses: &limit}); err != nil {
				t.Logf("edit to %d: %v", limit, err)
			}
		})
	}
	editors.Wait()
	standing, err := s.vouchers.Voucher(t.Context(), v.Code, time.Now())
	if err != nil || standing.UsesLeft != int(standing.MaxUses) || standing.MaxUses%50 != 0 {
		t.Errorf("%d of %d uses left, %v", standing.UsesLeft, standing.MaxUses, err)
	}
}

// An edit of a limit is interrupted after each of its writes in turn. What is left and used always adds up to the limit,
// and running the edit again completes it: as many uses can be redeemed as it allows.
func TestEdit_InterruptedLimit_IsCompletedByRunningItAgain(t *testing.T) {
	t.Parallel()
	for what, to := range map[string]voucher.Limit{"raise": 14, "lower": 6} {
		t.Run(what, func(t *testing.T) {
			write := 1
			for interruptedLimitEdit(t, to, write) {
				write++
			}
			if write < 4 {
				t.Errorf("only %d writes were seen", write)
			}
		})
	}
}

// interruptedLimitEdit changes the limit from 10, and is interrupted at the write with the given number. It returns
// false if the edit was complete before that write.
func interruptedLimitEdit(t *testing.T, to voucher.Limit, write int) bool {
	t.Helper()
	s := newShop(t)
	v := s.create(voucher.Terms{
		Written: "SUMMER-20", MaxUses: new(voucher.Limit(10)),
		MaxUsesPerNick: new(voucher.NoLimit), Parts: new(3),
	})
	s.mustRedeem(request(t, "SUMMER-20", "", ""))
	cut := &cutAfter{Client: s.client, writes: write}
	if _, err := s.owner(cut).EditVoucher(t.Context(), v.Code, voucher.Edit{MaxUses: &to}); err == nil {
		return false
	}
	standing, err := s.vouchers.Voucher(t.Context(), v.Code, time.Now())
	if err != nil || standing.UsesLeft+standing.Used != int(to) || standing.MaxUses != to {
		t.Errorf("cut at write %d: %d left, %d used of %d, %v", write, standing.UsesLeft, standing.Used,
			standing.MaxUses, err)
	}
	if write%2 == 0 { // the operator chooses the old limit again
		to = 10
	}
	s.mustEditLimit(v.Code, to)
	for range to - 1 {
		s.mustRedeem(request(t, "SUMMER-20", "", ""))
	}
	wantRequestRefused(t, s.redeemer, request(t, "SUMMER-20", "", ""), voucher.ReasonUsedUp)
	return true
}

var errKilled = errors.New("the command was killed")

// cutAfter is a client that makes a number of writes and then fails. The response to its last write is lost.
type cutAfter struct {
	*dynamodb.Client
	writes int
}

func (c *cutAfter) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return cutting(c, func() (*dynamodb.UpdateItemOutput, error) { return c.Client.UpdateItem(ctx, in, opts...) })
}

func (c *cutAfter) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return cutting(c,
		func() (*dynamodb.TransactWriteItemsOutput, error) {
			return c.Client.TransactWriteItems(ctx, in, opts...)
		})
}

func cutting[Output any](c *cutAfter, write func() (*Output, error)) (*Output, error) {
	if c.writes--; c.writes < 0 {
		return nil, errKilled
	}
	out, err := write()
	if c.writes == 0 && err == nil {
		return nil, errKilled
	}
	return out, err
}

func TestEdit_LostResponses_Succeeds(t *testing.T) {
	t.Parallel()
	for what, edit := range map[string]voucher.Edit{
		"raise": {MaxUses: new(voucher.Limit(200))}, "lower": {MaxUses: new(voucher.Limit(20))},
		"disable": {Disabled: new(true)},
	} {
		t.Run(what, func(t *testing.T) {
			s := newShop(t)
			v := s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(100)), Parts: new(3)})
			network := &flaky{}
			vouchers := s.owner(newClient(t, over(network)))
			edited, err := vouchers.EditVoucher(within(t), v.Code, edit)
			must(t, err)
			standing, err := s.vouchers.Voucher(t.Context(), v.Code, time.Now())
			if err != nil || standing.Voucher != edited || standing.UsesLeft != int(edited.MaxUses) {
				t.Errorf("the voucher is %+v with %d uses left, %v; want %+v with all uses left", standing.Voucher,
					standing.UsesLeft, err, edited)
			}
		})
	}
}

// flaky loses the response to every second write.
type flaky struct {
	mu     sync.Mutex
	writes int
}

func (f *flaky) Do(r *http.Request) (*http.Response, error) {
	response, err := dynamotest.Network().Do(r)
	if err != nil || r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.UpdateItem" {
		return response, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writes++; f.writes%2 == 0 {
		return response, nil
	}
	_ = response.Body.Close()
	return nil, &smithyhttp.RequestSendError{Err: errCut}
}

// The response to a creation is lost, and the code is redeemed before the retry. The retry still succeeds.
func TestCreate_RedeemedBeforeTheRetry_Succeeds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, maxUses := range []voucher.Limit{1, 2} {
		v := s.create(voucher.Terms{Written: fmt.Sprintf("SUMMER-%d", maxUses), MaxUses: &maxUses})
		for i := range maxUses + 1 { // the last request is refused as used up
			_, _, err := s.redeemer.Redeem(within(t), request(t, v.Written, nickOf(int(i)), ""))
			if _, refused := voucher.IsRefusal(err); err != nil && !refused {
				t.Fatal(err)
			}
		}
		if err := s.vouchers.Create(t.Context(), v); err != nil {
			t.Errorf("creating %s again = %v", v.Written, err)
		}
	}
}

// The response to a creation is lost, and an operator edits the voucher before the retry. The retry still succeeds.
func TestCreate_EditedBeforeTheRetry_Succeeds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, maxUses := range []voucher.Limit{1, 2} {
		v := s.create(voucher.Terms{Written: fmt.Sprintf("SUMMER-%d", maxUses), MaxUses: &maxUses, Batch: "summer"})
		edit := voucher.Edit{Disabled: new(true), Note: new("leaked"), MaxUses: new(maxUses + 1)}
		if maxUses == 1 {
			edit.MaxUses = nil
		}
		s.mustEdit(v, edit)
		if err := s.vouchers.Create(t.Context(), v); err != nil {
			t.Errorf("creating %s again = %v", v.Written, err)
		}
		v.Created = v.Created.Add(time.Millisecond)
		if err := s.vouchers.Create(t.Context(), v); !errors.Is(err, voucher.ErrCodeTaken) {
			t.Errorf("creating another %s = %v; want ErrCodeTaken", v.Written, err)
		}
	}
}

func TestVouchers_SeveralCodes_EachHasItsUsesAndRedemptions(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "SUMMER", MaxUses: new(voucher.Limit(130))})
	s.create(voucher.Terms{Written: "SUMMER-20"})
	s.createFor("sakura-goods", voucher.Terms{Written: "SUMMER"})
	first := s.mustRedeem(request(t, "SUMMER", "Alder", ""))
	second := s.mustRedeem(request(t, "SUMMER", "Birch", ""))
	third := s.mustRedeem(request(t, "SUMMER-20", "Birch", ""))

	var uses []string
	for standing, err := range s.vouchers.Vouchers(t.Context(), backoffice.VoucherFilter{}, noon()) {
		must(t, err)
		uses = append(uses, fmt.Sprintf("%s: %d left, %d used", standing.Code, standing.UsesLeft, standing.Used))
	}
	if want := []string{"SUMMER: 128 left, 2 used", "SUMMER20: 0 left, 1 used"}; !slices.Equal(uses, want) {
		t.Errorf("listed %q, want %q", uses, want)
	}
	redeemed := make(map[string]string)
	for redemption, err := range s.vouchers.Redemptions(t.Context(), backoffice.RedemptionFilter{}) {
		must(t, err)
		redeemed[redemption.ID] = redemption.Code
	}
	want := map[string]string{first.ID: "SUMMER", second.ID: "SUMMER", third.ID: "SUMMER-20"}
	if !maps.Equal(redeemed, want) {
		t.Errorf("redemptions %v; want %v", redeemed, want)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range s.vouchers.Vouchers(stopped, backoffice.VoucherFilter{}, noon()) {
		last = err
	}
	if last == nil {
		t.Error("an interrupted listing ends without an error")
	}
}

// A response of DynamoDB has up to 1 MB, so all vouchers of the bucket fit in one. Smaller pages would take more calls.
func TestVouchers_BucketOf150Vouchers_IsReadInOneCall(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const bucket = string(emberforge) + "#07"
	created := 0
	for n := 0; created < 150; n++ {
		code := voucher.Code(fmt.Sprintf("SUMMER%d", n))
		if table.VoucherKey(emberforge, code).Partition == bucket {
			s.create(voucher.Terms{Written: string(code)})
			created++
		}
	}
	network, _ := counted()
	found := 0
	for _, err := range s.owner(newClient(t, over(network))).Vouchers(t.Context(), backoffice.VoucherFilter{}, noon()) {
		must(t, err)
		found++
	}
	if calls := network.calls.Load(); found != created || calls != table.Buckets {
		t.Errorf("%d vouchers in %d calls, want %d in %d", found, calls, created, table.Buckets)
	}
}
