package catalogfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// document is one YAML document of a file. The schema reports nodes in the wrong place or of the wrong type, so the
// methods of a document skip them.
type document struct {
	*reader

	root     *yaml.Node
	reported map[jsontext.Pointer]bool
	currency money.Currency // of the shop that is being read; empty if it is not valid
	zone     *time.Location // of the shop that is being read; UTC if it is not valid
}

// entries reads the shops of a file.
func (r *reader) entries(text []byte) []Entry {
	var entries []Entry
	for _, root := range r.documents(text) {
		if isNull(root) {
			continue
		}
		faults := len(r.faults)
		r.values = 0
		asJSON := r.appendJSON(nil, root, false)
		if r.values > maxExpanded || len(asJSON) > maxExpandedBytes {
			r.fail(root.Line, "the aliases expand to more than %d values or %d bytes: use fewer aliases", maxExpanded,
				maxExpandedBytes)
		}
		if len(r.faults) > faults {
			continue // the document's JSON is incomplete, so the schema would report false faults
		}
		d := &document{reader: r, root: root, reported: map[jsontext.Pointer]bool{}}
		entries = append(entries, d.entries(asJSON)...)
	}
	if len(entries) == 0 && len(r.faults) == 0 {
		r.fail(1, "no shops: begin the file with the key shops and a list of shops")
	}
	return entries
}

func (d *document) entries(text []byte) []Entry {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	violations := d.violations(value)
	d.reportViolations(violations, true)
	var layout fileLayout
	if decodeErr := d.root.Decode(&layout); err == nil {
		err = decodeErr
	}
	if err != nil && len(violations) == 0 {
		d.fail(d.root.Line, "cannot be read: %v", err)
	}
	var entries []Entry
	for i, shop := range layout.Shops {
		entries = append(entries, d.entry(shop, jsontext.Pointer(fmt.Sprintf("/shops/%d", i))))
	}
	d.reportViolations(violations, false)
	return entries
}

func (d *document) entry(layout shopLayout, at jsontext.Pointer) Entry {
	entry := Entry{Place: d.place(at), Access: d.access(layout, at)}
	entry.Profile = catalog.Profile{
		ID: catalog.ShopID(layout.ID), Name: string(layout.Name),
		OffSale: layout.OffSale, TimeZone: string(layout.TimeZone), Page: newPage(layout.Page),
	}
	var err error
	if d.zone, err = entry.Profile.Location(); err != nil { // the method Validate reports it
		d.zone = time.UTC
	}
	if d.currency, err = money.ParseCurrency(string(layout.Currency)); err != nil {
		d.failAt(at+"/currency", "%v: write a code such as EUR", err)
	}
	entry.Profile.Currency = d.currency
	products := map[text]int{}
	for i, product := range layout.Products {
		entry.Products = append(entry.Products,
			d.product(product, at+jsontext.Pointer(fmt.Sprintf("/products/%d", i)), products))
	}
	invalid, _ := errors.AsType[catalog.FieldErrors](entry.Validate())
	for _, field := range invalid { // such as products[0].variants[1].price
		path := strings.NewReplacer("[", "/", "]", "", ".", "/").Replace(field.Field)
		d.failAt(at+"/"+jsontext.Pointer(path), "%v", field.Err)
	}
	slices.SortFunc(entry.Products, func(a, b catalog.Product) int { return cmp.Compare(a.ID, b.ID) })
	codes := map[text]int{}
	for i, v := range layout.Vouchers {
		entry.Vouchers = append(entry.Vouchers,
			d.voucher(v, at+jsontext.Pointer(fmt.Sprintf("/vouchers/%d", i)), codes))
	}
	return entry
}

func (d *document) access(layout shopLayout, at jsontext.Pointer) Access {
	return Access{
		Redeem: access.Policy(layout.Access.Redeem), CheckOut: access.Policy(layout.Access.CheckOut),
		Refusals:    d.sourceLimit(&layout.Refusals, at+"/refusals"),
		Redemptions: d.sourceLimit(&layout.Redemptions, at+"/redemptions"),
	}
}

