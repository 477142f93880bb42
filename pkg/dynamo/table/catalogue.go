package table

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

// Attributes of the catalogue table, besides AttrCurrency and AttrVersion. A product repeats its shop's currency,
// so that reading a product does not require reading the profile.
const (
	AttrName        = "name"
	attrDescription = "description"
	attrImage       = "image"
	attrCategory    = "category"
	attrPosition    = "position" // missing: the product follows those that have a position
	attrNickFrom    = "nickFrom" // of a product; missing: none
	AttrOffSale     = "offSale"  // missing: on sale
	attrVariants    = "variants" // a list, in display order
	attrTimeZone    = "timeZone" // of the profile; missing: UTC
	attrPage        = "page"     // a map in the profile; missing: the default page
)

// Keys of the map that holds a variant, besides AttrID, AttrName and AttrOffSale.
const (
	variantPrice  = "price"  // minor units
	variantLeast  = "least"  // minimum amount
	variantMost   = "most"   // maximum amount
	variantSchema = "schema" // missing: any string

	variantSalePrice = "salePrice" // minor units; missing: no sale
	variantSaleFrom  = "saleFrom"  // milliseconds; missing: the sale has no start
	variantSaleUntil = "saleUntil" // milliseconds; missing: the sale has no end
)

// Keys of the map that holds a page. A missing key means an empty field.
const (
	pageOff         = "off"
	pageAccent      = "accent"
	pageLogo        = "logo"
	pageImprint     = "imprint"
	pageImprintText = "imprintText"
	pagePrivacy     = "privacy"
	pagePrivacyText = "privacyText"
	pagePaymentURL  = "paymentURL"
	pagePaymentText = "paymentText"
)

// EncodeProfile returns the item of a profile.
func EncodeProfile(c catalog.Profile) Item {
	it := ProfileKey(c.ID).Attributes()
	it[AttrName] = Str(c.Name)
	it[AttrCurrency] = Str(c.Currency)
	it.setTrue(AttrOffSale, c.OffSale)
	it.setStr(attrTimeZone, c.TimeZone)
	it[AttrVersion] = Num(c.Version)
	if c.Page != (catalog.Page{}) {
		it[attrPage] = &types.AttributeValueMemberM{Value: encodePage(c.Page)}
	}
	return it
}

func encodePage(p catalog.Page) Item {
	it := Item{}
	it.setTrue(pageOff, p.Off)
	it.setStr(pageAccent, p.Accent)
	it.setStr(pageLogo, p.Logo)
	it.setStr(pageImprint, p.Imprint.URL)
	it.setStr(pageImprintText, p.Imprint.Text)
	it.setStr(pagePrivacy, p.Privacy.URL)
	it.setStr(pagePrivacyText, p.Privacy.Text)
	it.setStr(pagePaymentURL, p.PaymentURL)
	it.setStr(pagePaymentText, p.PaymentText)
	return it
}

// DecodeProfile reads a profile.
func DecodeProfile(it Item) catalog.Profile {
	profile := catalog.Profile{
		ID: catalog.ShopID(KeyOf(it).Partition), Name: it.Str(AttrName),
		Currency: money.Currency(it.Str(AttrCurrency)), OffSale: it.Bool(AttrOffSale), Version: it.Num(AttrVersion),
		TimeZone: it.Str(attrTimeZone),
	}
	if page, is := it[attrPage].(*types.AttributeValueMemberM); is {
		profile.Page = decodePage(page.Value)
	}
	return profile
}

func decodePage(it Item) catalog.Page {
	return catalog.Page{
		Off: it.Bool(pageOff), Accent: it.Str(pageAccent), Logo: it.Str(pageLogo),
		Imprint:    catalog.Link{URL: it.Str(pageImprint), Text: it.Str(pageImprintText)},
		Privacy:    catalog.Link{URL: it.Str(pagePrivacy), Text: it.Str(pagePrivacyText)},
		PaymentURL: it.Str(pagePaymentURL), PaymentText: it.Str(pagePaymentText),
	}
}

// EncodeProduct returns the item of a product with all its variants.
func EncodeProduct(shop catalog.ShopID, p catalog.Product) Item {
	key := ProductKey(shop, p.ID)
	if p.OffSale {
		key = OffSaleKey(shop, p.ID)
	}
	it := key.Attributes()
	it[AttrName] = Str(p.Name)
	it.setStr(attrDescription, p.Description)
	it.setStr(attrImage, p.Image)
	it.setStr(attrCategory, p.Category)
	it.setNum(attrPosition, p.Position)
	it.setStr(attrNickFrom, p.NickFrom)
	it.setTrue(AttrOffSale, p.OffSale)
	it[AttrVersion] = Num(p.Version)
	variants := make([]types.AttributeValue, len(p.Variants))
	for i, v := range p.Variants {
		it[AttrCurrency] = Str(v.Price.Currency) // all variants have the same currency
		variants[i] = &types.AttributeValueMemberM{Value: encodeVariant(v)}
	}
	it[attrVariants] = &types.AttributeValueMemberL{Value: variants}
	return it
}

func encodeVariant(v catalog.Variant) Item {
	it := Item{
		AttrID: Str(v.ID), AttrName: Str(v.Name), variantPrice: Num(v.Price.Minor),
		variantLeast: Num(v.MinAmount), variantMost: Num(v.MaxAmount),
	}
	it.setStr(variantSchema, v.DataSchema)
	it.setTrue(AttrOffSale, v.OffSale)
	if v.Sale != (catalog.Sale{}) {
		it[variantSalePrice] = Num(v.Sale.Price.Minor)
		it.setTime(variantSaleFrom, v.Sale.From)
		it.setTime(variantSaleUntil, v.Sale.Until)
	}
	return it
}

// DecodeProduct reads a product.
func DecodeProduct(it Item) catalog.Product {
	_, id, _ := strings.Cut(KeyOf(it).Sort, "#")
	p := catalog.Product{
		ID: catalog.ProductID(id), Name: it.Str(AttrName), Description: it.Str(attrDescription),
		Image: it.Str(attrImage), Category: it.Str(attrCategory), Position: it.Num(attrPosition),
		OffSale: it.Bool(AttrOffSale), NickFrom: it.Str(attrNickFrom), Version: it.Num(AttrVersion),
	}
	variants, _ := it[attrVariants].(*types.AttributeValueMemberL)
	if variants == nil {
		return p
	}
	for _, value := range variants.Value {
		if variant, is := value.(*types.AttributeValueMemberM); is {
			p.Variants = append(p.Variants, decodeVariant(variant.Value, money.Currency(it.Str(AttrCurrency))))
		}
	}
	return p
}

func decodeVariant(it Item, currency money.Currency) catalog.Variant {
	v := catalog.Variant{
		ID: catalog.VariantID(it.Str(AttrID)), Name: it.Str(AttrName),
		Price:     money.Money{Minor: it.Num(variantPrice), Currency: currency},
		MinAmount: it.Num(variantLeast), MaxAmount: it.Num(variantMost),
		DataSchema: it.Str(variantSchema), OffSale: it.Bool(AttrOffSale),
	}
	if it.Has(variantSalePrice) {
		v.Sale.Price = money.Money{Minor: it.Num(variantSalePrice), Currency: currency}
		v.Sale.From, v.Sale.Until = it.timeOrZero(variantSaleFrom), it.timeOrZero(variantSaleUntil)
	}
	return v
}
