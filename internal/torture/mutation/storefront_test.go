package mutation_test

const (
	shopPageGo    = "pkg/storefront/page.go"
	shopColourGo  = "pkg/storefront/colour.go"
	shownPageGo   = "pkg/httpapi/storefront.go"
	pkgStorefront = "./pkg/storefront"
)

// ofStorefront lists the guards of the shop's page.
func ofStorefront() []tested {
	const cursors = "TestStorefront_Cursor_LeadsThroughAllProducts"
	return []tested{
		byTest("writes texts of the catalogue into a page as markup", pkgStorefront, "TestHTML_TextsOfTheCatalogue_AddNoMarkup", shopPageGo,
			`m.escape(value)`, `m.text.WriteString(value)`),
		byTest("forbids the page's own inline style", pkgStorefront, "TestHTML_ContentSecurityPolicy_AllowsNoOtherInlineCode", shopColourGo,
			`[]byte(style)`, `[]byte(style + ";")`),
		byTest("writes on an accent in the colour that is harder to read", pkgStorefront, "TestHTML_EveryAccent_HasLegibleText", shopColourGo,
			`/0.05 > 1.05/`, `/0.05 < 1.05/`),
		byTest("shows the price of a sale as the original one", pkgStorefront, "TestHTML_Prices", shopPageGo,
			`"original", variant.Price)`, `"original", sale.Price)`),
		byTest("shows the price without the sale on the page", pkgHTTP, "TestStorefront_Sale_EndsOnThePageToo", shopPageGo,
			`variant.PriceAt(p.At)`, `variant.Price`),
		byTest("serves a page that is off", pkgHTTP, "TestStorefront_NoPage_IsTheSameForEveryReason", shownPageGo,
			`if listing.Customer.Page.Off {`, `if listing.Customer.Page.Off && false {`),
		byTest("forgets the position in the cursor of a page", pkgHTTP, cursors, shownAreaGo, `encodePlace(last)`, `string(last.ID)`),
		byTest("starts each page at the beginning", pkgHTTP, cursors, shownPageGo, "if err != nil {\n\t\tafter =", "if err == nil {\n\t\tafter ="),
		byTest("puts all products on one page, however large they are", pkgHTTP, "TestStorefront_LargeProducts_EndThePageBelow4MB", shownAreaGo,
			`size > maxBytes`, `size < 0`),
		byTest("offers strangers actions that only the server may take", pkgHTTP, "TestStorefront_Policies_HideWhatOnlyTheServerMayDo", shownPageGo,
			`c.settings.CheckOut == access.Anyone`, `c.settings.CheckOut != ""`),
		byTest("sends the shoppers of every shop to the demo payment", pkgHTTP, "TestStorefront_PaymentURL_PrefersTheShopsOwn", shownPageGo,
			`page.PaymentURL == "" && `, `demoPaymentURL != "" && `),
	}
}
