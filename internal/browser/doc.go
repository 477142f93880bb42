// Package browser tests the shop's page in Chromium, as a shopper uses it. Only files with the build tag browser have tests, so that
// `make test` needs no browser: run them with `make browser`. If Chromium is missing, the tests fail and say what to install.
//
// One Chromium and one local run, in a copy of the source tree, serve all tests. Each test has its own shop and its own tab, whose
// storage, cookies and cache no other test sees:
//
//	func TestVoucher_LostAnswer_IsRetriedWithTheSameKey(t *testing.T) {
//		s, b := visit(t, view{phone: true}, emberforge) // view{} is a laptop with light colours, in English
//		s.create(t, "SPRING", nil)                      // *operator.Shop has the rest
//		b.lose(`POST .*/voucher$`, 1)                   // the service handles the request, and the page gets no answer
//		b.fill("#voucher-code", "SPRING")
//		b.press("Enter")
//		b.click("#voucher-result button | Redeem now")
//		b.waitText("#voucher-result", "Redeemed")
//	}
//
// A selector is CSS. "CSS | text" is the first visible element that matches the CSS and whose text or label contains the text. Every
// method waits until it can act, and fails the test after patience.
//
//   - What the shopper does: open, reload, back, click, fill, choose, press; another opens a second tab of the same shopper.
//   - What the shopper sees: wait, waitText, waitGone, text, focused, screenshot; evaluate runs JavaScript, even where the page may not.
//   - What the page does: requests, waitRequest and storage.
//   - What the network does: lose, cut and hold. Lose and hold return a function that ends the fault. For a failing store, make a
//     store := run.NewStore(t), and open s.pageAt(run.Serve(t, store.Endpoint)).
//   - wantAccessible runs axe.
//
// A test fails on a complaint: if the page logs an error or a warning, throws, violates its content security policy, opens an alert, or
// loads anything but images from another host. expect names a complaint that must come. No request reaches another host: the tab shows a
// blank page or image. A failed request of the page's script is not a complaint: the test checks how the page handles it.
//
// A failed test logs its requests and what the page shows. `make browser ARGS='-run TestVoucher -artifacts -outputdir /some/folder'` also
// stores a screenshot.
package browser
