package contract

import (
	"fmt"
	"io"
	"time"

	"shopfront/pkg/contractpages"
	"shopfront/pkg/samtemplate"
)

// Run is the command of cmd/contract, in the checkout at root: check, which returns a *RedError where the gate is red,
// release, or render.
func Run(args []string, root string, out io.Writer, now time.Time) error {
	command := ""
	if len(args) == 1 {
		command = args[0]
	}
	c, err := Open(root, contractpages.Render)
	if err != nil {
		return err
	}
	template, err := samtemplate.Load(root, nil)
	if err != nil {
		return err
	}
	switch command {
	case "check":
		problems, err := c.Check(Routes(template), now)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return &RedError{problems}
		}
		_, err = fmt.Fprintf(out, "api/%s keeps what release %s promised\n", workingFile, c.last().name)
		return err
	case "release":
		name, err := c.Release(Routes(template), now)
		if err == nil {
			_, err = fmt.Fprintf(out, "Released api/%s/%s.yaml\n", releasesDir, name)
		}
		return err
	case "render":
		return c.Render()
	default:
		return fmt.Errorf("say what to do: check, release or render")
	}
}
