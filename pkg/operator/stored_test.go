package operator_test

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// storedBeforeHolds has the items of a shop as the last version without holds stored them. Everything in the shop happened at noon (UTC) on
// 20 November 2026.
//
//go:embed testdata/stored_before_holds.json
var storedBeforeHolds []byte

// newStoredShop returns a shop whose items an earlier version stored.
func newStoredShop(t *testing.T) *shop {
	t.Helper()
	s := newTables(t).newShop(t)
	s.customer, s.opened = "emberforge", time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var tables map[string][]map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(storedBeforeHolds)))
	decoder.UseNumber()
	if err := decoder.Decode(&tables); err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{"catalogue": s.names.Catalogue, "vouchers": s.names.Vouchers, "checkouts": s.names.Checkouts} {
		for _, stored := range tables[name] {
			it := attributes{}
			for attribute, value := range stored {
				switch value := value.(type) {
				case string:
					it[attribute] = text(value)
				case json.Number:
					it[attribute] = &types.AttributeValueMemberN{Value: value.String()}
				case bool:
					it[attribute] = &types.AttributeValueMemberBOOL{Value: value}
				}
			}
			s.put(table, it)
		}
	}
	var err error
	if s.operator, err = s.deployment.Shop(t.Context(), s.customer); err != nil {
		t.Fatal(err)
	}
	return s
}

// It must be possible to read, redeem, hold and undo what the last version without holds stored, as if this version had stored it.
func TestItems_StoredBeforeHolds_StayUsable(t *testing.T) {
	s := newStoredShop(t)
	s.wantClean("as stored")
	for _, code := range []string{"AUTUMN", "GIFT-2", "NEWS", "ARIGATO"} {
		if redemption, replayed, err := s.redeemer.Redeem(t.Context(), s.request(code, "Dahlia", "till-1")); err != nil || !replayed {
			t.Errorf("replay of %s: %+v, replayed %t, %v", code, redemption, replayed, err)
		}
	}
	for _, code := range []string{"GIFT-1", "SPRING", "WINTER"} { // redeemed, marked as full, with a limit lowered below the uses taken
		if s.redeem(code, "Elder", "") {
			t.Errorf("%s was redeemed, although it has no use left", code)
		}
	}
	s.wantClean("after replays and refusals")
	records := dynamo.NewRedemptionRecords(s.client, s.heldTables(), mathrand.Int64N)
	all := voucher.RedemptionFilter{Limit: voucher.MaxRedemptionsPerPage}
	redemptions, _, err := records.List(t.Context(), s.customer, "W1NTER", all)
	if err != nil || len(redemptions) != 5 {
		t.Fatalf("%d redemptions of WINTER, %v", len(redemptions), err)
	}
	undoer := voucher.Undoer{Store: records}
	for i, redemption := range redemptions[:3] { // 5 uses are taken, and the limit is 3
		undone, _, err := undoer.Undo(t.Context(), voucher.UndoRequest{Customer: s.customer, Code: "W1NTER", ID: redemption.ID, At: s.opened})
		if err != nil || undone.ID != redemption.ID {
			t.Errorf("undo: %+v, %v", undone, err)
		}
		if redeemed := s.redeem("WINTER", "", ""); redeemed != (i == 2) {
			t.Errorf("after %d undone redemptions: redeemed is %t, want %t", i+1, redeemed, i == 2)
		}
		s.wantClean("after an undo")
	}
	for _, code := range []voucher.Code{"AUTUMN", "SUMMER20", "NEWS", "AR1GAT0"} {
		c, err := s.holdAndOrder(t, code)
		if err != nil || c.Order == nil || c.Discount.Minor != 500 {
			t.Errorf("order with %s: %+v, %v", code, c, err)
		}
		s.wantClean("after an order with " + string(code))
	}
}

func (s *shop) heldTables() dynamo.Tables {
	return dynamo.Tables{Checkouts: s.names.Checkouts, Vouchers: s.names.Vouchers}
}

// holdAndOrder checks out a cup with a code, and orders it.
func (s *shop) holdAndOrder(t *testing.T, code voucher.Code) (checkout.Checkout, error) {
	t.Helper()
	held := dynamo.NewHeldCheckouts(s.client, s.heldTables(), mathrand.Int64N)
	opener := checkout.Opener{Catalogue: cupOnSale{}, Store: dynamo.NewCheckouts(s.client, s.names.Checkouts), Holds: held, Random: rand.Reader}
	request := s.request(string(code), "Fir", "")
	c, _, err := opener.Open(t.Context(), checkout.Request{
		Customer: s.customer, Product: "cup", Variant: "engraved", Code: request.Code, Nick: request.Nick, At: s.opened,
	})
	if err != nil {
		return c, err
	}
	orders := checkout.Orders{Store: dynamo.NewOrders(s.client, s.names.Checkouts, s.names.Vouchers, mathrand.Int64N)}
	c, _, err = orders.Place(t.Context(), s.customer, c.ID, checkout.Payment{Provider: "stripe", Reference: "pi_1"}, s.opened)
	return c, err
}

// cupOnSale sells a cup for 12.50 euros.
type cupOnSale struct{}

func (cupOnSale) Offer(_ context.Context, _ catalog.CustomerID, _ catalog.ProductID, id catalog.VariantID) (catalog.Offer, error) {
	price := money.Money{Minor: 1250, Currency: "EUR"}
	return catalog.Offer{Variant: catalog.Variant{ID: id, Price: price, MinAmount: 1, MaxAmount: 1}}, nil
}
