//go:build browser

package browser_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"

	"shopfront/internal/local/samtemplate"
)

var update = flag.Bool("update", false, "take the screenshots in docs/screenshots again") //nolint:gochecknoglobals // a flag of the test

// maxScreenshotBytes bounds each screenshot, because everybody who clones the repository downloads all of them.
const maxScreenshotBytes = 60_000

func TestScreenshots_DemoShop_AreStoredForTheDocumentation(t *testing.T) {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			theme := "light"
			if v.dark {
				theme = "dark"
			}
			device, _, _ := strings.Cut(v.String(), " ")
			wantScreenshot(t, filepath.Join(root, "docs", "screenshots", device+"-"+theme+".webp"), v, func(*tab) {})
		})
	}
	t.Run("checkout", func(t *testing.T) {
		t.Parallel()
		wantScreenshot(t, filepath.Join(root, "docs", "screenshots", "checkout.webp"), view{}, func(b *tab) {
			b.click(".buy | VIP rank, 30 days")
			b.enter("/player", "Kestrel_9")
			b.fill("#checkout [name=code]", "SUMMER-20")
			b.click("#checkout .primary")
			b.wait("#pay")
		})
	})
}

// wantScreenshot checks the size of a screenshot's file. With -update it first opens the demo shop, calls prepare, and
// takes the screenshot.
func wantScreenshot(t *testing.T, path string, v view, prepare func(*tab)) {
	t.Helper()
	if *update {
		b := newTab(t, v)
		b.open(shop{id: "emberforge"}.page(t))
		b.wait(".buy")
		prepare(b)
		shot := call(b, page.CaptureScreenshot,
			page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: new(int64(80))}).Data
		if err := os.WriteFile(path, shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.Stat(path)
	if err != nil {
		t.Fatalf("%v: run `make browser ARGS='-run Screenshots -update'`", err)
	}
	if stored.Size() > maxScreenshotBytes {
		t.Errorf("%s has %d bytes, at most %d are allowed", path, stored.Size(), maxScreenshotBytes)
	}
}
