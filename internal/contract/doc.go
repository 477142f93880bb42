// Package contract keeps the interface's contract, which stands in api/:
//
//	openapi.yaml   the working document: the interface as this commit serves it
//	releases/      released documents, never edited, and SHA256SUMS, which holds them to that
//	openapi.json   rendered: the working document as a function serves it
//	changelog.json rendered: what each release changed, computed from the released documents
//	pages/         rendered: the pages that show both, and their Content-Security-Policy
//
// Check is the gate that a change of the interface has to pass, CheckHistory holds the released documents to what git has of
// them, Release freezes the working document, and Changelog counts by the rules of docs/interface.md, Versioning.
//
// The tools that compare documents are large: only cmd/contract and tests import this package, never a function. Functions
// embed what was rendered (package api) and read the changelog with package changelog.
package contract
