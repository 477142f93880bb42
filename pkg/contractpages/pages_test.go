package contractpages_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shopfront/api"
	"shopfront/pkg/changelog"
	"shopfront/pkg/contractpages"
)

func releases(t *testing.T) []changelog.Release {
	t.Helper()
	releases, err := changelog.Parse(api.Changelog())
	if err != nil {
		t.Fatal(err)
	}
	return releases
}

// What the function embeds is what would be made of the document and the changelog that it embeds.
func TestPagesAreUpToDate(t *testing.T) {
	made, err := contractpages.Render([]byte(api.OpenAPI()), releases(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]struct{ embedded, made string }{
		"docs.html":      {api.DocsPage(), string(made.Docs)},
		"changelog.html": {api.ChangelogPage(), string(made.Changelog)},
		"changelog.rss":  {api.Feed(), string(made.Feed)},
		"policy.txt":     {api.Policy(), string(made.Policy)},
	} {
		if page.embedded != page.made {
			t.Errorf("api/pages/%s is out of date: run `go generate ./api`", name)
		}
	}
	if api.Origin != contractpages.Origin {
		t.Errorf("the function looks for %s in the feed, which has %s", api.Origin, contractpages.Origin)
	}
}

// page is an HTML page, taken apart.
type page struct {
	text string
	root *html.Node
	ids  map[string]bool
}

func pages(t *testing.T) map[string]page {
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
	for node := range p.elements("") {
		if id, has := attribute(node, "id"); has {
			if p.ids[id] || id == "" || strings.ContainsAny(id, " \t\n") {
				t.Errorf("the id %q is there twice, or is none", id)
			}
			p.ids[id] = true
		}
	}
	return p
}

// elements are those of a name, or all.
func (p page) elements(name string) func(yield func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		for node := range p.root.Descendants() {
			if node.Type == html.ElementNode && (name == "" || node.Data == name) && !yield(node) {
				return
			}
		}
	}
}

// only is the one element of a name.
func (p page) only(t *testing.T, name string) *html.Node {
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

// Every element is closed where it should be, and a parser neither adds nor moves one.
func TestPagesAreWellFormed(t *testing.T) {
	for name, p := range pages(t) {
		t.Run(name, func(t *testing.T) {
			void := []string{"meta", "link", "input", "wbr", "br", "hr"}
			var open []string
			started := 0
			tokens := html.NewTokenizer(strings.NewReader(p.text))
			for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
				token := tokens.Token()
				switch kind {
				case html.StartTagToken:
					started++
					if !slices.Contains(void, token.Data) {
						open = append(open, token.Data)
					}
				case html.EndTagToken:
					if len(open) == 0 || open[len(open)-1] != token.Data {
						t.Fatalf("</%s> closes %q", token.Data, open)
					}
					open = open[:len(open)-1]
				case html.SelfClosingTagToken:
					t.Errorf("<%s/>: HTML has no such tags", token.Data)
				default:
				}
			}
			if len(open) > 0 {
				t.Errorf("not closed: %q", open)
			}
			if parsed := len(slices.Collect(p.elements(""))); parsed != started {
				t.Errorf("a parser makes %d elements of %d", parsed, started)
			}
			if lang, _ := attribute(p.only(t, "html"), "lang"); lang != "en" || textOf(p.only(t, "title")) == "" {
				t.Error("the page has no language or no title")
			}
		})
	}
}

