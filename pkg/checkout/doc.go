// Package checkout holds the rules of checking out: which amount and data a request may have, what it costs, how long the
// checkout stays open, what a retry gets, and how the checkout becomes an order.
//
// Read request.go (the request), checkout.go (the checkout and its price), open.go (opening and quoting), order.go (placing,
// fulfilling and cancelling orders) and filter.go (an operator's search), in this order.
//
// It is a rules package: it imports catalog, idempotency and money, and may import neither AWS nor net/http nor a storage or
// HTTP package of Shopfront, nor dataschema, whose validator is a large dependency. The rules come from docs/interface.md
// unless a comment says otherwise.
package checkout
