package csvfile_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const checkoutID = "-bcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"

// sold returns a checkout of 1,500 coins at 20% off.
func sold() checkout.Checkout {
	euro := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	return checkout.Checkout{
		ID: checkoutID, Product: "coins", Variant: "500", Amount: 3, Data: `{"server":"eu","note":"=1"}`,
		DataIsObject: true,
		UnitPrice:    euro(499), Subtotal: euro(1497), Discount: euro(299), Total: euro(1198), Code: "SUMMER-20",
		Nick:    "Heron",
		Created: day(1), Expires: day(1).Add(30 * time.Minute),
	}
}

func TestLists(t *testing.T) {
	text := sold()
	text.Data, text.DataIsObject = `the "blue" one <Alder>`, false
	placed, cancelled := sold(), sold()
	placed.Order = &checkout.Order{Placed: day(2)}
	cancelled.Order = &checkout.Order{
		Payment: checkout.Payment{Provider: "stripe", Reference: "pi_3QK8"}, Placed: day(2), Fulfilled: day(3),
		Cancelled: day(4), Reason: "-chargeback",
	}
	const ofCheckouts = "checkout_id,number,created_at,expires_at,status,product,variant,amount,unit_price_minor,subtotal_minor,discount_minor,total_minor," +
		"currency,code,nick,data\r\n"
	const ofOrders = "order_id,number,created_at,ordered_at,fulfilled_at,cancelled_at,status,product,variant,amount,unit_price_minor,subtotal_minor," +
		"discount_minor,total_minor,currency,code,nick,data,payment_provider,payment_reference,cancel_reason\r\n"
	const ofRedemptions = "redemption_id,redeemed_at,status,code,nick,reward,reward_minor,reward_currency,batch,undone_at,undo_reason,imported,undone_by\r\n"
	const opened = "'" + checkoutID + ",EBZXQ-0RSV1,2026-11-01T18:30:00.250Z,"
	for rule, test := range map[string]struct {
		write func(file *bytes.Buffer) error
		want  string
	}{
		"checkouts": {func(file *bytes.Buffer) error {
			w := csvfile.NewCheckoutWriter(file)
			return errors.Join(w.Write(sold(), day(1)), w.Write(text, day(2)), w.Write(placed, day(3)), w.Flush())
		}, ofCheckouts +
			opened + `2026-11-01T19:00:00.250Z,open,coins,500,3,499,1497,299,` +
			`1198,EUR,SUMMER-20,Heron,` +
			`"{""server"":""eu"",""note"":""=1""}"` + "\r\n" +
			opened + `2026-11-01T19:00:00.250Z,expired,coins,500,3,499,1497,` +
			`299,1198,EUR,SUMMER-20,Heron,` +
			`"""the \""blue\"" one <Alder>"""` + "\r\n" +
			opened + `2026-11-01T19:00:00.250Z,ordered,coins,500,3,499,1497,` +
			`299,1198,EUR,SUMMER-20,Heron,` +
			`"{""server"":""eu"",""note"":""=1""}"` + "\r\n"},
		"orders": {func(file *bytes.Buffer) error {
			w := csvfile.NewOrderWriter(file)
			return errors.Join(w.Write(placed), w.Write(cancelled), w.Flush())
		}, ofOrders +
			opened + `2026-11-02T18:30:00.250Z,,,placed,coins,500,3,499,1497,` +
			`299,1198,EUR,SUMMER-20,Heron,` +
			`"{""server"":""eu"",""note"":""=1""}",,,` + "\r\n" +
			opened + `2026-11-02T18:30:00.250Z,2026-11-03T18:30:00.250Z,` +
			`2026-11-04T18:30:00.250Z,cancelled,` +
			`coins,500,3,499,1497,299,1198,EUR,SUMMER-20,Heron,"{""server"":""eu"",""note"":""=1""}",stripe,` +
			`pi_3QK8,'-chargeback` + "\r\n"},
		"redemptions": {func(file *bytes.Buffer) error {
			w := csvfile.NewRedemptionWriter(file)
			off := voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: money.Money{Minor: 500, Currency: "EUR"}}
			goods := voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 2}
			return errors.Join(
				w.Write(voucher.Redemption{
					ID: "0123456789abcdefghijk_", Code: "SUMMER-20", Nick: "Heron", At: day(1),
					Reward: off,
				}, "launch"),
				w.Write(voucher.Redemption{
					ID: "0123456789abcdefghijk-", Code: "SUMMER-20", At: day(1), Reward: goods, Imported: true,
					UndoneBy: "operator", Undone: day(2), UndoReason: "granted, twice",
				}, ""),
				w.Flush())
		}, ofRedemptions +
			"0123456789abcdefghijk_,2026-11-01T18:30:00.250Z,redeemed,SUMMER-20,Heron,5.00,500,EUR,launch,,,false,\r\n" +
			"0123456789abcdefghijk-,2026-11-01T18:30:00.250Z,undone,SUMMER-20,,2*coins/500,,,,2026-11-02T18:30:00.250Z,\"granted, twice\",true,operator\r\n"},
	} {
		t.Run(rule, func(t *testing.T) {
			var file bytes.Buffer
			if err := test.write(&file); err != nil {
				t.Fatal(err)
			}
			if file.String() != test.want {
				t.Errorf("got\n%s, want\n%s", file.String(), test.want)
			}
		})
	}
}
