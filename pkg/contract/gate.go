package contract

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oasdiff/oasdiff/checker"

	"shopfront/pkg/samtemplate"
)

// version is the interface's one version line. Releases are told apart by their number and date.
const version = "1.0.0"

// Check is the gate: it returns all that stands in the way of landing the working document, none where it may land.
// routes are what the code answers; sunsets are judged by today, in UTC.
func (c *Contract) Check(routes []Operation, today time.Time) ([]string, error) {
	base, err := parse(c.last().name, c.last().text)
	if err != nil {
		return nil, err
	}
	working, err := parse(workingFile, c.working)
	if err != nil {
		return nil, err
	}
	var problems []string
	if err := working.Spec.Validate(context.Background()); err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n") // the schema and the value would follow
		problems = append(problems, workingFile+": "+reason)
	}
	if working.Version != version {
		problems = append(problems, fmt.Sprintf("info.version is %s; it stays %s", working.Version, version))
	}
	unrouted, err := c.checkRoutes(routes, working)
	if err != nil {
		return nil, err
	}
	broken, err := checkPromises(base, working, today)
	if err != nil {
		return nil, err
	}
	return slices.Concat(problems, unrouted, broken, c.checkRendered()), nil
}

// Routes lists what a template routes. HEAD is its GET: each GET has one, and no document names it.
func Routes(template *samtemplate.Template) []Operation {
	var operations []Operation
	for _, route := range template.Routes() {
		if route.Method != http.MethodHead {
			operations = append(operations, Operation{route.Method, route.Path})
		}
	}
	return operations
}

// checkRoutes wants the same operations in the code and in the working document. The code may also route what a release
// had and has no longer: it tells those that still call it.
func (c *Contract) checkRoutes(routes []Operation, working document) ([]string, error) {
	var problems []string
	documented, released, routed := working.byShape(), make(map[Operation]bool), make(map[Operation]bool)
	for _, release := range c.releases {
		document, err := parse(release.name, release.text)
		if err != nil {
			return nil, err
		}
		for shape := range document.byShape() {
			released[shape] = true
		}
	}
	for _, route := range routes {
		routed[route.shape()] = true
		if documented[route.shape()] == nil && !released[route.shape()] {
			problems = append(problems, fmt.Sprintf("%s is routed, but not in %s", route, workingFile))
		}
	}
	for operation := range working.operations() {
		if !routed[operation.shape()] {
			problems = append(problems, fmt.Sprintf("%s is in %s, but not routed", operation, workingFile))
		}
	}
	slices.Sort(problems)
	return problems, nil
}

// raised are the checks that the library finds mild, and a client does not.
func raised() map[string]checker.Level {
	return map[string]checker.Level{
		checker.ResponseNonSuccessStatusRemovedId:         checker.ERR,
		checker.ResponseOptionalPropertyRemovedId:         checker.ERR,
		checker.OptionalResponseHeaderRemovedId:           checker.ERR,
		checker.RequestParameterDefaultValueChangedId:     checker.ERR,
		checker.RequestParameterDefaultValueRemovedId:     checker.ERR,
		checker.RequestPropertyDefaultValueChangedId:      checker.ERR,
		checker.RequestPropertyDefaultValueRemovedId:      checker.ERR,
		checker.APIOperationIdRemovedId:                   checker.ERR, // generated clients call it by that name
		checker.RequestPropertyDiscriminatorRemovedId:     checker.ERR,
		checker.ResponsePropertyDiscriminatorRemovedId:    checker.ERR,
		checker.ResponseBodyDiscriminatorRemovedId:        checker.ERR,
		checker.ResponseBodyDiscriminatorMappingDeletedId: checker.ERR,
	}
}

// checkPromises wants the working document to keep what the last release promised, but for what was announced to go.
func checkPromises(base, working document, today time.Time) ([]string, error) {
	problems := takeOut(base, working, today.UTC())
	differs, err := compare(base, working, raised())
	if err != nil {
		return nil, err
	}
	var broken []string
	for operation, findings := range differs.findings {
		for _, finding := range findings {
			if finding.IsBreaking() {
				broken = append(broken, operation.String()+": "+plainWords(finding))
			}
		}
	}
	slices.Sort(broken)
	return append(problems, broken...), nil
}

// checkRendered wants the rendered files to be what Render would write.
func (c *Contract) checkRendered() []string {
	rendered, err := c.rendered()
	if err != nil {
		return []string{"nothing can be rendered: " + err.Error()}
	}
	var problems []string
	for _, file := range rendered {
		text, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(file.name)))
		if err != nil || !bytes.Equal(text, file.text) {
			problems = append(problems, fmt.Sprintf("api/%s is out of date: run `go generate ./api`", file.name))
		}
	}
	return problems
}
