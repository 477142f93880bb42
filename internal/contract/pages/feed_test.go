package pages_test

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"shopfront/api"
	"shopfront/internal/contract/changelog"
)

// feed is a channel as in https://www.rssboard.org/rss-specification. Unknown collects the elements that have no field
// of their own.
type feed struct {
	XMLName xml.Name `xml:"rss"`
	Version string   `xml:"version,attr"`
	Channel struct {
		Title       string `xml:"title"`
		Description string `xml:"description"`
		Language    string `xml:"language"`
		// Links has both the channel's link and atom:link; the namespace tells them apart.
		Links []struct {
			XMLName xml.Name
			Text    string `xml:",chardata"`
			Href    string `xml:"href,attr"`
			Rel     string `xml:"rel,attr"`
			Type    string `xml:"type,attr"`
		} `xml:"link"`
		Items   []feedItem   `xml:"item"`
		Unknown []anyElement `xml:",any"`
	} `xml:"channel"`
}

type feedItem struct {
	Title       string   `xml:"title"`
	Link        string   `xml:"link"`
	Description string   `xml:"description"`
	Categories  []string `xml:"category"`
	PubDate     []string `xml:"pubDate"`
	GUID        struct {
		IsPermaLink string `xml:"isPermaLink,attr"`
		Value       string `xml:",chardata"`
	} `xml:"guid"`
	Unknown []anyElement `xml:",any"`
}

type anyElement struct{ XMLName xml.Name }

