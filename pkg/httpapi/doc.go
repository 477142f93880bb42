// Package httpapi is the HTTP layer. It converts a request to a call of the rules (pkg/voucher, pkg/checkout,
// pkg/catalog, pkg/event), and the result or the error of that call to a response. It validates the form of a request
// before any lookup (form.go, body.go). Every endpoint runs through one handler (service.go), and one place decides
// what errors look like (problem.go). api/openapi.yaml describes what a client sees.
//
// The package imports the rules. It may import neither storage nor AWS.
package httpapi
