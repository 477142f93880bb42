package localrun

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"shopfront/internal/local/localstate"
)

// announce leaves the files by which other commands find the run, and tells the developer where it is.
func (r *run) announce(ctx context.Context) error {
	variables := filepath.Join(r.dir, "env-vars.json")
	r.onStop(func() error { return remove(variables) })
	if err := r.writeVariables(ctx, variables); err != nil {
		return err
	}
	r.onStop(func() error { return localstate.Remove(r.Root) })
	if err := r.state.Write(r.Root); err != nil {
		return err
	}
	shown, err := examples(r.Root, r.template, r.state.BaseURL)
	if err != nil {
		return err
	}
	r.out.say("\nShopfront is at %s, its functions log to %s. Ctrl-C stops it.\nRead and try its interface at %s/docs\n\n%s",
		r.state.BaseURL, r.functionsLog(), r.state.BaseURL, shown)
	if r.Serving != nil {
		r.Serving(r.state)
	}
	return nil
}

// writeVariables writes what the functions are to be told of the local run in the SAM CLI's containers, in the form of its
// --env-vars. There this machine is host.docker.internal, which the Makefile adds.
func (r *run) writeVariables(ctx context.Context, path string) error {
	endpoint, err := r.store.ContainerEndpoint(ctx)
	if err != nil {
		return err
	}
	template, err := LoadTemplate(r.Root, endpoint)
	if err != nil {
		return err
	}
	variables := make(map[string]map[string]string)
	for _, f := range template.Functions() {
		environment, err := f.Environment(Tables(template))
		if err != nil {
			return err
		}
		variables[f.LogicalID] = environment
	}
	text, err := json.MarshalIndent(variables, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
