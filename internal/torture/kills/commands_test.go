package kills_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/voucher"
)

// catalogueText is the file to apply. SHOP stands for the shop's ID.
const catalogueText = `
shops:
  - id: SHOP
    name: Minecave
    currency: EUR
    access: {redeem: server}
    refusals: {limit: 5, per: 1h}
    products:
      - {id: coins, name: Coins, variants: [{id: "500", name: 500 coins, price: 4.99, amount: {min: 1, max: 10}}]}
      - {id: t-shirt, name: T-shirt, variants: [{id: m, name: M, price: 24.90}]}
    vouchers:
      - {code: WELCOME, reward: coins/500}
      - {code: WINTER-10, reward: 10%, max-uses: 100}
      - {code: FORUM, reward: 5.00, max-uses: none}
`

// formerText is the file that was applied earlier: a shop with other products.
const formerText = `
shops:
  - id: SHOP
    name: Mine cave
    currency: EUR
    products:
      - {id: coins, name: Coins, variants: [{id: "500", name: 500 coins, price: 5.99}, {id: "1200", name: "1,200 coins", price: 9.99}]}
      - {id: vip-rank, name: VIP rank, variants: [{id: lifetime, name: For ever, price: 39.99}]}
      - {id: gift-card, name: Gift card, variants: [{id: "10", name: 10 euros, price: 10.00}]}
    vouchers:
      - {code: WELCOME, reward: coins/500}
`

func catalogueFiles(s subject) []catalogfile.File {
	return []catalogfile.File{{
		Name: "catalogue.yaml",
		Text: []byte(strings.ReplaceAll(catalogueText, "SHOP", s.shop)),
	}}
}

// The number of vouchers in a generated batch, and in a batch to disable.
const (
	generatedSize = 3
	switchedSize  = 2
)

func applyNew() command {
	return command{kind: "apply", isWhole: true, late: true, args: applyArgs(), again: applied}
}

func applyPruned() command {
	return command{
		kind: "apply --prune", isWhole: true, late: true, args: applyArgs("--prune"), again: applied, prepare: withShop,
	}
}

// withShop prepares the shop of formerText.
func withShop(r *round, s subject) {
	r.Load(r.t, strings.ReplaceAll(formerText, "SHOP", s.shop))
}

func applyArgs(flags ...string) func(*round, subject) []string {
	return func(r *round, s subject) []string {
		name := filepath.Join(r.Dir, s.shop+".yaml")
		if err := os.WriteFile(name, bytes.TrimSpace(catalogueFiles(s)[0].Text), 0o600); err != nil {
			r.t.Fatal(err)
		}
		return append([]string{"catalog", "apply", name}, flags...)
	}
}

// ofVoucher returns the arguments of a command about a voucher.
func ofVoucher(verb string, flags ...string) func(*round, subject) []string {
	return func(_ *round, s subject) []string {
		return append([]string{"voucher", verb, s.shop, s.code}, flags...)
	}
}

// ofBatch returns the arguments of a command about a batch.
func ofBatch(verb string, flags ...string) func(*round, subject) []string {
	return func(_ *round, s subject) []string {
		return append([]string{"voucher", verb, s.shop, "--batch", s.batch}, flags...)
	}
}

func createSingle() command {
	return command{kind: "create", late: true, args: ofVoucher("create", "--reward", "coins/500"), again: created}
}

func createLimited() command {
	return command{
		kind: "create, limited", late: true, again: created,
		args: ofVoucher("create", "--reward", "20%", "--max-uses", "100", "--parts", "3"),
	}
}

func generate() command {
	return command{
		kind: "generate", again: generated, check: wantAllPrinted, mask: mask{codes: true},
		args: ofBatch("generate", "--count", strconv.Itoa(generatedSize), "--reward", "coins/500"),
	}
}

