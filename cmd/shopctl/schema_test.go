package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json" // unlike encoding/json, it refuses a name that appears twice
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"shopfront/internal/local/localrun"
	"shopfront/pkg/backoffice"
)

const schemaFile = "../../docs/shopctl.schema.json"

// documents checks what the program prints with --json against docs/shopctl.schema.json.
type documents struct {
	root     *cobra.Command
	compiler *jsonschema.Compiler
	commands map[string]documentNames
	defs     map[string]map[string]any
}

// documentNames are the names of the documents that a command prints.
type documentNames struct {
	Stdout []string `json:"stdout"`
	Stderr []string `json:"stderr"`
}

func readSchema(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newDocuments(t *testing.T, text string) documents {
	t.Helper()
	var file struct {
		Commands map[string]documentNames  `json:"x-commands"`
		Defs     map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatalf("%s: %v", schemaFile, err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("file:///shopctl.schema.json", schema); err != nil {
		t.Fatal(err)
	}
	root := newRootCommand(&session{})
	root.InitDefaultHelpCmd()
	return documents{root, compiler, file.Commands, file.Defs}
}

// checkJSON fails the test if a run with --json printed anything that the schema does not allow.
func checkJSON(t *testing.T, schema string, args []string, got result) {
	t.Helper()
	if !slices.Contains(args, "--json") || args[0] == cobra.ShellCompRequestCmd {
		return
	}
	d := newDocuments(t, schema) // not shared, because tests run in parallel
	command, _, err := d.root.Find(args)
	if err != nil {
		command = d.root
	}
	printed := d.commands[nameOf(command)]
	d.checkLines(t, args, "stdout", got.stdout, printed.Stdout)
	d.checkLines(t, args, "stderr", got.stderr, append([]string{"error", "warning"}, printed.Stderr...))
}

func (d documents) checkLines(t *testing.T, args []string, stream, text string, names []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Errorf("shopctl %q printed no JSON to %s: %s", args, stream, line)
			return
		}
		var faults []string
		for _, name := range names {
			schema, err := d.compiler.Compile("file:///shopctl.schema.json#/$defs/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				faults = append(faults, err.Error())
			}
		}
		if len(faults) == len(names) {
			t.Errorf("shopctl %q printed a line to %s that no document of %s allows:\n%s%s", args, stream, schemaFile,
				line,
				strings.Join(faults, "\n"))
		}
	}
}

// nameOf returns the name of a command in x-commands, such as voucher list.
func nameOf(command *cobra.Command) string {
	_, name, _ := strings.Cut(command.CommandPath(), " ")
	return name
}

func TestSchema_NamesTheDocumentsOfEveryCommand(t *testing.T) {
	t.Parallel()
	d := newDocuments(t, readSchema(t))
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		name := nameOf(command)
		if name == "completion" || name == "help" {
			return // they print no results
		}
		if _, named := d.commands[name]; named == command.HasSubCommands() {
			t.Errorf("x-commands names %q: %t, want %t", name, named, !command.HasSubCommands())
		}
		delete(d.commands, name)
		for _, below := range command.Commands() {
			visit(below)
		}
	}
	visit(d.root)
	if len(d.commands) > 0 {
		t.Errorf("x-commands names commands that do not exist: %v", d.commands)
	}
}

// If a schema allowed further properties, a document with a new field would match, although the schema does not
// describe the field.
func TestSchema_DocumentsAllowNoFurtherProperties(t *testing.T) {
	t.Parallel()
	d := newDocuments(t, readSchema(t))
	isPrinted := map[string]bool{"error": true, "warning": true}
	for _, printed := range d.commands {
		for _, name := range slices.Concat(printed.Stdout, printed.Stderr) {
			isPrinted[name] = true
		}
	}
	for name, def := range d.defs {
		d.checkClosed(t, name, def, !isPrinted[name])
	}
}

// checkClosed fails the test if a schema allows further properties. A schema that is only a part of another schema may
// allow them, because the other schema forbids them.
func (d documents) checkClosed(t *testing.T, path string, schema map[string]any, isPart bool) {
	t.Helper()
	if !isPart && d.isOpen(schema) {
		t.Errorf("%s allows further properties", path)
	}
	for keyword, value := range schema {
		switch value := value.(type) {
		case map[string]any:
			d.checkClosed(t, path+"/"+keyword, value, keyword != "items" && !strings.HasSuffix(path, "/properties"))
		case []any:
			for _, element := range value {
				if element, is := element.(map[string]any); is {
					d.checkClosed(t, path+"/"+keyword, element, keyword == "allOf")
				}
			}
		}
	}
}

func (d documents) isOpen(schema map[string]any) bool {
	ref, _ := schema["$ref"].(string)
	_, hasProperties := schema["properties"]
	hasProperties = hasProperties || schema["allOf"] != nil || ref != "" &&
		d.isOpen(d.defs[strings.TrimPrefix(ref, "#/$defs/")])
	return hasProperties && schema["additionalProperties"] != false && schema["unevaluatedProperties"] != false
}

func TestSchema_Replay_PrintsEventsAndTheirNumber(t *testing.T) {
	t.Parallel()
	s, _ := newEventsShop(t, 3)
	// checks the schema
	got := s.shopctl(t.Context(), "--local", "events", "replay", "emberforge", s.newReceiver(t).url, "--from", "2",
		"--json")
	if got.exit != exitOK || strings.Count(got.stdout, "\n") != 2 || got.stderr != `{"posted":2}`+"\n" {
		t.Errorf("got %v", got)
	}
}

// The test does not run dev itself, because dev would build the functions.
func TestSchema_Dev_PrintsWhereItServes(t *testing.T) {
	t.Parallel()
	printed, err := json.Marshal(localrun.State{Tables: backoffice.Tables{Events: "EventsTable"}})
	if err != nil {
		t.Fatal(err)
	}
	newDocuments(t, readSchema(t)).checkLines(t, []string{"dev", "--json"}, "stdout", string(printed),
		[]string{"localRun"})
}
