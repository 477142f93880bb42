package pages

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"html/template"
	"strings"
	texttemplate "text/template"
)

// feedTemplate is an RSS 2.0 feed, see https://www.rssboard.org/rss-specification and
// https://www.rssboard.org/rss-profile. GUIDs are the same in every deployment, so they are not URLs.
//
//go:embed feed.rss.tmpl
var feedTemplate string

func renderFeed(layout *template.Template, title string, releases []releaseView) ([]byte, error) {
	feed, err := texttemplate.New("").Funcs(texttemplate.FuncMap{
		"xml": func(text string) (string, error) {
			var escaped strings.Builder
			err := xml.EscapeText(&escaped, []byte(text))
			return escaped.String(), err
		},
		"changes": func(release releaseView) (string, error) {
			changes, err := execute(layout, "changes", release)
			return strings.TrimSpace(strings.ReplaceAll(string(changes), "<wbr>", "")), err
		},
	}).Parse(feedTemplate)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = feed.Execute(&text, map[string]any{"Origin": Origin, "Title": title, "Releases": releases})
	return text.Bytes(), err
}
