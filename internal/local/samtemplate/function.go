package samtemplate

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Function is a Lambda function.
type Function struct {
	// LogicalID is its name in the template, such as RedeemVoucher; the keys of `sam local invoke --env-vars` are those.
	LogicalID string
	// Name is that in kebab case, redeem-voucher, as the Makefile's build rule has it too.
	Name string
	// Package is the path of its main package from the repository's root, with slashes: functions/redeem-voucher.
	Package string
	// Handler is the name of the program, which its runtime starts.
	Handler string
	// Architecture is arm64 or x86_64.
	Architecture string
	Timeout      time.Duration
	MemorySize   int // MB

	variables value
	outputs   map[string]string // the tables' addresses → the outputs that tell their names
}

// readFunctions reads the functions and the routes that lead to them. Outputs are those of the tables.
func (t *Template) readFunctions(s *stack, outputs map[string]string) error {
	functions, err := s.all(typeFunction)
	if err != nil {
		return err
	}
	for _, r := range functions {
		v, err := s.properties(r)
		d := decoder{err: err}
		f, routes := readFunction(&d, s, r, v)
		if d.err != nil {
			return d.err
		}
		if info, err := fs.Stat(s.files, f.Package); err != nil || !info.IsDir() {
			return r.at.errorf("%s has no folder %s", f.LogicalID, f.Package)
		}
		f.outputs = outputs
		t.functions = append(t.functions, f)
		t.routes = append(t.routes, routes...)
	}
	return nil
}

func readFunction(d *decoder, s *stack, r resource, v value) (Function, []Route) {
	properties := d.mapping(v, "Runtime", "Handler", "CodeUri", "Architectures", "MemorySize", "Timeout", "Environment",
		"Events", "Description", "Role", "LoggingConfig", "ReservedConcurrentExecutions", "Tracing")
	// The build rule takes the folder from the function's name, and the whole repository is what it builds from.
	d.oneOf(properties["Runtime"], "provided.al2023")
	d.oneOf(properties["CodeUri"], ".")
	f := Function{
		LogicalID:    r.name,
		Name:         kebab(r.name),
		Package:      "functions/" + kebab(r.name),
		Handler:      d.oneOf(properties["Handler"], "bootstrap"),
		Architecture: "x86_64",
		Timeout:      time.Duration(d.number(properties["Timeout"], 3)) * time.Second,
		MemorySize:   d.number(properties["MemorySize"], 128),
		variables:    d.mapping(properties["Environment"], "Variables")["Variables"],
	}
	for i, architecture := range d.list(properties["Architectures"]) {
		f.Architecture = d.oneOf(architecture, "x86_64", "arm64")
		if i > 0 {
			d.fail(architecture.at.errorf("%s has more than one architecture", r.name))
		}
	}
	for _, name := range d.names(f.variables) {
		if v := f.variables.dict[name]; v.kind != yaml.ScalarNode {
			d.fail(v.at.errorf("the variable %s is %s, not a text", name, v.describe()))
		}
	}
	return f, readRoutes(d, s, f.Name, properties["Events"])
}

// Environment gives the variables that the template declares for the function. Tables are the names of the tables by
// their output (Table.Output); those that the function does not use may lack. It is an error when a table that it uses
// lacks, or when a variable is known only in a deployed stack.
func (f Function) Environment(tables map[string]string) (map[string]string, error) {
	environment := make(map[string]string)
	for _, name := range f.variables.keys {
		v := f.variables.dict[name]
		text := v.text
		for _, address := range references(v.text) {
			output, ok := f.outputs[address]
			if !ok {
				return nil, v.at.errorf("%s of %s needs %s, which only a deployed stack has", name, f.LogicalID, address)
			}
			table, ok := tables[output]
			if !ok {
				return nil, fmt.Errorf("%s of %s: there is no table for %s", name, f.LogicalID, output)
			}
			text = strings.ReplaceAll(text, reference(address), table)
		}
		environment[name] = text
	}
	return environment, nil
}

// kebab writes RedeemVoucher as redeem-voucher.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
