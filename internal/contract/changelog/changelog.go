// Package changelog says what the interface's releases changed. What it says was computed beforehand, from the released
// documents, by package contract; here it is read.
//
// A function links it: it imports the standard library only.
package changelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Release is one released document and what it changed since the one before. The first changed nothing.
type Release struct {
	// Name is the release's number and date, such as 0002-2023-09-19 or 0003-undated. It never changes, and is fit for an
	// anchor or a GUID.
	Name string `json:"name"`
	// Date is YYYY-MM-DD, empty where none is known.
	Date string `json:"date,omitempty"`
	// Summary is one sentence that a person wrote, with names between backquotes. Most releases have none.
	Summary string `json:"summary,omitempty"`
	// Reconstructed says that the document was not released by this project but made from what docs/interface.md records.
	Reconstructed bool     `json:"reconstructed,omitempty"`
	Changes       []Change `json:"changes"` // removals, modifications, additions; each in the order of paths
}

// Change is a structure change: one operation that a release added, removed or modified. However many its details, it is one.
type Change struct {
	Kind     Kind     `json:"kind"`
	Method   string   `json:"method"`
	Path     string   `json:"path"` // as in the document, such as /shop/{customer}/voucher
	Breaking bool     `json:"breaking,omitempty"`
	Details  []Detail `json:"details,omitempty"` // the breaking ones first
}

// Kind says what became of an operation.
type Kind string

// The kinds of a change.
const (
	Removed  Kind = "removed"
	Modified Kind = "modified"
	Added    Kind = "added"
)

// Detail is one thing about an operation that changed, in plain words, with names between backquotes.
type Detail struct {
	Text     string `json:"text"`
	Breaking bool   `json:"breaking,omitempty"`
}

// Counts sums up a release. Breaking counts changes of any kind.
type Counts struct {
	Changes, Breaking, Additions, Modifications, Removals int
}

// Counts sums the release up.
func (r Release) Counts() Counts {
	c := Counts{Changes: len(r.Changes)}
	for _, change := range r.Changes {
		if change.Breaking {
			c.Breaking++
		}
		switch change.Kind {
		case Added:
			c.Additions++
		case Modified:
			c.Modifications++
		case Removed:
			c.Removals++
		}
	}
	return c
}

// String is such as "6 structure changes: 5 breaking, 1 addition, 5 removals", without what there is none of.
func (c Counts) String() string {
	var parts []string
	for _, part := range []struct {
		count     int
		one, many string
	}{
		{c.Breaking, "breaking", "breaking"},
		{c.Additions, "addition", "additions"},
		{c.Modifications, "modification", "modifications"},
		{c.Removals, "removal", "removals"},
	} {
		if part.count > 0 {
			parts = append(parts, count(part.count, part.one, part.many))
		}
	}
	total := count(c.Changes, "structure change", "structure changes")
	if len(parts) == 0 {
		return total
	}
	return total + ": " + strings.Join(parts, ", ")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Parse reads the releases, oldest first, as Format wrote them.
func Parse(text string) ([]Release, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var releases []Release
	if err := decoder.Decode(&releases); err != nil {
		return nil, fmt.Errorf("read changelog: %w", err)
	}
	return releases, nil
}

// Format writes the releases as a file that is fit for review.
func Format(releases []Release) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(releases); err != nil {
		return nil, fmt.Errorf("write changelog: %w", err)
	}
	return text.Bytes(), nil
}
