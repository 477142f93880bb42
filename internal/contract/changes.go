package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"

	"shopfront/internal/contract/changelog"
)

// findings runs the diff library's checks and returns the findings for each operation's shape, the most severe first.
func findings(base, revision document) (map[Operation][]checker.Change, error) {
	before, err := base.structure()
	if err != nil {
		return nil, err
	}
	now, err := revision.structure()
	if err != nil {
		return nil, err
	}
	config := diff.NewConfig(diff.WithExcludeElements([]string{diff.ExcludeTitleOption}))
	differs, sources, err := diff.GetPathsDiff(config, []*load.SpecInfo{before}, []*load.SpecInfo{now})
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", revision.name, base.name, err)
	}
	found := make(map[Operation][]checker.Change)
	if differs == nil {
		return found, nil
	}
	checks := checker.NewConfig(checker.GetAllChecks())
	for _, finding := range checker.CheckBackwardCompatibilityUntilLevel(checks, differs, sources, checker.INFO) {
		shape := Operation{finding.GetOperation(), finding.GetPath()}.shape()
		found[shape] = append(found[shape], finding)
	}
	return found, nil
}

// structure returns the document for the diff library. It leaves out text. It also leaves out sunsets, because the
// library would compare them with the clock.
func (d document) structure() (*load.SpecInfo, error) {
	var raw object
	if err := json.Unmarshal(d.text, &raw); err != nil {
		return nil, err
	}
	strip(raw, false, append(text(), sunsetExtension)...)
	stripped, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	info, err := load.NewSpecInfoFromData(openapi3.NewLoader(), stripped, d.name, load.WithFlattenParams())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return info, nil
}

// plainWords describes a finding in English. The library rounds numbers; plainWords writes them as the documents do. If
// a parameter without a type becomes a string, the library says that the type was widened; plainWords says that the
// type was changed.
func plainWords(finding checker.Change) string {
	if change, isChange := finding.(checker.ApiChange); isChange {
		if change.Id == checker.RequestParameterTypeGeneralizedId &&
			slices.Contains(change.Args[:len(change.Args)-1], any("any")) {
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
	if finding.GetId() == checker.APISecurityAddedCheckId {
		text = strings.NewReplacer("the endpoint scheme security", "credentials of the security scheme",
			"was added to the API", "are accepted").Replace(text)
	}
	return regexp.MustCompile("`[^`]*(one|any|all)Of\\[[^`]*`").ReplaceAllStringFunc(text, plainPath)
}

// plainPath rewrites the library's path of a field in one of several schemas. For example,
// `oneOf[Redemption]/reward/coins` becomes `reward/coins` of `Redemption`.
func plainPath(path string) string {
	step := regexp.MustCompile(`(one|any|all)Of\[(?:subschema #(\d+)(?:: )?)?([^\]]*)\]`)
	path = step.ReplaceAllStringFunc(strings.Trim(path, "`"), func(found string) string {
		parts := step.FindStringSubmatch(found)
		switch of, number, schema := parts[1], parts[2], parts[3]; {
		case schema != "":
			return "\n`" + schema + "`\n"
		case of == "all":
			return "\npart " + number + "\n"
		default:
			return "\nalternative " + number + "\n"
		}
	})
	var names []string
	for i, name := range strings.Split(path, "\n") { // fields are at even positions, schemas between them
		if isField := i%2 == 0; isField {
			name = strings.Trim(name, "/")
			if name == "" {
				continue
			}
			name = "`" + name + "`"
		}
		names = append(names, name)
	}
	slices.Reverse(names)
	return strings.Join(names, " of ")
}

// changes returns the structure changes from one released document to the next: each operation that was added, removed
// or modified counts once. Renamed path parameters do not count. A removal is breaking if the base had not marked the
// operation deprecated. A modification is breaking if the library has a breaking finding for it.
func changes(base, revision document) ([]changelog.Change, error) {
	found, err := findings(base, revision)
	if err != nil {
		return nil, err
	}
	compared := compare(base, revision, "")
	all := []changelog.Change{}
	for shape, before := range base.operations {
		if _, stays := revision.operations[shape]; stays {
			continue
		}
		removed := changelog.Change{
			Kind: changelog.Removed, Method: before.Method, Path: before.Path,
			Breaking: !before.isDeprecated(),
		}
		if before.isDeprecated() {
			removed.Details = []changelog.Detail{{Text: "it was deprecated before"}}
		}
		all = append(all, removed)
	}
	for shape, now := range revision.operations {
		change := changelog.Change{Kind: changelog.Modified, Method: now.Method, Path: now.Path}
		sunsets := texts(now.Operation, compared.sunsets)
		if _, wasThere := base.operations[shape]; wasThere {
			change.Details, change.Breaking = describe(found[shape])
			if len(change.Details) == 0 {
				change.Details = texts(now.Operation, compared.differences)
			}
			change.Details = append(change.Details, sunsets...)
		} else {
			change.Kind = changelog.Added
			if now.isDeprecated() {
				change.Details = append([]changelog.Detail{{Text: "it is deprecated"}}, sunsets...)
			}
		}
		if change.Kind == changelog.Added || len(change.Details) > 0 {
			all = append(all, change)
		}
	}
	slices.SortFunc(all, func(a, b changelog.Change) int {
		return cmp.Or(cmp.Compare(order(a.Kind), order(b.Kind)), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Method, b.Method))
	})
	return all, nil
}

// texts returns an operation's differences as sorted details. It marks no detail as breaking.
func texts(of Operation, differences []difference) (details []changelog.Detail) {
	for _, d := range differences {
		if d.operation == of {
			details = append(details, changelog.Detail{Text: d.String()})
		}
	}
	slices.SortFunc(details, func(a, b changelog.Detail) int { return cmp.Compare(a.Text, b.Text) })
	return slices.Compact(details)
}

func order(kind changelog.Kind) int {
	return slices.Index([]changelog.Kind{changelog.Removed, changelog.Modified, changelog.Added}, kind)
}

// describe puts the library's findings for an operation into words. A new or changed operationId is left out if there
// is another finding.
func describe(findings []checker.Change) (details []changelog.Detail, isBreaking bool) {
	for _, finding := range findings {
		isID := finding.GetId() == checker.APIOperationIdAddId || finding.GetId() == checker.APIOperationIdRemovedId
		if isID && len(findings) > 1 {
			continue
		}
		details = append(details, changelog.Detail{Text: plainWords(finding), Breaking: finding.IsBreaking()})
		isBreaking = isBreaking || finding.IsBreaking()
	}
	return details, isBreaking
}
