package checkout_test

import (
	"errors"
	"testing"

	"shopfront/pkg/checkout"
)

func TestOpen_KeyOfAReplacedCheckout_IsInUse(t *testing.T) {
	opener, store := newOpener()
	request := withKey(buy("coins", "500", 2), "key-of-the-basket")
	c, _, err := opener.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	c.Released = true
	store.kept[emberforge][c.ID.Token()] = c
	if again, replayed, err := opener.Open(t.Context(), request); !errors.Is(err, checkout.ErrKeyInUse) {
		t.Errorf("Open = %+v, replayed %t, %v; want checkout.ErrKeyInUse", again, replayed, err)
	}
}
