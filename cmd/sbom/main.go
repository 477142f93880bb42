// Command sbom writes the software bill of materials of built programs, and fails where one carries a module whose licence
// does not go with Apache-2.0; `make sbom` runs it. Run it in a checkout.
//
//	sbom DIRECTORY NAME=BINARY…
//
// It writes DIRECTORY/NAME.cdx.json for each, and lists the licences on stdout.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"shopfront/pkg/sbom"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	if len(arguments) < 2 {
		return errors.New("usage: sbom DIRECTORY NAME=BINARY…")
	}
	folders, err := sources(ctx)
	if err != nil {
		return err
	}
	directory := arguments[0]
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // to be read by others
		return err
	}
	modules := make(map[string]sbom.Module)
	for _, argument := range arguments[1:] {
		name, binary, ok := strings.Cut(argument, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=BINARY", argument)
		}
		program, err := sbom.Read(name, binary, folders)
		if err != nil {
			return err
		}
		if err := write(program, filepath.Join(directory, name+".cdx.json")); err != nil {
			return err
		}
		for _, module := range program.Modules {
			modules[module.Path+"@"+module.Version] = module
		}
	}
	return list(out, modules)
}

// sources are the folders of the modules of this build, by path and version.
func sources(ctx context.Context) (map[string]string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}@{{.Version}} {{.Dir}}", "all")
	command.Stderr = os.Stderr
	listed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	folders := make(map[string]string)
	for line := range strings.Lines(string(listed)) {
		if module, folder, _ := strings.Cut(strings.TrimSpace(line), " "); folder != "" { // none: it is not downloaded
			folders[module] = folder
		}
	}
	return folders, nil
}

func write(program sbom.Program, path string) (err error) {
	file, err := os.Create(path) //nolint:gosec // where it was asked for
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return program.Write(file)
}

// list lists the modules with their licences, and fails where one may not be carried.
func list(out io.Writer, modules map[string]sbom.Module) error {
	var objections []error
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		module := modules[name]
		lines.WriteString(module.Path + "\t" + module.Version + "\t" + strings.Join(module.Licences, ", ") + "\n")
		if objection := module.Objection(); objection != "" {
			objections = append(objections, fmt.Errorf("%s %s", name, objection))
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, lines.String()); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return errors.Join(objections...)
}
