package catalogfile

import (
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// The layout of a file, for reading and writing. catalogue.schema.json describes the same layout.
type (
	fileLayout struct {
		Shops []shopLayout `yaml:"shops"`
	}
	shopLayout struct {
		ID          text            `yaml:"id"`
		Name        text            `yaml:"name"`
		Currency    text            `yaml:"currency"`
		OffSale     bool            `yaml:"off-sale,omitempty"`
		TimeZone    text            `yaml:"time-zone,omitempty"`
		Access      accessLayout    `yaml:"access,omitempty,flow"`
		Refusals    yaml.Node       `yaml:"refusals,omitempty"` // the word off, or a limitLayout
		Redemptions yaml.Node       `yaml:"redemptions,omitempty"`
		Page        pageLayout      `yaml:"page,omitempty"`
		Products    []productLayout `yaml:"products,omitempty"`
		Vouchers    []voucherLayout `yaml:"vouchers,omitempty"`
	}
	accessLayout struct {
		Redeem   text `yaml:"redeem,omitempty"`
		CheckOut text `yaml:"check-out,omitempty"`
	}
	limitLayout struct {
		Limit number `yaml:"limit"`
		Per   *text  `yaml:"per"`
	}
	pageLayout struct {
		Off         bool       `yaml:"-"`
		Accent      text       `yaml:"accent,omitempty"`
		Logo        text       `yaml:"logo,omitempty"`
		Imprint     linkLayout `yaml:"imprint,omitempty,flow"`
		Privacy     linkLayout `yaml:"privacy,omitempty,flow"`
		PaymentURL  text       `yaml:"payment-url,omitempty"`
		PaymentText text       `yaml:"payment-text,omitempty"`
	}
	linkLayout struct {
		URL  text `yaml:"url"`
		Text text `yaml:"text,omitempty"`
	}
	productLayout struct {
		ID          text            `yaml:"id"`
		Name        text            `yaml:"name"`
		Description text            `yaml:"description,omitempty"`
		Image       text            `yaml:"image,omitempty"`
		Category    text            `yaml:"category,omitempty"`
		Position    number          `yaml:"position,omitempty"`
		OffSale     bool            `yaml:"off-sale,omitempty"`
		NickFrom    text            `yaml:"nick-from,omitempty"`
		Variants    []variantLayout `yaml:"variants"`
	}
	variantLayout struct {
		ID      text          `yaml:"id"`
		Name    text          `yaml:"name"`
		Price   number        `yaml:"price"`
		Sale    *saleLayout   `yaml:"sale,omitempty,flow"`
		Amount  *amountLayout `yaml:"amount,omitempty,flow"`
		Data    yaml.Node     `yaml:"data,omitempty"`
		OffSale bool          `yaml:"off-sale,omitempty"`
	}
	saleLayout struct {
		Price number `yaml:"price"`
		From  *text  `yaml:"from,omitempty"`
		Until *text  `yaml:"until,omitempty"`
	}
	amountLayout struct {
		Min number `yaml:"min"`
		Max number `yaml:"max"`
	}
	voucherLayout struct {
		Code           text   `yaml:"code"`
		Reward         reward `yaml:"reward"`
		MaxUses        *text  `yaml:"max-uses"`
		MaxUsesPerNick *text  `yaml:"max-uses-per-nick"`
		ValidFrom      *text  `yaml:"valid-from"`
		ValidUntil     *text  `yaml:"valid-until"`
		Disabled       bool   `yaml:"disabled"`
		Nick           text   `yaml:"nick"`
		Batch          text   `yaml:"batch"`
		Note           text   `yaml:"note"`
	}
)

// number is a number as written: 4.90 stays 4.90.
type number string

// MarshalYAML writes the number without quotes.
func (n number) MarshalYAML() (any, error) { return plain(string(n)), nil }

// text is a scalar as it is written in the file: 007 stays 007, and the word no is not read as false.
type text string

// MarshalYAML quotes the string if it would otherwise change or be read as another type. It writes several plain lines
// as a block, line by line.
func (t text) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(t)}
	lines := strings.Split(node.Value, "\n")
	switch {
	case isJSONNumber(node.Value) || slices.ContainsFunc(lines, needsEscapes):
		node.Style = yaml.DoubleQuotedStyle
	case len(lines) > 1:
		node.Style = yaml.LiteralStyle
	}
	return node, nil
}

// reward is a reward as written. The goods of a list are joined with +, as voucher.ParseReward expects.
type reward string

// UnmarshalYAML reads a scalar or a list of scalars.
func (r *reward) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		return node.Decode((*string)(r))
	}
	var goods []string
	err := node.Decode(&goods)
	*r = reward(strings.Join(goods, "+"))
	return err
}

// UnmarshalYAML reads the word off, or a mapping.
func (p *pageLayout) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		p.Off = true // the schema accepts no other word
		return nil
	}
	type mapping pageLayout
	return node.Decode((*mapping)(p))
}

// MarshalYAML is the inverse of UnmarshalYAML.
func (p pageLayout) MarshalYAML() (any, error) {
	if p.Off {
		return plain("off"), nil
	}
	type mapping pageLayout
	return mapping(p), nil
}

// UnmarshalYAML reads a URL or a mapping.
func (l *linkLayout) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return node.Decode(&l.URL)
	}
	type mapping linkLayout
	return node.Decode((*mapping)(l))
}

// MarshalYAML is the inverse of UnmarshalYAML.
func (l linkLayout) MarshalYAML() (any, error) {
	if l.Text == "" {
		return l.URL, nil
	}
	type mapping linkLayout
	return mapping(l), nil
}

// needsEscapes reports whether the line could change if it were written without escapes.
func needsEscapes(line string) bool {
	return strings.TrimSpace(line) != line ||
		strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) })
}

func plain(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }
