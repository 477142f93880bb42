package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	summariesFile = "summaries.yaml"
	// maxSummary is the length in bytes up to which a summary fits under a heading.
	maxSummary = 300
)

// readSummaries reads the sentences that people wrote about releases, by release number. The file is optional.
func (c *Contract) readSummaries() (map[int]string, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, summariesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return map[int]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	var summaries map[int]string
	if err := yaml.Unmarshal(text, &summaries); err != nil {
		return nil, fmt.Errorf("api/%s: %w", summariesFile, err)
	}
	for number, summary := range summaries {
		if err := checkSummary(summary); err != nil {
			return nil, fmt.Errorf("api/%s: the summary of release %d %w", summariesFile, number, err)
		}
		if number < 1 || number > len(c.releases) {
			return nil, fmt.Errorf("api/%s: release %d does not exist: run `make release` first, or correct the number", summariesFile, number)
		}
	}
	return summaries, nil
}

func checkSummary(summary string) error {
	switch {
	case len(summary) > maxSummary:
		return fmt.Errorf("has %d bytes: shorten it to %d", len(summary), maxSummary)
	case !strings.HasSuffix(summary, ".") || summary != strings.TrimSpace(summary):
		return errors.New("must end with a full stop")
	case regexp.MustCompile(`[.!?]\s|\n`).MatchString(summary):
		return errors.New("must be one sentence on one line")
	case strings.Count(summary, "`")%2 == 1:
		return errors.New("has a backquote without its partner")
	default:
		return nil
	}
}
