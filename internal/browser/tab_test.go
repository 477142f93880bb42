//go:build browser

package browser_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	// patience bounds each wait for the page. A busy machine checks the reference for accessibility in a minute.
	patience = 3 * time.Minute
	// pollInterval is the pause between two checks of the page.
	pollInterval = 20 * time.Millisecond
)

// view is how a shopper sees a page. The zero view is a laptop with light colours, in English, with JavaScript.
type view struct {
	phone    bool // 390×844 pixels instead of 1280×800
	dark     bool
	language string // such as de; empty: en
	noScript bool
}

// views returns the laptop and the phone, each with light and dark colours.
func views() []view { return []view{{}, {dark: true}, {phone: true}, {phone: true, dark: true}} }

func (v view) String() string {
	words := []string{"laptop"}
	if v.phone {
		words[0] = "phone"
	}
	if v.dark {
		words = append(words, "dark")
	}
	if v.language != "" {
		words = append(words, v.language)
	}
	return strings.Join(words, " ")
}

// tab is a tab of a shopper's browser, with the time zone Europe/Berlin.
type tab struct {
	t         *testing.T
	view      view
	artifacts string          // the folder for the screenshots of a failed test
	ctx       context.Context //nolint:containedctx // chromedp's handle of a tab

	mu         sync.Mutex // guards the fields below, because the browser's events change them
	sent       []*request // in the order in which they were sent
	faults     []*fault
	complaints []string
	expected   []string // parts of complaints
}

// newTab opens a tab of a new shopper. The tab closes when the test ends.
func newTab(t *testing.T, v view) *tab {
	t.Helper()
	return openTab(t, v, nil)
}

// another opens an address in a second tab of the same shopper.
func (b *tab) another(address string) *tab {
	b.t.Helper()
	second := openTab(b.t, b.view, b)
	second.open(address)
	return second
}

// openTab opens a tab for the same shopper as the tab opener, or for a new shopper if opener is nil.
func openTab(t *testing.T, v view, opener *tab) *tab {
	t.Helper()
	b := &tab{t: t, view: v, artifacts: t.ArtifactDir()}
	options := []chromedp.ContextOption{chromedp.WithListener(b.observe)}
	var closeTab context.CancelFunc
	if opener != nil {
		b.ctx, closeTab = chromedp.NewContext(opener.ctx, options...)
	} else {
		b.ctx, closeTab = chromedp.NewContext(chromium(t), append(options, chromedp.WithNewBrowserContext())...)
	}
	t.Cleanup(func() {
		b.report()
		closeTab()
	})
	b.set(v)
	return b
}

func (b *tab) set(v view) {
	b.t.Helper()
	// This call opens the tab. The tab then lives as long as b.ctx, so the call must not have a shorter context.
	agent, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("navigator.userAgent"))
	if err != nil {
		b.t.Fatal(err)
	}
	width, height := int64(1280), int64(800)
	if v.phone {
		width, height = 390, 844
	}
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: v.phone,
	})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	call(b, emulation.SetUserAgentOverride,
		emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: cmp.Or(v.language, "en")})
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.noScript})
	b.intercept()
}

// call sends a command of the DevTools protocol to the tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// evaluate returns the value of a JavaScript expression in the page. If the value is a promise, evaluate waits for its
// result.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := tryEvaluate[T](b, expression)
	if err != nil {
		b.t.Fatalf("%.300s: %v", expression, err)
	}
	return value
}

func tryEvaluate[T any](b *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// open goes to an address, waits until the page has loaded, and returns the HTTP status. If only the fragment differs
// from the current address, no page loads, and open fails the test.
func (b *tab) open(address string) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	response, err := chromedp.Run(ctx, chromedp.NavigateResponse(address))
	if err != nil {
		b.t.Fatalf("%s: %v", address, err)
	}
	if response == nil {
		b.t.Fatalf("%s is already open", address)
	}
	return int(response.Status)
}

func (b *tab) reload() {
	b.t.Helper()
	b.do(chromedp.Reload())
}

// back goes back as the browser's button does. If the page comes from the back/forward cache, it does not load again.
func (b *tab) back() {
	b.t.Helper()
	history := call(b, page.GetNavigationHistory, cdp.Empty{})
	if history.CurrentIndex == 0 {
		b.t.Fatal("there is no page to go back to")
	}
	call(b, page.NavigateToHistoryEntry,
		page.NavigateToHistoryEntryParams{EntryID: history.Entries[history.CurrentIndex-1].ID})
	b.poll("the previous page is shown", func() bool {
		now, err := chromedp.Call(b.ctx, page.GetNavigationHistory, cdp.Empty{}) // fails while the pages change
		isLoaded, loadErr := tryEvaluate[bool](b, `document.readyState === "complete"`)
		return err == nil && now.CurrentIndex < history.CurrentIndex && isLoaded && loadErr == nil
	})
}

func (b *tab) do(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, action); err != nil {
		b.t.Fatal(err)
	}
}

// until waits until a JavaScript expression is true. While a page is being left or loaded, the expression counts as
// false.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	b.poll(what, func() bool {
		isTrue, err := tryEvaluate[bool](b, "!!("+expression+")")
		return isTrue && err == nil
	})
}

func (b *tab) poll(what string, isTrue func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !isTrue(); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not true within %v: %s", patience, what)
		}
	}
}

