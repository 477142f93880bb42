// Package checkout holds the rules of checking out: what amount and data a request may have, what it costs, how long the
// checkout stands, and what a repeated request gets.
//
// It reads from the request to the record: request.go (what is asked for), checkout.go (the checkout and its price),
// open.go (opening one and quoting), filter.go (what an operator looks for).
//
// It is a noun: it imports the nouns catalog, idempotency and money and may import neither AWS nor net/http nor a storage
// or HTTP package of Shopfront, nor dataschema, whose validator is large. Rules are cited from docs/interface.md unless
// said otherwise.
package checkout
