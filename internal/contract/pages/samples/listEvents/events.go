// Follows the shop's events and applies each of them. Run it on the
// shop's server. SHOP_KEY is its secret key. Package client is part of
// Shopfront. It waits while the service is out of reach.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"shopfront/pkg/client"
)

const file = "events-cursor.json" // in production, use your database

func main() {
	secret := client.WithServerKey(os.Getenv("SHOP_KEY"))
	shop, err := client.New("https://YOUR-DEPLOYMENT", "YOUR-SHOP", secret)
	check(err)
	var cursor client.EventCursor // at first, before the oldest event
	text, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		check(err)
		check(json.Unmarshal(text, &cursor))
	}
	for event, err := range shop.Events(context.Background(), cursor) {
		check(err)
		check(apply(event))
	}
}

// apply applies an event. Store its cursor in the same transaction, and
// ignore an event whose ID was applied before.
func apply(event client.Event) error {
	switch event.Type {
	case client.EventRedemptionCreated, client.EventRedemptionUndone:
		fmt.Println("event", event.Sequence, event.Type, event.Redemption.ID)
	case client.EventOrderCreated, client.EventOrderFulfilled,
		client.EventOrderCancelled:
		fmt.Println("event", event.Sequence, event.Type, event.Order.ID)
	} // skip other types
	text, err := json.Marshal(event.Cursor())
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func check(err error) {
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}
