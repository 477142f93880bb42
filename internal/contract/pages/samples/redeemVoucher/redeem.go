// Redeems a voucher once. Package client is part of Shopfront: it sends
// the request again, with the same key, where a response is lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"shopfront/pkg/client"
)

func main() {
	shop, err := client.New("https://YOUR-DEPLOYMENT", "YOUR-SHOP")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	// One key for this shopper's attempt. Store it before you send it.
	key := client.WithKey(client.NewKey())
	redemption, err := shop.Redeem(context.Background(), "YOUR-CODE", "YOUR-NICK", key)
	if unknown, is := errors.AsType[*client.OutcomeUnknownError](err); is {
		fmt.Println("unknown: call Redeem again later, with the key", unknown.Key)
		os.Exit(2)
	}
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Println("redeemed:", redemption.ID, redemption.Reward) // grant the reward, once for each ID
}
