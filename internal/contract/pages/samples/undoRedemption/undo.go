// Undoes a redemption whose reward cannot be granted. Run it on
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
	redeemed := client.Redemption{ID: "YOUR-REDEMPTION", Code: "YOUR-CODE"}
	undone, err := shop.UndoRedemption(ctx, redeemed, "the server is gone")
	check(err)
	fmt.Println("undone:", undone.ID)
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
