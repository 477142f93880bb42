// Package httpapi is the HTTP layer: it converts a request to a call of the rules (pkg/voucher, pkg/checkout, pkg/catalog, pkg/event),
// and their result or error to a response. Requests are validated here before any lookup (form.go, body.go). One place
// decides what errors look like (problem.go). Events have the same representation wherever they are delivered (events.go).
//
// It imports the rules; it may import neither storage nor AWS.
package httpapi
