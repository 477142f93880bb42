// Package client is for storefronts: it calls a Shopfront as docs/interface.md asks of them, above all where answers are lost.
//
// Grant goods only when [Client.Redeem] returns without an error, and once for each [Redemption] ID, under a unique index or
// the like: a request that is sent again answers the same redemption again. [Client.Check] grants nothing.
//
// Every redemption and checkout goes out with an Idempotency-Key, the same one at each attempt. 429, 500, 502, 503, 504,
// timeouts and lost connections are tried again; what is refused is not, unless an attempt before may still be applied. Where
// no attempt brought certainty, the error is an [OutcomeUnknownError], which carries the key: the same call with [WithKey],
// [DefaultAttemptTimeout] later, finds out what happened. A storefront that can itself be killed makes its key with [NewKey]
// and stores it before it calls.
//
// Errors hold no code, nick, data or key in their texts, and may be logged.
//
// It imports the standard library only; it may import neither AWS nor any other package of Shopfront.
package client
