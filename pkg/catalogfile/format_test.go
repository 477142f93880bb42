package catalogfile

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"shopfront/examples"
	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// schemaOf has the parts of a schema that these tests read.
type schemaOf struct {
	Properties map[string]schemaOf
	Defs       map[string]schemaOf `json:"$defs"`

	MinItems, MaxItems, MinLength, MaxLength int
	Minimum, Maximum                         int64
}

func readSchema(t *testing.T) schemaOf {
	t.Helper()
	var schema schemaOf
	if err := json.Unmarshal([]byte(examples.CatalogueSchema()), &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// A key that only the schema has would be accepted and ignored.
func TestSchema_HasTheKeysOfTheLayout(t *testing.T) {
	layouts := map[string]any{
		"": fileLayout{}, "shops/": shopLayout{}, "shops/products/": productLayout{},
		"shops/products/variants/":        variantLayout{},
		"shops/products/variants/amount/": amountLayout{}, "shops/products/variants/sale/": saleLayout{},
		"shops/vouchers/": voucherLayout{},
		"shops/access/":   accessLayout{}, "shops/refusals/": limitLayout{},
		"shops/page/":         pageLayout{},
		"shops/page/imprint/": linkLayout{},
	}
	for path, properties := range propertiesByPath(readSchema(t)) {
		if inSchema, inLayout := slices.Sorted(maps.Keys(properties)),
			keysOf(layouts[path]); !slices.Equal(inSchema, inLayout) {
			t.Errorf("%q: %v in the schema, %v in the layout", path, inSchema, inLayout)
		}
	}
}

func TestSchema_HasTheBoundsOfTheRules(t *testing.T) {
	defs := readSchema(t).Defs
	variants, voucherProperties := defs["product"].Properties["variants"], defs["voucher"].Properties
	for name, bound := range map[string][2]int64{
		"length of an ID":         {int64(defs["id"].MaxLength), 64},
		"length of a name":        {int64(defs["name"].MaxLength), catalog.MaxNameBytes},
		"length of an image":      {int64(defs["product"].Properties["image"].MaxLength), catalog.MaxImageBytes},
		"length of a category":    {int64(defs["product"].Properties["category"].MaxLength), catalog.MaxCategoryBytes},
		"length of a logo":        {int64(defs["page"].Properties["logo"].MaxLength), catalog.MaxImageBytes},
		"length of a link":        {int64(defs["link"].MaxLength), catalog.MaxImageBytes},
		"length of a link's URL":  {int64(defs["link"].Properties["url"].MaxLength), catalog.MaxImageBytes},
		"length of a link's text": {int64(defs["link"].Properties["text"].MaxLength), catalog.MaxCategoryBytes},
		"length of a payment URL": {int64(defs["page"].Properties["payment-url"].MaxLength), catalog.MaxImageBytes},
		"length of payment text": {
			int64(defs["page"].Properties["payment-text"].MaxLength),
			catalog.MaxDescriptionBytes,
		},
		"highest position": {defs["count"].Maximum, catalog.MaxPosition},
		"length of a description": {
			int64(defs["product"].Properties["description"].MaxLength),
			catalog.MaxDescriptionBytes,
		},
		"fewest variants":        {int64(variants.MinItems), 1},
		"most variants":          {int64(variants.MaxItems), catalog.MaxVariants},
		"least amount":           {defs["count"].Minimum, 1},
		"greatest amount":        {defs["count"].Maximum, catalog.MaxAmount},
		"most refusals":          {defs["count"].Maximum, access.MaxOfSource},
		"fewest uses":            {defs["limit"].Minimum, 1},
		"most uses":              {voucherProperties["max-uses"].Maximum, int64(voucher.MaxMaxUses)},
		"most uses of one nick":  {voucherProperties["max-uses-per-nick"].Maximum, int64(voucher.MaxPerNick)},
		"length of a batch name": {int64(voucherProperties["batch"].MaxLength), voucher.MaxBatchBytes},
		"length of a note":       {int64(voucherProperties["note"].MaxLength), voucher.MaxNoteBytes},
	} {
		if bound[0] != bound[1] {
			t.Errorf("%s: %d in the schema, %d in the code", name, bound[0], bound[1])
		}
	}
	for _, id := range []string{strings.Repeat("x", 64), "A.b_c-9", strings.Repeat("x", 65), "", "-a", "ä", "a/b"} {
		_, err := catalog.ParseID[catalog.ProductID](id)
		if refused := breaks(t, "id", id); refused != (err != nil) {
			t.Errorf("ID %q: the schema rejects it: %t; catalog.ParseID returns %v", id, refused, err)
		}
	}
}

// breaks reports whether a value breaks a definition of the schema.
func breaks(t *testing.T, definition string, value any) bool {
	t.Helper()
	f, err := newFormat()
	if err != nil {
		t.Fatal(err)
	}
	return f.compiler.MustCompile("file:///catalogue.schema.json#/$defs/"+definition).Validate(value) != nil
}

func TestDemo_NamesTheSchema_AndShowsEveryField(t *testing.T) {
	text, err := os.ReadFile("../../examples/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "# yaml-language-server: $schema=catalogue.schema.json\n") {
		t.Error("the demo file does not name the schema")
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{} // such as shops/products/id
	var walk func(node *yaml.Node, path string)
	walk = func(node *yaml.Node, path string) {
		for i, child := range node.Content {
			switch {
			case node.Kind != yaml.MappingNode:
				walk(child, path)
			case i%2 == 0:
				shown[path+child.Value] = true
				walk(node.Content[i+1], path+child.Value+"/")
			}
		}
	}
	walk(&document, "")
	for path, properties := range propertiesByPath(readSchema(t)) {
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			// the demo shows some keys in a comment
			if !shown[path+key] && !strings.Contains(string(text), "# "+key+": ") {
				t.Errorf("examples/demo.yaml does not show %s", path+key)
			}
		}
	}
}

func propertiesByPath(schema schemaOf) map[string]map[string]schemaOf {
	return map[string]map[string]schemaOf{
		"": schema.Properties, "shops/": schema.Defs["shop"].Properties,
		"shops/products/":                 schema.Defs["product"].Properties,
		"shops/products/variants/":        schema.Defs["variant"].Properties,
		"shops/products/variants/amount/": schema.Defs["amount"].Properties,
		"shops/products/variants/sale/":   schema.Defs["sale"].Properties,
		"shops/vouchers/":                 schema.Defs["voucher"].Properties,
		"shops/access/":                   schema.Defs["access"].Properties,
		"shops/refusals/":                 schema.Defs["source-limit"].Properties,
		"shops/page/":                     schema.Defs["page"].Properties,
		"shops/page/imprint/":             schema.Defs["link"].Properties,
	}
}

func keysOf(layout any) []string {
	var keys []string
	for field := range reflect.TypeOf(layout).Fields() {
		if key, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); key != "-" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
