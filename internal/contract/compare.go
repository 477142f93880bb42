package contract

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"

	"shopfront/internal/contract/changelog"
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

// plainWords says a finding in English, its numbers as the documents have them: the library would round them. Its words take
// any type of a parameter to become wider where it becomes a string, for as such it comes.
func plainWords(finding checker.Change) string {
	if change, isChange := finding.(checker.ApiChange); isChange {
		if change.Id == checker.RequestParameterTypeGeneralizedId && slices.Contains(change.Args[:len(change.Args)-1], any("any")) {
			change.Id = checker.RequestParameterTypeChangedId
		}
		change.Args = slices.Clone(change.Args)
		for i, arg := range change.Args {
			if number, isNumber := arg.(float64); isNumber {
				change.Args[i] = strconv.FormatFloat(number, 'f', -1, 64)
			}
		}
		finding = change
	}
	text := strings.ReplaceAll(finding.GetUncolorizedText(checker.NewDefaultLocalizer()), "#/components/schemas/", "")
	return regexp.MustCompile("`[^`]*(one|any|all)Of\\[[^`]*`").ReplaceAllStringFunc(text, plainPath)
}

// plainPath turns the library's path of a field in one of several schemas, such as `oneOf[Redemption]/reward/coins`, around:
// `reward/coins` of `Redemption`.
func plainPath(path string) string {
	path = strings.Trim(path, "`")
	var parts []string
	name := func(field string) {
		if field = strings.Trim(field, "/"); field != "" {
			parts = append(parts, "`"+field+"`")
		}
	}
	for {
		step := regexp.MustCompile(`(one|any|all)Of\[(?:subschema #(\d+)(?:: )?)?([^\]]*)\]`).FindStringSubmatchIndex(path)
		if step == nil {
			break
		}
		of, number, schema := path[step[2]:step[3]], step[4:6], path[step[6]:step[7]]
		name(path[:step[0]])
		switch {
		case schema != "":
			name(schema)
		case of == "all":
			parts = append(parts, "part "+path[number[0]:number[1]])
		default:
			parts = append(parts, "alternative "+path[number[0]:number[1]])
		}
		path = path[step[1]:]
	}
	name(path)
	slices.Reverse(parts)
	return strings.Join(parts, " of ")
}

// changes are the structure changes from one released document to the next: each operation that was added, removed or
// modified, whatever its path's parameters are called, once. It is breaking if the library's checks, at their own
// severities, find something breaking in it; a removal if the base had not marked the operation deprecated.
func changes(base, revision document) ([]changelog.Change, error) {
	bases, revisions := base.byShape(), revision.byShape()
	kept := keep(base.tree, revision.tree, "")
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
			change.Details = append([]changelog.Detail{{Text: "it is deprecated"}}, details(kept.moved[shape])...)
		}
		found = append(found, change)
	}
	for operation := range modifiedOperations(differs, base, kept.moved) {
		found = append(found, modification(operation, differs.findings[operation], kept))
	}
	slices.SortFunc(found, func(a, b changelog.Change) int {
		return cmp.Or(cmp.Compare(order(a.Kind), order(b.Kind)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return found, nil
}

func order(kind changelog.Kind) int {
	return slices.Index([]changelog.Kind{changelog.Removed, changelog.Modified, changelog.Added}, kind)
}

// modifiedOperations are those whose structure differs, and those in which a sunset was moved.
func modifiedOperations(differs difference, base document, moved map[Operation][]string) map[Operation]bool {
	modified := make(map[Operation]bool)
	for endpoint := range differs.Modified {
		modified[Operation(endpoint)] = true
	}
	for operation := range base.operations() {
		if moved[operation.shape()] != nil {
			modified[operation] = true
		}
	}
	return modified
}

// modification is told in the library's words; where it has none, in those of the gate.
func modification(operation Operation, findings []checker.Change, kept *promises) changelog.Change {
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
	if len(findings) == 0 {
		change.Details = details(kept.different[operation.shape()])
	}
	change.Details = append(change.Details, details(kept.moved[operation.shape()])...)
	if len(change.Details) == 0 {
		change.Details = details([]string{"its structure changed in a way that the comparison has no words for"})
	}
	return change
}

// details are texts, none of them breaking, in an order that does not change.
func details(texts []string) []changelog.Detail {
	var sorted []changelog.Detail
	for _, text := range slices.Compact(slices.Sorted(slices.Values(texts))) {
		sorted = append(sorted, changelog.Detail{Text: text})
	}
	return sorted
}
