//go:build browser

package browser_test

import (
	"os"
	"strings"

	"github.com/chromedp/chromedp"
)

// wantAccessible fails the test if axe finds a fault in the page. `make browser` installs axe, and sets AXE to the path
// of its file.
func (b *tab) wantAccessible() {
	b.t.Helper()
	source, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		b.t.Fatalf("axe: %v: run `make browser`, which installs it and sets AXE", err)
	}
	evaluate[chromedp.Void](b, string(source))
	type violation struct {
		ID, Help string
		Nodes    []string
	}
	found := evaluate[[]violation](b, `axe.run().then(({violations}) => violations.map(({id, help, nodes}) =>
		({id, help, nodes: nodes.map(({html, failureSummary}) => html + "\n" + failureSummary)})))`)
	for _, v := range found {
		b.t.Errorf("axe, %v: %s: %s\n%s", b.view, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
	}
}
