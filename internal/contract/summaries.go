package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v3"
)

const (
	summariesFile = "summaries.yaml"
	// maxSummary is the maximum length of a summary in bytes.
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
	sentence := regexp.MustCompile("^([^.!?`\\n]|`[^`\\n]+`)+\\.$")
	for number, summary := range summaries {
		if number < 1 || number > len(c.releases) {
			return nil, fmt.Errorf("api/%s: release %d does not exist: run make release first, or correct the number",
				summariesFile, number)
		}
		if len(summary) > maxSummary || !sentence.MatchString(summary) {
			return nil, fmt.Errorf("api/%s: write the summary of release %d as one sentence on one line that ends "+
				"with a full stop, "+
				"in at most %d bytes, with names in backquotes", summariesFile, number, maxSummary)
		}
	}
	return summaries, nil
}
