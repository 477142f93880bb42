package catalogfile

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
)

// Write writes shops, without vouchers, as a file that Parse reads back as the same shops.
func Write(w io.Writer, shops ...Entry) error {
	file := fileLayout{Shops: []shopLayout{}}
	for _, shop := range shops {
		shopID := shopLayout{
			ID: text(shop.Profile.ID), Name: text(shop.Profile.Name), Currency: text(shop.Profile.Currency),
			OffSale: shop.Profile.OffSale, TimeZone: text(shop.Profile.TimeZone),
			Access: accessLayout{text(shop.Access.Redeem), text(shop.Access.CheckOut)},
			Page:   newPageLayout(shop.Profile.Page),
		}
		if shop.Access.Refusals != nil {
			shopID.Refusals = *newLimitNode(*shop.Access.Refusals)
		}
		if shop.Access.Redemptions != nil {
			shopID.Redemptions = *newLimitNode(*shop.Access.Redemptions)
		}
		for _, product := range shop.Products {
			layout := productLayout{
				ID: text(product.ID), Name: text(product.Name), Description: text(product.Description),
				OffSale: product.OffSale, NickFrom: text(product.NickFrom),
				Image: text(product.Image), Category: text(product.Category),
			}
			if product.Position > 0 {
				layout.Position = newNumber(product.Position)
			}
			for _, variant := range product.Variants {
				layoutOfVariant, err := newVariantLayout(variant)
				if err != nil {
					return fmt.Errorf("shop %s, product %s, variant %s: %w", shop.Profile.ID, product.ID,
						variant.ID, err)
				}
				layout.Variants = append(layout.Variants, layoutOfVariant)
			}
			shopID.Products = append(shopID.Products, layout)
		}
		file.Shops = append(file.Shops, shopID)
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return encoder.Close()
}

func newLimitNode(limit access.SourceLimit) *yaml.Node {
	if limit == (access.SourceLimit{}) {
		return plain("off")
	}
	return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{
		plain("limit"), plain(strconv.Itoa(limit.Limit)), plain("per"), plain(limit.FormatPer()),
	}}
}

func newPageLayout(page catalog.Page) pageLayout {
	return pageLayout{
		Off: page.Off, Accent: text(page.Accent), Logo: text(page.Logo),
		Imprint:    linkLayout{text(page.Imprint.URL), text(page.Imprint.Text)},
		Privacy:    linkLayout{text(page.Privacy.URL), text(page.Privacy.Text)},
		PaymentURL: text(page.PaymentURL), PaymentText: text(page.PaymentText),
	}
}

func newVariantLayout(variant catalog.Variant) (variantLayout, error) {
	layout := variantLayout{
		ID: text(variant.ID), Name: text(variant.Name), Price: number(variant.Price.Decimal()),
		OffSale: variant.OffSale,
	}
	if variant.MinAmount != 1 || variant.MaxAmount != 1 {
		layout.Amount = &amountLayout{newNumber(variant.MinAmount), newNumber(variant.MaxAmount)}
	}
	if sale := variant.Sale; sale != (catalog.Sale{}) {
		layout.Sale = &saleLayout{number(sale.Price.Decimal()), newTime(sale.From), newTime(sale.Until)}
	}
	if variant.DataSchema == "" {
		return layout, nil
	}
	decoder := jsontext.NewDecoder(strings.NewReader(variant.DataSchema))
	schema, err := decodeNode(decoder)
	if err != nil {
		return variantLayout{}, fmt.Errorf("its data schema: %w", err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return variantLayout{}, errors.New("its data schema: more text follows the schema")
	}
	layout.Data = *schema
	return layout, nil
}

func newNumber(n int64) number { return number(strconv.FormatInt(n, 10)) }

// newTime returns nil for the zero time.
func newTime(t time.Time) *text {
	if t.IsZero() {
		return nil
	}
	return new(text(t.Format(time.RFC3339Nano)))
}

// decodeNode reads JSON as YAML, with members in their order and numbers as written.
func decodeNode(decoder *jsontext.Decoder) (*yaml.Node, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.SequenceNode}
	switch token.Kind() {
	case jsontext.KindString:
		node := &yaml.Node{}
		return node, node.Encode(text(token.String()))
	case jsontext.KindBeginObject:
		node.Kind = yaml.MappingNode
	case jsontext.KindBeginArray:
	default:
		return plain(token.String()), nil
	}
	for kind := decoder.PeekKind(); kind != jsontext.KindEndObject &&
		kind != jsontext.KindEndArray; kind = decoder.PeekKind() {
		child, err := decodeNode(decoder)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	if len(node.Content) == 0 || isShortList(node) {
		node.Style = yaml.FlowStyle
	}
	return node, nil
}

// isShortList reports whether a list, such as [player, server], reads best on one line.
func isShortList(node *yaml.Node) bool {
	const short = 60
	size := 0
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode {
			return false
		}
		size += len(item.Value) + len(", ")
	}
	return node.Kind == yaml.SequenceNode && size <= short
}
