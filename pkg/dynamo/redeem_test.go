package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const emberforge catalog.ShopID = "emberforge"

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// shop is a vouchers table, with the owner's access (vouchers) and the functions' store (redeemer) on it.
type shop struct {
	t        testing.TB
	client   *dynamodb.Client
	table    string
	vouchers *backoffice.Shop // emberforge's
	redeemer voucher.Redeemer
}

func newShop(t testing.TB) *shop {
	client, table := newTable(t)
	s := &shop{t: t, client: client, table: table, redeemer: redeemerOf(client, table)}
	s.vouchers = s.owner(client)
	return s
}

// owner returns emberforge's vouchers through a client.
func (s *shop) owner(api backoffice.API) *backoffice.Shop { return s.ownerOf(emberforge, api) }

func (s *shop) ownerOf(shopID catalog.ShopID, api backoffice.API) *backoffice.Shop {
	return ownerOf(shopID, api, backoffice.Tables{Vouchers: s.table})
}

func redeemerOf(client dynamo.UsesAPI, table string) voucher.Redeemer {
	return voucher.Redeemer{
		Store:  dynamo.NewRedeemer(client, dynamo.Tables{Vouchers: table}, mathrand.Int64N),
		Random: rand.Reader,
	}
}

// over returns a redeemer that reaches the same table through a network.
func (s *shop) over(network dynamodb.HTTPClient) voucher.Redeemer {
	return redeemerOf(newClient(s.t, over(network)), s.table)
}

// create creates a voucher for emberforge. The default reward is coins/500.
func (s *shop) create(terms voucher.Terms) voucher.Voucher {
	s.t.Helper()
	return s.createFor(emberforge, terms)
}

func (s *shop) createFor(shopID catalog.ShopID, terms voucher.Terms) voucher.Voucher {
	s.t.Helper()
	if terms.Reward == (voucher.Reward{}) {
		terms.Reward = voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1}
	}
	v, err := voucher.New(terms, noon())
	must(s.t, err)
	must(s.t, s.ownerOf(shopID, s.client).Create(s.t.Context(), v))
	return v
}

func request(t testing.TB, code, nick, key string) voucher.Request {
	t.Helper()
	parsedCode, err := voucher.ParseCode(code)
	must(t, err)
	parsedNick, err := voucher.ParseNick(nick)
	must(t, err)
	return voucher.Request{
		Shop: emberforge, Code: parsedCode, Nick: parsedNick, Key: idempotency.Key(key),
		At: noon(),
	}
}

// wantRefused fails the test unless err is a refusal with the reason. An empty reason stands for no refusal.
func wantRefused(t testing.TB, err error, want voucher.Reason) {
	t.Helper()
	if reason, _ := voucher.IsRefusal(err); reason != want {
		t.Errorf("got %v; want a refusal with the reason %q", err, want)
	}
}

// wantRequestRefused sends a request, and fails the test unless the request is refused with the reason. An empty reason
// stands for no refusal.
func wantRequestRefused(t testing.TB, redeemer voucher.Redeemer, r voucher.Request, want voucher.Reason) {
	t.Helper()
	_, _, err := redeemer.Redeem(within(t), r)
	wantRefused(t, err, want)
}

func (s *shop) mustEdit(v voucher.Voucher, edit voucher.Edit) {
	s.t.Helper()
	_, err := s.vouchers.EditVoucher(within(s.t), v.Code, edit)
	must(s.t, err)
}

func (s *shop) mustRedeem(r voucher.Request) voucher.Redemption {
	s.t.Helper()
	redemption, replayed, err := s.redeemer.Redeem(within(s.t), r)
	if err != nil || replayed {
		s.t.Fatalf("Redeem = replayed %v, %v", replayed, err)
	}
	return redemption
}

// records returns the stored redemptions of a code of emberforge.
func (s *shop) records(code string) []voucher.Redemption {
	s.t.Helper()
	return s.recordsOf(emberforge, code)
}

func (s *shop) recordsOf(shopID catalog.ShopID, code string) []voucher.Redemption {
	s.t.Helper()
	var records []voucher.Redemption
	ofCode := backoffice.RedemptionFilter{Code: request(s.t, code, "", "").Code}
	for redemption, err := range s.ownerOf(shopID, s.client).Redemptions(s.t.Context(), ofCode) {
		must(s.t, err)
		records = append(records, redemption.Redemption)
	}
	return records
}

