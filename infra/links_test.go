package infra_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDocs_RelativeLinks_LeadToFilesAndHeadings(t *testing.T) {
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		files, _ := filepath.Glob(filepath.Join(root, pattern)) // fails only for a malformed pattern
		for _, file := range files {
			for _, link := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(contents(t, file), -1) {
				path, anchor, _ := strings.Cut(link[1], "#")
				target := filepath.Join(filepath.Dir(file), path)
				if path == "" {
					target = file
				}
				if _, err := os.Stat(target); err != nil || anchor != "" && !anchors(contents(t, target))[anchor] {
					t.Errorf("%s links to %s, which does not exist", file, link[1])
				}
			}
		}
	}
}

// A page that answers one question is short. All pages together must stay readable in an afternoon.
func TestDocs_AreShort(t *testing.T) {
	const mostOfAPage, mostOfAll = 900, 24_000
	all := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, _ := filepath.Glob(filepath.Join(root, pattern)) // fails only for a malformed pattern
		for _, file := range files {
			words := len(strings.Fields(contents(t, file)))
			most := mostOfAPage
			switch filepath.Base(filepath.Dir(file)) {
			case "measurements": // printed by programs
				continue
			case filepath.Base(root): // README, CONTRIBUTING and CHANGELOG
				most = 1100
			}
			if words > most {
				t.Errorf("%s has %d words, want at most %d: say one thing once, or divide it", file, words, most)
			}
			all += words
		}
	}
	if all > mostOfAll {
		t.Errorf("the pages have %d words, want at most %d: delete what another page says", all, mostOfAll)
	}
}

// anchors returns the anchors that GitHub gives the headings of a Markdown text.
func anchors(text string) map[string]bool {
	found := make(map[string]bool)
	text = regexp.MustCompile("(?ms)^ *```.*?^ *```").ReplaceAllString(text, "") // in code, # begins a comment
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		words := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		found[strings.ReplaceAll(words, " ", "-")] = true
	}
	return found
}
