// Package torture runs a whole Shopfront under faults and contention, and checks the promises of api/openapi.yaml: no
// voucher is redeemed more often than its limits allow, no confirmed redemption (status 200) is lost, and no request
// with an Idempotency-Key is applied twice.
//
// Run works in rounds. Each round starts a shop (package testshop) whose database suffers the faults of one trial
// (trial.go), and creates vouchers. Clients (client.go) redeem them while operators edit (operator.go), delete and
// import (bulk.go). Then the faults end, unfinished work is completed, and the round is judged (settle.go): package
// history judges each voucher's history, and the stored redemptions must agree with the vouchers' sums and with
// `shopctl verify`.
//
// In the trial "holds, orders and undo", clients also check out with codes, order, cancel and undo (checkout.go), while
// holds lapse.
//
// In the trial "changes of access", operators also change policies, keys and pauses (access.go). Each response is
// judged by the settings that may have been in effect when its request was received (rule.go).
//
// The package is for tests only; nothing that ships may import it.
package torture
