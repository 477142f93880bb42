// Redeems a voucher once. Package client is part of Shopfront. If it
// loses a response, it sends the request again with the same key.
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
	// One key for all retries. Store it before you send it.
	key := client.WithKey(client.NewKey())
	ctx := context.Background()
	redemption, err := shop.Redeem(ctx, "YOUR-CODE", "YOUR-NICK", key)
	if unknown, is := errors.AsType[*client.OutcomeUnknownError](err); is {
		fmt.Println("outcome unknown: redeem the code again later")
		fmt.Println("with the key", unknown.Key)
		fmt.Println(unknown.Err)
		os.Exit(2)
	}
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	// Grant the reward, once for each ID.
	fmt.Println("redeemed:", redemption.ID, redemption.Reward)
}
