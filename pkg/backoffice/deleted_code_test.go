package backoffice_test

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// expireCheckouts deletes the shop's checkouts, as DynamoDB does when their time to live has passed.
func (s *shop) expireCheckouts() {
	s.t.Helper()
	for _, it := range s.items(s.names.Checkouts, "") {
		s.remove(s.names.Checkouts, it)
	}
}

// A code without a limit and without a limit per nick is left out: its items never show that it was held.
func TestDeleteVoucher_WasHeldByACheckoutThatIsGone_IsRefused(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for _, kind := range []string{"ONCE", "BOTH", "MANY", "NICKS"} {
		code := s.createKind(kind)
		s.hold(code, "Alder", s.lapsed(), "")
		s.expireCheckouts()
		if err := s.delete(code); !errors.Is(err, voucher.ErrUsed) {
			t.Errorf("delete %s: %v, want ErrUsed", kind, err)
		}
	}
	s.wantClean("afterwards")
}

// While a deletion waits, a request in flight may use the code, and another operator may disable the code because it
// has leaked.
func TestDeleteVoucher_UsedAndDisabledByAnotherDuringTheWait_StaysDisabled(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	for _, kind := range slowKinds() {
		code := s.createKind(kind)
		finish := s.inFlight(kind)
		how, _ := deletion(func() {
			if err := finish(); err != nil {
				t.Errorf("%s: the redemption in flight: %v", kind, err)
			}
			s.edit(code, voucher.Edit{Disabled: new(true)})
		})
		if err := s.deleteAs(code, how); !errors.Is(err, voucher.ErrEdited) {
			t.Errorf("delete %s: %v, want ErrEdited", kind, err)
		}
		if v, err := s.operator.StoredVoucher(t.Context(), code); err != nil || !v.Disabled {
			t.Errorf("%s: another operator disabled it, but it is enabled: %v", kind, err)
		}
	}
}

// While a batch is switched, another operator may delete a voucher that SwitchBatch has already read, and create its
// code again.
func TestEditRead_CodeCreatedAgainSinceItWasRead_KeepsTheNewTerms(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	code := s.create(voucher.Terms{Written: "SUMMER20", Batch: "summer", Note: "draft"})
	read, err := s.operator.StoredVoucher(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.delete(code); err != nil {
		t.Fatal(err)
	}
	s.opened = s.opened.Add(time.Second)
	s.create(voucher.Terms{Written: "SUMMER20", Batch: "newsletter", Note: "final", Nick: "Alder"})
	got, err := s.operator.EditRead(t.Context(), read, voucher.Edit{Disabled: new(true)})
	if err != nil || got.Batch != "newsletter" || got.Note != "final" || got.Nick.Written != "Alder" {
		t.Errorf("EditRead = %+v, %v, want the terms of the new voucher", got, err)
	}
}

// hookedHolds is a store of checkouts that calls afterRules when a checkout has read the rules of its voucher.
type hookedHolds struct {
	*dynamo.Checkouts

	afterRules func()
}

func (h hookedHolds) Rules(ctx context.Context, request voucher.Request) (voucher.Voucher, error) {
	defer h.afterRules()
	return h.Checkouts.Rules(ctx, request)
}

// A voucher may have been deleted because its discount was a mistake. A checkout must not get that discount.
func TestOpen_CodeCreatedAgainAfterItWasRead_NeverGivesTheOldDiscount(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	percent := func(off int) voucher.Reward { return voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: off} }
	code := s.create(voucher.Terms{Written: "SUMMER20", Reward: percent(90)})
	checkouts := dynamo.NewCheckouts(s.client, s.heldTables(), mathrand.Int64N)
	opener := checkout.Opener{
		Catalogue: coins{}, Random: rand.Reader,
		Store: hookedHolds{checkouts, func() {
			if err := s.delete(code); err != nil {
				t.Error(err)
			}
			s.opened = s.opened.Add(time.Millisecond)
			s.create(voucher.Terms{Written: "SUMMER20", Reward: percent(20)})
		}},
	}
	c, _, err := opener.Open(t.Context(),
		checkout.Request{Shop: s.shop, Product: "coins", Variant: "500", Code: code, At: s.opened})
	if err == nil && c.Discount.Minor != 99 {
		t.Errorf("discount %s, want 20%% of 4.99", c.Discount)
	}
}

// If the run ended at an edited voucher, used codes would stay disabled because of the edit of another code.
func TestDeleteBatch_SomeEditedDuringTheWait_GoesOnWithTheOthers(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	var edited, kept, unused []voucher.Code
	for _, number := range []string{"1", "2", "3"} {
		limit := voucher.Limit(10)
		create := func(kind string) voucher.Code {
			return s.create(voucher.Terms{
				Written: kind + number, Batch: "fair", MaxUses: &limit,
				MaxUsesPerNick: new(voucher.NoLimit),
			})
		}
		edited, kept, unused = append(edited, create("ED1T")), append(kept, create("KEPT")),
			append(unused, create("0PEN"))
	}
	how, _ := deletion(func() {
		for n := range edited {
			s.edit(edited[n], voucher.Edit{Note: new("handed out at the fair")})
			s.change(string(kept[n]), func(it attributes) { // as if the code had been held
				it["n"], it["h#LRLuWYz8-QoWsPfs4csHfg"] = number(1), text("1.0.")
			})
		}
	})
	result, err := s.operator.DeleteBatch(t.Context(), "fair", how)
	if !errors.Is(err, voucher.ErrEdited) || result.Deleted != len(unused) || result.Kept != len(kept) {
		t.Errorf("DeleteBatch = %+v, %v, want %d deleted, %d kept and ErrEdited", result, err, len(unused), len(kept))
	}
	for _, code := range unused {
		s.wantGone(code)
	}
	for _, code := range kept {
		if v, err := s.operator.StoredVoucher(t.Context(), code); err != nil || v.Disabled {
			t.Errorf("%s was used: disabled %t, %v; want it enabled again", code, v.Disabled, err)
		}
	}
}
