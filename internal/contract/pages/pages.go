// Package pages renders the HTML pages and the feed that publish the interface. The pages are the documentation, where
// a reader can also send requests, and the changelog. They are rendered ahead of time, from the OpenAPI document and
// the computed changelog.
//
// The pages load nothing: style and script are inline, and the Content-Security-Policy allows them by their hashes.
//
// Only package contract and tests import this package. Functions embed its output and must not import it.
package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"

	"shopfront/internal/contract/changelog"
)

// Origin stands in the feed for the scheme and authority of the deployment that serves the feed, because a feed needs
// absolute URLs. No host can have this name (RFC 6761, section 6.4).
const Origin = "https://deployment.invalid"

//go:embed docs.html.tmpl changelog.html.tmpl frame.html.tmpl
var templates embed.FS

//go:embed pages.css
var style string

//go:embed docs.js
var script string

// Render renders the pages from the OpenAPI document in JSON and from the releases, oldest first. It returns them by
// their file names: docs.html, changelog.html, the feed changelog.rss with Origin as placeholder, and policy.txt, the
// Content-Security-Policy of both pages.
func Render(openAPI []byte, releases []changelog.Release) (map[string][]byte, error) {
	d, err := parseDocument(openAPI)
	if err != nil {
		return nil, err
	}
	layout, err := parseTemplates()
	if err != nil {
		return nil, err
	}
	frame := frame{Title: d.Info.Title, Version: d.Info.Version, Style: template.CSS(style)} //nolint:gosec // our own
	docs, err := renderDocs(layout, frame, d)
	if err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	shown, err := showReleases(releases)
	if err != nil {
		return nil, err
	}
	changes, err := execute(layout, "changelog.html.tmpl", changelogView{frame, shown})
	if err != nil {
		return nil, fmt.Errorf("changelog page: %w", err)
	}
	feed, err := renderFeed(layout, d.Info.Title, shown)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return map[string][]byte{
		"docs.html": docs, "changelog.html": changes, "changelog.rss": feed,
		"policy.txt": []byte(policy()),
	}, nil
}

func parseTemplates() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"markdown": markdown, "pretty": pretty, "phrases": codeNames, "text": plainText,
		"spaces":   func(name string) string { return strings.ReplaceAll(name, "-", " ") },
		"segments": func(path string) []string { return strings.Split(path, "/") },
	}).ParseFS(templates, "*.tmpl")
}

// frame is what both HTML pages share.
type frame struct {
	Title, Version string
	Style          template.CSS
}

// policy returns the Content-Security-Policy. It lets the pages use only their own style and script, and send requests
// only to the deployment that served them.
func policy() string {
	return strings.Join([]string{
		"default-src 'none'", "script-src " + source(script), "style-src " + source(style), "img-src data:",
		"connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func execute(layout *template.Template, name string, view any) ([]byte, error) {
	var page bytes.Buffer
	err := layout.ExecuteTemplate(&page, name, view)
	return append(bytes.TrimSpace(page.Bytes()), '\n'), err
}

// markdown renders CommonMark, the format of descriptions, as HTML. It drops HTML inside the text.
func markdown(text string) (template.HTML, error) {
	var converted bytes.Buffer
	err := goldmark.Convert([]byte(text), &converted)
	return template.HTML(strings.TrimSpace(converted.String())), err //nolint:gosec // goldmark lets no HTML through
}

// codeNames splits a text into plain text and the names between backquotes.
func codeNames(text string) []phrase {
	var parts []phrase
	for i, part := range strings.Split(text, "`") {
		switch {
		case part == "":
		case i%2 == 1:
			parts = append(parts, phrase{Literal: part})
		default:
			parts = append(parts, phrase{Text: part})
		}
	}
	return parts
}
