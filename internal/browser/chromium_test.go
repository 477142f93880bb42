//go:build browser

package browser_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"shopfront/internal/local/localrun/localruntest"
)

// shared is the Chromium and the local run of all tests. The first test that needs one starts it.
var shared struct { //nolint:gochecknoglobals // one process, one Chromium, one local run
	startsRun, startsChromium sync.Once
	run                       *localruntest.Run
	runErr                    error
	chromium                  context.Context //nolint:containedctx // chromedp's handle of a browser
	chromiumErr               error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func stop() error {
	var err error
	if shared.chromium != nil {
		ctx, cancel := context.WithTimeout(shared.chromium, time.Minute)
		defer cancel()
		err = chromedp.Cancel(ctx)
	}
	if shared.run != nil {
		err = errors.Join(err, shared.run.Stop())
	}
	return err
}

// localRun returns the shared local run, and starts it for the first caller.
func localRun(t *testing.T) *localruntest.Run {
	t.Helper()
	shared.startsRun.Do(func() { shared.run, shared.runErr = localruntest.StartCopy(t.Context(), t.Output()) })
	if shared.runErr != nil {
		t.Fatal(shared.runErr)
	}
	return shared.run
}

// chromium returns the shared Chromium, and starts it for the first caller.
func chromium(t *testing.T) context.Context {
	t.Helper()
	shared.startsChromium.Do(func() { shared.chromium, shared.chromiumErr = startChromium() })
	if shared.chromiumErr != nil {
		t.Fatal(shared.chromiumErr)
	}
	return shared.chromium
}

// startChromium starts a Chromium with a temporary profile. Chromium has no sandbox if it runs as root.
func startChromium() (context.Context, error) {
	path, err := findChromium()
	if err != nil {
		return nil, err
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.Flag("headless", "new")}
	for _, flag := range []string{
		"disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update",
		"disable-sync",
		"disable-default-apps", "disable-extensions", "disable-breakpad", "disable-dev-shm-usage", "hide-scrollbars",
		// If a test has two tabs, one is in the background. It must work as fast as the other tab.
		"disable-background-timer-throttling", "disable-backgrounding-occluded-windows",
		"disable-renderer-backgrounding",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	browser, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(browser); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return browser, nil
}

func findChromium() (string, error) {
	names := []string{
		"chromium", "chromium-browser", "google-chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	}
	if chosen := os.Getenv("CHROMIUM"); chosen != "" {
		names = []string{chosen}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("found none of %q: install Chromium (.ci/prerequisites browser says how), or set "+
		"CHROMIUM to its path", names)
}
