package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoHistory says that the released documents could not be compared with those that were committed.
var ErrNoHistory = errors.New("the history of the released documents cannot be checked here")

// CheckHistory wants each released document to be there as the commit that added it has it, whatever happened to it and to its
// sum since, committed or not. It returns the problems. Where git has no full history, the error is ErrNoHistory, with the
// reason and what to do.
func (c *Contract) CheckHistory(ctx context.Context) ([]string, error) {
	dir := filepath.Join(c.dir, releasesDir)
	isShallow, err := git(ctx, dir, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(isShallow)) != "false" {
		return nil, fmt.Errorf("%w: this is a shallow clone. Run `git fetch --unshallow`", ErrNoHistory)
	}
	added, err := additions(ctx, dir)
	if err != nil {
		return nil, err
	}
	if len(added) == 0 {
		return nil, fmt.Errorf("%w: git has none of them", ErrNoHistory)
	}
	var problems []string
	seen := make(map[string]bool)
	for _, addition := range added {
		if seen[addition.file] {
			continue
		}
		seen[addition.file] = true
		released, err := git(ctx, dir, "cat-file", "blob", addition.blob)
		if err != nil {
			return nil, err
		}
		name := "api/" + releasesDir + "/" + addition.file
		back := fmt.Sprintf("bring it back: git cat-file blob %s > %s", addition.blob, name)
		switch text, err := fs.ReadFile(os.DirFS(dir), addition.file); {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, fmt.Sprintf("%s was released and is not there: %s", name, back))
		case err != nil:
			return nil, err
		case !bytes.Equal(text, released):
			problems = append(problems, fmt.Sprintf("%s is not what was released: %s", name, back))
		}
	}
	return problems, nil
}

// addition is a released document as a commit added it.
type addition struct{ file, blob string }

// additions are those of all commits before this one and of it, the oldest first. A merge is compared with each of its parents:
// it may add, too.
func additions(ctx context.Context, dir string) ([]addition, error) {
	log, err := git(ctx, dir, "log", "--full-history", "--topo-order", "--reverse", "-m", "--no-renames", "--diff-filter=A",
		"--format=", "--raw", "--no-abbrev", "--relative", "--", "*.yaml")
	if err != nil {
		return nil, err
	}
	var added []addition
	for line := range strings.Lines(string(log)) { // :000000 100644 0000… 6c9c… A	0007-2026-11-21.yaml
		if info, file, isChange := strings.Cut(strings.TrimSpace(line), "\t"); isChange {
			added = append(added, addition{file: file, blob: strings.Fields(info)[3]})
		}
	}
	return added, nil
}

// git runs in the repository in which a folder is, whichever GIT_DIR and its like may name.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...) //nolint:gosec // the arguments are ours
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
	out, err := command.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return nil, fmt.Errorf("%w: %s", ErrNoHistory, bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHistory, err)
	}
	return out, nil
}