func TestRedeem_ReturnsTheRewardAndRecordsTheRedemption(t *testing.T) {
	t.Parallel()
	kinds := map[string]voucher.Terms{
		"single-use": {Written: "WELCOME-COINS"},
		"limited":    {Written: "WELCOME-COINS", MaxUses: new(voucher.Limit(100))},
		"limited, no limit per nick": {
			Written: "WELCOME-COINS", MaxUses: new(voucher.Limit(100)),
			MaxUsesPerNick: new(voucher.NoLimit),
		},
		"no limit": {Written: "WELCOME-COINS", MaxUses: new(voucher.NoLimit)},
		"no limit at all": {
			Written: "WELCOME-COINS", MaxUses: new(voucher.NoLimit),
			MaxUsesPerNick: new(voucher.NoLimit),
		},
		"bound": {Written: "WELCOME-COINS", Nick: "ALDER"},
		"within its time": {
			Written: "WELCOME-COINS", ValidFrom: noon(),
			ValidUntil: noon().Add(time.Millisecond),
		},
		"percent off": {
			Written: "WELCOME-COINS",
			Reward:  voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
		},
		"amount off": {
			Written: "WELCOME-COINS",
			Reward:  voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 499, Currency: "EUR"}},
		},
		"several goods": {
			Written: "WELCOME-COINS",
			Reward: voucher.Reward{Kind: voucher.RewardBundle, Items: [voucher.MaxBundleItems]voucher.Good{
				{Product: "coins", Variant: "1000", Amount: 1}, {Product: "rank", Variant: "vip", Amount: 2},
			}},
		},
		"limited, bound and batched": {
			Written: "WELCOME-COINS", MaxUses: new(voucher.Limit(2)), Nick: "Alder",
			Batch: "launch", Note: "stream of March",
		},
	}
	for kind, terms := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := newShop(t)
			v := s.create(terms)
			r := request(t, "welcome coins", "Alder", "order-1047")
			got := s.mustRedeem(r)
			want := voucher.Redemption{ID: got.ID, Code: "WELCOME-COINS", Nick: "Alder", At: noon(), Reward: v.Reward, Attempt: got.Attempt}
			if got != want || len(got.ID) != 22 {
				t.Errorf("redeemed %+v; want %+v", got, want)
			}
			again, replayed, err := s.redeemer.Redeem(within(t), r)
			if err != nil || !replayed || again != got {
				t.Errorf("the same request again = %+v, replayed %v, %v; want %+v", again, replayed, err, got)
			}
			records := s.records("WELCOME-COINS")
			if len(records) != 1 || records[0].ID != got.ID || records[0].Nick != "Alder" ||
				!records[0].At.Equal(noon()) {
				t.Errorf("the redemptions %+v are stored, want only %+v", records, got)
			}
		})
	}
}

