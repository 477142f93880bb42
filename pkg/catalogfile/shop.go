package catalogfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/money"
)

// shopReader reads one customer.
type shopReader struct {
	*reader

	shop   Shop
	lines  map[string]int  // where the fields stand, by the names that catalog.FieldError gives them
	failed map[string]bool // fields that were reported
}

// shops reads the customers of a file.
func (r *reader) shops(text []byte) []Shop {
	var shops []Shop
	for _, document := range r.documents(text) {
		members, _ := r.members(document, "a catalogue file")
		for _, m := range members {
			if m.key != "customers" {
				r.fail(m.line, "unknown key %s: a catalogue file has customers", quote(m.key))
				continue
			}
			for _, node := range r.items(m.value, "customers") {
				shops = append(shops, r.shop(node))
			}
		}
	}
	if len(shops) == 0 && len(r.errs) == 0 {
		r.fail(1, "no customers: begin the file with the key customers and a list of them")
	}
	return shops
}

func (r *reader) shop(node *yaml.Node) Shop {
	s := shopReader{reader: r, lines: map[string]int{}, failed: map[string]bool{}}
	s.shop.Place = Place{r.file, node.Line}
	o, ok := s.object(node, "a customer", "", "id", "name", "currency", "off-sale", "products", "vouchers")
	if !ok {
		return s.shop
	}
	o.need("id", "name", "currency")
	s.shop.Customer = catalog.Customer{
		ID: catalog.CustomerID(o.string("id")), Name: o.string("name"), Currency: o.currency(), OffSale: o.flag("off-sale"),
	}
	products := map[catalog.ProductID]int{}
	for i, node := range o.list("products") {
		product := s.product(node, fmt.Sprintf("products[%d]", i), products)
		s.shop.Products = append(s.shop.Products, product)
	}
	s.validate()
	slices.SortFunc(s.shop.Products, func(a, b catalog.Product) int { return cmp.Compare(a.ID, b.ID) })
	s.vouchers(o)
	return s.shop
}

func (o object) currency() money.Currency {
	text, ok := o.text("currency")
	if !ok {
		return ""
	}
	currency, err := money.ParseCurrency(text)
	if err != nil {
		o.fail("currency", "%v: write a code such as EUR", err)
	}
	return currency
}

// product reads one. earlier knows the lines of those before it.
func (s *shopReader) product(node *yaml.Node, path string, earlier map[catalog.ProductID]int) catalog.Product {
	s.lines[path] = node.Line
	o, ok := s.object(node, "a product", path+".", "id", "name", "description", "off-sale", "variants")
	if !ok {
		s.failAll(path, "id", "name", "variants")
		return catalog.Product{}
	}
	o.need("id", "name", "variants")
	product := catalog.Product{
		ID: catalog.ProductID(o.string("id")), Name: o.string("name"), Description: o.string("description"), OffSale: o.flag("off-sale"),
	}
	checkEarlier(o, "product", product.ID, earlier)
	errsBefore := len(s.errs)
	variants := map[catalog.VariantID]int{}
	for i, node := range o.list("variants") {
		product.Variants = append(product.Variants, s.variant(node, fmt.Sprintf("%s.variants[%d]", path, i), variants))
	}
	if len(product.Variants) == 0 && len(s.errs) > errsBefore {
		s.failed[path+".variants"] = true
	}
	return product
}

func (s *shopReader) variant(node *yaml.Node, path string, earlier map[catalog.VariantID]int) catalog.Variant {
	s.lines[path] = node.Line
	o, ok := s.object(node, "a variant", path+".", "id", "name", "price", "amount", "data", "off-sale")
	if !ok {
		s.failAll(path, "id", "name", "price", "amount")
		return catalog.Variant{}
	}
	o.need("id", "name", "price")
	variant := catalog.Variant{
		ID: catalog.VariantID(o.string("id")), Name: o.string("name"), Price: s.price(o), OffSale: o.flag("off-sale"),
	}
	variant.MinAmount, variant.MaxAmount = s.amount(o)
	variant.DataSchema = s.dataSchema(o)
	checkEarlier(o, "variant", variant.ID, earlier)
	return variant
}

// failAll keeps what is nothing at all from being reported for everything that it lacks.
func (s *shopReader) failAll(path string, keys ...string) {
	for _, key := range keys {
		s.failed[path+"."+key] = true
	}
}

func checkEarlier[ID ~string](o object, what string, id ID, earlier map[ID]int) {
	if line, found := earlier[id]; found && id != "" {
		o.fail("id", "%s %q is already on line %d: write it once", what, string(id), line)
		return
	}
	earlier[id] = o.line
}

// price is read in the customer's currency. Without one, which was reported, all prices are left out.
func (s *shopReader) price(o object) money.Money {
	currency := s.shop.Customer.Currency
	none := money.Money{Currency: currency}
	text, ok := o.text("price")
	if !ok || currency == "" {
		return none
	}
	price, err := money.Parse(text, currency)
	if err != nil {
		o.fail("price", "%v: write it like %s", err, money.Money{Minor: 499, Currency: currency}.Decimal())
		return none
	}
	return price
}

// amount is 1 to 1 where nothing else is said.
func (s *shopReader) amount(o object) (least, most int64) {
	m, found := o.members["amount"]
	if !found {
		return 1, 1
	}
	bounds, ok := s.object(m.value, "amount", o.path+"amount.", "min", "max")
	if !ok {
		s.failed[o.path+"amount"] = true
		return 1, 1
	}
	bounds.need("max")
	least, most = bounds.whole("min", 1), bounds.whole("max", 1)
	if s.failed[bounds.path+"min"] || s.failed[bounds.path+"max"] {
		s.failed[o.path+"amount"] = true
		return 1, 1
	}
	return least, most
}

// validate reports what the rules of the catalogue refuse.
func (s *shopReader) validate() {
	found, _ := errors.AsType[catalog.FieldErrors](s.shop.Validate())
	for _, err := range found {
		s.failField(err.Field, s.lineOf(err.Field), "%v", err.Err)
	}
}

func (s *shopReader) dataSchema(o object) string {
	m, found := o.members["data"]
	if !found {
		return ""
	}
	errsBefore := len(s.errs)
	text := s.appendJSON(nil, m.value)
	if len(s.errs) > errsBefore {
		return ""
	}
	_, err := dataschema.Compile(string(text))
	if fault, ok := errors.AsType[*dataschema.SchemaError](err); ok {
		s.failField(o.path+"data", lineAt(m.value, m.line, fault.Pointer), "%v", fault)
		return ""
	}
	return string(text)
}
