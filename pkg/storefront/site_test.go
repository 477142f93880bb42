package storefront_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shopfront/pkg/storefront"
)

// textsOf reads the file with the texts of a language.
func textsOf(t *testing.T, language string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	if err := json.Unmarshal([]byte(source(t, "texts/"+language+".json")), &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}

func source(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestTexts_EveryLanguage_FitThePageLikeEnglish(t *testing.T) {
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	english := textsOf(t, "en")
	for _, language := range storefront.Languages() {
		translated := textsOf(t, language)
		for key, text := range translated {
			if _, has := english[key]; !has {
				t.Errorf("%s has %s, which English does not have", language, key)
			}
			// A page has its texts in a script element, unescaped. A < could end that element.
			if text == "" || text != strings.TrimSpace(text) || strings.Contains(key+text, "<") {
				t.Errorf("%s: %s is %q, which is empty, or has spaces around it or a <", language, key, text)
			}
		}
		for key, text := range english {
			want, have := placeholder.FindAllString(text, -1), placeholder.FindAllString(translated[key], -1)
			if slices.Sort(want); !slices.Equal(want, slices.Sorted(slices.Values(have))) {
				t.Errorf("%s: %s is %q; want the placeholders %q", language, key, translated[key], want)
			}
		}
	}
	files, err := os.ReadDir("texts")
	if err != nil || len(files) != len(storefront.Languages()) {
		t.Errorf("%d files for %d languages, %v", len(files), len(storefront.Languages()), err)
	}
}

func TestTexts_ScriptAndPages_UseAllTextsAndNoOthers(t *testing.T) {
	script, page := source(t, "shop.js"), source(t, "page.go")
	english := textsOf(t, "en")
	for _, used := range regexp.MustCompile(
		`\b(?:say|busy|byKey)[(\[]\s*"([A-Za-z.]+)"`,
	).FindAllStringSubmatch(script+page, -1) {
		if _, has := english[used[1]]; !has {
			t.Errorf("there is no text %q", used[1])
		}
	}
	for name := range english {
		if !strings.Contains(script, `"`+name+`"`) && !strings.Contains(page, `"`+name+`"`) {
			t.Errorf("nothing uses the text %q", name)
		}
	}
}

func TestAssets_ScriptAndStylesheet_AreSmall(t *testing.T) {
	site := storefront.NewSite()
	if size := len(site.Script.Content) + len(site.Stylesheet.Content); size > 40_000 {
		t.Errorf("the script and the stylesheet have %d bytes, at most 40,000 are allowed", size)
	}
}

func TestAssets_Names_ChangeWithTheContent(t *testing.T) {
	site := storefront.NewSite()
	for _, test := range []struct {
		asset                        storefront.Asset
		file, extension, contentType string
	}{
		{site.Script, "shop.js", ".js", "text/javascript; charset=utf-8"},
		{site.Stylesheet, "shop.css", ".css", "text/css; charset=utf-8"},
	} {
		content := source(t, test.file)
		sum := sha256.Sum256([]byte(content))
		want := storefront.Asset{
			Name:        "shop-" + hex.EncodeToString(sum[:8]) + test.extension,
			ContentType: test.contentType, Content: content,
		}
		if test.asset != want {
			t.Errorf("%s is %s, %s; want %s", test.file, test.asset.Name, test.asset.ContentType, want.Name)
		}
	}
}

func TestLanguage(t *testing.T) {
	for _, test := range []struct{ what, chosen, accepted, want string }{
		{"nothing", "", "", "en"},
		{"chosen", "ja", "de", "ja"},
		{"chosen language that the page does not have", "pt", "de", "de"},
		{"chosen in another case", "DE", "", "en"},
		{"chosen path", "../en", "", "en"},
		{"one language", "", "fr", "fr"},
		{"with a region", "", "de-AT", "de"},
		{"with a script and a region", "", "ja-Jpan-JP", "ja"},
		{"in another case", "", "ES-mx", "es"},
		{"first of equals", "", "fr,de,en", "fr"},
		{"heaviest", "", "en;q=0.5, de;q=0.9, fr;q=0.8", "de"},
		{"without a weight, as the heaviest", "", "en;q=0.9, es", "es"},
		{"unknown before known", "", "pt-BR, pt;q=0.9, fr;q=0.1", "fr"},
		{"unknown only", "", "pt-BR, zh", "en"},
		{"anything", "", "*", "en"},
		{"German before anything", "", "de;q=0.2, *;q=0.1", "de"},
		{"not acceptable", "", "de;q=0, fr;q=0.1", "fr"},
		{"nothing acceptable", "", "de;q=0", "en"},
		{"upper-case weight", "", "en;Q=0.2, de;Q=0.3", "de"},
		{"spaces", "", " en ; q=0.1 ,  de ; q= 0.2 ", "de"},
		{"weight that is not a number", "", "de;q=much, fr;q=0.1", "fr"},
		{"weight above 1", "", "de;q=1.1, ja;q=inf, es;q=nan, fr;q=0.1", "fr"},
		{"negative weight", "", "de;q=-1", "en"},
		{"longer word that begins with a language", "", "deutsch", "en"},
		{"commas only", "", ",,;q=1,", "en"},
	} {
		if got := storefront.NewSite().Language(test.chosen, test.accepted); got != test.want {
			t.Errorf("%s: got %s, want %s", test.what, got, test.want)
		}
	}
}