func readFeed(t *testing.T) feed {
	t.Helper()
	var f feed
	if err := xml.Unmarshal([]byte(api.Feed()), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFeed_Channel_IsRSS(t *testing.T) {
	f := readFeed(t)
	if f.Version != "2.0" || f.Channel.Title == "" || f.Channel.Description == "" || f.Channel.Language != "en" ||
		len(f.Channel.Unknown) > 0 {
		t.Errorf("the channel lacks something, or has unknown elements: %+v", f)
	}
	if len(f.Channel.Links) != 2 {
		t.Fatalf("the channel has the links %+v, want two", f.Channel.Links)
	}
	page, self := f.Channel.Links[0], f.Channel.Links[1]
	if page.XMLName.Space != "" || page.Text != api.Origin+"/changelog" {
		t.Errorf("the channel's page is %+v", page)
	}
	if self.XMLName.Space != "http://www.w3.org/2005/Atom" || self.Rel != "self" ||
		self.Type != "application/rss+xml" || self.Href != api.Origin+"/changelog.rss" {
		t.Errorf("the feed's own address is %+v", self)
	}
}

// Items are in the order of releases, newest first. An item keeps its GUID forever, and has a date only if its release
// has one.
func TestFeed_EveryRelease_HasOneItem(t *testing.T) {
	all := releases(t)
	slices.Reverse(all)
	items := readFeed(t).Channel.Items
	if len(items) != len(all) {
		t.Fatalf("the feed has %d items, want one for each of %d releases", len(items), len(all))
	}
	p := parse(t, api.ChangelogPage())
	for i, item := range items {
		release := all[i]
		if item.GUID.IsPermaLink != "false" || item.GUID.Value != "urn:release:shopfront:"+release.Name ||
			len(item.Unknown) > 0 {
			t.Errorf("%s: the item is %+v", release.Name, item)
		}
		if anchor, found := strings.CutPrefix(item.Link, api.Origin+"/changelog#"); !found || !p.ids[anchor] {
			t.Errorf("%s: %s leads nowhere", release.Name, item.Link)
		}
		wantDate(t, release, item.PubDate)
		for _, change := range release.Changes {
			if !strings.Contains(item.Description, change.Method+" "+change.Path) {
				t.Errorf("%s: %s %s is not in %s", release.Name, change.Method, change.Path, item.Description)
			}
			if change.Breaking && !slices.Contains(item.Categories, "breaking") {
				t.Errorf("%s: the categories are %q, want breaking among them", release.Name, item.Categories)
			}
		}
	}
}

func TestPages_Summaries_AreAboveTheCounts(t *testing.T) {
	all := releases(t)
	slices.Reverse(all)
	page := textOf(parse(t, api.ChangelogPage()).root)
	for i, item := range readFeed(t).Channel.Items {
		summary := strings.ReplaceAll(all[i].Summary, "`", "")
		if text := textOf(parse(t, item.Description).root); !strings.HasPrefix(text, summary) {
			t.Errorf("%s: the item does not begin with its summary %q: %s", all[i].Name, summary, text)
		}
		if summary != "" && !strings.Contains(page, summary+" "+all[i].Counts().String()) {
			t.Errorf("%s: the page does not show its summary %q above the counts", all[i].Name, summary)
		}
	}
}

func wantDate(t *testing.T, release changelog.Release, pubDate []string) {
	t.Helper()
	if release.Date == "" {
		if len(pubDate) > 0 {
			t.Errorf("%s has the date %q, want none", release.Name, pubDate)
		}
		return
	}
	if len(pubDate) != 1 {
		t.Errorf("%s has the dates %q, want one", release.Name, pubDate)
		return
	}
	published, err := time.Parse(time.RFC1123, pubDate[0])
	if err != nil || published.Format(time.DateOnly) != release.Date {
		t.Errorf("%s has the date %s, %v, want %s", release.Name, pubDate[0], err, release.Date)
	}
}

// docs/interface.md records two dated changes. The feed and the page show both, and mark breaking changes in words.
func TestFeed_RecordedChanges_AreShown(t *testing.T) {
	p := parse(t, api.ChangelogPage())
	for guid, want := range map[string]struct {
		title      string
		categories []string
		pubDate    string
		entries    []string
	}{
		"urn:release:shopfront:0002-2023-09-19": {
			"Release 2, 19 September 2023 (6 structure changes: 5 breaking, 1 addition, 5 removals)",
			[]string{"breaking", "addition", "removal"},
			"Tue, 19 Sep 2023 00:00:00 GMT",
			[]string{
				"Breaking removed POST /checkout/paybylink/sms", "Breaking removed GET /checkout/paybylink/transfer",
				"Breaking removed GET /checkout/paybylink/{prepaid_card}",
				"Breaking removed GET /checkout/{card_processor}",
				"Breaking removed POST /checkout/{card_processor}",
				"added GET /shop/{customer}/checkout/{product}/variant/{variant}",
			},
		},
		"urn:release:shopfront:0005-2024-01-05": {
			"Release 5, 5 January 2024 (3 structure changes: 1 breaking, 1 addition, 1 modification, 1 removal)",
			[]string{"breaking", "addition", "modification", "removal"},
			"Fri, 05 Jan 2024 00:00:00 GMT",
			[]string{
				"Breaking removed GET /shop/{customer}/checkout/{product}/{variant}",
				"modified POST /shop/{customer}/voucher added the new optional request property nick",
				"added GET /shop/{customer}/checkout",
			},
		},
	} {
		items := readFeed(t).Channel.Items
		at := slices.IndexFunc(items, func(item feedItem) bool { return item.GUID.Value == guid })
		if at < 0 {
			t.Fatalf("the feed has no item %s", guid)
		}
		item := items[at]
		if item.Title != want.title || !slices.Equal(item.Categories, want.categories) ||
			!slices.Equal(item.PubDate, []string{want.pubDate}) {
			t.Errorf("the item is %+v, want the title, categories and date of %+v", item, want)
		}
		if got := entries(parse(t, item.Description).root); !slices.Equal(got, want.entries) {
			t.Errorf("the item's entries are %q, want %q", got, want.entries)
		}
		for section := range p.elements("section") {
			id, _ := attribute(section, "id")
			if "urn:release:shopfront:"+id != guid {
				continue
			}
			if got := entries(section); !slices.Equal(got, want.entries) {
				t.Errorf("the entries on the page are %q, want %q", got, want.entries)
			}
			_, counts, _ := strings.Cut(want.title, " (")
			if text := textOf(section); !strings.Contains(text, strings.TrimSuffix(counts, ")")) {
				t.Errorf("the counts %s are not in %s", counts, text)
			}
		}
	}
}

// The record does not say how data and amount were modified. The page and the feed mark only the release
// that modified them.
func TestFeed_ReconstructedChoice_IsMarked(t *testing.T) {
	const choice = "the types are this project's choice"
	said := 0
	for _, item := range readFeed(t).Channel.Items {
		of := strings.TrimPrefix(item.GUID.Value, "urn:release:shopfront:")
		if says := strings.Contains(textOf(parse(t, item.Description).root), choice); says != (of == "0004-undated") {
			t.Errorf("the feed marks %s: %t", of, says)
		}
	}
	for section := range parse(t, api.ChangelogPage()).elements("section") {
		of, _ := attribute(section, "id")
		says := strings.Contains(textOf(section), choice)
		if says != (of == "0004-undated") {
			t.Errorf("the page marks %s: %t", of, says)
		}
		if says {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the page marks %d releases, want one", said)
	}
}

// entries lists the changes of a release.
func entries(within *html.Node) []string {
	var found []string
	for node := range within.Descendants() {
		if node.Type != html.ElementNode || node.Data != "li" {
			continue
		}
		if class, _ := attribute(node.Parent, "class"); class == "changes" {
			found = append(found, textOf(node))
		}
	}
	return found
}