// sourceLimit reads the limit of a source, or returns nil if the file has none.
func (d *document) sourceLimit(node *yaml.Node, at jsontext.Pointer) *access.SourceLimit {
	if node.IsZero() {
		return nil
	}
	said := &access.SourceLimit{} // the zero limit means off
	var limit limitLayout
	if resolve(node).Kind != yaml.MappingNode || node.Decode(&limit) != nil || limit.Per == nil {
		return said
	}
	var err error
	said.Limit = int(whole(d, at+"/limit", limit.Limit, 1, "a whole number from 1 to 1000000"))
	said.Per, err = time.ParseDuration(string(*limit.Per))
	if err != nil || said.Per < time.Second || said.Per > access.MaxWindow || said.Per%time.Second != 0 {
		d.failAt(at+"/per", "must be a duration from 1s to 24h, such as 10m or 1h30m, not %.40q", *limit.Per)
	}
	return said
}

func newPage(layout pageLayout) catalog.Page {
	return catalog.Page{
		Off: layout.Off, Accent: strings.ToLower(string(layout.Accent)), Logo: string(layout.Logo),
		Imprint:    catalog.Link{URL: string(layout.Imprint.URL), Text: string(layout.Imprint.Text)},
		Privacy:    catalog.Link{URL: string(layout.Privacy.URL), Text: string(layout.Privacy.Text)},
		PaymentURL: string(layout.PaymentURL), PaymentText: string(layout.PaymentText),
	}
}

func (d *document) product(layout productLayout, at jsontext.Pointer, earlier map[text]int) catalog.Product {
	product := catalog.Product{
		ID: catalog.ProductID(layout.ID), Name: string(layout.Name), Description: string(layout.Description),
		OffSale: layout.OffSale, NickFrom: string(layout.NickFrom),
		Image: string(layout.Image), Category: string(layout.Category),
		Position: whole(d, at+"/position", layout.Position, 0, "a whole number from 1 to 1000000"),
	}
	d.once(at+"/id", layout.ID, earlier, "product %q is already on line %d: write it once", layout.ID)
	variants := map[text]int{}
	for i, variant := range layout.Variants {
		product.Variants = append(product.Variants,
			d.variant(variant, at+jsontext.Pointer(fmt.Sprintf("/variants/%d", i)), variants))
	}
	return product
}

func (d *document) variant(layout variantLayout, at jsontext.Pointer, earlier map[text]int) catalog.Variant {
	variant := catalog.Variant{
		ID: catalog.VariantID(layout.ID), Name: string(layout.Name), MinAmount: 1, MaxAmount: 1,
		OffSale: layout.OffSale,
	}
	d.once(at+"/id", layout.ID, earlier, "variant %q is already on line %d: write it once", layout.ID)
	var priced bool
	if variant.Price, priced = d.price(layout.Price, at+"/price"); priced && layout.Sale != nil {
		variant.Sale.Price, _ = d.price(layout.Sale.Price, at+"/sale/price")
		variant.Sale.From = d.time(layout.Sale.From, at+"/sale/from", voucher.ParseTime)
		variant.Sale.Until = d.time(layout.Sale.Until, at+"/sale/until", voucher.ParseEnd)
	}
	if amount := layout.Amount; amount != nil {
		const wanted = "a whole number from 1 to 1000000"
		variant.MinAmount = whole(d, at+"/amount/min", amount.Min, 1, wanted)
		variant.MaxAmount = whole(d, at+"/amount/max", amount.Max, variant.MinAmount, wanted)
	}
	if !layout.Data.IsZero() {
		d.values = 0
		variant.DataSchema = string(d.appendJSON(nil, &layout.Data, true))
		err := dataschema.Vet(variant.DataSchema)
		if fault, is := errors.AsType[*dataschema.SchemaError](err); is {
			_, line := locate(d.root, at+"/data"+jsontext.Pointer(fault.Pointer))
			d.report(at+"/data", line, "%v", fault)
			variant.DataSchema = ""
		}
	}
	return variant
}

// price reads a price. It reports an invalid price, unless the cause is an invalid currency, which the method entry has
// already reported.
func (d *document) price(written number, at jsontext.Pointer) (price money.Money, valid bool) {
	price, err := money.Parse(string(written), d.currency)
	if err != nil && d.currency != "" {
		d.failAt(at, "%v", err)
	}
	price.Currency = d.currency
	return price, err == nil
}

