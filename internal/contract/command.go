package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"shopfront/internal/contract/pages"
	"shopfront/internal/local/samtemplate"
)

// Run is the command of cmd/contract, in the checkout at root: check or release, which return a *RedError where the gate is red,
// or render. It says on out what it did, and what it could not check.
func Run(ctx context.Context, args []string, root string, out io.Writer, now time.Time) error {
	command := ""
	if len(args) == 1 {
		command = args[0]
	}
	c, err := Open(root, pages.Render)
	if err != nil {
		return err
	}
	switch command {
	case "check", "release":
	case "render":
		return c.Render()
	default:
		return fmt.Errorf("say what to do: check, release or render")
	}
	template, err := samtemplate.Load(root, nil)
	if err != nil {
		return err
	}
	edited, err := c.editedReleases(ctx, out)
	if err != nil {
		return err
	}
	if command == "release" && len(edited) == 0 {
		return c.release(ctx, Routes(template), out, now)
	}
	return c.check(ctx, Routes(template), edited, out, now) // a release of edited ones is red as the check is
}

func (c *Contract) check(ctx context.Context, routes []Route, edited []string, out io.Writer, now time.Time) error {
	problems, err := c.Check(ctx, routes, now)
	if err != nil {
		return err
	}
	if problems = append(edited, problems...); len(problems) > 0 {
		return &RedError{problems}
	}
	_, err = fmt.Fprintf(out, "api/%s keeps what release %s promised\n", workingFile, c.last().name)
	return err
}

func (c *Contract) release(ctx context.Context, routes []Route, out io.Writer, now time.Time) error {
	name, err := c.Release(ctx, routes, now)
	if err == nil {
		_, err = fmt.Fprintf(out, `Released api/%[1]s/%[2]s.yaml. Two things are left to do:
- Pin the release: run go test ./internal/contract, which prints the new releasesSum.
- If one sentence can say what this release is for, add it to api/%[3]s as
    %[4]d: "What clients can do now."
  and run go generate ./api. The changelog and the feed show it above the details.
`, releasesDir, name, summariesFile, len(c.releases))
	}
	return err
}

// editedReleases are the problems of CheckHistory. Where there is no history it says so, and there are none.
func (c *Contract) editedReleases(ctx context.Context, out io.Writer) ([]string, error) {
	problems, err := c.CheckHistory(ctx)
	if errors.Is(err, ErrNoHistory) {
		_, err = fmt.Fprintf(out, "!!! %v\n", err)
	}
	return problems, err
}
