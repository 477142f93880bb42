// Package changelog describes what the releases of the interface changed. Package contract computes these changes from
// the released documents, and package pages shows them. Package changelog imports only the standard library.
package changelog

import (
	"fmt"
	"strings"
)

// Release is a released document and its changes since the release before it. The first release has no changes.
type Release struct {
	// Name is the release's number and date, such as 0002-2023-09-19 or 0003-undated. It never changes, so it can be an
	// anchor or part of a GUID.
	Name string `json:"name"`
	// Date is YYYY-MM-DD, or empty if it is unknown.
	Date string `json:"date,omitempty"`
	// Summary is one sentence that a person wrote, with names between backquotes. Most releases have none.
	Summary string `json:"summary,omitempty"`
	// Reconstructed says that this project did not release the document, but made it from the record in
	// docs/interface.md.
	Reconstructed bool     `json:"reconstructed,omitempty"`
	Changes       []Change `json:"changes"` // removals, then modifications, then additions, each sorted by path
}

// Change is a structure change: an operation that a release added, removed or modified. It counts once, regardless of
// its details.
type Change struct {
	Kind     Kind     `json:"kind"`
	Method   string   `json:"method"`
	Path     string   `json:"path"` // as in the document, such as /shop/{customer}/voucher
	Breaking bool     `json:"breaking,omitempty"`
	Details  []Detail `json:"details,omitempty"` // the breaking ones first
}

// Kind says what a release did to an operation.
type Kind string

// The kinds of a change.
const (
	Removed  Kind = "removed"
	Modified Kind = "modified"
	Added    Kind = "added"
)

// Detail is one part of a change, in plain words, with names between backquotes.
type Detail struct {
	Text     string `json:"text"`
	Breaking bool   `json:"breaking,omitempty"`
}

// Counts says how many changes of each kind a release has. Breaking counts the breaking changes of all kinds.
type Counts struct {
	Changes, Breaking, Additions, Modifications, Removals int
}

// Counts counts the release's changes.
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

// String returns text such as "6 structure changes: 5 breaking, 1 addition, 5 removals". It leaves out counts of zero.
func (c Counts) String() string {
	total := count(c.Changes, "structure change")
	var parts []string
	if c.Breaking > 0 {
		parts = append(parts, fmt.Sprintf("%d breaking", c.Breaking))
	}
	for i, n := range []int{c.Additions, c.Modifications, c.Removals} {
		if n > 0 {
			parts = append(parts, count(n, []string{"addition", "modification", "removal"}[i]))
		}
	}
	if len(parts) == 0 {
		return total
	}
	return total + ": " + strings.Join(parts, ", ")
}

func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
