package contract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shopfront/internal/local/gateway"
)

// ErrUnchanged means that a release would change nothing for clients.
var ErrUnchanged = errors.New("nothing changed for clients since the last release: change the structure of " +
	"api/openapi.yaml first")

// RedError means that a document does not pass the gate.
type RedError struct{ Problems []string }

func (e *RedError) Error() string {
	return "api/" + workingFile + " does not pass the gate:\n- " + strings.Join(e.Problems, "\n- ")
}

// Release freezes the working document as the release of today, in UTC, and renders the files again. It returns the
// release's name. The error is a *RedError if Check finds problems, and ErrUnchanged if no operation was added, removed
// or modified.
func (c *Contract) Release(ctx context.Context, routes []gateway.Route, today time.Time) (string, error) {
	problems, err := c.Check(ctx, routes, today)
	if err != nil {
		return "", err
	}
	if len(problems) > 0 {
		return "", &RedError{problems}
	}
	changed, err := changes(c.last().document, c.working)
	if err != nil {
		return "", err
	}
	if len(changed) == 0 {
		return "", ErrUnchanged
	}
	frozen := released{document: c.working, date: today.UTC().Format(time.DateOnly)}
	frozen.name = fmt.Sprintf("%04d-%s", len(c.releases)+1, frozen.date)
	c.releases = append(slices.Clip(c.releases), frozen)
	var sums strings.Builder
	for _, release := range c.releases {
		sums.WriteString(sumLine(release.name+".yaml", release.yaml))
	}
	for name, text := range map[string][]byte{frozen.name + ".yaml": frozen.yaml, sumsFile: []byte(sums.String())} {
		if err := writeFile(filepath.Join(c.dir, releasesDir, name), text); err != nil {
			return "", err
		}
	}
	return frozen.name, c.Render()
}

func writeFile(name string, text []byte) error {
	return os.WriteFile(name, text, 0o644) //nolint:gosec // the files are public
}
