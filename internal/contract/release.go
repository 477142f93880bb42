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
)

// ErrUnchanged says that the working document has nothing new to release.
var ErrUnchanged = errors.New("nothing changed since the last release that a client could tell")

// RedError is the error of a release that the gate does not let through.
type RedError struct{ Problems []string }

func (e *RedError) Error() string { return strings.Join(e.Problems, "\n") }

// Release freezes the working document as the release of today, in UTC, and renders anew. It returns the release's name. It
// is a *RedError where Check finds problems, and ErrUnchanged where no operation was added, removed or modified.
func (c *Contract) Release(ctx context.Context, routes []Route, today time.Time) (name string, err error) {
	problems, err := c.Check(ctx, routes, today)
	if err != nil {
		return "", err
	}
	if len(problems) > 0 {
		return "", &RedError{problems}
	}
	base, err := parse(c.last().name, c.last().text)
	if err != nil {
		return "", err
	}
	working, err := parse(workingFile, c.working)
	if err != nil {
		return "", err
	}
	changed, err := changes(base, working)
	if err != nil {
		return "", err
	}
	if len(changed) == 0 {
		return "", ErrUnchanged
	}
	return c.freeze(today.UTC().Format(time.DateOnly))
}

func (c *Contract) freeze(date string) (name string, err error) {
	frozen := released{name: fmt.Sprintf("%04d-%s", len(c.releases)+1, date), date: date, text: c.working}
	releases := append(slices.Clip(c.releases), frozen)
	var sums strings.Builder
	for _, release := range releases {
		sums.WriteString(sumLine(release.name+".yaml", release.text))
	}
	dir := filepath.Join(c.dir, releasesDir)
	if err := writeNew(filepath.Join(dir, frozen.name+".yaml"), frozen.text); err != nil {
		return "", err
	}
	if err := writeFile(filepath.Join(dir, sumsFile), []byte(sums.String())); err != nil {
		return "", err
	}
	c.releases = releases
	return frozen.name, c.Render()
}

// writeNew never overwrites.
func writeNew(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it is public
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
