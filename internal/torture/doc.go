// Package torture puts a whole Shopfront under faults and contention, and checks that it kept what docs/interface.md promises
// of vouchers: none is redeemed more often than its limits allow, no redemption that was answered is lost, and no request
// with an Idempotency-Key is applied twice.
//
// Run works in rounds. Each begins a shop of its own (package testshop) behind a store of one kind of hostility (trial.go),
// creates vouchers, and lets clients (client.go) and operators (operator.go) at them. Then the faults end, what is unfinished
// is finished, and the round is judged (settle.go): each voucher's history by package history, and what is on record by its
// sums and by `shopctl verify`.
//
// It is for tests only; nothing that ships may import it.
package torture
