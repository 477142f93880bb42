// Orders a paid checkout, and cancels the order. Run it on
// the shop's server. SHOP_KEY is its secret key. Package client is part
// of Shopfront. It sends a lost request again.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"shopfront/pkg/client"
)

func main() {
	ctx := context.Background()
	secret := client.WithServerKey(os.Getenv("SHOP_KEY"))
	shop, err := client.New("https://YOUR-DEPLOYMENT", "YOUR-SHOP", secret)
	check(err)
	payment := client.Payment{Provider: "stripe", Reference: "YOUR-PAYMENT"}
	order, err := shop.PlaceOrder(ctx, "YOUR-CHECKOUT", payment)
	check(err)
	fmt.Println("ordered:", order.ID) // deliver once for each ID

	// If you cannot deliver: cancel the order, and refund the payment.
	_, err = shop.CancelOrder(ctx, order.ID, "sold out")
	check(err)
	fmt.Println("cancelled:", order.ID)
}

func check(err error) {
	if unknown, is := errors.AsType[*client.OutcomeUnknownError](err); is {
		fmt.Println("outcome unknown: send the same request again later")
		fmt.Println(unknown.Err)
		os.Exit(2)
	}
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}