func TestRedeem_RefusedCode_GivesTheReasonAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	unlimited := new(voucher.NoLimit)
	for _, kind := range []struct {
		suffix           string
		maxUses, perNick *voucher.Limit
	}{{"1", nil, nil}, {"100", new(voucher.Limit(100)), unlimited}, {"N", unlimited, unlimited}} {
		s.create(voucher.Terms{
			Written: "DISABLED" + kind.suffix, Disabled: true, MaxUses: kind.maxUses,
			MaxUsesPerNick: kind.perNick,
		})
		s.create(voucher.Terms{
			Written: "LATER" + kind.suffix, ValidFrom: noon().Add(time.Millisecond),
			MaxUses: kind.maxUses, MaxUsesPerNick: kind.perNick,
		})
		s.create(voucher.Terms{
			Written: "EXPIRED" + kind.suffix, ValidUntil: noon(), MaxUses: kind.maxUses,
			MaxUsesPerNick: kind.perNick,
		})
		s.create(voucher.Terms{
			Written: "BOUND" + kind.suffix, Nick: "Birch", MaxUses: kind.maxUses,
			MaxUsesPerNick: kind.perNick,
		})
	}
	s.create(voucher.Terms{Written: "ONCE-PER-NICK", MaxUses: unlimited})
	s.create(voucher.Terms{Written: "USED1"})
	s.mustRedeem(request(t, "USED1", "Rowan", ""))
	s.create(voucher.Terms{Written: "USED2", MaxUses: new(voucher.Limit(2)), MaxUsesPerNick: unlimited})
	s.mustRedeem(request(t, "USED2", "", ""))
	s.mustRedeem(request(t, "USED2", "", ""))
	s.create(voucher.Terms{
		Written: "NICK-USED", MaxUses: new(voucher.Limit(100)),
		MaxUsesPerNick: new(voucher.Limit(2)),
	})
	s.mustRedeem(request(t, "NICK-USED", "Alder", ""))
	s.mustRedeem(request(t, "NICK-USED", "aldeR", ""))
	s.createFor("sakura-goods", voucher.Terms{Written: "SAKURA"})

	tests := []struct {
		code, nick string
		want       voucher.Reason
	}{
		{"INVENTED", "Alder", voucher.ReasonUnknown},
		{"SAKURA", "Alder", voucher.ReasonUnknown},
		{"DISABLED1", "Alder", voucher.ReasonDisabled},
		{"DISABLED100", "Alder", voucher.ReasonDisabled},
		{"DISABLEDN", "Alder", voucher.ReasonDisabled},
		{"LATER1", "Alder", voucher.ReasonNotStarted},
		{"LATER100", "Alder", voucher.ReasonNotStarted},
		{"LATERN", "Alder", voucher.ReasonNotStarted},
		{"EXPIRED1", "Alder", voucher.ReasonExpired},
		{"EXPIRED100", "Alder", voucher.ReasonExpired},
		{"EXPIREDN", "Alder", voucher.ReasonExpired},
		{"BOUND1", "Alder", voucher.ReasonOtherNick},
		{"BOUND100", "Alder", voucher.ReasonOtherNick},
		{"BOUNDN", "Alder", voucher.ReasonOtherNick},
		{"BOUND1", "", voucher.ReasonNickMissing},
		{"BOUND100", "", voucher.ReasonNickMissing},
		{"ONCE-PER-NICK", "", voucher.ReasonNickMissing},
		{"USED1", "Alder", voucher.ReasonUsedUp},
		{"USED1", "Rowan", voucher.ReasonUsedUp},
		{"USED2", "Alder", voucher.ReasonUsedUp},
		{"NICK-USED", "ALDER", voucher.ReasonNickLimit},
	}
	before := s.allRecords()
	for _, test := range tests {
		for _, key := range []string{"", "order-1047"} {
			t.Run(fmt.Sprintf("%s as %q with key %q", test.code, test.nick, key), func(t *testing.T) {
				for range 2 { // the second time, the process remembers codes with many uses
					wantRequestRefused(t, s.redeemer, request(t, test.code, test.nick, key), test.want)
				}
				_, err := s.redeemer.Check(within(t), request(t, test.code, test.nick, key))
				wantRefused(t, err, test.want)
			})
		}
	}
	if after := s.allRecords(); !maps.Equal(after, before) {
		t.Errorf("redemptions by code: %v, before %v", after, before)
	}
}

// allRecords counts the stored redemptions of each code of emberforge.
func (s *shop) allRecords() map[string]int {
	s.t.Helper()
	records := make(map[string]int)
	for redemption, err := range s.vouchers.Redemptions(s.t.Context(), backoffice.RedemptionFilter{}) {
		must(s.t, err)
		records[redemption.Code]++
	}
	return records
}

func TestCheck_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, terms := range []voucher.Terms{
		{Written: "SINGLE"},
		{Written: "MANY", MaxUses: new(voucher.Limit(2))},
		{Written: "ENDLESS", MaxUses: new(voucher.NoLimit)},
	} {
		v := s.create(terms)
		r := request(t, terms.Written, "Alder", "order-1047")
		for range 3 {
			if got, err := s.redeemer.Check(within(t), r); err != nil || got != v {
				t.Errorf("Check(%s) = %+v, %v; want %+v", terms.Written, got, err, v)
			}
		}
		if records := s.records(terms.Written); len(records) != 0 {
			t.Errorf("checking %s left %+v", terms.Written, records)
		}
		s.mustRedeem(r)
	}
}

