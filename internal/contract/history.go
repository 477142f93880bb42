package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoHistory means that git does not have the history of the released documents.
var ErrNoHistory = errors.New("the history of the released documents cannot be checked here")

// CheckHistory compares each released document with its text in the commit that added it, and returns the problems. It
// finds an edit even if the edit was committed and the checksum updated. Without a full history the error is
// ErrNoHistory, with the reason and what to do.
func (c *Contract) CheckHistory(ctx context.Context) ([]string, error) {
	dir := filepath.Join(c.dir, releasesDir)
	isShallow, err := git(ctx, dir, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(isShallow)) != "false" {
		return nil, fmt.Errorf("%w: this is a shallow clone. Run git fetch --unshallow", ErrNoHistory)
	}
	// All commits up to this one, the oldest first. A merge is compared with each of its parents, because it may add a
	// file, too.
	additions, err := git(ctx, dir, "log", "--full-history", "--topo-order", "--reverse", "-m", "--no-renames",
		"--diff-filter=A",
		"--format=", "--raw", "--no-abbrev", "--relative", "--", "*.yaml")
	if err != nil {
		return nil, err
	}
	var problems []string
	seen := make(map[string]bool)
	for line := range strings.Lines(string(additions)) { // :000000 100644 0000… 6c9c… A	0007-2026-11-21.yaml
		info, file, isAddition := strings.Cut(strings.TrimSpace(line), "\t")
		if !isAddition || seen[file] {
			continue
		}
		seen[file] = true
		blob := strings.Fields(info)[3]
		original, err := git(ctx, dir, "cat-file", "blob", blob)
		if err != nil {
			return nil, err
		}
		name, what := "api/"+releasesDir+"/"+file, "is not what was released"
		i := slices.IndexFunc(c.releases, func(r released) bool { return r.name+".yaml" == file })
		switch {
		case i < 0:
			what = "was released and does not exist any more"
		case bytes.Equal(c.releases[i].yaml, original):
			continue
		}
		problems = append(problems, fmt.Sprintf("%s %s. Restore it: git cat-file blob %s > %s", name, what, blob, name))
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("%w: git has no commit that added a released document", ErrNoHistory)
	}
	return problems, nil
}

// git runs git in the repository of a folder. It ignores GIT_DIR and similar variables.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...) //nolint:gosec // the arguments are ours
	command.Env = slices.DeleteFunc(os.Environ(),
		func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
	out, err := command.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("%w: %s", ErrNoHistory, bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHistory, err)
	}
	return out, nil
}
