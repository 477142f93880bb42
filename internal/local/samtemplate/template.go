package samtemplate

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// File is the name of the main template, in the root of the repository.
const File = "template.yaml"

// Template is the definition of the stack, with values for its parameters.
type Template struct {
	functions []Function
	routes    []Route
	cors      *CORS
	throttle  Throttle
	tables    []Table
	version   string
	stack     *stack
}

// Load reads template.yaml and what it nests, from the repository's root. Parameters override the defaults of the
// template's own parameters, and those of the pseudo parameters AWS::AccountId, AWS::Partition, AWS::Region,
// AWS::StackName and AWS::URLSuffix. What it does not know is an error with the file and the line.
func Load(root string, parameters map[string]string) (*Template, error) {
	pseudo := map[string]string{
		"AWS::AccountId": "123456789012",
		"AWS::Partition": "aws",
		"AWS::Region":    "us-east-1",
		"AWS::StackName": "shopfront",
		"AWS::URLSuffix": "amazonaws.com",
	}
	overrides := make(map[string]value)
	for name, text := range parameters {
		if strings.Contains(text, referenceMark) {
			return nil, fmt.Errorf("the parameter %s has a NUL in it", name)
		}
		if _, ok := pseudo[name]; ok {
			pseudo[name] = text
			continue
		}
		overrides[name] = scalar(position{file: File}, text)
	}
	files := os.DirFS(root)
	s, err := loadStack(files, File, "", overrides, pseudo)
	if err != nil {
		return nil, err
	}
	t := &Template{stack: s}
	if t.tables, err = s.readTables(); err != nil {
		return nil, err
	}
	outputs, err := nameTables(s, t.tables)
	if err != nil {
		return nil, err
	}
	if err := t.readAPI(s); err != nil {
		return nil, err
	}
	if err := t.readFunctions(s, outputs); err != nil {
		return nil, err
	}
	d := decoder{}
	t.version = d.text(s.outputs["Version"], "")
	return t, d.err
}

// nameTables gives each table the name of the output that tells its name, and those by the table's address.
func nameTables(s *stack, tables []Table) (map[string]string, error) {
	outputs := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(s.outputs)) {
		outputs[s.outputs[name].text] = name
	}
	named := make(map[string]string)
	for i, table := range tables {
		name, ok := outputs[reference(table.address)]
		if !ok {
			return nil, fmt.Errorf("%s: no output tells the name of the table %s", s.file, table.address)
		}
		tables[i].Output = name
		named[table.address] = name
	}
	return named, nil
}

// Functions lists the functions, in the template's order.
func (t *Template) Functions() []Function { return slices.Clone(t.functions) }

// Routes lists the routes of the HTTP API, in the template's order.
func (t *Template) Routes() []Route { return slices.Clone(t.routes) }

// CORS is the HTTP API's CORS configuration, nil for none.
func (t *Template) CORS() *CORS { return t.cors }

// Throttle is the limit of the HTTP API's stage.
func (t *Template) Throttle() Throttle { return t.throttle }

// Tables lists the tables that the stack creates, in the templates' order: not those that a parameter names.
func (t *Template) Tables() []Table { return slices.Clone(t.tables) }

// Version is the stack's output of that name, empty for none.
func (t *Template) Version() string { return t.version }
