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

	"github.com/getkin/kin-openapi/openapi3"

	"shopfront/internal/local/gateway"
)

// version is the version that every document has. Numbers and dates tell releases apart.
const version = "1.0.0"

// Check is the gate that a change of the interface has to pass. It returns every problem of the working document. The
// parameter routes has the routes of the template. Sunsets are compared with the day of the parameter today, in UTC.
func (c *Contract) Check(ctx context.Context, routes []gateway.Route, today time.Time) ([]string, error) {
	spec, err := openapi3.NewLoader().LoadFromData(c.working.yaml)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", workingFile, err)
	}
	var problems []string
	if err := spec.Validate(ctx); err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n") // the schema and the value follow
		problems = append(problems, workingFile+": "+reason)
	}
	if spec.Info != nil && spec.Info.Version != version {
		problems = append(problems, fmt.Sprintf("info.version is %s: set it back to %s. Releases are told apart by "+
			"number and date", spec.Info.Version, version))
	}
	return slices.Concat(problems, c.checkRoutes(routes), c.checkPromises(today), c.checkRendered()), nil
}

// goneFunction is the function that responds 410 to clients that still call a removed operation.
const goneFunction = "removed-payment"

// checkRoutes checks that the template routes exactly the operations of the working document, each GET with its HEAD.
// Only operations that a release had and that the document no longer has may be routed to the function that responds
// 410.
func (c *Contract) checkRoutes(routes []gateway.Route) []string {
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	functions := make(map[Operation]string)
	for _, route := range routes {
		routed := Operation{route.Method, route.Path}
		functions[routed.shape()] = route.Function
		shape := routed.shape()
		if shape.Method == http.MethodHead { // a HEAD is described by its GET
			shape.Method = http.MethodGet
		}
		_, isDocumented := c.working.operations[shape]
		wasReleased := slices.ContainsFunc(c.releases,
			func(r released) bool { _, had := r.operations[shape]; return had })
		switch {
		case route.Function == goneFunction && isDocumented:
			problem("%s is routed to %s, which responds 410, but is in %s: remove it there", routed, goneFunction,
				workingFile)
		case route.Function == goneFunction && !wasReleased:
			problem("%s is routed to %s, but no release had it: remove the route from the template", routed,
				goneFunction)
		case route.Function != goneFunction && !isDocumented:
			problem("%s is routed, but not in %s: describe it, or remove the route from the template", routed,
				workingFile)
		}
	}
	for shape, operation := range c.working.operations {
		function, isRouted := functions[shape]
		head := Operation{http.MethodHead, operation.Path}
		headFunction, hasHead := functions[head.shape()]
		switch {
		case !isRouted:
			problem("%s is in %s, but not routed: route it in the template", operation, workingFile)
		case operation.Method == http.MethodGet && !hasHead:
			problem("%s is not routed, but its GET is: route it in the template, too", head)
		case operation.Method == http.MethodGet && headFunction != function:
			problem("%s is routed to %s, but its GET to %[3]s: route both to %[3]s", head, headFunction, function)
		}
	}
	slices.Sort(problems)
	return problems
}

// checkPromises checks that the working document keeps the promises of the last release, and the sunsets of all
// releases. It checks the releases in the same way, as of their own dates, except for the reconstructed ones and the
// first release after them.
func (c *Contract) checkPromises(today time.Time) []string {
	day := today.UTC().Format(time.DateOnly)
	problems := unkept(c.releases, c.working, day)
	for i, release := range c.releases {
		var found []string
		if i > reconstructed {
			found = unkept(c.releases[:i], release.document, release.date)
		}
		switch {
		case release.date > day:
			found = append(found, "its date is in the future")
		case release.date == "" && i >= reconstructed:
			found = append(found, "it has no date")
		}
		for _, problem := range found {
			problems = append(problems, "release "+release.name+": "+problem)
		}
	}
	slices.Sort(problems)
	return problems
}

// unkept returns the promises that a document breaks: promises of the release before it, and sunsets of all earlier
// releases.
func unkept(before []released, revision document, day string) []string {
	problems := slices.Clone(revision.misplaced)
	sunsets := make(map[difference]string)
	for i, release := range before {
		compared := compare(release.document, revision, day)
		for broken, day := range compared.early {
			sunsets[broken] = max(sunsets[broken], day)
		}
		for _, difference := range compared.differences {
			if i == len(before)-1 && difference.harm != "" {
				problems = append(problems, difference.problem())
			}
		}
	}
	for broken, day := range sunsets {
		broken.harm = fmt.Sprintf(broken.harm, day)
		problems = append(problems, broken.problem())
	}
	return problems
}

// checkRendered checks that the rendered files are up to date.
func (c *Contract) checkRendered() []string {
	rendered, err := c.rendered()
	if err != nil {
		return []string{"the published files cannot be rendered: " + err.Error()}
	}
	var problems []string
	for name, want := range rendered {
		text, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(text, want) {
			problems = append(problems, fmt.Sprintf("api/%s is out of date: run go generate ./api", name))
		}
	}
	slices.Sort(problems)
	return problems
}