// What the pages refer to is there: anchors in them, and the pages and the feed beside them.
func TestReferencesLeadSomewhere(t *testing.T) {
	published := []string{"/docs", "/changelog", "/changelog.rss", "/openapi.json"}
	for name, p := range pages(t) {
		t.Run(name, func(t *testing.T) {
			for node := range p.elements("") {
				for _, a := range node.Attr {
					switch a.Key {
					case "href":
						anchor, inside := strings.CutPrefix(a.Val, "#")
						if inside && !p.ids[anchor] || !inside && !slices.Contains(published, a.Val) && a.Val != "data:," {
							t.Errorf("%s leads nowhere", a.Val)
						}
					case "for", "aria-describedby", "aria-labelledby":
						if !p.ids[a.Val] {
							t.Errorf("%s=%q names nothing", a.Key, a.Val)
						}
					}
				}
			}
			var feeds []string
			for node := range p.elements("link") {
				if rel, _ := attribute(node, "rel"); rel == "alternate" {
					href, _ := attribute(node, "href")
					kind, _ := attribute(node, "type")
					feeds = append(feeds, kind+" "+href)
				}
			}
			if !slices.Equal(feeds, []string{"application/rss+xml /changelog.rss"}) {
				t.Errorf("feeds to be discovered: %q", feeds)
			}
		})
	}
}

// The pages load nothing, from wherever, and run nothing but what their policy names by its hash.
func TestPagesNeedNothingButThemselves(t *testing.T) {
	var scripts, styles []string
	for name, p := range pages(t) {
		for node := range p.elements("") {
			if slices.Contains([]string{"img", "iframe", "object", "embed", "audio", "video", "base", "frame", "svg", "use"}, node.Data) {
				t.Errorf("%s has an element %s", name, node.Data)
			}
			for _, a := range node.Attr {
				if a.Key == "style" || a.Key == "src" || a.Key == "action" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s> is against the policy", name, node.Data, a.Key)
				}
			}
		}
		for node := range p.elements("script") {
			scripts = append(scripts, node.FirstChild.Data)
		}
		styles = append(styles, p.only(t, "style").FirstChild.Data)
		if at := regexp.MustCompile(`(?i)(href|src)="?(https?:)?//|url\(|@import|sourceMappingURL|eval\(|innerHTML`).FindString(p.text); at != "" {
			t.Errorf("%s has %s", name, at)
		}
	}
	want := map[string][]string{
		"default-src": {"'none'"}, "base-uri": {"'none'"}, "form-action": {"'none'"}, "frame-ancestors": {"'none'"},
		"script-src": sources(scripts), "style-src": sources(styles), "img-src": {"data:"}, "connect-src": {"'self'"},
	}
	directives := strings.Split(api.Policy(), "; ")
	for _, directive := range directives {
		name, values, _ := strings.Cut(directive, " ")
		if !slices.Equal(strings.Fields(values), want[name]) {
			t.Errorf("the policy says %s, want %s", directive, want[name])
		}
	}
	if len(directives) != len(want) || strings.Contains(api.Policy(), "\n") {
		t.Errorf("the policy is %q", api.Policy())
	}
}

// sources are the hashes of different texts.
func sources(texts []string) []string {
	var found []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		if source := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !slices.Contains(found, source) {
			found = append(found, source)
		}
	}
	return found
}

// Without eyes or mouse: every field has a label, headings form an outline, and there is a way past the navigation.
func TestPagesCanBeUsedByAll(t *testing.T) {
	for name, p := range pages(t) {
		t.Run(name, func(t *testing.T) {
			labelled := make(map[string]bool)
			for node := range p.elements("label") {
				id, _ := attribute(node, "for")
				labelled[id] = textOf(node) != ""
			}
			for _, kind := range []string{"input", "select", "textarea"} {
				for node := range p.elements(kind) {
					if id, _ := attribute(node, "id"); !labelled[id] {
						t.Errorf("the %s %q has no label", kind, id)
					}
				}
			}
			for _, kind := range []string{"nav", "form"} {
				for node := range p.elements(kind) {
					if label, _ := attribute(node, "aria-label"); label == "" {
						t.Errorf("a %s has no label", kind)
					}
				}
			}
			level := 0
			for node := range p.elements("") {
				if len(node.Data) == 2 && node.Data[0] == 'h' && node.Data[1] >= '1' && node.Data[1] <= '6' {
					if next := int(node.Data[1] - '0'); next > level+1 || next == 1 && level > 0 {
						t.Errorf("<%s>%s follows a heading of level %d", node.Data, textOf(node), level)
					} else {
						level = next
					}
				}
			}
			for node := range p.elements("a") {
				if href, _ := attribute(node, "href"); href != "#main" {
					t.Errorf("the first link leads to %s", href)
				}
				break
			}
			if id, _ := attribute(p.only(t, "main"), "id"); id != "main" {
				t.Errorf("main has the id %q", id)
			}
		})
	}
}

