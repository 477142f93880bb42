package pages_test

import (
	"crypto/sha256"
	"encoding/base64"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shopfront/api"
)

// page is a parsed HTML page.
type page struct {
	text string
	root *html.Node
	ids  map[string]bool
}

func servedPages(t *testing.T) map[string]page {
	t.Helper()
	return map[string]page{"docs": parse(t, api.DocsPage()), "changelog": parse(t, api.ChangelogPage())}
}

func parse(t *testing.T, text string) page {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := page{text: text, root: root, ids: make(map[string]bool)}
	for node := range p.elements() {
		if id, has := attribute(node, "id"); has {
			if p.ids[id] || id == "" || strings.ContainsAny(id, " \t\n") {
				t.Errorf("the id %q is invalid or not unique", id)
			}
			p.ids[id] = true
		}
	}
	return p
}

// elements yields the elements with one of the names. Without names it yields all elements.
func (p page) elements(names ...string) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for node := range p.root.Descendants() {
			wanted := node.Type == html.ElementNode && (len(names) == 0 || slices.Contains(names, node.Data))
			if wanted && !yield(node) {
				return
			}
		}
	}
}

// single returns the only element with that name.
func (p page) single(t *testing.T, name string) *html.Node {
	t.Helper()
	found := slices.Collect(p.elements(name))
	if len(found) != 1 {
		t.Fatalf("%d elements %s, want 1", len(found), name)
	}
	return found[0]
}

