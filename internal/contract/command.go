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

// Run runs the program cmd/contract in the source tree at root. The commands check and release return a *RedError if
// the gate finds problems. They print to out what they did, and what they could not check. The command render writes
// the rendered files and prints nothing.
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
		return fmt.Errorf("name one command: check, release or render")
	}
	template, err := samtemplate.Load(root, nil)
	if err != nil {
		return err
	}
	edited, err := c.CheckHistory(ctx)
	if errors.Is(err, ErrNoHistory) {
		_, err = fmt.Fprintf(out, "!!! %v\n", err)
	}
	if err != nil {
		return err
	}
	problems, err := c.Check(ctx, template.Routes, now)
	if err != nil {
		return err
	}
	if problems = append(edited, problems...); len(problems) > 0 {
		return &RedError{problems}
	}
	if command == "check" {
		_, err = fmt.Fprintf(out, "api/%s keeps the promises of release %s\n", workingFile, c.last().name)
		return err
	}
	name, err := c.Release(ctx, template.Routes, now)
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