// find returns a JavaScript expression whose value is the element that matches a selector, or undefined. The package
// comment explains selectors.
func find(selector string) string {
	css, text, _ := strings.Cut(selector, " | ")
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].find((e) => e.checkVisibility({visibilityProperty: true}) &&`+
		` (e.innerText + " " + (e.ariaLabel ?? "")).includes(%s))`, quote(css), quote(text))
}

// quote returns a text as a JavaScript string literal.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // a string always marshals
	return string(quoted)
}

// wait waits until the selector matches a visible element.
func (b *tab) wait(selector string) {
	b.t.Helper()
	b.until(selector+" is visible", find(selector))
}

// waitGone waits until the selector matches no visible element.
func (b *tab) waitGone(selector string) {
	b.t.Helper()
	b.until(selector+" is gone", "!"+find(selector))
}

// waitText waits until the selector matches a visible element that contains the text.
func (b *tab) waitText(selector, text string) {
	b.t.Helper()
	css, _, _ := strings.Cut(selector, " | ")
	b.until(fmt.Sprintf("%s contains %q", css, text), find(css+" | "+text))
}

// text waits for a visible element, and returns its rendered text.
func (b *tab) text(selector string) string {
	b.t.Helper()
	b.wait(selector)
	return evaluate[string](b, find(selector)+".innerText")
}

// click clicks in the middle of an element once nothing covers that point. It first waits a moment, because the page
// may be about to replace the element.
func (b *tab) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.poll(selector+" can be clicked", func() bool {
		found, err := tryEvaluate[*struct{ X, Y float64 }](b, `(async () => {
			const e = `+find(selector)+`;
			if (`+strconv.FormatBool(!b.view.noScript)+`) await new Promise((resume) => setTimeout(resume, 20));
			if (!e?.isConnected || e.disabled) return null;
			e.scrollIntoView({block: "center", behavior: "instant"});
			const box = e.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
			return e.contains(document.elementFromPoint(x, y)) ? {x, y} : null;
		})()`)
		if err != nil || found == nil {
			return false
		}
		at = *found
		return true
	})
	b.do(chromedp.MouseClickXY(at.X, at.Y))
}

// fill replaces the text of a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.wait(selector)
	evaluate[chromedp.Void](b, `(() => { const e = `+find(selector)+`; e.focus(); e.select(); })()`)
	if text == "" {
		b.press("Backspace")
		return
	}
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// choose selects the option with this text in a select element.
func (b *tab) choose(selector, text string) {
	b.t.Helper()
	b.wait(selector)
	b.until(fmt.Sprintf("%s offers %q", selector, text), `(() => {
		const e = `+find(selector)+`, option = [...e.options].find(({label}) => label === `+quote(text)+`);
		if (!option) return false;
		e.focus();
		option.selected = true;
		for (const type of ["input", "change"]) e.dispatchEvent(new Event(type, {bubbles: true}));
		return true;
	})()`)
}

// press presses keys, one after the other: Tab, Enter, Escape, Space or Backspace. It types any other text.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	names := map[string]string{
		"Tab": kb.Tab, "Enter": kb.Enter, "Escape": kb.Escape, "Space": " ", "Backspace": kb.Backspace,
	}
	for _, key := range keys {
		b.do(chromedp.KeyEvent(cmp.Or(names[key], key)))
	}
}

// focused describes the element that has the focus: its tag, its ID or name, and its label or text, such as `button
// "Redeem now"`.
func (b *tab) focused() string {
	b.t.Helper()
	return evaluate[string](b, `(({tagName, id, name, ariaLabel, labels, innerText}) => tagName.toLowerCase() + (id || name ? "#" + (id || name) : "") +
		" " + JSON.stringify(ariaLabel || labels?.[0]?.innerText || innerText))(document.activeElement)`)
}

// storage returns the local storage.
func (b *tab) storage() map[string]string {
	b.t.Helper()
	return evaluate[map[string]string](b, "({...localStorage})")
}

// wantNothingKept checks that the local storage is empty.
func (b *tab) wantNothingKept() {
	b.t.Helper()
	if kept := b.storage(); len(kept) > 0 {
		b.t.Errorf("local storage has %v, want nothing", kept)
	}
}

// report fails the test if a complaint was not expected, or if an expected complaint is missing. If the test has
// failed, report logs the requests and the page, and stores a screenshot.
func (b *tab) report() {
	b.mu.Lock()
	complaints, expected, sent := b.complaints, b.expected, b.sent
	b.mu.Unlock()
	missing := make(map[string]bool)
	for _, part := range expected {
		missing[part] = true
	}
	for _, complaint := range complaints {
		isExpected := false
		for _, part := range expected {
			if strings.Contains(complaint, part) {
				isExpected, missing[part] = true, false
			}
		}
		if !isExpected {
			b.t.Errorf("the browser complains: %s", complaint)
		}
	}
	for part, isMissing := range missing {
		if isMissing {
			b.t.Errorf("the browser did not complain about %q", part)
		}
	}
	if !b.t.Failed() {
		return
	}
	for _, r := range sent {
		b.t.Logf("request: %s", r)
	}
	shown, err := tryEvaluate[string](b, "location.href + '\\n' + document.body.innerText")
	b.t.Logf("the page shows, %v: %.1500s %v", b.view, shown, err)
	name := fmt.Sprintf("%d.png", time.Now().UnixNano()) // a test may have several tabs
	shot := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{}).Data
	if err := os.WriteFile(filepath.Join(b.artifacts, name), shot, 0o600); err != nil {
		b.t.Error(err)
	}
}
