package storefront

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed shop.js
var script string

//go:embed shop.css
var stylesheet string

//go:embed texts
var textFiles embed.FS

// Asset is a file that pages load.
type Asset struct {
	Name        string // contains a hash of the content, so the content behind a name never changes
	ContentType string
	Content     string
}

// Site has what all pages share: the assets, and the texts of each language. Create it with NewSite.
type Site struct {
	Script, Stylesheet Asset

	texts map[string]func() (texts, error) // by language; each language is parsed on first use
}

// texts are the page's texts in one language. {name} in a text stands for a value.
type texts struct {
	byKey map[string]string
	json  string // the file, for the script
}

// NewSite returns a site in all Languages.
func NewSite() *Site {
	site := &Site{
		Script:     newAsset("shop", "js", "text/javascript; charset=utf-8", script),
		Stylesheet: newAsset("shop", "css", "text/css; charset=utf-8", stylesheet),
		texts:      make(map[string]func() (texts, error)),
	}
	for _, language := range Languages() {
		site.texts[language] = sync.OnceValues(func() (texts, error) { return readTexts(language) })
	}
	return site
}

func newAsset(name, extension, contentType, content string) Asset {
	sum := sha256.Sum256([]byte(content))
	return Asset{name + "-" + hex.EncodeToString(sum[:8]) + "." + extension, contentType, content}
}

func readTexts(language string) (texts, error) {
	content, err := textFiles.ReadFile("texts/" + language + ".json")
	if err != nil {
		return texts{}, err
	}
	read := texts{json: string(content)}
	if err := json.Unmarshal(content, &read.byKey); err != nil {
		return texts{}, fmt.Errorf("texts of language %s: %w", language, err)
	}
	return read, nil
}

// Languages lists the languages of the page, as BCP 47 tags, English first.
func Languages() []string { return []string{"en", "de", "fr", "es", "ja"} }

// Language returns the language in which to show a page. This is the chosen language if the page has it, otherwise the
// language that Accept-Language (RFC 9110, section 12.5.4) prefers, otherwise English.
func (s *Site) Language(chosen, acceptLanguage string) string {
	if s.texts[chosen] != nil {
		return chosen
	}
	preferred, most := Languages()[0], 0.0
	for item := range strings.SplitSeq(acceptLanguage, ",") {
		tag, parameter, _ := strings.Cut(item, ";")
		language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		weight := 1.0
		if _, q, has := strings.Cut(strings.ToLower(parameter), "q="); has {
			// unreadable: 0 or infinite, and ignored, as is NaN
			weight, _ = strconv.ParseFloat(strings.TrimSpace(q), 64)
		}
		if s.texts[language] != nil && weight > most && weight <= 1 {
			preferred, most = language, weight
		}
	}
	return preferred
}
