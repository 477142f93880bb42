package pages_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shopfront/api"
	"shopfront/internal/contract/pages"
)

type documentedOperation struct {
	OperationID string
	Deprecated  bool
	Sunset      string `json:"x-sunset"`
	Responses   map[string]any
	Security    []map[string]any
}

func TestDocs_WholeDocument_IsShown(t *testing.T) {
	var document struct {
		Info       struct{ Title, Version string }
		Paths      map[string]map[string]documentedOperation
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(api.OpenAPI()), &document); err != nil {
		t.Fatal(err)
	}
	p := parse(t, api.DocsPage())
	all := textOf(p.root)
	if !strings.Contains(all, document.Info.Title+" "+document.Info.Version) {
		t.Errorf("%s %s is not on the page", document.Info.Title, document.Info.Version)
	}
	for path, operations := range document.Paths {
		for method, operation := range operations {
			wantOperation(t, p, strings.ToUpper(method)+" "+path, operation)
		}
	}
	var anchors []string
	for name, schema := range document.Components.Schemas {
		anchors = append(anchors, "schema-"+name)
		for property := range schema.Properties {
			if !strings.Contains(p.text, "<code>"+property+"</code>") {
				t.Errorf("%s of %s is not on the page", property, name)
			}
		}
	}
	if missing := without(anchors, p.ids); len(missing) > 0 {
		t.Errorf("not on the page: %q", missing)
	}
	wantDescriptions(t, p, []byte(api.OpenAPI()))
}

// A secret key does not belong in a browser. If a request needs one, the form cannot send the request, has no field for
// the key, and shows the request with a placeholder.
func TestDocs_OperationThatNeedsTheKey_IsNotSentFromTheBrowser(t *testing.T) {
	var document struct {
		Paths map[string]map[string]documentedOperation
	}
	if err := json.Unmarshal([]byte(api.OpenAPI()), &document); err != nil {
		t.Fatal(err)
	}
	needsKey := make(map[string]bool)
	for _, operations := range document.Paths {
		for _, o := range operations {
			isOpen := func(alternative map[string]any) bool { return len(alternative) == 0 }
			needsKey[o.OperationID] = len(o.Security) > 0 && !slices.ContainsFunc(o.Security, isOpen)
		}
	}
	const (
		sentence    = "Run this on the shop's server: it needs the secret key."
		placeholder = `type="hidden" name="Authorization" value="Bearer KEY"`
	)
	forms := 0
	for form := range parse(t, api.DocsPage()).elements("form") {
		operation, isOperation := attribute(form, "data-operation")
		if !isOperation {
			continue
		}
		forms++
		var source strings.Builder
		if err := html.Render(&source, form); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(source.String(), "&#39;", "'")
		for part, want := range map[string]bool{
			sentence: needsKey[operation], placeholder: needsKey[operation], "Authorization": needsKey[operation],
			`type="submit"`: !needsKey[operation], "This form sends a real request": !needsKey[operation],
		} {
			if strings.Contains(text, part) != want {
				t.Errorf("the form of %s has %q: %t, want %t", operation, part, !want, want)
			}
		}
	}
	if forms != len(needsKey) || !needsKey["placeOrder"] || needsKey["redeemVoucher"] {
		t.Errorf("there are %d forms for the operations %v", forms, needsKey)
	}
}

func TestDocs_DeprecatedParts_AreMarked(t *testing.T) {
	const retired = `"deprecated": true, "x-sunset": "2028-03-01", `
	for what, place := range map[string]string{
		"a parameter": `"name": "check",`, "a header": `"description": "Seconds to wait before`,
		"a member": `"description": "A whole percentage`,
	} {
		document := strings.Replace(api.OpenAPI(), place, retired+place, 1)
		rendered, err := pages.Render([]byte(document), nil)
		if err != nil {
			t.Fatal(err)
		}
		if document == api.OpenAPI() ||
			!strings.Contains(string(rendered["docs.html"]), ", deprecated, may be removed from 2028-03-01 on") {
			t.Errorf("the page does not say that %s is deprecated", what)
		}
	}
}

func wantOperation(t *testing.T, p page, title string, operation documentedOperation) {
	t.Helper()
	anchors := []string{operation.OperationID}
	for status := range operation.Responses {
		anchors = append(anchors, operation.OperationID+"-"+status)
	}
	if operation.Deprecated {
		title += " Deprecated. It may be removed from " + operation.Sunset + " on."
	}
	if missing := without(anchors, p.ids); len(missing) > 0 || !strings.Contains(textOf(p.root), title) {
		t.Errorf("%s is not on the page, or its anchors %q are missing", title, missing)
	}
}

func without(names []string, found map[string]bool) []string {
	return slices.DeleteFunc(names, func(name string) bool { return found[name] })
}

// wantDescriptions checks that the page has each description of the document, except those of servers.
func wantDescriptions(t *testing.T, p page, document []byte) {
	t.Helper()
	var anything any
	if err := json.Unmarshal(document, &anything); err != nil {
		t.Fatal(err)
	}
	markup := regexp.MustCompile(`(?m)^[0-9]+\. |[^\pL\pN]+`) // list numbers, and everything between words
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
				if name == "examples" { // the page shows examples unchanged
					continue
				}
				text, isText := member.(string)
				// The page names no servers: it calls the deployment that serves it.
				if name == "description" && isText && !strings.HasPrefix(path, "/servers") &&
					!strings.Contains(shown, squeeze(text)) {
					t.Errorf("%s/description is not on the page: %s", path, text)
				}
				walk(path+"/"+name, member)
			}
		default:
		}
	}
	walk("", anything)
}
