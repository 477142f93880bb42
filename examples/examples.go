// Package examples embeds the JSON Schema of the catalogue files. The schema is in the folder of the demo shop, so that
// an editor finds it.
package examples

import _ "embed"

//go:embed catalogue.schema.json
var catalogueSchema string

// CatalogueSchema is the JSON Schema (2020-12) of a catalogue file.
func CatalogueSchema() string { return catalogueSchema }
