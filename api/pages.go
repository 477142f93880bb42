package api

import _ "embed"

//go:embed pages/docs.html
var docsPage string

//go:embed pages/changelog.html
var changelogPage string

//go:embed pages/changelog.rss
var feed string

//go:embed pages/policy.txt
var policy string

// Origin is a placeholder in the feed for the scheme and authority of the deployment that serves it, because a feed
// needs absolute URLs. No host can have this name (RFC 6761, section 6.4).
const Origin = "https://deployment.invalid"

// DocsPage is the page to read and try the interface, in HTML.
func DocsPage() string { return docsPage }

// ChangelogPage is the changelog in HTML.
func ChangelogPage() string { return changelogPage }

// Feed is the changelog in RSS 2.0, with Origin instead of the deployment's address.
func Feed() string { return feed }

// Policy is the Content-Security-Policy of the pages.
func Policy() string { return policy }
