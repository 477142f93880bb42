// Package pages renders the HTML pages and the feed that publish the interface: the documentation, where a reader can also send
// requests, and the changelog. It renders them ahead of time, from the OpenAPI document and the computed changelog.
//
// The pages load nothing: style and script are inline, and the Content-Security-Policy names them by their hashes.
//
// Only package contract and tests import this package. Functions embed its output and must not import it.
package pages
