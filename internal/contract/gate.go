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

	"shopfront/internal/local/samtemplate"
)

// version is the interface's one version line. Releases are told apart by their number and date.
const version = "1.0.0"

// Check is the gate: it returns all that stands in the way of landing the working document, none where it may land.
// routes are what the code answers; sunsets are judged by today, in UTC.
func (c *Contract) Check(ctx context.Context, routes []Route, today time.Time) ([]string, error) {
	working, err := parse(workingFile, c.working)
	if err != nil {
		return nil, err
	}
	var problems []string
	if err := working.Spec.Validate(ctx); err != nil {
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
	broken, err := c.checkPromises(working, today)
	if err != nil {
		return nil, err
	}
	return slices.Concat(problems, unrouted, broken, c.checkRendered()), nil
}

// Route is an operation, or the HEAD of one, and the function that answers it.
type Route struct {
	Operation

	Function string
}

// documented is the operation that stands for a route in a document: no document names HEAD, which is its GET.
func (r Route) documented() Operation {
	if r.Method == http.MethodHead {
		return Operation{http.MethodGet, r.Path}.shape()
	}
	return r.shape()
}

// goneFunction answers 410 to those that still call what a release removed.
const goneFunction = "removed-payment"

// Routes lists what a template routes.
func Routes(template *samtemplate.Template) []Route {
	var routes []Route
	for _, route := range template.Routes() {
		routes = append(routes, Route{Operation{route.Method, route.Path}, route.Function})
	}
	return routes
}

// checkRoutes wants the same operations in the code and in the working document, each GET with its HEAD, and nothing answered
// 410 but what a release had and has no longer.
func (c *Contract) checkRoutes(routes []Route, working document) ([]string, error) {
	released := make(map[Operation]bool)
	for _, release := range c.releases {
		document, err := parse(release.name, release.text)
		if err != nil {
			return nil, err
		}
		for shape := range document.byShape() {
			released[shape] = true
		}
	}
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	documented, functions := working.byShape(), make(map[Operation]string)
	for _, route := range routes {
		functions[route.shape()] = route.Function
		switch isDocumented := documented[route.documented()] != nil; {
		case route.Function == goneFunction && isDocumented:
			problem("%s is routed to %s, which answers 410, but is in %s: take it out there", route, goneFunction, workingFile)
		case route.Function == goneFunction && !released[route.documented()]:
			problem("%s is routed to %s, but no release had it: take the route out of the template", route, goneFunction)
		case route.Function != goneFunction && !isDocumented:
			problem("%s is routed, but not in %s: describe it, or take the route out of the template", route, workingFile)
		}
	}
	for operation := range working.operations() {
		function, isRouted := functions[operation.shape()]
		head := Operation{http.MethodHead, operation.Path}
		headFunction, hasHead := functions[head.shape()]
		switch {
		case !isRouted:
			problem("%s is in %s, but not routed: route it in the template", operation, workingFile)
		case operation.Method == http.MethodGet && !hasHead:
			problem("%s is not routed, but its GET is: route it in the template, too", head)
		case operation.Method == http.MethodGet && headFunction != function:
			problem("%s is not routed to %s, as its GET is: route it there", head, function)
		}
	}
	slices.Sort(problems)
	return problems, nil
}

// checkPromises wants the working document to keep what the last release promised, and the sunsets of all releases; and each
// release after the reconstructed ones, by its own date, likewise. Those are not asked for what the library alone would find:
// another version of it may find more, and they cannot change any more.
func (c *Contract) checkPromises(working document, today time.Time) ([]string, error) {
	var earlier []tree
	var problems []string
	day := today.UTC().Format(time.DateOnly)
	for i, release := range c.releases {
		document, err := readTree(release.name, release.text)
		if err != nil {
			return nil, err
		}
		var found []string
		if i > reconstructed {
			found, _ = unkept(earlier, document, release.date)
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
		earlier = append(earlier, document)
	}
	revision, err := readTree(workingFile, c.working)
	if err != nil {
		return nil, err
	}
	found, last := unkept(earlier, revision, day)
	missed, err := c.missed(working, last)
	problems = slices.Concat(problems, found, missed)
	slices.Sort(problems)
	return problems, err
}

// unkept are the promises of earlier documents, one at least, that a revision does not keep on a day: those of the last one,
// and the sunsets of all. It returns what was found against the last one, too.
func unkept(earlier []tree, revision tree, day string) (problems []string, last *promises) {
	problems = revision.misplacedSunsets("", nil)
	sunsets := make(map[sunset]string)
	for _, base := range earlier {
		last = keep(base, revision, day)
		for broken, day := range last.sunsets {
			sunsets[broken] = max(sunsets[broken], day)
		}
	}
	for broken, day := range sunsets {
		problems = append(problems, broken.of+": "+fmt.Sprintf(broken.how, day))
	}
	for operation, broken := range last.broken {
		name := operation.String()
		if operation == (Operation{}) {
			name = "the document"
		}
		for _, problem := range broken {
			problems = append(problems, name+": "+problem)
		}
	}
	return problems, last
}

// missed is what the library that compares documents finds breaking in operations of which the promises seem to be kept. It
// excuses neither fields nor headers that were announced to go.
func (c *Contract) missed(working document, kept *promises) ([]string, error) {
	base, err := parse(c.last().name, c.last().text)
	if err != nil {
		return nil, err
	}
	differs, err := compare(base, working)
	if err != nil {
		return nil, err
	}
	var problems []string
	for operation, findings := range differs.findings {
		for _, finding := range findings {
			isAnnounced := slices.ContainsFunc(finding.GetArgs(), func(arg any) bool {
				segments := strings.Split(fmt.Sprint(arg), "/") // of a field's path
				return slices.Contains(kept.announced[operation], segments[len(segments)-1])
			})
			if len(kept.broken[operation]) == 0 && finding.IsBreaking() && !isAnnounced {
				problems = append(problems, operation.String()+": "+plainWords(finding))
			}
		}
	}
	return problems, nil
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