// A key is scoped to a shop, a code and a nick. As long as a redemption exists, every request with its key gets
// that redemption back.
func TestRedeem_SameKey_IsReplayed(t *testing.T) {
	t.Parallel()
	for kind, terms := range map[string]voucher.Terms{
		"single-use": {Written: "SUMMER-20"},
		"limited":    {Written: "SUMMER-20", MaxUses: new(voucher.Limit(2))},
		"limited, no limit per nick": {
			Written: "SUMMER-20", MaxUses: new(voucher.Limit(2)),
			MaxUsesPerNick: new(voucher.NoLimit),
		},
		"no limit": {Written: "SUMMER-20", MaxUses: new(voucher.NoLimit)},
		"no limit at all": {
			Written: "SUMMER-20", MaxUses: new(voucher.NoLimit),
			MaxUsesPerNick: new(voucher.NoLimit),
		},
	} {
		t.Run(kind, func(t *testing.T) {
			s := newShop(t)
			v := s.create(terms)
			first := s.mustRedeem(request(t, "SUMMER-20", "Alder", "order-1047"))
			wantReplay := func(when string) {
				t.Helper()
				r := request(t, "summer 2O", "ALDER", "order-1047")
				r.At = noon().Add(48 * time.Hour)
				r.Paused.All = true
				again, replayed, err := s.redeemer.Redeem(within(t), r)
				if err != nil || !replayed || again != first {
					t.Errorf("%s: %+v, replayed %v, %v; want %+v", when, again, replayed, err, first)
				}
			}
			wantReplay("right afterwards")
			if !v.SingleUse() {
				s.mustRedeem(request(t, "SUMMER-20", "Birch", "order-1047")) // another nick makes it another request
			}
			wantReplay("after another nick's redemption with the same key")
			s.mustEdit(v, voucher.Edit{ValidUntil: new(noon().Add(time.Hour))})
			wantReplay("after the code expired")
			s.mustEdit(v, voucher.Edit{Disabled: new(true)})
			wantReplay("after the code was disabled")
			s.mustEdit(v, voucher.Edit{Nick: new("Rowan")})
			wantReplay("after the code was bound to another nick")
			fresh := redeemerOf(s.client, s.table) // a new process remembers no codes
			if _, replayed, err := fresh.Redeem(within(t),
				request(t, "SUMMER-20", "Alder", "order-1047")); err != nil || !replayed {
				t.Errorf("in a new process: replayed %v, %v", replayed, err)
			}
		})
	}
}

// A Redeemer never makes the same token for two shops. Even if it did, their claims would be separate.
func TestRedeem_SameCodeNickAndTokenOfTwoShops_AreSeparate(t *testing.T) {
	t.Parallel()
	one, two, none := new(voucher.Limit(1)), new(voucher.Limit(2)), new(voucher.NoLimit)
	for kind, terms := range map[string]voucher.Terms{
		"single-use": {}, "limited": {MaxUses: two, MaxUsesPerNick: none},
		"limited per nick": {MaxUses: none, MaxUsesPerNick: one}, "unlimited": {MaxUses: none, MaxUsesPerNick: none},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			terms.Written = "SUMMER-20"
			s.create(terms)
			s.createFor(sakura, terms)
			store := dynamo.NewRedeemer(s.client, dynamo.Tables{Vouchers: s.table}, mathrand.Int64N)
			claim := voucher.Claim{
				Request: request(t, "SUMMER-20", "Alder", "order-1047"),
				Token:   idempotency.Digest("order-1047"),
			}
			for _, claim.Shop = range []catalog.ShopID{emberforge, sakura} {
				claim.Attempt = string(claim.Shop[:6])
				if got, err := store.Redeem(within(t), claim); err != nil || got.Attempt != claim.Attempt {
					t.Errorf("%s: %+v, %v; want a redemption of its own", claim.Shop, got, err)
				}
			}
			for _, shop := range []catalog.ShopID{emberforge, sakura} {
				standing, err := s.ownerOf(shop, s.client).Voucher(t.Context(), claim.Code, time.Now())
				must(t, err)
				if records := s.recordsOf(shop, "SUMMER-20"); len(records) != 1 ||
					standing.UsesLeft != max(0, int(standing.MaxUses)-1) {
					t.Errorf("%s: %d redemptions, want 1; %d uses left of %d", shop, len(records),
						standing.UsesLeft, standing.MaxUses)
				}
			}
		})
	}
}

func TestRedeem_CodeWithManyUsesAtAnotherShop_StillTakesOneCall(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.NoLimit)})
	s.createFor(sakura, voucher.Terms{Written: "SUMMER-20"})
	network, option := counted()
	s.redeemer = redeemerOf(newClient(t, option), s.table)
	ours := request(t, "SUMMER-20", "Alder", "")
	s.mustRedeem(ours)
	before := network.calls.Load()
	ours.Shop = sakura
	s.mustRedeem(ours)
	if calls := network.calls.Load() - before; calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