// What the docs page shows in Go is a part of the client's examples, which are run.
func TestTheGoExampleIsRun(t *testing.T) {
	examples, err := os.ReadFile("../client/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for node := range parse(t, api.DocsPage()).elements("code") {
		if text := node.FirstChild; text != nil && strings.HasPrefix(text.Data, "func ") {
			if !strings.Contains(string(examples), text.Data) {
				t.Errorf("not in the examples:\n%s", text.Data)
			}
			return
		}
	}
	t.Error("the page shows no Go")
}

// WCAG 2.2, success criterion 1.4.3: 4.5 to 1, in light and in dark.
func TestColoursCanBeRead(t *testing.T) {
	style := parse(t, api.DocsPage()).only(t, "style").FirstChild.Data
	light, dark, found := strings.Cut(style, "prefers-color-scheme: dark")
	if !found {
		t.Fatal("there is no dark scheme")
	}
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		colours := make(map[string]float64)
		for _, match := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			colours[match[1]] = luminance(t, match[2])
		}
		for ground, texts := range map[string][]string{
			"ground": {"text", "quiet", "link", "get", "post", "breaking"},
			"raised": {"text"},
			"note":   {"text"},
		} {
			for _, text := range texts {
				bright, dim := max(colours[ground], colours[text]), min(colours[ground], colours[text])
				if contrast := (bright + 0.05) / (dim + 0.05); contrast < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", scheme, text, ground, contrast)
				}
			}
		}
	}
}

// luminance is the relative one of a colour rrggbb.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	channel := func(at int) float64 {
		value, err := strconv.ParseUint(colour[at:at+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		if c := float64(value) / 255; c > 0.04045 {
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return float64(value) / 255 / 12.92
	}
	return 0.2126*channel(0) + 0.7152*channel(2) + 0.0722*channel(4)
}

// Everything of the document is on the page, but for what the page says in other words.
func TestDocsPageShowsTheWholeDocument(t *testing.T) {
	var document struct {
		Info  struct{ Title, Version string }
		Tags  []struct{ Name string }
		Paths map[string]map[string]struct {
			OperationID string
			Deprecated  bool
			Sunset      string `json:"x-sunset"`
			Responses   map[string]any
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(api.OpenAPI()), &document); err != nil {
		t.Fatal(err)
	}
	p := parse(t, api.DocsPage())
	all := textOf(p.root)
	for _, text := range []string{document.Info.Title, document.Info.Version} {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not on the page", text)
		}
	}
	for path, operations := range document.Paths {
		for method, operation := range operations {
			anchors := []string{operation.OperationID}
			for status := range operation.Responses {
				anchors = append(anchors, operation.OperationID+"-"+status)
			}
			for _, anchor := range anchors {
				if !p.ids[anchor] {
					t.Errorf("%s is not on the page", anchor)
				}
			}
			title := strings.ToUpper(method) + " " + path
			if operation.Deprecated {
				title += " Deprecated. It may be removed from " + operation.Sunset + " on."
			}
			if !strings.Contains(all, title) {
				t.Errorf("%s is not on the page", title)
			}
		}
	}
	for name, schema := range document.Components.Schemas {
		if !p.ids["schema-"+name] {
			t.Errorf("the schema %s is not on the page", name)
		}
		for property := range schema.Properties {
			if !strings.Contains(p.text, "<code>"+property+"</code>") {
				t.Errorf("%s of %s is not on the page", property, name)
			}
		}
	}
	wantDescriptions(t, p, []byte(api.OpenAPI()))
}

// wantDescriptions wants each description of the document on the page, and each example's value.
func wantDescriptions(t *testing.T, p page, document []byte) {
	t.Helper()
	var anything any
	if err := json.Unmarshal(document, &anything); err != nil {
		t.Fatal(err)
	}
	markup := regexp.MustCompile(`(?m)^[0-9]+\. |[^\pL\pN]+`) // numbers of a list, and what is no word
	squeeze := func(text string) string { return markup.ReplaceAllString(text, "") }
	shown := squeeze(textOf(p.root))
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case []any:
			for i, item := range value {
				walk(fmt.Sprintf("%s/%d", path, i), item)
			}
		case map[string]any:
			for name, member := range value {
				if name == "examples" { // shown as they are
					continue
				}
				text, isText := member.(string)
				// The deployment is the one that is asked.
				if name == "description" && isText && !strings.HasPrefix(path, "/servers") && !strings.Contains(shown, squeeze(text)) {
					t.Errorf("%s/description is not on the page: %s", path, text)
				}
				walk(path+"/"+name, member)
			}
		default:
		}
	}
	walk("", anything)
}

