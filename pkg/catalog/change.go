package catalog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Action is what a plan does to a shop, product or variant.
type Action string

// The actions. Nothing is ever deleted.
const (
	Created Action = "create"
	Updated Action = "update"
)

// Change is one change of a plan: it creates a shop, product or variant, or updates one of its fields. Fields are named
// as in the catalogue file.
type Change struct {
	Shop    ShopID    `json:"customer"`
	Product ProductID `json:"product,omitempty"` // empty if the shop changes
	Variant VariantID `json:"variant,omitempty"` // empty if the product or the shop changes
	Action  Action    `json:"action"`
	Field   string    `json:"field,omitempty"` // empty for a creation
	// From and To are the field's values. For a creation, To is the currency, name or price.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Unlikely means that the change is probably a mistake. A field goes back to its default, as if the file had left
	// it out. Or the price is zero, or at least ten times the old price, or at most a tenth of the old price. The price
	// of a sale is unlikely if it is at most a tenth of the variant's price.
	Unlikely bool `json:"-"`
}

// String formats the change for people, in one line: emberforge/coins/500: price 4.99 EUR -> 5.49 EUR.
func (c Change) String() string {
	what := string(c.Shop)
	if c.Product != "" {
		what += "/" + string(c.Product)
	}
	if c.Variant != "" {
		what += "/" + string(c.Variant)
	}
	return what + ": " + c.whatChanges()
}

func (c Change) whatChanges() string {
	switch {
	case c.Action == Created:
		return "new, " + c.To
	case c.Field == fieldOffSale && c.To == "true":
		return "taken off sale"
	case c.Field == fieldOffSale:
		return "on sale again"
	case c.Field == fieldData || c.Field == fieldDescription || c.Field == fieldPaymentText:
		return c.Field + " " + verb(c.From, c.To)
	default:
		return fmt.Sprintf("%s %s -> %s", c.Field, cmp.Or(c.From, "none"), cmp.Or(c.To, "none"))
	}
}

// verb describes a change of a string that is too long to print.
func verb(from, to string) string {
	switch {
	case from == "":
		return "added"
	case to == "":
		return "removed"
	default:
		return "changed"
	}
}

const (
	fieldName        = "name"
	fieldDescription = "description"
	fieldImage       = "image"
	fieldCategory    = "category"
	fieldPosition    = "position"
	fieldNickFrom    = "nick-from"
	fieldOffSale     = "off-sale"
	fieldTimeZone    = "time-zone"
	fieldOrder       = "order"
	fieldPrice       = "price"
	fieldSale        = "sale"
	fieldAmount      = "amount"
	fieldData        = "data"

	fieldPage        = "page"
	fieldAccent      = "page.accent"
	fieldLogo        = "page.logo"
	fieldImprint     = "page.imprint"
	fieldPrivacy     = "page.privacy"
	fieldPaymentURL  = "page.payment-url"
	fieldPaymentText = "page.payment-text"
)

func compareProfiles(before, after Profile) []Change {
	var changes changeList
	changes.add("", fieldName, before.Name, after.Name)
	changes.add("", fieldOffSale, strconv.FormatBool(before.OffSale), strconv.FormatBool(after.OffSale))
	changes.add("", fieldTimeZone, before.TimeZone, after.TimeZone)
	changes.addPage(before.Page, after.Page)
	for i := range changes {
		changes[i].Shop = after.ID
	}
	return changes
}

func createProduct(product Product) []Change {
	changes := []Change{{Action: Created, To: product.Name + offSaleNote(product.OffSale)}}
	for _, variant := range product.Variants {
		changes = append(changes, createVariant(variant))
	}
	return changes
}

func createVariant(variant Variant) Change {
	price := variant.Price.String()
	if variant.Sale != (Sale{}) {
		price += ", sale " + variant.Sale.String()
	}
	return Change{
		Variant: variant.ID, Action: Created, To: price + offSaleNote(variant.OffSale),
		Unlikely: variant.Price.Minor == 0 || variant.hasUnlikelySale(),
	}
}