// Each call adds to the response time.
func TestRedeem_EachRequest_TakesOneOrTwoCalls(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "SINGLE"})
	s.create(voucher.Terms{Written: "LIMITED", MaxUses: new(voucher.Limit(100))})
	s.create(voucher.Terms{Written: "ENDLESS", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})
	s.create(voucher.Terms{Written: "EXPIRED", ValidUntil: noon()})
	s.create(voucher.Terms{Written: "EXPIRED-MANY", ValidUntil: noon(), MaxUses: new(voucher.Limit(100))})
	s.create(voucher.Terms{Written: "TWICE", MaxUses: new(voucher.Limit(2))})
	s.mustRedeem(request(t, "TWICE", "Alder", ""))
	network, through := counted()
	redeemer := redeemerOf(newClient(t, through), s.table)
	tests := []struct {
		what            string
		code, nick, key string
		check           bool
		calls           int32
	}{
		{"single-use", "SINGLE", "Alder", "a", false, 1},
		{"single-use replayed", "SINGLE", "Alder", "a", false, 1},
		{"single-use used up", "SINGLE", "Alder", "", false, 1},
		{"single-use used up, with a key", "SINGLE", "Alder", "b", false, 2},
		{"limited", "LIMITED", "Alder", "a", false, 2},
		{"limited, by a process that knows it", "LIMITED", "Birch", "a", false, 1},
		{"limited replayed", "LIMITED", "Alder", "a", false, 1},
		{"last use of a code", "TWICE", "Birch", "a", false, 2},
		{"last use of a code replayed", "TWICE", "Birch", "a", false, 1},
		{"limited, nick's limit", "LIMITED", "Alder", "", false, 2},
		{"limited, nick's limit, with a key", "LIMITED", "Alder", "b", false, 3},
		{"no limit", "ENDLESS", "", "", false, 2},
		{"unknown", "INVENTED", "Alder", "", false, 1},
		{"unknown, with a key", "INVENTED", "Alder", "a", false, 2},
		{"expired", "EXPIRED", "Alder", "", false, 1},
		{"expired, with a key", "EXPIRED", "Alder", "a", false, 2},
		{"expired, many uses", "EXPIRED-MANY", "Alder", "", false, 1},
		{"expired, many uses, with a key", "EXPIRED-MANY", "Alder", "a", false, 2},
		{"check single-use", "SINGLE", "Alder", "", true, 1},
		{"check limited", "LIMITED", "Rowan", "", true, 1},
		{"check unknown", "INVENTED", "Alder", "", true, 1},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			network.calls.Store(0)
			var err error
			if test.check {
				_, err = redeemer.Check(within(t), request(t, test.code, test.nick, test.key))
			} else {
				_, _, err = redeemer.Redeem(within(t), request(t, test.code, test.nick, test.key))
			}
			if _, refused := voucher.IsRefusal(err); err != nil && !refused {
				t.Fatal(err)
			}
			if calls := network.calls.Load(); calls != test.calls {
				t.Errorf("%d calls; want %d", calls, test.calls)
			}
		})
	}
}

// A write unit covers 1 KB of an item. The largest single-use voucher must fit in 1 KB together with its redemption,
// unless its reward is a bundle. With the largest bundle, it takes three units.
func TestRedeem_LargestSingleUseVoucher_TakesOneWriteUnitOrThreeWithABundle(t *testing.T) {
	t.Parallel()
	longID := strings.Repeat("m", 64)
	goods := voucher.Reward{Kind: voucher.RewardBundle}
	for i := range goods.Items {
		variant := catalog.VariantID(longID[:63] + strconv.Itoa(i))
		goods.Items[i] = voucher.Good{Product: catalog.ProductID(longID), Variant: variant, Amount: catalog.MaxAmount}
	}
	for units, reward := range map[int]voucher.Reward{
		1: {
			Kind: voucher.RewardProduct, Product: catalog.ProductID(longID), Variant: catalog.VariantID(longID),
			Amount: catalog.MaxAmount,
		},
		3: goods,
	} {
		s := newShop(t)
		v, err := voucher.New(voucher.Terms{
			Written: strings.Repeat("W", 64) + strings.Repeat("-", 16), Reward: reward,
			Nick: strings.Repeat("é", 64), Batch: strings.Repeat("b", voucher.MaxBatchBytes),
			Note:      strings.Repeat("n", voucher.MaxNoteBytes),
			ValidFrom: noon().Add(-time.Hour), ValidUntil: noon().Add(time.Hour),
		}, noon())
		must(t, err)
		must(t, s.ownerOf(catalog.ShopID(longID), s.client).Create(t.Context(), v))
		r := request(t, v.Written, strings.Repeat("É", 64), "")
		r.Shop = catalog.ShopID(longID)
		if redemption := s.mustRedeem(r); redemption.Reward != reward {
			t.Errorf("redeemed %+v", redemption.Reward)
		}
		out, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(s.table)})
		if err != nil || len(out.Items) != 1 {
			t.Fatalf("%d items, %v", len(out.Items), err)
		}
		if size := itemSize(t, out.Items[0]); (size+1023)/1024 != units {
			t.Errorf("the item has %d bytes, want %d write units", size, units)
		}
	}
}

