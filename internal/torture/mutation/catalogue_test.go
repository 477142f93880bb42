package mutation_test

import "slices"

const (
	catalogueGo     = "pkg/catalog/catalog.go"
	validateGo      = "pkg/catalog/validate.go"
	pageGo          = "pkg/catalog/page.go"
	changeGo        = "pkg/catalog/change.go"
	shownAreaGo     = "pkg/httpapi/area.go"
	catalogueItemGo = "pkg/dynamo/internal/table/catalogue.go"
	itemGo          = "pkg/dynamo/internal/table/item.go"
	receivedAreaGo  = "pkg/client/area.go"
	pkgCatalog      = "./pkg/catalog"
	pkgTable        = "./pkg/dynamo/internal/table"
)

// ofCatalogue lists the guards of sales, of positions, of the details of a product, and of the fields of a shop's page.
func ofCatalogue() []tested { return slices.Concat(ofSales(), ofPositions(), ofDetails(), ofPage()) }

func ofSales() []tested {
	const (
		inForce = "TestPriceAt_Sale_IsInForceAtFromAndHasEndedAtUntil"
		onePath = "TestSale_AreaAndCheckouts_HaveOnePriceAtEveryInstant"
		bounds  = "TestValidate_BeyondABound_NamesTheField"
		slips   = "TestPlan_SaleAtATenthOfThePrice_IsUnlikely"
	)
	return []tested{
		byTest("begins a sale late", pkgCatalog, inForce, catalogueGo, `t.Before(v.Sale.From) ||`, `!t.After(v.Sale.From) ||`),
		byTest("ends a sale late", pkgCatalog, inForce, catalogueGo, `!t.Before(v.Sale.Until) {`, `t.After(v.Sale.Until) {`),
		byTest("ends a sale without an end", pkgCatalog, inForce, catalogueGo, `!v.Sale.Until.IsZero() && `, ``),
		byTest("treats a sale at a price of zero as no sale", pkgCatalog, inForce, catalogueGo,
			`if v.Sale == (Sale{}) || t`, `if v.Sale.Price.Minor == 0 || t`),
		byTest("charges the price of a variant during its sale", pkgCheckout, "TestOpen_DuringASale_HasTheSalePrice", openGo,
			`variant.PriceAt(request.At)`, `variant.Price`),
		byTest("shows the price of a variant during its sale", pkgHTTP, onePath, shownAreaGo, `representMoney(v.PriceAt(at))`, `representMoney(v.Price)`),
		byTest("judges sales by another time than the request's", pkgHTTP, onePath, shownAreaGo,
			`p, c.received) }`, `p, c.received.AddDate(0, 0, -1)) }`),
		byTest("shows an original price without a sale", pkgHTTP, "TestCheckoutArea_Details_AreShownIfTheyAreSet", shownAreaGo,
			`at); onSale {`, `at); onSale || v.Sale.Price.Currency != "" {`),
		byTest("shows when an endless sale ends", pkgHTTP, "TestCheckoutArea_Details_AreShownIfTheyAreSet", shownAreaGo,
			`if !sale.Until.IsZero() {`, `if sale.Until.IsZero() || !sale.Until.IsZero() {`),
		byTest("sells dearer during a sale", pkgCatalog, bounds, validateGo, `price.Minor >= v.Price.Minor {`, `price.Minor > v.Price.Minor {`),
		byTest("pays shoppers during a sale", pkgCatalog, bounds, validateGo, `price.Minor < 0 || price.Minor >=`, `price.Minor >=`),
		byTest("sells in another currency during a sale", pkgCatalog, bounds, validateGo, `price.Currency != v.Price.Currency {`, `price.Currency == "" {`),
		byTest("accepts a sale that is never in force", pkgCatalog, bounds, validateGo, `!from.Before(until) {`, `until.Before(from) {`),
		byTest("accepts times that it cannot store", pkgCatalog, bounds, validateGo, `!t.Equal(t.Truncate(time.Millisecond))`, `t.IsZero()`),
		byTest("loses a sale at a price of zero when it is stored", pkgTable, "TestProduct_StoredDetails_NeverChange", catalogueItemGo,
			`if it.Has(variantSalePrice) {`, `if it.Num(variantSalePrice) > 0 {`),
		byTest("ends a stored sale without an end in 1970", pkgTable, "TestProduct_StoredDetails_NeverChange", itemGo,
			"if !it.Has(name) {\n\t\treturn time.Time{}", "if !it.Has(name) {\n\t\treturn it.Time(name)"),
		byTest("applies a sale that is probably a slip", pkgCatalog, slips, changeGo, `10*v.Sale.Price.Minor <= v.Price.Minor`, `v.Sale.Price.Minor == 0`),
		byTest("creates a variant whose sale is probably a slip", pkgCatalog, slips, changeGo, ` || variant.hasUnlikelySale(),`, `,`),
		byTest("shows an original price that is not higher", "./pkg/client", "TestCheckoutArea_Responses", receivedAreaGo,
			`v.OriginalPrice.Minor <= v.Price.Minor)`, `v.OriginalPrice.Minor < v.Price.Minor)`),
	}
}

