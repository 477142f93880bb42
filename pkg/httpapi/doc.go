// Package httpapi is the HTTP layer: it converts a request to a call of the rules (pkg/voucher, pkg/checkout, pkg/catalog),
// and their result or error to a response. Requests are validated here before any lookup (form.go, body.go). One place
// decides what errors look like (problem.go).
//
// It imports the rules; it may import neither storage nor AWS.
package httpapi
