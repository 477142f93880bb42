package pages

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// rss is a feed as in https://www.rssboard.org/rss-specification, and best practices of
// https://www.rssboard.org/rss-profile.
type rss struct {
	XMLName xml.Name `xml:"rss"`
	Version string   `xml:"version,attr"`
	Atom    string   `xml:"xmlns:atom,attr"`
	Channel channel  `xml:"channel"`
}

type channel struct {
	Title       string   `xml:"title"`
	Link        string   `xml:"link"`
	Description string   `xml:"description"`
	Language    string   `xml:"language"`
	Self        atomLink `xml:"atom:link"`
	Items       []item   `xml:"item"`
}

type atomLink struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
}

type item struct {
	Title       string   `xml:"title"`
	Link        string   `xml:"link"`
	Description string   `xml:"description"`
	Categories  []string `xml:"category"`
	GUID        guid     `xml:"guid"`
	PubDate     string   `xml:"pubDate,omitempty"`
}

// guid is the same in every deployment, and no URL.
type guid struct {
	IsPermaLink bool   `xml:"isPermaLink,attr"`
	Value       string `xml:",chardata"`
}

func renderFeed(layout *template.Template, title string, releases []releaseView) ([]byte, error) {
	feed := rss{Version: "2.0", Atom: "http://www.w3.org/2005/Atom", Channel: channel{
		Title: title + ": changelog", Link: Origin + "/changelog", Language: "en",
		Description: "What each release of the interface changed for its clients.",
		Self:        atomLink{Href: Origin + "/changelog.rss", Rel: "self", Type: "application/rss+xml"},
	}}
	for _, release := range releases {
		changes, err := execute(layout, "changes", release)
		if err != nil {
			return nil, err
		}
		entry := item{
			Title:       fmt.Sprintf("Release %d, %s (%s)", release.Number, release.When(), release.Total()),
			Link:        Origin + "/changelog#" + release.Name,
			Description: strings.TrimSpace(strings.ReplaceAll(string(changes), "<wbr>", "")),
			Categories:  release.categories(),
			GUID:        guid{Value: "urn:release:shopfront:" + release.Name},
		}
		if !release.at.IsZero() {
			entry.PubDate = release.at.Format(http.TimeFormat)
		}
		feed.Channel.Items = append(feed.Channel.Items, entry)
	}
	text, err := xml.MarshalIndent(feed, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}
