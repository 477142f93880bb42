// Package access decides who may do what in a shop. key.go defines the secret keys of the shop's own server.
// settings.go defines the settings of the shop's owner: policies, the limit on refused codes, and what is paused.
// guard.go authenticates callers and caches the settings. refusals.go limits how many refused codes one source may
// cause. docs/reference/storefront.md describes the rules.
//
// It is a rules package: besides the standard library it imports packages catalog, idempotency and voucher. It must not
// import AWS, net/http, or Shopfront's storage and HTTP packages.
package access
