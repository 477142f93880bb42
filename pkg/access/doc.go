// Package access decides who may do what in a customer's shop. key.go has the secret keys of the shop's own server.
// settings.go has what the shop's owner decides: policies, the limit on refused codes, and what is paused. guard.go
// authenticates callers and caches the settings. refusals.go limits how many refused codes one caller may cause.
// docs/interface.md describes the rules.
//
// It is a rules package: it imports packages catalog, idempotency and voucher, and may import neither AWS nor net/http nor any package of
// Shopfront that stores or serves.
package access
