// Package browser tests the shop's page in Chromium, as a shopper uses it. All tests have the build tag browser, so
// that `make test` needs no browser. Run them with `make browser`. If Chromium is missing, the tests fail and say what
// to install.
//
// One Chromium and one local run, in a copy of the source tree, serve all tests. Each test has its own shop and its own
// tab. Tests do not share storage, cookies or the cache:
//
//	func TestVoucher_LostResponse_IsRetriedWithTheSameKey(t *testing.T) {
//		s, b := visit(t, view{phone: true}, emberforge) // view{} is a laptop with light colours, in English
//		s.create(t, "SPRING", nil)                      // single-use; s has the methods of *backoffice.Shop
//		b.lose(`POST .*/voucher$`, 1)                   // the service handles the request, and the page gets no response
//		b.fill("#voucher-code", "SPRING")
//		b.press("Enter")
//		b.click("#voucher-result button | Redeem now")
//		b.waitText("#voucher-result", "Redeemed")
//	}
//
// A selector is CSS. "CSS | text" is the first visible element that matches the CSS and whose text or label contains
// the text. Every method with a selector waits until it can act. It fails the test if that takes longer than patience.
//
//   - To act as the shopper: open, reload, back, click, fill, choose and press. b.another opens a second tab of the
//     same shopper.
//   - To see what the shopper sees: wait, waitText, waitGone, text and focused. evaluate(b, …) runs JavaScript, even if
//     it is switched off for the page.
//   - To observe the page: requests, waitRequest and storage.
//   - To disturb the network: lose, cut and hold. b.lose and b.hold return a function that ends the fault.
//   - To make the store fail: run := localRun(t); store := run.NewStore(t); b.open(s.pageAt(run.Serve(t,
//     store.Endpoint))); store.Fail(…).
//   - To check accessibility with axe: wantAccessible.
//
// A test fails on every complaint of the browser that it did not announce with b.expect. A complaint means that the
// page logs an error or a warning, throws an exception, violates its content security policy, opens an alert, or loads
// anything but pages and images from another host. An announced complaint must come. No request reaches another host:
// the tab shows a placeholder page or image instead. A failed request of the page's script is not a complaint, because
// the test checks how the page handles the failure.
//
// A failed test logs its requests and what the page shows. `make browser ARGS='-run TestVoucher -artifacts -outputdir
// /some/folder'` also stores a screenshot.
package browser