func (d *document) voucher(layout voucherLayout, at jsontext.Pointer, earlier map[text]int) Voucher {
	terms := voucher.Terms{
		Written: string(layout.Code), Disabled: layout.Disabled, Nick: string(layout.Nick), Batch: string(layout.Batch),
		Note:           string(layout.Note),
		MaxUses:        d.limit(layout.MaxUses, at+"/max-uses"),
		MaxUsesPerNick: d.limit(layout.MaxUsesPerNick, at+"/max-uses-per-nick"),
		ValidFrom:      d.time(layout.ValidFrom, at+"/valid-from", voucher.ParseTime),
		ValidUntil:     d.time(layout.ValidUntil, at+"/valid-until", voucher.ParseEnd),
	}
	var err error
	if d.currency == "" { // the currency is already reported, and without it the reward cannot be read
		d.reported[at+"/reward"] = true
	} else if terms.Reward, err = voucher.ParseReward(string(layout.Reward), d.currency); err != nil {
		d.failFields(at, err)
	}
	made, err := voucher.New(terms, time.Time{})
	d.failFields(at, err)
	d.once(at+"/code", text(made.Code), earlier,
		"%q is the same code as on line %d: spaces, dashes and case make no difference, nor do O and 0, or I, L and 1",
		layout.Code)
	return Voucher{Terms: terms, Code: made.Code, Place: d.place(at)}
}

// failFields reports each *voucher.FieldError of an error.
func (d *document) failFields(at jsontext.Pointer, err error) {
	for _, field := range voucher.FieldErrors(err) {
		d.failAt(at.AppendToken(field.Field), "%v", field.Err)
	}
}

// whole parses digits. If there are none, it returns the fallback. If they are not a whole number, it reports that and
// returns the fallback. The schema does not report every such number: it accepts 10.0.
func whole[Digits ~string](d *document, at jsontext.Pointer, digits Digits, fallback int64, wanted string) int64 {
	if digits == "" {
		return fallback
	}
	number, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		d.failAt(at, "must be %s, not %.40q", wanted, digits)
		return fallback
	}
	return number
}

// limit returns nil if the limit is absent.
func (d *document) limit(written *text, at jsontext.Pointer) *voucher.Limit {
	switch {
	case written == nil:
		return nil
	case *written == "none":
		return new(voucher.NoLimit)
	default:
		return new(voucher.Limit(whole(d, at, *written, 1, "a whole number of at least 1, or none")))
	}
}

// time returns a time in UTC, to the millisecond, as parse reads it. An absent time is zero.
func (d *document) time(
	written *text, at jsontext.Pointer, parse func(string, *time.Location) (time.Time, error),
) time.Time {
	if written == nil {
		return time.Time{}
	}
	moment, err := parse(string(*written), d.zone)
	if err != nil {
		d.failAt(at, "%.40q: %v", *written, err)
	}
	return moment
}

// once reports an ID that is also on an earlier line of the same list.
func (d *document) once(at jsontext.Pointer, id text, earlier map[text]int, format string, written text) {
	if line, found := earlier[id]; found && id != "" {
		d.failAt(at, format, written, line)
	}
	earlier[id] = d.place(at.Parent()).Line
}

func (d *document) place(at jsontext.Pointer) Place {
	_, line := locate(d.root, at)
	return Place{d.file, line}
}

// failAt reports a fault of a value on the line of its key.
func (d *document) failAt(at jsontext.Pointer, format string, args ...any) {
	d.report(at, d.place(at).Line, format, args...)
}

// report reports a fault of a value, unless a fault of that value or of a value around it was already reported.
func (d *document) report(at jsontext.Pointer, line int, format string, args ...any) {
	for around := at; !d.reported[around]; around = around.Parent() {
		if around == "" {
			d.reported[at] = true
			value, _ := locate(d.root, at)
			d.add(mistake{value: value, message: label(at) + ": " + fmt.Sprintf(format, args...)}, line)
			return
		}
	}
}

// label names a value by its key, or by its number in a list.
func label(at jsontext.Pointer) string {
	key := at.LastToken()
	switch number, err := strconv.Atoi(key); {
	case at == "":
		return "the file"
	case err == nil:
		return fmt.Sprintf("item %d of %s", number+1, at.Parent().LastToken())
	case strings.Trim(key, "abcdefghijklmnopqrstuvwxyz-") != "":
		return fmt.Sprintf("%.60q", key)
	default:
		return key
	}
}
