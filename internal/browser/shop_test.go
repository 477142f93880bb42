//go:build browser

package browser_test

import (
	"crypto/rand"
	"testing"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

// emberforge is the catalogue of most tests. Each test has a shop with its own ID in place of SHOP.
const emberforge = `
shops:
  - id: SHOP
    name: Emberforge
    currency: EUR
    page:
      accent: "#c2410c"
      imprint: {url: https://emberforge.example/imprint, text: About us}
      privacy: https://emberforge.example/privacy
      payment-url: https://pay.emberforge.example/?checkout={checkout}&return={return}
    products:
      - id: coins
        name: Ember coins
        description: The coins of the realm, credited at once.
        category: Currency
        position: 10
        variants:
          - {id: "500", name: 500 coins, price: 4.99, amount: {min: 1, max: 10}}
          - {id: "1200", name: "1,200 coins", price: 9.99, amount: {min: 2, max: 5}}
      - id: vip-rank
        name: VIP rank
        description: A golden name & <two> more homes.
        category: Ranks
        position: 20
        image: https://cdn.emberforge.example/vip.png
        variants:
          - id: 30-days
            name: 30 days
            price: 7.99
            data:
              type: object
              required: [player]
              properties:
                player: {title: Your name in the game, type: string, pattern: "^[A-Za-z0-9_]{3,16}$"}
                colour: {title: Colour of your name, enum: [gold, silver]}
              additionalProperties: false
`

// shop is a shop that one test uses.
type shop struct {
	id string
	*backoffice.Shop
}

// newShop loads a catalogue for this test only. SHOP in the catalogue stands for the shop's ID.
func newShop(t *testing.T, catalogue string) shop {
	t.Helper()
	id := "shop-" + rand.Text()
	return shop{id, localRun(t).LoadShop(t, catalogue, id)}
}

// visit lets the test run in parallel, makes a shop for it, and opens the shop's page in the tab of a new shopper.
func visit(t *testing.T, v view, catalogue string) (shop, *tab) {
	t.Helper()
	t.Parallel()
	s, b := newShop(t, catalogue), newTab(t, v)
	b.open(s.page(t))
	return s, b
}

// page returns the address of the shop's page.
func (s shop) page(t *testing.T) string {
	t.Helper()
	return s.pageAt(localRun(t).State.BaseURL)
}

// pageAt returns the address of the shop's page below the base URL of an HTTP API.
func (s shop) pageAt(baseURL string) string { return baseURL + "/shop/" + s.id }

// create creates a single-use voucher for 500 coins. If the function change is not nil, it edits the terms first.
func (s shop) create(t *testing.T, code string, change func(*voucher.Terms)) voucher.Voucher {
	t.Helper()
	return localruntest.CreateVoucher(t, s.Shop, code, change)
}