// A limit per nick is at most 10. The item of a nick of 16 letters with ten redemptions must fit in 1 KB.
func TestRedeem_NickItemWithTenRedemptions_TakesOneWriteUnit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	longID := strings.Repeat("m", 64)
	v, err := voucher.New(voucher.Terms{
		Written: strings.Repeat("W", 64), MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.MaxPerNick),
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}, noon())
	must(t, err)
	must(t, s.ownerOf(catalog.ShopID(longID), s.client).Create(t.Context(), v))
	r := request(t, v.Written, strings.Repeat("A", 16), "")
	r.Shop = catalog.ShopID(longID)
	for range voucher.MaxPerNick {
		s.mustRedeem(r)
	}
	wantRequestRefused(t, s.redeemer, r, voucher.ReasonNickLimit)
	out, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(s.table)})
	if err != nil || len(out.Items) != 2 {
		t.Fatalf("%d items, %v", len(out.Items), err)
	}
	for _, it := range out.Items {
		if size := itemSize(t, it); size > 1024 {
			t.Errorf("an item has %d bytes, above 1,024", size)
		}
	}
}

// Each redemption records the spelling of its own request.
func TestRedeem_SpellingsOfOneNick_ShareItsLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{
		Written: "TWO-EACH", MaxUses: new(voucher.Limit(100)),
		MaxUsesPerNick: new(voucher.Limit(2)),
	})
	first := s.mustRedeem(request(t, "TWO-EACH", "Alder", "a"))
	second := s.mustRedeem(request(t, "TWO-EACH", "ALDER", "b"))
	for key, want := range map[string]voucher.Redemption{"a": first, "b": second} {
		if got, replayed, err := s.redeemer.Redeem(within(t), request(t, "TWO-EACH", "alder", key)); err != nil ||
			!replayed || got != want {
			t.Errorf("replay under %s = %+v, %v; want %+v", key, got, err, want)
		}
	}
	wantRequestRefused(t, s.redeemer, request(t, "TWO-EACH", "aldeR", "c"), voucher.ReasonNickLimit)
	if first.Nick != "Alder" || second.Nick != "ALDER" {
		t.Errorf("redeemed as %q and %q", first.Nick, second.Nick)
	}
}

// itemSize returns the size of an item as DynamoDB bills it.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func itemSize(t testing.TB, it map[string]types.AttributeValue) int {
	t.Helper()
	size := 0
	for name, value := range it {
		size += len(name)
		switch value := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(value.Value)
		case *types.AttributeValueMemberN:
			size += (len(value.Value)+1)/2 + 1
		case *types.AttributeValueMemberBOOL:
			size++
		default:
			t.Fatalf("attribute %s has the type %T", name, value)
		}
	}
	return size
}

// race sends n requests, 64 at a time. It counts the outcomes ("redeemed", "replayed", the reason of a refusal, or an
// error) and the redemption IDs.
func race(
	t testing.TB, redeemer voucher.Redeemer, n int, requestOf func(i int) voucher.Request,
) (outcomes, ids map[string]int) {
	t.Helper()
	outcomes, ids = make(map[string]int), make(map[string]int)
	var mu sync.Mutex
	var next atomic.Int64
	var racers sync.WaitGroup
	ctx := within(t)
	for range 64 {
		racers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				outcome, id := redeemOnce(ctx, redeemer, requestOf(i))
				mu.Lock()
				outcomes[outcome]++
				if id != "" {
					ids[id]++
				}
				mu.Unlock()
			}
		})
	}
	racers.Wait()
	return outcomes, ids
}