func ofPositions() []tested {
	const (
		sorted   = "TestArea_Positions_SortProductsOnPagesOfEverySize"
		changes  = "TestArea_ChangesBetweenPages_ListUnmovedProductsOnce"
		older    = "TestArea_PlaceWithoutPosition_GoesOnByID"
		oversize = "TestArea_OversizeCatalogue_IsListedByID"
	)
	return []tested{
		byTest("lists products without a position first", pkgCatalog, sorted, areaGo, `cmp.Or(p.Position, MaxPosition+1)`, `p.Position`),
		byTest("loses products with equal positions", pkgCatalog, sorted, areaGo,
			`return cmp.Or(cmp.Compare(p.Position, other.Position), cmp.Compare(p.ID, other.ID))`, `return cmp.Compare(p.Position, other.Position)`),
		byTest("repeats the last product of a page", pkgCatalog, sorted, areaGo, `.compare(place) > 0`, `.compare(place) >= 0`),
		byTest("goes on by ID after positions are gone", pkgCatalog, changes, areaGo,
			`(place.ID != "" || s.byPosition == nil)`, `(place.ID != "" || s.byPosition == nil) || s.byPosition == nil`),
		byTest("goes on by position in a list by ID", pkgCatalog, older, areaGo, `(place.ID != "" || s.byPosition == nil)`, `s.byPosition == nil`),
		byTest("goes on by ID from a place in the order of positions", pkgCatalog, oversize, areaGo, `after = Place{}`, `after.Position = 0`),
		byTest("does not count images when it caches a catalogue", pkgCatalog, oversize, areaGo,
			`len(p.Image) + len(p.Category) + structBytes`, `structBytes`),
		byTest("forgets the position in a cursor", pkgHTTP, "TestCheckoutArea_NextLinks_KeepTheOrderOfPositions", shownAreaGo,
			`encodePlace(last)`, `string(last.ID)`),
		byTest("rejects a cursor of an older release", pkgHTTP, "TestCheckoutArea_CursorOfAnOlderRelease_ContinuesByID", shownAreaGo,
			`if !hasPosition {`, `if !hasPosition && end == "" {`),
		byTest("puts a position into a cursor of a list by ID", pkgHTTP, "TestCheckoutArea_NoPositions_CursorIsAsBefore", shownAreaGo,
			`if place.Position == 0 {`, `if place.Position < 0 {`),
		byTest("follows pages in a circle", "./pkg/client", "TestCheckoutArea_Responses", receivedAreaGo, ` || requested[page.next] && page.next != ""`, ``),
		byTest("accepts a product twice on a page", "./pkg/client", "TestCheckoutArea_Responses", receivedAreaGo, `|| seen[product.ID] ||`, `||`),
	}
}

func ofDetails() []tested {
	const (
		bounds = "TestValidate_BeyondABound_NamesTheField"
		stored = "TestProduct_StoredFormOfRelease10_NeverChanges"
	)
	return []tested{
		byTest("shows images that are not encrypted", pkgCatalog, bounds, validateGo, `parsed.Scheme == "https" &&`, `parsed.Scheme != "" &&`),
		byTest("shows images without a host", pkgCatalog, bounds, validateGo, `parsed.Hostname() != "" &&`, ``),
		byTest("shows credentials in an image's URL", pkgCatalog, bounds, validateGo, `parsed.User == nil &&`, ``),
		byTest("shows images whose URL could end an HTML attribute", pkgCatalog, bounds, validateGo,
			` && !strings.ContainsFunc(text, isForbidden)`, ` && !isForbidden('a')`),
		byTest("stores any image", pkgCatalog, bounds, validateGo, `len(text) > MaxImageBytes {`, `len(text) < 0 {`),
		byTest("stores any category", pkgCatalog, bounds, validateGo, `checkLine(p.Category, MaxCategoryBytes)`, `checkLine(p.Category, MaxNameBytes)`),
		byTest("stores any position", pkgCatalog, bounds, validateGo, `|| p.Position > MaxPosition {`, `{`),
		byTest("keeps a detail that the file leaves out", pkgCatalog, "TestPlan_DetailsLeftOut_AreRemoved", changeGo,
			`changes.add("", fieldCategory, before.Category, after.Category)`, ``),
		byTest("stores products without a position differently than before", pkgTable, stored, catalogueItemGo, `it.setNum(attrPosition, p.Position)`, `it[attrPosition] = Num(p.Position)`),
		byTest("stores variants without a sale differently than before", pkgTable, stored, catalogueItemGo,
			`if v.Sale != (catalog.Sale{}) {`, `if v.Sale != (catalog.Sale{}) || v.Price.Minor > 0 {`),
	}
}

func ofPage() []tested {
	const (
		bounds   = "TestValidate_BeyondABound_NamesTheField"
		compared = "TestPlan_Page_IsComparedFieldByField"
		stored   = "TestCustomer_StoredPage_NeverChanges"
	)
	return []tested{
		byTest("lets a checkout choose the host of the payment page", pkgCatalog, bounds, pageGo, `strings.ContainsAny(host, "/?#") &&`, `host != "" &&`),
		byTest("accepts a payment URL that does not name the checkout", pkgCatalog, bounds, pageGo,
			` && strings.Contains(template, "{checkout}")`, ``),
		byTest("puts any text into the style of a page", pkgCatalog, bounds, pageGo, ` && strings.Trim(digits, "0123456789abcdef") == ""`, ``),
		byTest("stores a page that takes a second read unit", pkgCatalog, bounds, pageGo, `bytes > MaxPageBytes {`, `bytes < 0 {`),
		byTest("does not count pages when it caches shops", pkgCatalog, "TestArea_PageTexts_CountTowardsTheBound", areaGo,
			` + customer.Page.bytes()`, ``),
		byTest("keeps a page that the file leaves out", pkgCatalog, compared, changeGo, `changes.addPage(before.Page, after.Page)`, ``),
		byTest("shows a page that is off", pkgTable, stored, catalogueItemGo, `it.setTrue(pageOff, p.Off)`, ``),
		byTest("stores shops with the default page differently than before", pkgTable, "TestCustomer_StoredFormWithoutPage_NeverChanges", catalogueItemGo,
			`if c.Page != (catalog.Page{}) {`, `if c.Name != "" {`),
	}
}
