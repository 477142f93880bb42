package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

// Attributes of the catalogue table, beside attrCurrency: a product has its customer's, so that it is read alone.
const (
	attrName        = "name"
	attrDescription = "description"
	attrOffSale     = "offSale"  // absent: on sale
	attrVariants    = "variants" // a list, in the order in which they are shown
)

// firstVersion is that of an item whose attrVersion is absent: it was put once, or by a shopctl that knew no versions.
const firstVersion = 1

// Members of the map that holds a variant.
const (
	variantID      = "id"
	variantName    = "name"
	variantPrice   = "price"  // minor units
	variantLeast   = "least"  // amount
	variantMost    = "most"   // amount
	variantSchema  = "schema" // absent: any text
	variantOffSale = "offSale"
)

func encodeCustomer(c catalog.Customer) item {
	it := customerKey{c.ID}.primary().attributes()
	it[attrName] = str(c.Name)
	it[attrCurrency] = str(string(c.Currency))
	it.setTrue(attrOffSale, c.OffSale)
	it.setVersion(c.Version)
	return it
}

func decodeCustomer(it item) catalog.Customer {
	return catalog.Customer{
		ID: catalog.CustomerID(keyOf(it).partition), Name: it.str(attrName),
		Currency: money.Currency(it.str(attrCurrency)), OffSale: it.boolean(attrOffSale), Version: it.version(),
	}
}

func encodeProduct(customer catalog.CustomerID, p catalog.Product) item {
	it := productKey{customer, p.ID}.primary().attributes()
	it[attrName] = str(p.Name)
	it.setStr(attrDescription, p.Description)
	it.setTrue(attrOffSale, p.OffSale)
	it.setVersion(p.Version)
	variants := make([]types.AttributeValue, len(p.Variants))
	for i, v := range p.Variants {
		it[attrCurrency] = str(string(v.Price.Currency)) // that of all of them
		variants[i] = &types.AttributeValueMemberM{Value: encodeVariant(v)}
	}
	it[attrVariants] = &types.AttributeValueMemberL{Value: variants}
	return it
}

func encodeVariant(v catalog.Variant) item {
	it := item{
		variantID: str(string(v.ID)), variantName: str(v.Name), variantPrice: num(v.Price.Minor),
		variantLeast: num(v.MinAmount), variantMost: num(v.MaxAmount),
	}
	it.setStr(variantSchema, v.DataSchema)
	it.setTrue(variantOffSale, v.OffSale)
	return it
}

func decodeProduct(it item) catalog.Product {
	p := catalog.Product{
		ID:   catalog.ProductID(strings.TrimPrefix(keyOf(it).sort, productPrefix)),
		Name: it.str(attrName), Description: it.str(attrDescription), OffSale: it.boolean(attrOffSale), Version: it.version(),
	}
	variants, _ := it[attrVariants].(*types.AttributeValueMemberL)
	if variants == nil {
		return p
	}
	for _, value := range variants.Value {
		if variant, is := value.(*types.AttributeValueMemberM); is {
			p.Variants = append(p.Variants, decodeVariant(variant.Value, money.Currency(it.str(attrCurrency))))
		}
	}
	return p
}

func decodeVariant(it item, currency money.Currency) catalog.Variant {
	return catalog.Variant{
		ID: catalog.VariantID(it.str(variantID)), Name: it.str(variantName),
		Price:     money.Money{Minor: it.num(variantPrice), Currency: currency},
		MinAmount: it.num(variantLeast), MaxAmount: it.num(variantMost),
		DataSchema: it.str(variantSchema), OffSale: it.boolean(variantOffSale),
	}
}

// setTrue stores what is true; absent means false.
func (it item) setTrue(name string, value bool) {
	if value {
		it[name] = boolean(true)
	}
}

// setVersion stores a version that is not the first.
func (it item) setVersion(version int64) {
	if version > firstVersion {
		it[attrVersion] = num(version)
	}
}

// version is that of an item of the catalogue.
func (it item) version() int64 { return max(it.num(attrVersion), firstVersion) }