func redeemOnce(ctx context.Context, redeemer voucher.Redeemer, r voucher.Request) (outcome, id string) {
	redemption, replayed, err := redeemer.Redeem(ctx, r)
	reason, refused := voucher.IsRefusal(err)
	switch {
	case refused:
		return string(reason), ""
	case err != nil:
		return err.Error(), ""
	case replayed:
		return "replayed", redemption.ID
	default:
		return "redeemed", redemption.ID
	}
}

func wantOutcomes(t testing.TB, got, want map[string]int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("outcomes %v; want %v", got, want)
	}
}

// wantRecords fails the test unless exactly the reported redemptions are stored. The map's keys are the IDs of these
// redemptions.
func (s *shop) wantRecords(code string, reported map[string]int) {
	s.t.Helper()
	records := s.records(code)
	if len(records) != len(reported) {
		s.t.Errorf("%d redemptions are stored, %d were reported", len(records), len(reported))
	}
	for _, record := range records {
		if reported[record.ID] == 0 {
			s.t.Errorf("redemption %s is stored, but was never reported", record.ID)
		}
	}
}

func nickOf(i int) string { return fmt.Sprintf("shopper-%d", i) }

func TestRedeem_RaceForALimitedCode_StopsAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []voucher.Limit{16, 100, 300} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			v := s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: &limit, Parts: new(16)})
			racers := int(limit) + 64
			outcomes, ids := race(t, s.redeemer, racers,
				func(i int) voucher.Request { return request(t, "SUMMER-20", nickOf(i), "") })
			wantOutcomes(t, outcomes, map[string]int{"redeemed": int(limit), "used_up": racers - int(limit)})
			s.wantRecords("SUMMER-20", ids)
			standing, err := s.vouchers.Voucher(t.Context(), v.Code, time.Now())
			if err != nil || standing.UsesLeft != 0 || standing.Used != int(limit) {
				t.Errorf("afterwards: %d left, %d used, %v", standing.UsesLeft, standing.Used, err)
			}
		})
	}
}

// The first three attempts of the write fail: either their requests or their responses are lost.
func TestRedeem_LostRequestOrResponse_RedeemsOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind      string
		terms     voucher.Terms
		operation string
	}{
		{"single-use", voucher.Terms{}, "UpdateItem"},
		{"limited", voucher.Terms{MaxUses: new(voucher.Limit(2))}, "TransactWriteItems"},
		{
			"limited, no limit per nick",
			voucher.Terms{MaxUses: new(voucher.Limit(2)), MaxUsesPerNick: new(voucher.NoLimit)},
			"TransactWriteItems",
		},
		{"no limit", voucher.Terms{MaxUses: new(voucher.NoLimit)}, "UpdateItem"},
		{
			"no limit at all",
			voucher.Terms{MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)},
			"UpdateItem",
		},
	}
	for _, test := range tests {
		for _, losesResponses := range []bool{false, true} {
			for _, key := range []string{"", "order-1047"} {
				t.Run(fmt.Sprintf("%s, response lost %v, key %q", test.kind, losesResponses, key), func(t *testing.T) {
					t.Parallel()
					s := newShop(t)
					terms := test.terms
					terms.Written = "WELCOME-COINS"
					s.create(terms)
					network := &unreliable{operation: test.operation, losesResponses: losesResponses}
					network.failures.Store(3)
					redemption, replayed, err := s.over(network).Redeem(within(t),
						request(t, "WELCOME-COINS", "Alder", key))
					if err != nil || replayed {
						t.Fatalf("Redeem = replayed %v, %v", replayed, err)
					}
					s.wantRecords("WELCOME-COINS", map[string]int{redemption.ID: 1})
				})
			}
		}
	}
}

// A transaction that a conflict cancels is retried until it succeeds or the deadline passes.
func TestRedeem_TransactionConflicts_AreRetried(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(100))})
	api := &conflictBefore{Client: s.client, conflicts: 3, code: "TransactionConflict"}
	if _, _, err := redeemerOf(api, s.table).Redeem(within(t), request(t, "SUMMER-20", "Alder", "")); err != nil {
		t.Fatal(err)
	}
	api.conflicts = 1 << 30
	ctx := endingAfter(t, 300*time.Millisecond)
	_, _, err := redeemerOf(api, s.table).Redeem(ctx, request(t, "SUMMER-20", "Birch", ""))
	wantUnavailable(t, err)
	if records := s.records("SUMMER-20"); len(records) != 1 {
		t.Errorf("%d redemptions are stored; want 1", len(records))
	}
}