func TestWhatThePagesCannotShowIsAnError(t *testing.T) {
	for name, test := range map[string]struct{ old, replacement, want string }{
		"an unknown member":    {`"title":`, `"termsOfService": "none", "title":`, "termsOfService"},
		"an unknown keyword":   {`"schema": {`, `"schema": {"not": {}, `, "not"},
		"a dangling reference": {`#/components/responses/MalformedRequest`, `#/components/responses/Malformed`, "#/components/responses/Malformed"},
		"an unknown tag":       {`"Vouchers"`, `"Coupons"`, "tags"},
		"no object":            {"{", "[", "array"},
	} {
		t.Run(name, func(t *testing.T) {
			document := strings.Replace(api.OpenAPI(), test.old, test.replacement, 1)
			if document == api.OpenAPI() {
				t.Fatalf("the document has no %s", test.old)
			}
			if _, err := contractpages.Render([]byte(document), nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error about %s", err, test.want)
			}
		})
	}
	for _, release := range []changelog.Release{{Name: "first"}, {Name: "0001-2023-09-31", Date: "2023-09-31"}} {
		if _, err := contractpages.Render([]byte(api.OpenAPI()), []changelog.Release{release}); err == nil {
			t.Errorf("release %+v was shown", release)
		}
	}
}

// Texts are texts, whatever is in them.
func TestMarkupInTextsIsShownNotObeyed(t *testing.T) {
	const markup = `</script></style><script>alert(1)</script><img src=x> & 'quotes' \"`
	document := strings.Replace(api.OpenAPI(), `"summary": "`, `"summary": "`+markup, 2)
	document = strings.ReplaceAll(document, `"description": "`, `"description": "`+markup)
	made, err := contractpages.Render([]byte(document), []changelog.Release{
		{Name: "0001-undated"},
		{Name: "0002-undated", Changes: []changelog.Change{{
			Kind: changelog.Modified, Method: "GET", Path: "/<script>", Details: []changelog.Detail{{Text: "`<script>`alert(2)</script> & more"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"docs": made.Docs, "changelog": made.Changelog} {
		p := parse(t, string(text))
		for node := range p.elements("img") {
			t.Errorf("%s has an image: %v", name, node.Attr)
		}
		for node := range p.elements("script") {
			if strings.Contains(node.FirstChild.Data, "alert") {
				t.Errorf("%s has a script of the text's: %s", name, node.FirstChild.Data)
			}
		}
	}
	if bytes.Contains(made.Feed, []byte("<script>")) || bytes.Contains(made.Feed, []byte("&lt;script&gt;")) {
		t.Errorf("the feed has a script: %s", made.Feed)
	}
}
