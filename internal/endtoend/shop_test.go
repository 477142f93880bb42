package endtoend_test

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/pkg/backoffice"
	checkouts "shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// shop is the shop of one test.
type shop struct {
	id string
	*backoffice.Shop
	deployment *backoffice.Deployment
}

// emberforge is the catalogue file of most tests. loadShop replaces SHOP with the shop's ID.
const emberforge = `
shops:
  - id: SHOP
    name: Emberforge
    currency: EUR
    products:
      - id: coins
        name: Ember coins
        variants:
          - {id: "500", name: 500 coins, price: 4.99, amount: {min: 1, max: 10}}
          - {id: "1200", name: "1,200 coins", price: 9.99, amount: {min: 2, max: 5}}
          - {id: "6500", name: "6,500 coins", price: 44.99, off-sale: true}
      - id: vip-rank
        name: VIP rank
        description: A golden name & <two> more homes.
        variants:
          - id: 30-days
            name: 30 days
            price: 7.99
            data:
              type: object
              required: [player]
              properties:
                player: {type: string, pattern: "^[A-Za-z0-9_]{3,16}$"}
              additionalProperties: false
      - id: founders-cape
        name: Founder's cape
        off-sale: true
        variants:
          - {id: red, name: Red, price: 14.99}
`

// newShop loads a new shop with the catalogue emberforge.
func newShop(t *testing.T) shop {
	t.Helper()
	return loadShop(t, emberforge, "shop-"+rand.Text())
}

// loadShop loads a catalogue file as `shopctl catalog apply` does. It replaces SHOP in the file with the ID.
func loadShop(t *testing.T, file, id string) shop {
	t.Helper()
	run := localRun(t)
	return shop{id: id, Shop: run.LoadShop(t, file, id), deployment: run.State.Deployment(mathrand.Int64N)}
}

// create creates a single-use voucher for 500 coins. If change is not nil, it edits the terms first.
func (s shop) create(t *testing.T, code string, change func(*voucher.Terms)) voucher.Voucher {
	t.Helper()
	return localruntest.CreateVoucher(t, s.Shop, code, change)
}

func limits(maxUses, perNick voucher.Limit) func(*voucher.Terms) {
	return func(terms *voucher.Terms) { terms.MaxUses, terms.MaxUsesPerNick = &maxUses, &perNick }
}

// redemptions returns the stored redemptions.
func (s shop) redemptions(t *testing.T) []backoffice.Redemption {
	t.Helper()
	kept, err := backoffice.Collect(s.Redemptions(t.Context(), backoffice.RedemptionFilter{}))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// standing returns a stored voucher and its uses.
func (s shop) standing(t *testing.T, code voucher.Code) voucher.Standing {
	t.Helper()
	standing, err := s.Voucher(t.Context(), code, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return standing
}

// checkouts returns the stored checkouts, oldest first.
func (s shop) checkouts(t *testing.T) []checkouts.Checkout {
	t.Helper()
	kept, err := backoffice.Collect(s.Checkouts(t.Context(), checkouts.Filter{}, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(kept, func(a, b checkouts.Checkout) int { return a.Created.Compare(b.Created) })
	return kept
}

// redeemRequest returns a redemption request with this body and additional header lines.
func (s shop) redeemRequest(body string, header ...string) request {
	return request{
		method: http.MethodPost, target: "/shop/" + s.id + "/voucher",
		header: append([]string{"Content-Type: application/json"}, header...), body: body,
	}
}

func (s shop) redeem(t *testing.T, body string, header ...string) answer {
	t.Helper()
	return send(t, baseURL(t), s.redeemRequest(body, header...))
}

// get sends a GET for a path below /shop/{customer}.
func (s shop) get(t *testing.T, path string, header ...string) answer {
	t.Helper()
	return send(t, baseURL(t), request{target: "/shop/" + s.id + path, header: header})
}
