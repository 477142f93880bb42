package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pb33f/libopenapi/datamodel"
	ordered "github.com/pb33f/libopenapi/json"
)

// Render writes the files that functions embed, so that no function reads YAML or compares documents.
func (c *Contract) Render() error {
	rendered, err := c.rendered()
	if err != nil {
		return err
	}
	for name, text := range rendered {
		if err := writeFile(filepath.Join(c.dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// rendered returns the rendered files by their names below api.
func (c *Contract) rendered() (map[string][]byte, error) {
	releases, err := c.Changelog()
	if err != nil {
		return nil, err
	}
	var inJSON bytes.Buffer
	encoder := json.NewEncoder(&inJSON)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(releases); err != nil {
		return nil, err
	}
	pages, err := c.pages(c.working.text, releases)
	if err != nil {
		return nil, fmt.Errorf("pages of %s: %w", workingFile, err)
	}
	files := map[string][]byte{"openapi.json": c.working.text, "changelog.json": inJSON.Bytes()}
	for name, page := range pages {
		files["pages/"+name] = page
	}
	return files, nil
}

// toJSON converts YAML to JSON, with the members in the author's order.
func toJSON(text []byte) ([]byte, error) {
	info, err := datamodel.ExtractSpecInfo(text)
	if err != nil {
		return nil, err
	}
	inJSON, err := ordered.YAMLNodeToJSON(info.RootNode, "")
	if err != nil {
		return nil, err
	}
	inJSON, err = jsontext.AppendFormat(nil, inJSON, jsontext.WithIndent("  ")) // without escapes that HTML would need
	return append(inJSON, '\n'), err
}
