// Package torture puts a whole Shopfront under faults and contention, and checks that it kept what docs/interface.md promises
// of vouchers: none is redeemed more often than its limits allow, no redemption that was answered is lost, and no request
// with an Idempotency-Key is applied twice.
//
// It is for tests only; nothing that ships may import it.
package torture
