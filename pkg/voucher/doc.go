// Package voucher holds the rules of vouchers: what a code, a nick and a reward are, when a voucher is redeemed or
// refused, and what an operator may change.
//
// It reads from the request to the record: code.go, nick.go and reward.go (what is typed), voucher.go (the voucher and
// every reason for refusal), redeem.go (redeeming and checking), terms.go (creating and editing), generate.go
// (batches of codes, completed after an interruption).
//
// It is a noun: it imports the nouns catalog, idempotency and money and may import neither AWS nor net/http nor a storage
// or HTTP package of Shopfront. Rules are cited from docs/interface.md unless said otherwise.
package voucher
