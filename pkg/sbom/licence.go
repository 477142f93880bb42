package sbom

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/google/licensecheck"
)

// leastCoverage is how much of a file, in percent, must be the text of licences for the file to be one.
const leastCoverage = 75

// unknown stands for the licence in a file that is called one and is none that is known.
const unknown = "UNKNOWN"

// licencesIn are the SPDX identifiers of the licences in a module's folder, sorted.
func licencesIn(folder string) ([]string, error) {
	isLicence := regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)(-.*|[.](md|txt))?$`)
	isSummary := regexp.MustCompile(`(?i)-summary`) // says which of the others holds for what
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() || !isLicence.MatchString(entry.Name()) || isSummary.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name())) //nolint:gosec // a module's own file
		if err != nil {
			return nil, err
		}
		scanned := licensecheck.Scan(text)
		if scanned.Percent < leastCoverage {
			found = append(found, unknown)
			continue
		}
		for _, match := range scanned.Match {
			found = append(found, match.ID)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