// conflictBefore cancels the first transactions, and gives code as the reason.
type conflictBefore struct {
	*dynamodb.Client
	conflicts int // transactions still to cancel
	code      string
}

func (c *conflictBefore) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if c.conflicts--; c.conflicts >= 0 {
		return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("None")}, {Code: aws.String(c.code)},
		}}
	}
	return c.Client.TransactWriteItems(ctx, in, opts...)
}

// A canceled transaction is retried if a throttle or a conflict is among the reasons.
func TestRedeem_ThrottledTransactions_AreRetried(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(100))})
	for _, code := range []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"} {
		api := &conflictBefore{Client: s.client, conflicts: 2, code: code}
		if _, _, err := redeemerOf(api, s.table).Redeem(within(t), request(t, "SUMMER-20", code, "")); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
	api := &conflictBefore{Client: s.client, conflicts: 1, code: "ValidationError"}
	_, _, err := redeemerOf(api, s.table).Redeem(within(t), request(t, "SUMMER-20", "Birch", ""))
	if _, is := errors.AsType[*dynamo.UnavailableError](err); err == nil || is {
		t.Errorf("Redeem = %v after a transaction that DynamoDB rejects as invalid; want an error other than "+
			"*UnavailableError", err)
	}
}

func TestClient_ConflictOfASingleWrite_IsRetried(t *testing.T) {
	t.Parallel()
	retryer := dynamo.NewRetryer(alwaysFirst)
	for _, err := range []error{
		&types.TransactionConflictException{}, &types.ProvisionedThroughputExceededException{},
		&smithy.DeserializationError{},
	} {
		if !retryer.IsErrorRetryable(err) {
			t.Errorf("%T is not retried", err)
		}
	}
	if retryer.IsErrorRetryable(&types.ConditionalCheckFailedException{}) {
		t.Error("a failed condition is retried")
	}
}

// A host that has no address counts as out of reach, although retries do not help.
func TestRedeem_UnknownHost_IsUnavailable(t *testing.T) {
	t.Parallel()
	client := dynamodb.New(newClient(t).Options(),
		func(o *dynamodb.Options) { o.BaseEndpoint = aws.String("http://store.invalid") })
	ctx := endingAfter(t, 300*time.Millisecond)
	_, _, err := redeemerOf(client, "vouchers").Redeem(ctx, request(t, "SUMMER-20", "Alder", ""))
	wantUnavailable(t, err)
}

// After dynamo.RulesAge at the latest, it decides nothing that a process remembers a code that was deleted since, and
// created again as another kind.
func TestRedeem_WrongMemoryOfACode_DecidesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})
	s.mustRedeem(request(t, "SUMMER-20", "Alder", ""))
	out, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(s.table)})
	must(t, err)
	for _, it := range out.Items {
		_, err := s.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(s.table), Key: table.KeyOf(it).Attributes(),
		})
		must(t, err)
	}
	late := noon().Add(dynamo.RulesAge)
	wantRequestRefused(t, s.redeemer, s.requestAt("Alder", late), voucher.ReasonUnknown)
	s.create(voucher.Terms{Written: "SUMMER-20"})
	s.mustRedeem(s.requestAt("Alder", late))
	wantRequestRefused(t, s.redeemer, s.requestAt("Birch", late), voucher.ReasonUsedUp)
}

func TestRedeem_StoreOutOfReach_IsUnavailable(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(voucher.Terms{Written: "WELCOME-COINS"})
	network := losingRequests("UpdateItem", 1<<30)
	ctx := endingAfter(t, 500*time.Millisecond)
	_, _, err := s.over(network).Redeem(ctx, request(t, "WELCOME-COINS", "Alder", "order-1047"))
	wantUnavailable(t, err)
	if ctx.Err() == nil {
		t.Error("Redeem gave up before the deadline")
	}
	// The retry with the same key is applied once.
	first := s.mustRedeem(request(t, "WELCOME-COINS", "Alder", "order-1047"))
	s.wantRecords("WELCOME-COINS", map[string]int{first.ID: 1})
}
