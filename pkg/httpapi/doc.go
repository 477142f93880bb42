// Package httpapi is the HTTP layer: it turns a request into a call of a noun, and the noun's answer or error into one of
// HTTP. Form is judged here, before any look-up (form.go, body.go); what errors look like is in one place (problem.go).
//
// It imports the nouns; it may import neither storage nor AWS.
package httpapi
