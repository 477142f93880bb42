package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"shopfront/pkg/client"
)

// till stands for the storefront's own code. It stores what must survive a crash.
type till struct{ granted map[string]bool }

// remember stores a redemption before its request is sent.
func (*till) remember(key, code, nick string) error {
	fmt.Printf("remembered for %s: %t\n", nick, key != "" && code != "")
	return nil
}

// forget removes a redemption whose outcome is known.
func (*till) forget(string) error { return nil }

// grant gives a reward once for each redemption.
func (t *till) grant(redemption string, reward client.Reward) error {
	if t.granted[redemption] {
		return nil
	}
	t.granted[redemption] = true
	switch reward.Kind {
	case client.RewardProduct:
		fmt.Printf("granted %d of %s/%s\n", reward.Amount, reward.Product, reward.Variant)
		return nil
	case client.RewardPercentOff, client.RewardAmountOff:
		return errors.New("this till gives no discounts")
	default:
		return fmt.Errorf("cannot grant a reward of kind %s", reward.Kind)
	}
}

// redeem shows what to do with each outcome.
func redeem(ctx context.Context, shop *client.Client, till *till, code, nick string) error {
	key := client.NewKey()
	if err := till.remember(key, code, nick); err != nil { // before the request is sent
		return err
	}
	redemption, err := shop.Redeem(ctx, code, nick, client.WithKey(key))
	if unknown, is := errors.AsType[*client.OutcomeUnknownError](err); is {
		return unknown // redeem it again later, with the key that the till remembers
	}
	if err != nil {
		return errors.Join(err, till.forget(key)) // not redeemed: client.ErrVoucherNotFound, client.ErrInvalid, …
	}
	return till.grant(redemption.ID, redemption.Reward) // once for each ID
}

// A voucher is redeemed once although the first response is lost.
func Example() {
	server := httptest.NewServer(&service{steps: []step{loses(redeems), redeems}, made: map[string]bool{}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(redeem(context.Background(), shop, &till{granted: map[string]bool{}}, "welcome coins", "Alder"))
	// Output:
	// remembered for Alder: true
	// granted 2 of coins/500
	// <nil>
}

func ExampleClient_Checkout() {
	server := httptest.NewServer(&service{steps: []step{keeps(checkoutJSON)}, made: map[string]bool{}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge")
	if err != nil {
		fmt.Println(err)
		return
	}
	checkout, err := shop.Checkout(context.Background(), client.Order{
		Product: "vip-rank", Variant: "30-days", Data: `{"player":"Alder"}`,
	})
	if problem, is := errors.AsType[*client.ProblemError](err); is && errors.Is(err, client.ErrInvalid) {
		fmt.Println("ask the shopper again for", problem.Parameter, problem.Pointer)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(checkout.Amount, checkout.Product, checkout.Variant, checkout.Total.Display)
	// Output: 1 vip-rank 30-days 90071992547409.91 EUR
}

// Stored pages are revalidated, and sent again only if they changed.
func ExampleClient_CheckoutArea() {
	server := httptest.NewServer(&service{steps: []step{area(499)}, made: map[string]bool{}})
	defer server.Close()

	shop, err := client.New(server.URL, "emberforge")
	if err != nil {
		fmt.Println(err)
		return
	}
	var kept []client.Page
	for range 2 {
		var pages []client.Page
		for page, err := range shop.CheckoutArea(context.Background(), kept...) {
			if err != nil {
				fmt.Println(err)
				return
			}
			pages = append(pages, page)
		}
		kept = pages
	}
	for _, page := range kept {
		for _, product := range page.Products {
			fmt.Println(product.ID, product.Variants[0].Price.Minor, page.Customer.Currency)
		}
	}
	// Output:
	// coins 499 EUR
	// vip-rank 799 EUR
}
