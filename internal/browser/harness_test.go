//go:build browser

package browser_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// docs returns the address of the docs page, for tests that need no shop.
func docs(t *testing.T) string {
	t.Helper()
	return localRun(t).State.BaseURL + "/docs"
}

func TestDocs_EveryView_IsAccessible(t *testing.T) {
	for _, v := range views() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			b := newTab(t, v)
			for _, page := range []string{"/docs", "/changelog"} {
				if status := b.open(localRun(t).State.BaseURL + page); status != http.StatusOK {
					t.Errorf("%s: status %d, want 200", page, status)
				}
				b.wantAccessible()
			}
		})
	}
}

func TestTab_View_IsWhatThePageSees(t *testing.T) {
	t.Parallel()
	b := newTab(t, view{phone: true, dark: true, language: "ja"})
	b.open(docs(t))
	got := evaluate[string](b, `[innerWidth, innerHeight, matchMedia("(prefers-color-scheme: dark)").matches, navigator.language,
		Intl.DateTimeFormat().resolvedOptions().timeZone].join()`)
	if want := "390,844,true,ja,Europe/Berlin"; got != want {
		t.Errorf("the page sees %s, want %s", got, want)
	}
	if got := b.requests("GET .*/docs$")[0].Header.Get("Accept-Language"); !strings.HasPrefix(got, "ja") {
		t.Errorf("Accept-Language is %q, want it to begin with ja", got)
	}
}

func TestTab_Complaints_AreRecorded(t *testing.T) {
	t.Parallel()
	b := newTab(t, view{})
	b.open(docs(t))
	for expression, complaint := range map[string]string{
		`console.error("out of coins")`:                          `console.error: "out of coins"`,
		`setTimeout(() => { throw new Error("out of ranks"); })`: "exception: Uncaught Error: out of ranks",
		`Promise.reject(new Error("out of capes"))`:              "exception: Uncaught (in promise) Error: out of capes",
		`setTimeout(() => alert("out of T-shirts"))`:             "alert: out of T-shirts",
		`document.body.setAttribute("style", "color: red")`:      "security: Applying inline style",
		`document.body.setAttribute("onclick", "0")`:             "security: Executing inline event handler",
		`fetch("https://tracker.example/").catch(() => 0)`:       "https://tracker.example/",
	} {
		b.expect(complaint)
		evaluate[chromedp.Void](b, "void "+expression)
	}
	b.poll("all complaints have come", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		all := strings.Join(b.complaints, "\n")
		for _, part := range b.expected {
			if !strings.Contains(all, part) {
				return false
			}
		}
		return true
	})
}