func generateResumed() command {
	c := generate()
	c.kind = "generate --resume"
	begin := c.args
	c.args = func(r *round, s subject) []string { return resume(begin(r, s)) }
	c.prepare = func(r *round, s subject) {
		for _, code := range []string{"A", "B"} {
			create(r.t, r.shop, voucher.Terms{Written: s.code + code, Batch: s.batch})
		}
	}
	return c
}

// withVoucher prepares a voucher with these terms.
func withVoucher(terms voucher.Terms) func(*round, subject) {
	return func(r *round, s subject) {
		terms.Written = s.code
		create(r.t, r.shop, terms)
	}
}

// limited returns the terms of a code with two parts.
func limited() voucher.Terms { return voucher.Terms{MaxUses: new(voucher.Limit(12)), Parts: new(2)} }

// editField edits a field that does not affect the limit.
func editField() command {
	return command{
		kind: "edit, one field", late: true, prepare: withVoucher(limited()), mask: mask{versions: true},
		args: ofVoucher("edit", "--valid-until=2031-01-01"),
	}
}

func raise() command {
	return command{
		kind: "edit, raise", late: true, prepare: withVoucher(limited()), mask: mask{versions: true, shares: true},
		args: ofVoucher("edit", "--max-uses", "20"),
	}
}

func lower() command {
	c := raise()
	c.kind, c.args = "edit, lower", ofVoucher("edit", "--max-uses", "5", "--note", "fewer")
	return c
}

func disable() command {
	return command{
		kind: "disable", late: true, prepare: withVoucher(voucher.Terms{}), mask: mask{versions: true},
		args: ofVoucher("disable"),
	}
}

func disableBatch() command {
	return command{
		kind: "disable --batch", late: true, prepare: withBatch, mask: mask{versions: true},
		args: ofBatch("disable"), again: switched,
	}
}

func withBatch(r *round, s subject) {
	for number := range switchedSize {
		create(r.t, r.shop, voucher.Terms{Written: s.code + "-" + strconv.Itoa(number), Batch: s.batch})
	}
}

// ofShop returns the arguments of a command about a shop.
func ofShop(args ...string) func(*round, subject) []string {
	return func(_ *round, s subject) []string {
		return append([]string{args[0], args[1], s.shop}, args[2:]...)
	}
}

// withSettings prepares a shop and changes its settings or keys.
func withSettings(change func(*round, *backoffice.Shop) error) func(*round, subject) {
	return func(r *round, s subject) {
		withShop(r, s)
		if err := change(r, shopOf(r, s)); err != nil {
			r.t.Fatal(err)
		}
	}
}

func pause() command {
	return command{
		kind: "pause", isWhole: true, late: true, mask: mask{versions: true},
		args: ofShop("voucher", "pause"), prepare: withShop,
	}
}

func resumeAll() command {
	return command{
		kind: "resume", isWhole: true, late: true, mask: mask{versions: true}, args: ofShop("voucher", "resume"),
		prepare: withSettings(func(r *round, shop *backoffice.Shop) error {
			_, err := shop.Pause(r.t.Context())
			return err
		}),
	}
}

func createKey() command {
	return command{
		kind: "key create", isWhole: true, late: true, args: ofShop("key", "create", "--name", "web shop"),
		prepare: withShop,
		again:   keyCreated, check: wantKeysKept, mask: mask{keys: true},
	}
}

// fixedBits replace the random bits of a key, so that the key's ID is known: dladqenqfd.
const fixedBits = "emberforgeemberforgeemberforgeemberforgeember"

func revokeKey() command {
	return command{
		kind: "key revoke", isWhole: true, late: true, args: ofShop("key", "revoke", "dladqenqfd"),
		prepare: withSettings(func(r *round, shop *backoffice.Shop) error {
			_, _, err := shop.CreateKey(r.t.Context(), "web shop", time.Time{}, strings.NewReader(fixedBits),
				time.Now())
			return err
		}),
	}
}
