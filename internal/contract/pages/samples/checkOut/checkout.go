// Checks out once with a discount code. Package client is part of
// Shopfront. It sends a lost request again with the same key.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"shopfront/pkg/client"
)

func main() {
	var options []client.Option
	if secret := os.Getenv("SHOP_KEY"); secret != "" {
		// The shop's own server sends its secret key.
		options = append(options, client.WithServerKey(secret))
	}
	shop, err := client.New("https://YOUR-DEPLOYMENT", "YOUR-SHOP", options...)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	checkout, err := shop.Checkout(context.Background(), client.Order{
		Product: "coins", Variant: "500",
		Code: "YOUR-CODE", Nick: "YOUR-NICK",
	})
	if unknown, is := errors.AsType[*client.OutcomeUnknownError](err); is {
		// The lost attempt may hold the code's last use.
		fmt.Println("outcome unknown: send the same request again")
		fmt.Println("with the key", unknown.Key)
		fmt.Println(unknown.Err)
		os.Exit(2)
	}
	if err != nil {
		// Ask before you sell without the code.
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	// Take this payment.
	fmt.Println("checked out:", checkout.ID, checkout.Total.Display)
}
