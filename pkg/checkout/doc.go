// Package checkout holds the rules of checking out: which amount and data a request may have, what it costs, how long
// the checkout stays open, what a retry gets, and how the checkout becomes an order.
//
// Read request.go (the request), checkout.go (the checkout and its price), open.go (opening and quoting), order.go
// (placing, fulfilling and cancelling orders) and filter.go (an operator's search), in this order.
//
// It is a rules package: it imports catalog, idempotency, money and voucher. It must not import AWS, net/http, or a
// storage or HTTP package of Shopfront. It must not import dataschema either, because most functions link this package.
// api/openapi.yaml describes the rules.
package checkout
