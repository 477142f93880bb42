package pages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"shopfront/api"
	"shopfront/internal/contract/changelog"
	"shopfront/internal/contract/pages"
)

func releases(t *testing.T) []changelog.Release {
	t.Helper()
	var releases []changelog.Release
	if err := json.Unmarshal([]byte(api.Changelog()), &releases); err != nil {
		t.Fatal(err)
	}
	return releases
}

func TestRender_UnsupportedDocument_IsRejected(t *testing.T) {
	for name, test := range map[string]struct{ old, replacement, want string }{
		"an unknown member":  {`"title":`, `"termsOfService": "none", "title":`, "termsOfService"},
		"an unknown keyword": {`"schema": {`, `"schema": {"not": {}, `, "not"},
		"a dangling reference": {
			`#/components/responses/MalformedRequest`, `#/components/responses/Malformed`,
			"#/components/responses/Malformed",
		},
		"an unknown tag": {`"Vouchers"`, `"Coupons"`, "tags"},
		"not an object":  {"{", "[", "array"},
	} {
		t.Run(name, func(t *testing.T) {
			document := strings.Replace(api.OpenAPI(), test.old, test.replacement, 1)
			if document == api.OpenAPI() {
				t.Fatalf("the document has no %s", test.old)
			}
			if _, err := pages.Render([]byte(document), nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error about %s", err, test.want)
			}
		})
	}
	for _, release := range []changelog.Release{{Name: "first"}, {Name: "0001-2023-09-31", Date: "2023-09-31"}} {
		if _, err := pages.Render([]byte(api.OpenAPI()), []changelog.Release{release}); err == nil {
			t.Errorf("release %+v is rendered, want an error", release)
		}
	}
}

func TestRender_MarkupInTexts_IsEscaped(t *testing.T) {
	const markup = `</script></style><script>alert(1)</script><img src=x> & 'quotes' \"`
	document := strings.Replace(api.OpenAPI(), `"summary": "`, `"summary": "`+markup, 2)
	document = strings.ReplaceAll(document, `"description": "`, `"description": "`+markup)
	made, err := pages.Render([]byte(document), []changelog.Release{
		{Name: "0001-undated"},
		{Name: "0002-undated", Changes: []changelog.Change{{
			Kind: changelog.Modified, Method: "GET", Path: "/<script>",
			Details: []changelog.Detail{{Text: "`<script>`alert(2)</script> & more"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs.html", "changelog.html"} {
		p := parse(t, string(made[name]))
		for node := range p.elements("img") {
			t.Errorf("%s has an image: %v", name, node.Attr)
		}
		for node := range p.elements("script") {
			if strings.Contains(node.FirstChild.Data, "alert") {
				t.Errorf("%s has a script from the document: %s", name, node.FirstChild.Data)
			}
		}
	}
	if feed := string(made["changelog.rss"]); strings.Contains(feed, "<script>") ||
		strings.Contains(feed, "&lt;script&gt;") {
		t.Errorf("the feed has a script: %s", feed)
	}
}
