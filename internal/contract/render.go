package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"shopfront/internal/contract/changelog"
)

type renderedText struct {
	name string
	text []byte
}

// Render writes what functions embed, so that none of them reads YAML or compares documents.
func (c *Contract) Render() error {
	rendered, err := c.rendered()
	if err != nil {
		return err
	}
	for _, file := range rendered {
		if err := writeFile(filepath.Join(c.dir, filepath.FromSlash(file.name)), file.text); err != nil {
			return err
		}
	}
	return nil
}

func (c *Contract) rendered() ([]renderedText, error) {
	document, err := toJSON(c.working)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", workingFile, err)
	}
	releases, err := c.Changelog()
	if err != nil {
		return nil, err
	}
	formatted, err := changelog.Format(releases)
	if err != nil {
		return nil, err
	}
	pages, err := c.pages(document, releases)
	if err != nil {
		return nil, fmt.Errorf("pages of %s: %w", workingFile, err)
	}
	return []renderedText{
		{renderedFile, document},
		{changelogFile, formatted},
		{"pages/docs.html", pages.Docs},
		{"pages/changelog.html", pages.Changelog},
		{"pages/changelog.rss", pages.Feed},
		{"pages/policy.txt", pages.Policy},
	}, nil
}

func writeFile(name string, text []byte) error {
	return os.WriteFile(name, text, 0o644) //nolint:gosec // it is public
}

// toJSON writes YAML as JSON, in the order in which it was written: a reader meets the members as the author put them.
func toJSON(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	var compact, indented bytes.Buffer
	if err := writeJSON(&compact, &document); err != nil {
		return nil, err
	}
	err := json.Indent(&indented, compact.Bytes(), "", "  ")
	indented.WriteByte('\n')
	return indented.Bytes(), err
}

func writeJSON(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return writeJSON(out, node.Content[0])
	case yaml.AliasNode:
		return writeJSON(out, node.Alias)
	case yaml.SequenceNode:
		return writeList(out, '[', ']', node.Content, func(int) string { return "," })
	case yaml.MappingNode:
		return writeList(out, '{', '}', node.Content, func(i int) string {
			if i%2 == 0 {
				return ","
			}
			return ":"
		})
	default:
		return writeScalar(out, node)
	}
}

// writeList writes nodes with what stands before each but the first.
func writeList(out *bytes.Buffer, opening, closing byte, nodes []*yaml.Node, before func(int) string) error {
	out.WriteByte(opening)
	for i, node := range nodes {
		if i > 0 {
			out.WriteString(before(i))
		}
		if err := writeJSON(out, node); err != nil {
			return err
		}
	}
	out.WriteByte(closing)
	return nil
}

func writeScalar(out *bytes.Buffer, node *yaml.Node) error {
	var value any
	if err := node.Decode(&value); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
