package catalogfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"shopfront/pkg/catalog"
)

// Write writes shops as a file that Parse reads back as the same shops. Vouchers are not part of it.
func Write(w io.Writer, shops ...catalog.Shop) error {
	customers := &yaml.Node{Kind: yaml.SequenceNode}
	for _, shop := range shops {
		customer, err := shopNode(shop)
		if err != nil {
			return fmt.Errorf("customer %s: %w", shop.Customer.ID, err)
		}
		customers.Content = append(customers.Content, customer)
	}
	var file mapping
	file.add("customers", customers)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(file.node()); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return encoder.Close()
}

func shopNode(shop catalog.Shop) (*yaml.Node, error) {
	var m mapping
	m.addText("id", string(shop.Customer.ID))
	m.addText("name", shop.Customer.Name)
	m.addText("currency", string(shop.Customer.Currency))
	m.addOffSale(shop.Customer.OffSale)
	products := &yaml.Node{Kind: yaml.SequenceNode}
	for _, product := range shop.Products {
		node, err := productNode(product)
		if err != nil {
			return nil, fmt.Errorf("product %s: %w", product.ID, err)
		}
		products.Content = append(products.Content, node)
	}
	if len(products.Content) > 0 {
		m.add("products", products)
	}
	return m.node(), nil
}

func productNode(product catalog.Product) (*yaml.Node, error) {
	var m mapping
	m.addText("id", string(product.ID))
	m.addText("name", product.Name)
	if product.Description != "" {
		m.addText("description", product.Description)
	}
	m.addOffSale(product.OffSale)
	variants := &yaml.Node{Kind: yaml.SequenceNode}
	for _, variant := range product.Variants {
		node, err := variantNode(variant)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", variant.ID, err)
		}
		variants.Content = append(variants.Content, node)
	}
	m.add("variants", variants)
	return m.node(), nil
}

func variantNode(variant catalog.Variant) (*yaml.Node, error) {
	var m mapping
	m.addText("id", string(variant.ID))
	m.addText("name", variant.Name)
	m.add("price", plain(variant.Price.Decimal()))
	if variant.MinAmount != 1 || variant.MaxAmount != 1 {
		var amount mapping
		amount.add("min", plain(strconv.FormatInt(variant.MinAmount, 10)))
		amount.add("max", plain(strconv.FormatInt(variant.MaxAmount, 10)))
		node := amount.node()
		node.Style = yaml.FlowStyle
		m.add("amount", node)
	}
	if variant.DataSchema != "" {
		schema, err := jsonNode(variant.DataSchema)
		if err != nil {
			return nil, fmt.Errorf("its data schema: %w", err)
		}
		m.add("data", schema)
	}
	m.addOffSale(variant.OffSale)
	return m.node(), nil
}

// mapping collects the keys and values of a mapping, in order.
type mapping []*yaml.Node

func (m *mapping) add(key string, value *yaml.Node) { *m = append(*m, quoted(key), value) }

func (m *mapping) addText(key, text string) { m.add(key, quoted(text)) }

func (m *mapping) addOffSale(offSale bool) {
	if offSale {
		m.add("off-sale", plain("true"))
	}
}

func (m *mapping) node() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: *m} }

// plain is a number, true, false or null as it is.
func plain(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// quoted is text, in quotes where it would be read as something else without, or would change. Plain lines stay lines.
func quoted(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	lines := strings.Split(text, "\n")
	switch {
	case isJSONNumber(text) || slices.ContainsFunc(lines, needsEscapes):
		node.Style = yaml.DoubleQuotedStyle
	case len(lines) > 1:
		node.Style = yaml.LiteralStyle
	}
	return node
}

// needsEscapes tells lines that a style without escapes could change.
func needsEscapes(line string) bool {
	return strings.TrimSpace(line) != line || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) })
}

// jsonNode writes JSON as YAML, its members in their order and its numbers as they are.
func jsonNode(text string) (*yaml.Node, error) {
	decoder := jsontext.NewDecoder(bytes.NewBufferString(text))
	node, err := decodeNode(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind it")
	}
	return node, nil
}

func decodeNode(decoder *jsontext.Decoder) (*yaml.Node, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.SequenceNode}
	switch token.Kind() {
	case jsontext.KindString:
		return quoted(token.String()), nil
	case jsontext.KindBeginObject:
		node.Kind = yaml.MappingNode
	case jsontext.KindBeginArray:
	default:
		return plain(token.String()), nil
	}
	for kind := decoder.PeekKind(); kind != jsontext.KindEndObject && kind != jsontext.KindEndArray; kind = decoder.PeekKind() {
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

// isShortList tells lists such as [player, server], which read best on one line.
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