func (v Variant) hasUnlikelySale() bool {
	return v.Sale != (Sale{}) && 10*v.Sale.Price.Minor <= v.Price.Minor
}

func offSaleNote(offSale bool) string {
	if offSale {
		return ", off sale"
	}
	return ""
}

func compareProducts(before, after Product) []Change {
	var changes changeList
	changes.add("", fieldName, before.Name, after.Name)
	changes.add("", fieldDescription, before.Description, after.Description)
	changes.add("", fieldImage, before.Image, after.Image)
	changes.add("", fieldCategory, before.Category, after.Category)
	changes.add("", fieldPosition, positionOf(before), positionOf(after))
	changes.add("", fieldNickFrom, before.NickFrom, after.NickFrom)
	changes.add("", fieldOffSale, strconv.FormatBool(before.OffSale), strconv.FormatBool(after.OffSale))
	changes.add("", fieldOrder, orderOf(before, after), orderOf(after, before))
	for _, variant := range after.Variants {
		if old, isStored := findVariant(before.Variants, variant.ID); isStored {
			changes.addVariant(old, variant)
		} else {
			changes = append(changes, createVariant(variant))
		}
	}
	return changes
}

// positionOf returns the position as text, or an empty string if the product has none.
func positionOf(product Product) string {
	return strings.TrimPrefix(strconv.FormatInt(product.Position, 10), "0")
}

// orderOf lists the variants that both products have, in the first product's order.
func orderOf(product, other Product) string {
	var ids []string
	for _, variant := range product.Variants {
		if _, isInBoth := findVariant(other.Variants, variant.ID); isInBoth {
			ids = append(ids, string(variant.ID))
		}
	}
	return strings.Join(ids, ", ")
}

type changeList []Change

func (l *changeList) add(variant VariantID, field, from, to string) {
	if from != to {
		*l = append(*l, Change{
			Variant: variant, Action: Updated, Field: field, From: from, To: to, Unlikely: isDefault(field, to),
		})
	}
}

// isDefault reports whether a file sets a field to the value by leaving the field out. Off-sale is no such field: an
// interrupted apply leaves a new shop off sale, and the same file completes it.
func isDefault(field, value string) bool {
	switch field {
	case fieldPage:
		return value == onOrOff(Page{})
	case fieldAmount:
		return value == amountOf(Variant{MinAmount: 1, MaxAmount: 1})
	default:
		return value == ""
	}
}

func (l *changeList) addPage(before, after Page) {
	l.add("", fieldPage, onOrOff(before), onOrOff(after))
	l.add("", fieldAccent, before.Accent, after.Accent)
	l.add("", fieldLogo, before.Logo, after.Logo)
	l.add("", fieldImprint, before.Imprint.String(), after.Imprint.String())
	l.add("", fieldPrivacy, before.Privacy.String(), after.Privacy.String())
	l.add("", fieldPaymentURL, before.PaymentURL, after.PaymentURL)
	l.add("", fieldPaymentText, before.PaymentText, after.PaymentText)
}

func onOrOff(p Page) string {
	if p.Off {
		return "off"
	}
	return "on"
}

func (l *changeList) addVariant(before, after Variant) {
	l.add(after.ID, fieldName, before.Name, after.Name)
	if from, to := before.Price, after.Price; from != to {
		l.add(after.ID, fieldPrice, from.String(), to.String())
		(*l)[len(*l)-1].Unlikely = 10*from.Minor <= to.Minor || 10*to.Minor <= from.Minor
	}
	if from, to := before.Sale, after.Sale; from != to {
		l.add(after.ID, fieldSale, from.String(), to.String())
		(*l)[len(*l)-1].Unlikely = to == (Sale{}) || after.hasUnlikelySale()
	}
	l.add(after.ID, fieldAmount, amountOf(before), amountOf(after))
	l.add(after.ID, fieldData, before.DataSchema, after.DataSchema)
	l.add(after.ID, fieldOffSale, strconv.FormatBool(before.OffSale), strconv.FormatBool(after.OffSale))
}

func amountOf(v Variant) string { return fmt.Sprintf("%d to %d", v.MinAmount, v.MaxAmount) }
