// Package voucher holds the rules of vouchers: what codes, nicks and rewards are, when a voucher is redeemed or
// refused, and what an operator may change.
//
// Start with code.go, nick.go and reward.go (input), then voucher.go (the voucher and the reasons for refusal),
// redeem.go (redeeming and checking), hold.go (uses that checkouts hold), undo.go, standing.go (the status of a
// voucher), terms.go (creating and editing), generate.go (batches) and import.go.
//
// The package imports catalog, idempotency and money. It may import neither AWS nor net/http nor any package of
// Shopfront that stores or serves. api/openapi.yaml describes the rules.
package voucher