func attribute(node *html.Node, name string) (value string, has bool) {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func textOf(node *html.Node) string {
	var text strings.Builder
	for inner := range node.Descendants() {
		if inner.Type == html.TextNode {
			text.WriteString(inner.Data)
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// A parser adds and moves elements to repair malformed HTML. These pages need no repair.
func TestPages_Markup_IsWellFormed(t *testing.T) {
	for name, p := range servedPages(t) {
		t.Run(name, func(t *testing.T) {
			started := countStarted(t, p.text)
			if parsed := len(slices.Collect(p.elements())); parsed != started {
				t.Errorf("the parser made %d elements from %d start tags", parsed, started)
			}
			if lang, _ := attribute(p.single(t, "html"), "lang"); lang != "en" || textOf(p.single(t, "title")) == "" {
				t.Error("the page has no language or no title")
			}
		})
	}
}

// countStarted counts the start tags of a page and fails the test unless each element is closed in turn.
func countStarted(t *testing.T, text string) (started int) {
	t.Helper()
	void := []string{"meta", "link", "input", "wbr", "br", "hr"}
	var open []string
	tokens := html.NewTokenizer(strings.NewReader(text))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		name, _ := tokens.TagName()
		switch {
		case kind == html.SelfClosingTagToken:
			t.Errorf("<%s/>: HTML has no such tags", name)
		case kind == html.StartTagToken:
			started++
			if !slices.Contains(void, string(name)) {
				open = append(open, string(name))
			}
		case kind == html.EndTagToken && (len(open) == 0 || open[len(open)-1] != string(name)):
			t.Fatalf("</%s> does not close the innermost of the open elements %q", name, open)
		case kind == html.EndTagToken:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("the elements %q are not closed", open)
	}
	return started
}

func TestPages_References_LeadSomewhere(t *testing.T) {
	for name, p := range servedPages(t) {
		t.Run(name, func(t *testing.T) {
			for node := range p.elements() {
				for _, a := range node.Attr {
					if !p.leads(a) {
						t.Errorf("%s=%q leads nowhere", a.Key, a.Val)
					}
				}
			}
			if feeds := p.feeds(); !slices.Equal(feeds, []string{"application/rss+xml /changelog.rss"}) {
				t.Errorf("a feed reader discovers %q, want only the changelog", feeds)
			}
		})
	}
}

// feeds lists the feeds that a feed reader discovers.
func (p page) feeds() []string {
	var feeds []string
	for node := range p.elements("link") {
		if rel, _ := attribute(node, "rel"); rel == "alternate" {
			href, _ := attribute(node, "href")
			kind, _ := attribute(node, "type")
			feeds = append(feeds, kind+" "+href)
		}
	}
	return feeds
}

// leads reports whether the target of an attribute exists. Attributes that do not refer to anything pass.
func (p page) leads(a html.Attribute) bool {
	switch a.Key {
	case "for", "aria-describedby", "aria-labelledby":
		return p.ids[a.Val]
	case "href":
		if anchor, inside := strings.CutPrefix(a.Val, "#"); inside {
			return p.ids[anchor]
		}
		return slices.Contains([]string{"/docs", "/changelog", "/changelog.rss", "/openapi.json", "data:,"}, a.Val)
	default:
		return true
	}
}

// The pages load nothing and run only the script that their policy names by its hash.
func TestPages_Content_LoadsNothing(t *testing.T) {
	var scripts, styles []string
	for name, p := range servedPages(t) {
		for node := range p.elements("img", "iframe", "object", "embed", "audio", "video", "base", "frame", "svg",
			"use") {
			t.Errorf("%s has an element %s", name, node.Data)
		}
		for node := range p.elements() {
			for _, a := range node.Attr {
				if isLoading(a) {
					t.Errorf("%s: <%s %s=%q> violates the policy", name, node.Data, a.Key, a.Val)
				}
			}
		}
		for node := range p.elements("script") {
			scripts = append(scripts, node.FirstChild.Data)
		}
		styles = append(styles, p.single(t, "style").FirstChild.Data)
		if at := regexp.MustCompile(
			`(?i)(href|src)="?(https?:)?//|url\(|@import|sourceMappingURL|eval\(|innerHTML`,
		).FindString(p.text); at != "" {
			t.Errorf("%s has %s, which may load or run something", name, at)
		}
	}
	want := []string{
		"default-src 'none'", "script-src " + sources(scripts), "style-src " + sources(styles), "img-src data:",
		"connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}
	if directives := strings.Split(api.Policy(), "; "); !slices.Equal(directives, want) {
		t.Errorf("the policy is %q, want %q", directives, want)
	}
}

// isLoading reports whether an attribute would load or run something, or names another host.
func isLoading(a html.Attribute) bool {
	return slices.Contains([]string{"style", "src", "srcset", "action", "formaction", "http-equiv"}, a.Key) ||
		strings.HasPrefix(a.Key, "on") ||
		regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9+.-]*:)?//`).MatchString(a.Val)
}

// sources lists the distinct hashes of the texts.
func sources(texts []string) string {
	var found []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		found = append(found, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " ")
}

func TestPages_Layout_AdaptsToScreenWidthAndColourScheme(t *testing.T) {
	for name, p := range servedPages(t) {
		said := make(map[string]string)
		for node := range p.elements("meta") {
			key, _ := attribute(node, "name")
			said[key], _ = attribute(node, "content")
		}
		if said["viewport"] != "width=device-width, initial-scale=1" || said["color-scheme"] != "light dark" {
			t.Errorf("%s has the metadata %q, want a viewport and both colour schemes", name, said)
		}
	}
}

// Every release has an anchor. The release's heading links to the anchor, and so does the list at the top, newest
// first.
func TestChangelogPage_Releases_HaveAnchors(t *testing.T) {
	p := parse(t, api.ChangelogPage())
	var want, sections, headings, listed []string
	for _, release := range slices.Backward(releases(t)) {
		want = append(want, release.Name)
	}
	for node := range p.elements("section") {
		id, _ := attribute(node, "id")
		sections = append(sections, id)
	}
	for node := range p.elements("a") {
		href, _ := attribute(node, "href")
		switch anchor := strings.TrimPrefix(href, "#"); node.Parent.Data {
		case "h2":
			headings = append(headings, anchor)
		case "li":
			listed = append(listed, anchor)
		}
	}
	// the other pages
	listed = slices.DeleteFunc(listed, func(anchor string) bool { return strings.HasPrefix(anchor, "/") })
	for where, got := range map[string][]string{
		"sections": sections, "headings": headings,
		"entries of the list": listed,
	} {
		if !slices.Equal(got, want) {
			t.Errorf("the %s are %q, want %q", where, got, want)
		}
	}
}

func TestPages_OutlineAndSkipLink_AreValid(t *testing.T) {
	for name, p := range servedPages(t) {
		level := "h0"
		for node := range p.elements("h1", "h2", "h3", "h4", "h5", "h6") {
			if next := node.Data; next[1] > level[1]+1 || next == "h1" && level != "h0" {
				t.Errorf("%s: <%s>%s follows an %s", name, next, textOf(node), level)
			}
			level = node.Data
		}
		links := slices.Collect(p.elements("a"))
		if href, _ := attribute(links[0], "href"); href != "#main" {
			t.Errorf("%s: the first link leads to %s, want #main", name, href)
		}
		if id, _ := attribute(p.single(t, "main"), "id"); id != "main" {
			t.Errorf("%s: the element main has the id %q, want main", name, id)
		}
	}
}
