package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"

	"shopfront/pkg/changelog"
)

// difference is how two documents differ, as the library tells it.
type difference struct {
	diff.EndpointsDiff
	// findings are what its checks have to say of operations; the most severe first.
	findings map[Operation][]checker.Change
}

// compare finds what differs by structure. It takes the sunsets out of both documents, and the base's paths come to call
// their parameters as the revision does.
func compare(base, revision document) (difference, error) {
	for _, document := range []document{base, revision} {
		if err := document.dropSunsets(); err != nil {
			return difference{}, err
		}
	}
	base.nameParametersAs(revision)
	config := diff.NewConfig(diff.WithExcludeElements([]string{
		diff.ExcludeDescriptionOption, diff.ExcludeExamplesOption, diff.ExcludeSummaryOption, diff.ExcludeTitleOption,
	}))
	differs, sources, err := diff.GetPathsDiff(config, []*load.SpecInfo{base.SpecInfo}, []*load.SpecInfo{revision.SpecInfo})
	if err != nil {
		return difference{}, fmt.Errorf("compare %s with %s: %w", revision.Url, base.Url, err)
	}
	if differs == nil || differs.EndpointsDiff == nil {
		return difference{}, nil
	}
	d := difference{EndpointsDiff: *differs.EndpointsDiff, findings: make(map[Operation][]checker.Change)}
	checks := checker.NewConfig(checker.GetAllChecks())
	for _, finding := range checker.CheckBackwardCompatibilityUntilLevel(checks, differs, sources, checker.INFO) {
		if operation := (Operation{finding.GetOperation(), finding.GetPath()}); operation != (Operation{}) {
			d.findings[operation] = append(d.findings[operation], finding)
		}
	}
	return d, nil
}

// plainWords says a finding in English, its numbers as the documents have them: the library would round them.
func plainWords(finding checker.Change) string {
	if change, isChange := finding.(checker.ApiChange); isChange {
		change.Args = slices.Clone(change.Args)
		for i, arg := range change.Args {
			if number, isNumber := arg.(float64); isNumber {
				change.Args[i] = strconv.FormatFloat(number, 'f', -1, 64)
			}
		}
		finding = change
	}
	return finding.GetUncolorizedText(checker.NewDefaultLocalizer())
}

// changes are the structure changes from one released document to the next: each operation that was added, removed or
// modified, whatever its path's parameters are called, once. It is breaking if the library's checks, at their own
// severities, find something breaking in it; a removal if the base had not marked the operation deprecated.
func changes(base, revision document) ([]changelog.Change, error) {
	bases, revisions := base.byShape(), revision.byShape()
	sunsets := movedSunsets(bases, revisions)
	differs, err := compare(base, revision)
	if err != nil {
		return nil, err
	}
	found := []changelog.Change{}
	for _, removed := range differs.Deleted {
		deprecated := bases[Operation(removed).shape()].Deprecated
		change := changelog.Change{Kind: changelog.Removed, Method: removed.Method, Path: removed.Path, Breaking: !deprecated}
		if deprecated {
			change.Details = []changelog.Detail{{Text: "it was deprecated before"}}
		}
		found = append(found, change)
	}
	for _, added := range differs.Added {
		change := changelog.Change{Kind: changelog.Added, Method: added.Method, Path: added.Path}
		if shape := Operation(added).shape(); revisions[shape].Deprecated {
			change.Details = append([]changelog.Detail{{Text: "it is deprecated"}}, sunsets[shape]...)
		}
		found = append(found, change)
	}
	for operation := range modifiedOperations(differs, base, sunsets) {
		found = append(found, modification(operation, differs.findings[operation], sunsets[operation.shape()]))
	}
	slices.SortFunc(found, func(a, b changelog.Change) int {
		return cmp.Or(cmp.Compare(order(a.Kind), order(b.Kind)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return found, nil
}

func order(kind changelog.Kind) int {
	return slices.Index([]changelog.Kind{changelog.Removed, changelog.Modified, changelog.Added}, kind)
}

// movedSunsets says of each operation whose sunset was given or moved what it is now.
func movedSunsets(bases, revisions map[Operation]*openapi3.Operation) map[Operation][]changelog.Detail {
	moved := make(map[Operation][]changelog.Detail)
	for shape, revision := range revisions {
		var before any
		if base := bases[shape]; base != nil {
			before = base.Extensions[sunsetExtension]
		}
		if now := revision.Extensions[sunsetExtension]; now != before {
			text := "it has no sunset any more"
			if now != nil {
				text = fmt.Sprintf("it may be removed from %v on", now)
			}
			moved[shape] = []changelog.Detail{{Text: text}}
		}
	}
	return moved
}

// modifiedOperations are those whose structure differs, and those whose sunset was moved.
func modifiedOperations(differs difference, base document, sunsets map[Operation][]changelog.Detail) map[Operation]bool {
	modified := make(map[Operation]bool)
	for endpoint := range differs.Modified {
		modified[Operation(endpoint)] = true
	}
	for operation := range base.operations() {
		if sunsets[operation.shape()] != nil {
			modified[operation] = true
		}
	}
	return modified
}

func modification(operation Operation, findings []checker.Change, sunset []changelog.Detail) changelog.Change {
	change := changelog.Change{Kind: changelog.Modified, Method: operation.Method, Path: operation.Path}
	if len(findings) > 1 { // what generated clients call the operation is told where there is nothing else to tell
		findings = slices.DeleteFunc(slices.Clone(findings), func(finding checker.Change) bool {
			return finding.GetId() == checker.APIOperationIdAddId || finding.GetId() == checker.APIOperationIdRemovedId
		})
	}
	for _, finding := range findings {
		change.Details = append(change.Details, changelog.Detail{Text: plainWords(finding), Breaking: finding.IsBreaking()})
		change.Breaking = change.Breaking || finding.IsBreaking()
	}
	change.Details = append(change.Details, sunset...)
	if len(change.Details) == 0 {
		change.Details = []changelog.Detail{{Text: "its structure changed in a way that the comparison has no words for"}}
	}
	return change
}
