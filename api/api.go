// Package api embeds the published files of the interface. Functions link it, so it imports nothing.
package api

import _ "embed"

//go:generate go -C .. run -buildvcs=false ./cmd/contract render

//go:embed openapi.json
var openAPI string

//go:embed changelog.json
var changelog string

// OpenAPI is the working document in JSON: the interface as this commit serves it.
func OpenAPI() string { return openAPI }

// Changelog is what each release changed, in JSON: a list of changelog.Release.
func Changelog() string { return changelog }
