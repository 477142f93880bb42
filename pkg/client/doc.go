// Package client calls the Shopfront service for a storefront that is written in Go. It follows the rules of
// docs/reference/storefront.md, including those for lost responses.
//
// Grant goods only if [Client.Redeem] returns no error, and only once for each [Redemption] ID, because a retry returns
// the same redemption again. A unique index can enforce that. Never grant goods after [Client.Check].
//
// Every redemption and new checkout is sent with an Idempotency-Key. Every retry has the same key. The client retries
// after 429, 500, 502, 503, 504, timeouts and lost connections. It does not retry a refusal, unless an earlier attempt
// may still be applied. If the outcome is still unknown in the end, the error is an [OutcomeUnknownError] with the key.
// To find out what happened, wait [DefaultAttemptTimeout], and repeat the call with that key ([WithKey]). A storefront
// that may crash must make its key with [NewKey] and store it before the call. [ErrWrongBaseURL] means that the base
// URL is wrong. Unless the error also is an [OutcomeUnknownError], the call was not applied.
//
// [WithServerKey] makes calls as the shop's server, and [WithShopperAddress] names the shopper whose wrong codes and
// holds are limited. If the response to an attempt was lost, a later [ErrUnauthorized] or [ErrTooManyRefusals] does not
// show whether that attempt was applied.
//
// Place an order with [Client.PlaceOrder] when the shopper has paid, deliver once for each order ID, and then call
// [Client.FulfilOrder]. Calls about orders have no key: repeat a call with the same arguments, and it is applied once.
// Refund a payment only after a refusal, never after an [OutcomeUnknownError].
//
// A checkout with a code gets a discount. The checkout holds a use of the code until the checkout is ordered or ends.
// If the storefront cannot grant the reward of a redeemed code, [Client.UndoRedemption] makes the use free again.
//
// [Client.Events] reports every redemption and order to the shop's server, in sequence. Store the [Event.Cursor]
// together with the event's effect, in one transaction, and begin at that cursor after a restart. Then no event is
// missed, and you recognize a repeated event by its ID. [VerifyWebhook] verifies an event that `shopctl events forward`
// posts.
//
// Error texts are safe to log: they contain no code, nick, data, payment or key, and no ID except that of the request.
//
// To use the package in another module, copy its folder without the tests. It may import only the standard library.
package client
